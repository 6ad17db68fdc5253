"""Proofs over many variables and wide terms, where packed indices would leave 64 bits."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from qcompile import Pubo, Qubo, quadratize, restore, verify
from qcompile.verification.algebra import check_terms, substituted

# (variables, degree): N^degree or (N + 1)^degree is at, just below or beyond 2^63 and 2^64.
SIZES = [
    (63, 10), (63, 11), (63, 12), (64, 11), (127, 9), (128, 11), (254, 8), (255, 8), (255, 9),
    (255, 11), (256, 8), (256, 9), (256, 11), (1023, 7), (4095, 6), (65535, 4), (65536, 5),
]  # fmt: skip
# Few terms each, reduced once: what is tried is which terms are told apart.
CASES = list(itertools.product(SIZES, range(6)))  # 102 cases


@cache
def _wide(variables: int, degree: int) -> dict[tuple[int, ...], float]:
    """Return terms that share their last members and differ in the first ones."""
    rng = np.random.default_rng([variables, degree])
    tail = 8 + rng.permutation(min(variables, 300) - 8)[: degree - 2]
    last = tuple(sorted(tail.tolist()))
    return {(variables - 1,): 0.5, (0, 1, *last): 3.0, (2, 3, *last): float(rng.integers(1, 9))}


@cache
def _reduced(variables: int, degree: int) -> Qubo:
    return quadratize(Pubo.from_dict(_wide(variables, degree), variables=variables))


def _moved(terms: dict[tuple[int, ...], float], member: int = 0) -> dict[tuple[int, ...], float]:
    """Return the terms with a member of one of them replaced by another bit."""
    victim = next(t for t in terms if len(t) > 2)
    made = dict(terms)
    rest = victim[:member] + victim[member + 1 :]
    made[tuple(sorted((4, *rest)))] = made.pop(victim)
    return made


def _energy(terms: dict[tuple[int, ...], float], bits: np.ndarray) -> float:
    return sum(value for term, value in terms.items() if all(bits[list(term)]))


@pytest.mark.parametrize(("size", "case"), CASES)
def test_only_the_polynomial_that_was_reduced_is_proved(size: tuple[int, int], case: int) -> None:
    terms, qubo = _wide(*size), _reduced(*size)
    assert restore(qubo).to_dict() == pytest.approx({(): 0.0, **terms})
    other = Pubo.from_dict(_moved(terms, case % size[1]), variables=size[0])
    found = check_terms(qubo, substituted(qubo), other)
    assert not found.holds and "2 terms differ" in found.detail
    if case == 0:
        assert verify(qubo, pubo=Pubo.from_dict(terms, variables=size[0])).holds


@pytest.mark.parametrize("size", [(63, 12), (64, 11), (255, 9), (65536, 5)])
def test_a_budget_of_ancillas_keeps_its_bound(size: tuple[int, int]) -> None:
    terms = _wide(*size)
    pubo = Pubo.from_dict(terms, variables=size[0])
    made = quadratize(pubo, max_ancillas=size[1] - 2)
    rng = np.random.default_rng(0)
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
