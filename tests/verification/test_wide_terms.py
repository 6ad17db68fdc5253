"""Proofs over many variables and wide terms, where packed indices would leave 64 bits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from qcompile import Pubo, Qubo, quadratize, restore, verify

# (variables, degree): N^degree or (N + 1)^degree is at, just below or beyond 2^63 and 2^64.
SIZES = [
    (63, 10), (63, 11), (63, 12), (64, 11), (127, 9), (128, 10), (254, 8), (255, 8), (255, 9),
    (255, 10), (256, 8), (256, 9), (256, 10), (1023, 7), (4095, 6), (65535, 4), (65536, 5),
]  # fmt: skip
CASES = list(itertools.product(SIZES, range(2)))


def _wide(variables: int, degree: int, seed: int) -> dict[tuple[int, ...], float]:
    """Return terms that share their last members and differ in the first ones."""
    rng = np.random.default_rng([variables, degree, seed])
    terms: dict[tuple[int, ...], float] = {(variables - 1,): 0.5}
    for _ in range(2):
        tail = rng.choice(np.arange(8, variables), degree - 2, replace=False)
        for head in itertools.combinations(range(4), 2):
            terms[(*head, *sorted(map(int, tail)))] = float(rng.integers(1, 9))
    return terms


def _moved(terms: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """Return the terms with the first member of one of them replaced by another bit."""
    victim = next(t for t in terms if len(t) > 2)
    other = next(b for b in range(8) if b not in victim)
    key = tuple(sorted((other, *victim[1:])))
    made = dict(terms)
    value = made.pop(victim)
    made[key] = made.get(key, 0.0) + value
    return made


def _energy(terms: dict[tuple[int, ...], float], bits: np.ndarray) -> float:
    return sum(value for term, value in terms.items() if all(bits[list(term)]))


@pytest.mark.parametrize(("size", "seed"), CASES)
def test_only_the_polynomial_that_was_reduced_is_proved(size: tuple[int, int], seed: int) -> None:
    terms = _wide(*size, seed)
    qubo = quadratize(Pubo.from_dict(terms, variables=size[0]))
    assert verify(qubo, pubo=Pubo.from_dict(terms, variables=size[0])).holds
    other = Pubo.from_dict(_moved(terms), variables=size[0])
    assert not verify(qubo, pubo=other).holds
    assert restore(qubo).to_dict() == pytest.approx({(): 0.0, **terms})


@pytest.mark.parametrize(("size", "seed"), [(size, 0) for size in SIZES if size[1] < 10])
def test_a_budget_of_ancillas_keeps_its_bound(size: tuple[int, int], seed: int) -> None:
    terms = _wide(*size, seed)
    pubo = Pubo.from_dict(terms, variables=size[0])
    made = quadratize(pubo, max_ancillas=len(quadratize(pubo).ancillas) // 2)
    rng = np.random.default_rng(seed)
    bits = (rng.random((50, size[0])) < 0.97).astype(np.int8)
    bits[:, :4] = rng.integers(0, 2, (50, 4))
    exact = np.array([_energy(terms, row) for row in bits])
    kept = made.energies(made.complete(bits))
    assert np.abs(kept - exact).max() <= made.error * (1 + 1e-12)
    np.testing.assert_allclose(made.score(bits), exact, rtol=1e-9, atol=1e-9)
    assert verify(made, pubo=pubo).holds
    assert not verify(made, pubo=Pubo.from_dict(_moved(terms), variables=size[0])).holds


def test_two_polynomials_that_packed_keys_could_not_tell_apart() -> None:
    tail = tuple(range(100, 109))
    one, two = (Pubo.from_dict({(head, *tail): 1.0, (254,): 0.5}, variables=255) for head in (0, 1))
    found = verify(quadratize(one), pubo=two)
    assert [check.name for check in found.checks if not check.holds] == ["algebra, term by term"]
    assert "2 terms differ" in found.checks[1].detail


def test_many_variables_of_high_degree_are_reduced_without_numbering_their_subsets() -> None:
    terms = {tuple(range(start, start + 9)): 1.0 for start in range(0, 9000, 1000)}
    qubo: Qubo = quadratize(Pubo.from_dict(terms))
    assert verify(qubo, pubo=Pubo.from_dict(terms)).holds
