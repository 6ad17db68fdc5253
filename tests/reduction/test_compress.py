from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import Pubo, Qubo, account, load_qubo, quadratize, restore, save_qubo, solve, verify
from qcompile.errors import InputError
from qcompile.reduction import compress
from tests.by_brute_force import brute_force, minimum_over_ancillas


def _uneven(variables: int, degree: int, seed: int, *, whole: bool = True) -> Pubo:
    """All terms, of sizes from 1 to some thousands."""
    rng = np.random.default_rng(seed)
    terms = {}
    for j in range(1, degree + 1):
        for members in combinations(range(variables), j):
            size = rng.choice([1.0, 2.0, 30.0, 900.0], p=[0.4, 0.2, 0.2, 0.2])
            terms[members] = float(rng.choice([-1, 1])) * size
            if not whole:
                terms[members] *= rng.random()
    return Pubo.from_dict(terms, variables=variables)


def _least(pubo: Pubo, qubo: Qubo, share: float) -> float:
    """How far the assignment with the least room is above what it must keep; all are tried."""
    before, after = brute_force(pubo), minimum_over_ancillas(qubo)
    lowest = int(np.argmin(after))
    assert before[lowest] == before.min()
    return float((after - after.min() - share * (before - before.min())).min())


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    variables=st.integers(1, 5),
    degree=st.integers(1, 4),
    share=st.sampled_from([0.01, 0.5, 0.9, 1.0]),
)
def test_every_minimum_is_one_of_the_polynomial_and_heights_stay(
    seed: int, variables: int, degree: int, share: float
) -> None:
    pubo = _uneven(variables, min(degree, variables), seed)
    assert _least(pubo, quadratize(pubo, compress=share), share) >= -1e-6


def test_small_couplings_go() -> None:
    pubo = _uneven(9, 3, 1, whole=False)
    plain, less = quadratize(pubo), quadratize(pubo, compress=True)
    figures = account(plain), account(less)
    assert figures[0].share_of_couplings_below_precision > 0.2
    assert figures[1].share_of_couplings_below_precision < 0.05
    assert figures[1].share_of_heights_kept == 0.9
    assert "share_of_heights_kept" not in figures[0].to_dict()
    assert len(less.first) < len(plain.first)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_terms_that_decide_between_the_lowest_stay(share: float) -> None:
    # bits 0 and 1 are tied but for a coefficient far below the precision
    wide = {(0,): -1000.0, (1,): -1000.0, (0, 1): 1000.0, (0, 2): -0.5, (1, 2): 0.25, (2,): -0.1}
    pubo = Pubo.from_dict(wide)
    qubo = quadratize(pubo, compress=share)
    assert _least(pubo, qubo, share) >= -1e-9
    assert solve(qubo, solver="exact", reads=1).bits[0].tolist() == [1, 0, 1]


def test_ties_keep_at_least_one_minimum_and_gain_none() -> None:
    pubo = Pubo.from_dict({(0, 1): 1000.0, (0,): -1000.0, (1,): -1000.0, (0, 2): 1.0, (1, 3): 1.0})
    before = brute_force(pubo)
    assert np.count_nonzero(before == before.min()) > 1
    qubo = quadratize(pubo, compress=True)
    assert qubo.compression is not None
    after = minimum_over_ancillas(qubo)
    assert set(np.flatnonzero(after == after.min())) <= set(np.flatnonzero(before == before.min()))


def test_energies_are_those_of_the_polynomial() -> None:
    pubo = _uneven(8, 3, 2, whole=False)
    qubo = quadratize(pubo, compress=0.5)
    assert qubo.compression is not None
    found = solve(qubo, solver="exact", reads=4)
    assert found.energies[0] == pytest.approx(brute_force(pubo).min())
    np.testing.assert_allclose(found.energies, pubo.energies(found.bits), atol=1e-9)
    back = restore(qubo)
    assert back.to_dict().keys() >= pubo.to_dict().keys()
    np.testing.assert_allclose(brute_force(back), brute_force(pubo), atol=1e-9)


def test_assignments_that_object_later_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    pubo = _uneven(8, 3, 3)
    monkeypatch.setattr(compress, "_WATCHED", 1)
    qubo = quadratize(pubo, compress=1.0)
    assert qubo.compression is not None
    assert verify(qubo, pubo=pubo).holds
    heights = [np.asarray(brute_force(p)) for p in (pubo, pubo - (qubo.truncated or pubo))]
    before, after = (h - h.min() for h in heights)
    assert (after >= before - 1e-6).all()


@pytest.mark.parametrize("seed", range(3))
def test_larger_problems_keep_their_minimum(seed: int) -> None:
    pubo = _uneven(14, 3, seed, whole=False)
    qubo = quadratize(pubo, compress=True)
    assert qubo.compression is not None and qubo.truncated is not None
    before, after = brute_force(pubo), brute_force(pubo - qubo.truncated)
    best = int(np.argmin(before))
    assert int(np.argmin(after)) == best
    assert (after - after[best] >= 0.9 * (before - before[best]) - 1e-6).all()
    assert verify(qubo, pubo=pubo).holds


def test_nothing_small_nothing_changed() -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 1.0, (0,): -1.0})
    qubo = quadratize(pubo, compress=True)
    assert (qubo.compression, qubo.truncated, qubo.error) == (None, None, 0.0)


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_files_carry_the_record(ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("compressed")
    pubo = _uneven(6, 3, 4)
    qubo = quadratize(pubo, compress=0.75)
    assert qubo.compression is not None and qubo.compression.share == 0.75
    path = folder / f"qubo.{ending}"
    save_qubo(qubo, path, pubo=pubo)
    back, reference = load_qubo(path)
    assert back.compression == qubo.compression
    assert verify(back, pubo=pubo, reference=reference).holds
    again = folder / f"again.{ending}"
    save_qubo(quadratize(pubo, compress=0.75), again, pubo=pubo)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compress": 0.0}, "compress 0; expected a share"),
        ({"compress": 1.5}, "compress 1.5; expected a share"),
        ({"compress": float("nan")}, "compress nan; expected a share"),
        ({"compress": True, "max_ancillas": 3}, "max_ancillas= or strength="),
        ({"compress": True, "strength": 0.5}, "max_ancillas= or strength="),
    ],
)
def test_what_cannot_be_kept_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quadratize(Pubo.from_dict({(0, 1, 2): 1.0}), **options)


def test_too_many_bits_are_refused() -> None:
    with pytest.raises(InputError, match="25 bits: the proof tries all assignments"):
        quadratize(Pubo.from_dict({(24,): 1.0}), compress=True)
