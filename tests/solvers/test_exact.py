from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Pubo, quadratize, solve
from qcompile.solvers.exact import _Search, enumerate_lowest
from tests.by_brute_force import brute_force
from tests.problems import polynomial


@settings(max_examples=30, deadline=None)
@given(
    bits=st.integers(0, 11),
    degree=st.integers(1, 5),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
    keep=st.integers(1, 40),
)
def test_enumeration_finds_the_lowest_of_all(
    bits: int, degree: int, share: float, seed: int, keep: int
) -> None:
    pubo = polynomial(bits, degree, share=share, seed=seed)
    expected = np.sort(brute_force(pubo))[:keep]
    found = solve(pubo, solver="exact", keep=keep)
    assert found.energies == pytest.approx(expected)
    assert len(np.unique(found.bits, axis=0)) == len(found)


def test_enumeration_goes_beyond_one_block() -> None:
    pubo = polynomial(17, 3, seed=4)  # high bits follow a Gray code
    found = enumerate_lowest(pubo, 20)
    assert pubo.energies(found) == pytest.approx(np.sort(brute_force(pubo))[:20])


def test_enumeration_refuses_what_would_take_for_ever() -> None:
    with pytest.raises(InputError, match=r'40 bits .* solver="anneal"'):
        solve(Pubo.from_dict({(39,): 1.0}), solver="exact")


def _in_fractions(
    terms: Mapping[tuple[int, ...], float],
    bits: int,
    full: Callable[[tuple[int, ...]], list[int]] = list,
) -> list[tuple[Fraction, tuple[int, ...]]]:
    """Return all states in order of energy and then of bits; nothing is rounded."""
    found = []
    for state in product((0, 1), repeat=bits):
        row = full(state)
        on = [Fraction(value) for term, value in terms.items() if all(row[i] for i in term)]
        found.append((sum(on, Fraction(0)), state))
    return sorted(found)


def _over_a_range(rng: np.random.Generator, bits: int, decades: float) -> Pubo:
    terms: dict[tuple[int, ...], float] = {(): float(rng.choice([0.0, 1e6]))}
    for _ in range(int(rng.integers(1, 20))):
        members = rng.choice(bits, min(bits, int(rng.integers(1, 5))), replace=False)
        size = 10.0 ** float(rng.uniform(-decades / 2, decades / 2))
        value = rng.choice([rng.normal(), float(rng.integers(-2, 3)), 0.1])
        terms[tuple(sorted(map(int, members)))] = float(value) * size
    return Pubo.from_dict(terms, variables=bits)


@pytest.mark.parametrize("decades", [0, 6, 16, 30, 200])
def test_the_order_is_that_of_energies_in_fractions(decades: float) -> None:
    rng = np.random.default_rng(int(decades))
    for _ in range(12):
        bits, keep = int(rng.integers(1, 7)), int(rng.integers(1, 20))
        pubo = _over_a_range(rng, bits, decades)
        found = solve(pubo, solver="exact", keep=keep)
        expected = _in_fractions(pubo.to_dict(), bits)[:keep]
        assert [tuple(row) for row in found.bits.tolist()] == [state for _, state in expected]
        assert found.energies.tolist() == [float(energy) for energy, _ in expected]
        qubo = quadratize(pubo)
        found = solve(qubo, solver="exact", keep=keep)
        terms = qubo.as_pubo().to_dict()
        right = _in_fractions(terms, bits, lambda s, q=qubo: q.complete([s])[0].tolist())[:keep]  # type: ignore[misc]
        assert [tuple(row) for row in found.bits.tolist()] == [state for _, state in right]


def test_small_coefficients_count_beside_large_ones() -> None:
    """From 1e6 down to 5e-10: the lowest state is chosen by the small terms."""
    qubo = quadratize(Pubo.from_dict({(0, 1, 2): 1e6, (3,): -5e-10, (0, 3): 2e-10, (4,): 5e-10}))
    assert solve(qubo, solver="exact", keep=1).bits.tolist() == [[0, 0, 0, 1, 0]]
    rng = np.random.default_rng(0)
    large = 1e6 * rng.normal(size=8)
    small: dict[tuple[int, ...], float] = {
        (i, j): float(5e-10 * rng.normal()) for i in range(8) for j in range(i)
    }
    terms = {tuple(bit + 8 for bit in term): value for term, value in small.items()}
    terms |= {(i,): value for i, value in enumerate(large.tolist())}
    found = solve(Pubo.from_dict(terms), solver="exact", keep=3)
    assert (found.bits[:, :8] == (large < 0)).all()
    expected = [state for _, state in _in_fractions(small, 8)[:3]]
    assert [tuple(row) for row in found.bits[:, 8:].tolist()] == expected


def test_equal_energies_are_in_the_order_of_bits_beyond_one_block() -> None:
    rng = np.random.default_rng(1)
    terms: dict[tuple[int, ...], float] = {
        (i, j): float(rng.integers(-2, 3)) for i in range(17) for j in range(i)
    }
    pubo = Pubo.from_dict(terms, variables=17)
    states = np.arange(1 << 17)[:, None] >> np.arange(17)[::-1] & 1
    expected = np.lexsort((np.arange(1 << 17), pubo.energies(states)))[:200]
    assert (enumerate_lowest(pubo, 200) == states[expected]).all()
    assert (_Search.of(pubo).by_exact_sums(200) == expected).all()


def test_both_ways_to_add_up_agree_beyond_one_block() -> None:
    search = _Search.of(polynomial(17, 3, seed=4))
    assert not search.sums_are_exact
    assert (search.by_exact_sums(20) == search.by_rounded_sums(36)[1][:20]).all()
