from __future__ import annotations

import itertools
import subprocess
import sys
from math import comb
from pathlib import Path

import dimod
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    Encoding,
    InputError,
    MemoryLimitError,
    Moments,
    Pubo,
    discretize,
    fit_loss,
    moments_of,
)
from qcompile.data.read import read
from qcompile.files.pubo import load_pubo, save_pubo
from qcompile.stages import multisets
from tests import judge


def compiled(*, bits: int = 2, l0: float = 0.0, threshold: float = 0.0) -> Pubo:
    moments = moments_of(read("synthetic:examples=40,features=4"), 3)
    return discretize(moments, fit_loss(moments), bits, l0=l0, threshold=threshold)


@pytest.mark.parametrize("bits", range(1, 17))
def test_bits_and_weights_go_both_ways(bits: int) -> None:
    encoding = Encoding(features=2, bits=bits, zeta=0.75)
    levels = encoding.levels
    assert len(levels) == 2**bits
    chosen = levels[:: max(1, len(levels) // 50)]
    pairs = np.array(list(itertools.product(chosen, chosen[:5])))
    np.testing.assert_allclose(encoding.decode(encoding.encode(pairs)), pairs, atol=1e-15)
    assert levels.max() == 0.75
    assert levels.min() > -0.75 - 1e-15
    assert encoding.encode([0.0, 0.0]).sum() == 0


@given(weights=st.lists(st.floats(-2, 2), min_size=3, max_size=3), bits=st.integers(1, 6))
def test_encoding_takes_the_nearest_level(weights: list[float], bits: int) -> None:
    encoding = Encoding(features=3, bits=bits, zeta=1.0)
    found = encoding.decode(encoding.encode(weights))
    for weight, level in zip(weights, found.tolist(), strict=True):
        assert abs(level - weight) == pytest.approx(np.abs(encoding.levels - weight).min())


@pytest.mark.parametrize("bits", [0, 17])
def test_impossible_encodings_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match="1 to 16"):
        Encoding(1, bits, 1.0)
    with pytest.raises(InputError, match="zeta"):
        Encoding(1, 1, 0.0)


def test_terms_are_sorted_unique_and_complete() -> None:
    pubo = compiled(bits=3)
    assert pubo.terms == (12, comb(12, 2), comb(12, 3))
    for rows in pubo.indices:
        as_tuples = list(map(tuple, rows.tolist()))
        assert as_tuples == sorted(set(as_tuples))
        assert all(list(row) == sorted(set(row)) for row in as_tuples)


def test_features_that_never_meet_make_no_term() -> None:
    x = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]])
    from qcompile.data.prepare import from_arrays

    moments = moments_of(from_arrays(x, [1, -1, 1, 1]), 3)
    pubo = discretize(moments, fit_loss(moments, coefficients=(0, -1, 0, 1), range_=1.0), 1)
    assert all(set(term) <= {1, 2} or len(term) < 2 for term in pubo.to_dict())


@settings(deadline=None, max_examples=30)
@given(threshold=st.floats(0, 0.5))
def test_a_threshold_changes_no_energy_by_more_than_it_says(threshold: float) -> None:
    exact, rough = compiled(), compiled(threshold=threshold)
    states = judge.all_assignments(exact.variables)
    change = np.abs(exact.energies(states) - rough.energies(states)).max()
    assert change <= rough.dropped + 1e-12
    small = [c for values in exact.coefficients for c in values.tolist() if abs(c) <= threshold]
    assert rough.num_terms == exact.num_terms - len(small)
    assert rough.dropped <= sum(map(abs, small)) + 1e-12


