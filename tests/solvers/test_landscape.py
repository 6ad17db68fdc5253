"""Rises that are updated in place, against the energies of both states, term by term."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from qcompile import Pubo, read_pubo
from qcompile.runtime.jit import jit
from qcompile.solvers.landscape import Ground, ground_of_bits, ground_of_spins, spins_of
from qcompile.solvers.landscape_kernels import flip
from tests.by_brute_force import energy
from tests.problems import polynomial
from tests.solvers.test_memetic import low_autocorrelation, random_terms


@jit
def flip_all(at: Any, order: Any) -> float:
    """Flip variables and return the change of the energy."""
    total = 0.0
    for k in range(len(order)):
        total += at.rise[order[k]]
        flip(at, order[k])
    return total


def check(ground: Ground, terms: dict[tuple[int, ...], float], values: tuple[int, int]) -> None:
    def energy_of(bits: Any) -> float:
        return energy(terms, {i: values[int(bit)] for i, bit in enumerate(bits)})

    at = ground.fresh()
    n = ground.variables
    assert energy_of(at.bits) == pytest.approx(ground.energy)
    rng = np.random.default_rng(0)
    for _ in range(4):
        before = energy_of(at.bits)
        change = flip_all(at, rng.integers(0, n, 50))
        assert energy_of(at.bits) - before == pytest.approx(change)
        for i in range(n):
            other = at.bits.copy()
            other[i] = 1 - other[i]
            assert at.rise[i] == pytest.approx(energy_of(other) - energy_of(at.bits))


KINDS: dict[str, Any] = {
    "Signs": lambda: (low_autocorrelation(17), True),
    "SpinTerms": lambda: (random_terms(9, 6, 1, whole=False), True),
    "BitTerms": lambda: (random_terms(26, 5, 2, whole=False), False),
    "BitTensors": lambda: (polynomial(7, 3, seed=3).to_dict(), False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rises_are_those_of_the_polynomial(kind: str) -> None:
    terms, spins = KINDS[kind]()
    pubo = Pubo.from_dict(terms)
    ground = ground_of_spins(pubo) if spins else ground_of_bits(pubo)
    assert type(ground.fresh()).__name__ == kind
    check(ground, terms, (-1, 1) if spins else (0, 1))


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_signs_of_any_degree(degree: int) -> None:
    """Coefficients of two sizes and both signs, in the terms of all degrees."""
    rng = np.random.default_rng(degree)
    every = [t for j in range(1, degree + 1) for t in itertools.combinations(range(11), j)]
    terms = {term: float(rng.choice([-2, -1, 1, 2])) for term in every} | {(): 0.5}
    ground = ground_of_spins(Pubo.from_dict(terms))
    assert type(ground.fresh()).__name__ == "Signs"
    check(ground, terms, (-1, 1))


def test_a_polynomial_of_spins_has_its_own_terms_again() -> None:
    terms = low_autocorrelation(40)
    pubo = read_pubo(terms, vartype="SPIN")
    spins = spins_of(pubo)
    assert spins is not None
    assert (pubo.num_terms, spins.num_terms) == (15384, 5130)
    assert spins.to_dict() == terms
    thirds = {term: value / 3 for term, value in terms.items()}
    rounded = spins_of(read_pubo(thirds, vartype="SPIN"))
    assert rounded is not None and rounded.num_terms == 5130


def test_a_polynomial_stays_in_bits_where_that_is_less_work() -> None:
    assert spins_of(polynomial(6, 3)) is None
    product = {
        (0, 1, 2): 1.0,
        (0, 1): 1.0,
        (0, 2): 1.0,
        (1, 2): 1.0,
        (0,): 1.0,
        (1,): 1.0,
        (2,): 1.0,
    }
    assert spins_of(read_pubo(product, vartype="SPIN")) is None  # 8 x0 x1 x2 - 1
