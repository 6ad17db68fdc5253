from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    Encoding,
    InputError,
    Pubo,
    anneal,
    compile,
    discretize,
    fit_loss,
    moments_of,
    prepare,
    read,
    solve,
)
from qcompile.objective.weight_space import weight_cubic
from tests.by_brute_force import brute_force
from tests.problems import polynomial


@settings(max_examples=20, deadline=None)
@given(bits=st.integers(1, 9), degree=st.integers(1, 5), seed=st.integers(0, 99))
def test_annealing_finds_the_optimum_of_small_problems(bits: int, degree: int, seed: int) -> None:
    pubo = polynomial(bits, degree, seed=seed)
    found = solve(pubo, solver="anneal", reads=30, keep=5)
    energies = np.sort(brute_force(pubo))
    assert found.energies[0] == pytest.approx(energies[0])
    assert found.energies == pytest.approx(pubo.energies(found.bits))
    assert (np.diff(found.energies) >= 0).all()
    assert len(np.unique(found.bits, axis=0)) == len(found)


def test_both_kernels_for_bits_agree_with_the_polynomial() -> None:
    dense, sparse = polynomial(26, 3), polynomial(26, 3, share=0.03, seed=1)
    for pubo in (dense, sparse, polynomial(12, 4)):
        bits, space = anneal(pubo, reads=40, keep=50)
        assert space == "bits"
        energies = pubo.energies(bits)
        assert (np.diff(energies) >= -1e-9).all()  # the kernel's own energies are in order
    assert pubo.energies(bits)[0] == pytest.approx(brute_force(pubo).min())


def test_weights_and_bits_reach_the_same_optimum() -> None:
    pubo = compile("breast-cancer", bits=3, features=5, scale="standard", bias=True).pubo
    exact = solve(pubo, solver="exact", keep=10)
    for space in ("weights", "bits"):
        bits, used = anneal(pubo, space=space, reads=60, keep=10)
        assert used == space
        assert pubo.energies(bits)[0] == pytest.approx(exact.energies[0])
        assert (np.diff(pubo.energies(bits)) >= -1e-9).all()


def test_weight_space_is_refused_where_there_is_none() -> None:
    data = compile("breast-cancer", bits=2, features=4, scale="standard", bias=False, l0=0.1).pubo
    dropped = compile(
        "breast-cancer", bits=2, features=4, scale="standard", bias=False, threshold=1e-3
    ).pubo
    for pubo in (polynomial(6, 3), data, dropped, polynomial(6, 4)):
        assert weight_cubic(pubo) is None
        with pytest.raises(InputError, match="not a cubic of weights"):
            anneal(pubo, space="weights")
        assert anneal(pubo, reads=5)[1] == "bits"


def test_ctrl_c_keeps_the_best_states() -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    bits, _ = anneal(polynomial(12, 3), reads=1000, progress=interrupt)
    assert len(bits)


def test_weights_with_bounds_are_annealed_from_their_own_origin() -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4)
    moments = moments_of(data, 3)
    loss = fit_loss(moments)
    bounds = ((-3, 1), (1, 4), (-2, 0), (2, 4))
    encoding = Encoding(4, 3, loss.zeta, bounds)
    pubo = discretize(moments, loss, 3, encoding=encoding)
    bits, space = anneal(pubo, space="weights", reads=40, keep=30)
    assert space == "weights"
    energies = pubo.energies(bits)
    assert energies == pytest.approx(np.sort(np.unique(brute_force(pubo).round(12)))[:30])


@pytest.mark.parametrize("size", [9, 15, 40])
def test_a_single_product_of_many_bits_is_found(size: int) -> None:
    """Single flips meet all bits on once in 2^size states."""
    pubo = Pubo.from_dict({tuple(range(size)): -1.0}, variables=size + 3)
    found = solve(pubo, reads=2, keep=3)
    assert found.energies[0] == -1.0 and found.bits[0, :size].all()
    assert solve(pubo, reads=2, keep=3, seed=0).bits.tolist() == found.bits.tolist()


def test_products_that_overlap_and_are_punished_are_weighed() -> None:
    """The one of 15 bits is best alone: with the next bit 7 are added, with all 29 both are."""
    terms = {tuple(range(15)): -5.0, tuple(range(10, 30)): -4.0, tuple(range(16)): 7.0}
    pubo = Pubo.from_dict(terms | {(i,): 0.1 for i in range(30)})
    found = solve(pubo, reads=20)
    assert found.energies[0] == pytest.approx(-3.5)
    assert found.bits[0].tolist() == [1] * 15 + [0] * 15
    assert found.energies == pytest.approx(pubo.energies(found.bits))


@pytest.mark.parametrize("keep", [1, 50])
def test_reads_are_counted(keep: int) -> None:
    """An easy problem: every restart ends in its minimum. Two equal minima share the restarts."""
    easy = Pubo.from_dict({(0, 1): -4.0, (0,): 1.0, (1,): 1.0, (2,): -1.0})
    assert solve(easy, reads=130, keep=keep).occurrences[0] == 130
    twice = Pubo.from_dict({(0, 1): 2.0, (0,): -1.0, (1,): -1.0})
    found = solve(twice, reads=130, keep=max(2, keep))
    assert found.energies[:2].tolist() == [-1.0, -1.0]
    assert found.occurrences[:2].sum() == 130 and found.occurrences.min() >= 1
    assert found.info["reads"] == 130
    assert solve(easy, solver="exact").occurrences.tolist() == [1] * 8


def test_counts_are_those_of_single_restarts_in_bits_and_in_weights() -> None:
    """One restart at a time, with the seeds that the restarts of a search have, is the judge."""
    rough = polynomial(22, 4, seed=3)
    weights = compile("breast-cancer", bits=3, features=5, scale="standard", bias=True).pubo
    for pubo, sweeps in ((rough, 2), (weights, 3)):
        found = solve(pubo, reads=40, sweeps=sweeps, keep=1000)
        ends = [_restart(pubo, number, sweeps) for number in range(40)]
        times = {row: ends.count(row) for row in ends}
        known = dict(zip(map(tuple, found.bits.tolist()), found.occurrences.tolist(), strict=True))
        assert len(times) > 1
        for row, count in times.items():
            assert known[row] == count


def _restart(pubo: Pubo, number: int, sweeps: int) -> tuple[int, ...]:
    """Return the lowest state of one restart of seed 0."""
    from qcompile.solvers.anneal import _over_flips, _over_weights
    from qcompile.solvers.pool_kernel import pool_of

    cubic = weight_cubic(pubo)
    if cubic is None:
        one, size = _over_flips(pubo, None, sweeps, 0, None)
    else:
        one, size = _over_weights(cubic, 0.0, sweeps, 0, None)
    pool = pool_of(1, size)
    one(number, pool, lambda: False)
    state = pool.states[0]
    if cubic is not None:
        state = cubic.encoding.encode(state[None] * cubic.encoding.step)[0]
    return tuple(state.tolist())