def test_dimod_and_dictionaries_go_both_ways() -> None:
    pubo = compiled()
    states = judge.all_assignments(pubo.variables)
    polynomial = pubo.to_dimod()
    assert isinstance(polynomial, dimod.BinaryPolynomial)
    np.testing.assert_allclose(polynomial.energies((states, range(8))), pubo.energies(states))
    for back in (Pubo.from_dimod(polynomial), Pubo.from_dict(pubo.to_dict())):
        assert back.to_dict() == pubo.to_dict()
    spins = dimod.BinaryPolynomial({(0, 1, 2): 1.5, (1,): -0.5, (): 2.0}, dimod.SPIN)
    bits = Pubo.from_dimod(spins)
    for q in judge.all_assignments(3):
        s = 2 * q - 1
        assert bits.energies(q)[0] == pytest.approx(1.5 * s.prod() - 0.5 * s[1] + 2)


def test_dictionaries_are_checked() -> None:
    with pytest.raises(InputError, match="numbered from 0"):
        Pubo.from_dict({(-1, 2): 1.0})
    with pytest.raises(InputError, match="not finite"):
        Pubo.from_dict({(1,): float("nan")})
    with pytest.raises(InputError, match="2 variables"):
        Pubo.from_dict({(5,): 1.0}, variables=2)
    with pytest.raises(InputError, match="relabel"):
        Pubo.from_dimod(dimod.BinaryPolynomial({("a", "b"): 1}, dimod.BINARY))


def test_samples_are_checked() -> None:
    pubo = compiled()
    with pytest.raises(InputError, match="expected"):
        pubo.energies(np.zeros((3, 5)))
    with pytest.raises(InputError, match="other than 0 and 1"):
        pubo.energies(np.full((1, 8), 2))
    assert pubo.energies(np.zeros((0, 8))).shape == (0,)


def test_many_samples_in_any_number_give_the_same_energies() -> None:
    pubo = compiled()
    states = judge.all_assignments(8)
    one_by_one = np.concatenate([pubo.energies(state) for state in states])
    np.testing.assert_array_equal(pubo.energies(states), one_by_one)


def test_too_many_terms_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = {(j, 0): np.zeros(multisets.count(40, j)) for j in (1, 2, 3)}
    moments = Moments(40, 3, 10, 10.0, zeros)
    loss = fit_loss(moments, coefficients=(0, -1, 0, 1), range_=1.0)
    monkeypatch.setenv("QCOMPILE_MEMORY", "10MB")
    with pytest.raises(MemoryLimitError, match=r"640 bits, up to 43,.* terms.*--bits"):
        discretize(moments, loss, 16)


@pytest.mark.parametrize("ending", ["json", "npz"])
@pytest.mark.parametrize("l0", [0.0, 0.5])
def test_polynomials_come_back_from_files(tmp_path: Path, ending: str, l0: float) -> None:
    pubo = compiled(l0=l0)
    path = tmp_path / f"pubo.{ending}"
    save_pubo(pubo, path)
    first = path.read_bytes()
    back = load_pubo(path)
    assert back.to_dict() == pubo.to_dict()
    assert (back.variables, back.encoding, back.loss) == (pubo.variables, pubo.encoding, pubo.loss)
    assert back.preparation is not None
    assert pubo.preparation is not None
    assert back.preparation.to_dict() == pubo.preparation.to_dict()
    save_pubo(back, path)
    assert path.read_bytes() == first


def test_files_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    texts = set()
    for seed in ("0", "1", "2"):
        for name in ("pubo.json", "pubo.npz", "moments.npz", "loss.json"):
            (tmp_path / name).unlink(missing_ok=True)
        emits = [f"--emit={tmp_path / name}" for name in ("pubo.json", "moments.npz", "loss.json")]
        subprocess.run(
            [sys.executable, "-m", "qcompile", "compile", "breast-cancer", "--features=4", *emits,
             "--bits=2", f"--emit={tmp_path / 'pubo.npz'}", "--noise=0.1", "--scale=max-abs"],
            check=True, capture_output=True, env={"PYTHONHASHSEED": seed, "PATH": ""},
        )  # fmt: skip
        texts.add(tuple(p.read_bytes() for p in sorted(tmp_path.iterdir())))
    assert len(texts) == 1
