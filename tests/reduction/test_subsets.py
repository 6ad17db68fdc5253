from __future__ import annotations

import numpy as np
import pytest

from qcompile import InputError, Pubo, estimate, quadratize, verify
from qcompile.reduction import subsets
from qcompile.reduction.accounting import dimod_ancillas
from qcompile.reduction.cover import Search
from qcompile.reduction.substitution import substitute_pairs
from tests import judge
from tests.by_brute_force import minimum_over_ancillas
from tests.problems import complete


@pytest.mark.parametrize("steps", [0, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_wide_terms_are_kept_exactly(
    steps: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of terms with too many subsets, on ones that can be tried out."""
    monkeypatch.setattr(subsets, "_WIDEST", 3)
    monkeypatch.setattr(subsets, "_MOST_STEPS", steps)
    rng = np.random.default_rng(seed)
    terms = {
        tuple(sorted(rng.choice(6, size, replace=False).tolist())): float(rng.integers(-9, 10))
        for size in (1, 2, 3, 4, 4, 5, 6)
    }
    pubo = Pubo.from_dict(terms, variables=6)
    qubo = quadratize(pubo)
    assert qubo.method == ("greedy pairs" if steps else "shared beginnings")
    assert qubo.variables <= 20
    expected = pubo.energies(judge.all_assignments(6))
    np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [11, 22, 150])
def test_very_wide_terms_need_two_ancillas_less_than_bits(degree: int) -> None:
    pubo = Pubo.from_dict({tuple(range(degree)): -1.0, (0, 3): 0.5, (2,): 0.25})
    qubo = quadratize(pubo)
    assert len(qubo.ancillas) == degree - 2
    assert verify(qubo, pubo=pubo).holds
    other = Pubo.from_dict({tuple(range(degree)): -1.5, (0, 3): 0.5, (2,): 0.25})
    assert not verify(qubo, pubo=other).holds
    with pytest.raises(InputError, match="too many subsets for cover halves; use auto"):
        quadratize(pubo, cover="halves")


@pytest.mark.parametrize(("variables", "most"), [(8, 22), (10, 52), (12, 112), (14, 202)])
def test_complete_sixth_degrees_need_few_ancillas(variables: int, most: int) -> None:
    pubo = complete(variables, 6)
    qubo = quadratize(pubo)
    assert len(qubo.ancillas) <= most
    bits = np.random.default_rng(0).integers(0, 2, (50, variables))
    np.testing.assert_allclose(
        qubo.energies(qubo.complete(bits)), pubo.energies(bits), rtol=1e-9, atol=1e-9
    )


def test_tight_gates_on_halves_stay_small() -> None:
    """A single global strength would be the sum of all coefficients."""
    pubo = complete(12, 3)
    largest = max(float(np.abs(c).max()) for c in pubo.coefficients)
    qubo = quadratize(pubo)
    assert np.abs(qubo.quadratic).max() < 5 * largest
    assert np.abs(qubo.linear).max() < 8 * largest


@pytest.mark.parametrize(("variables", "degree", "terms"), [(12, 5, 30), (20, 4, 50), (16, 6, 60)])
def test_sparse_higher_degrees_need_no_more_than_greedy_substitution(
    variables: int, degree: int, terms: int
) -> None:
    rng = np.random.default_rng(0)
    chosen = {tuple(sorted(rng.choice(variables, degree, replace=False).tolist()))
              for _ in range(terms)}  # fmt: skip
    pubo = Pubo.from_dict({term: float(rng.normal()) for term in sorted(chosen)})
    theirs = []
    for _ in range(10):  # other numbers of the variables stand for other hash seeds
        names = rng.permutation(variables).tolist()
        renamed = {tuple(names[i] for i in term): c for term, c in pubo.to_dict().items() if term}
        theirs.append(dimod_ancillas(Pubo.from_dict(renamed)))
    assert len(quadratize(pubo).ancillas) <= min(theirs)


@pytest.mark.parametrize("degree", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("seed", range(3))
def test_substitution_makes_every_term_of_two_factors(degree: int, seed: int) -> None:
    """Products are multiplied out in plain Python; no factor occurs twice in one."""
    rng = np.random.default_rng(seed)
    terms = {tuple(sorted(rng.choice(12, rng.integers(3, degree + 1), replace=False).tolist()))
             for _ in range(60)}  # fmt: skip
    pubo = Pubo.from_dict(dict.fromkeys(sorted(terms), 1.0), variables=12)
    cover = substitute_pairs(pubo, Search(seed=seed))
    bits = [frozenset([i]) for i in range(12)]
    for a, b in cover.factors.tolist():
        assert not bits[a] & bits[b]
        bits.append(bits[a] | bits[b])
    wanted = [frozenset(row) for rows in pubo.indices[2:] for row in rows.tolist()]
    for term, (a, b) in zip(wanted, cover.routes.tolist(), strict=True):
        assert bits[a] | bits[b] == term and not bits[a] & bits[b]
    again = substitute_pairs(pubo, Search(seed=seed))
    assert again.factors.tolist() == cover.factors.tolist()
    assert len(cover) <= len(substitute_pairs(pubo, Search(effort=0.0)))


def test_the_pair_that_most_terms_share_becomes_the_first_product() -> None:
    """Four terms share 0·1; then two share 2·3, and two others 2 and 0·1: six products in all."""
    terms = [(0, 1, 2, 3), (0, 1, 2, 5), (0, 1, 6, 7), (0, 1, 8, 9), (2, 3, 10, 11)]
    cover = substitute_pairs(Pubo.from_dict(dict.fromkeys(terms, 1.0)), Search(effort=0.0))
    assert cover.factors[0].tolist() == [0, 1]
    assert len(cover) == 6


@pytest.mark.parametrize("seed", range(6))
def test_terms_that_are_split_are_kept_exactly(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a time limit leaves, on polynomials that can be tried out."""
    monkeypatch.setattr(subsets, "_MOST_STEPS", 0)
    rng = np.random.default_rng(seed)
    terms = {
        tuple(sorted(rng.choice(7, size, replace=False).tolist())): float(rng.integers(-9, 10))
        for size in (1, 2, 3, 4, 4, 5, 6, 7)
    }
    pubo = Pubo.from_dict(terms | {(0, 1, 2, 3): 2.5}, variables=7)
    qubo = quadratize(pubo, time_limit=1e-9)
    assert qubo.method == subsets.SPLIT and qubo.variables <= 20
    expected = pubo.energies(judge.all_assignments(7))
    np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-9)


def test_a_time_limit_holds_and_is_said(caplog: pytest.LogCaptureFixture) -> None:
    pubo = complete(16, 5)
    qubo = quadratize(pubo, time_limit=1e-9)
    assert "terms are split in a fixed way" in caplog.text
    assert len(qubo.ancillas) <= estimate(5, 16, 1).ancillas
    assert verify(qubo, pubo=pubo).holds
    caplog.clear()
    assert quadratize(pubo).method != subsets.SPLIT and not caplog.text
