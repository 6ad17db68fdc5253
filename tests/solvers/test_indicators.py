from __future__ import annotations

import itertools

import numpy as np
import pytest

from qcompile import compile, prepare, quadratize, read, solve
from qcompile.solvers.indicators import Indicators
from qcompile.stages.pubo import Pubo


@pytest.fixture(scope="module")
def priced() -> Pubo:
    rows = prepare(read("breast-cancer"), scale="standard", features=3)
    return compile(rows, bits=2, l0=0.02).pubo


def lowest_classifiers(pubo: Pubo, count: int) -> list[float]:
    """Enumerate all states, indicators too, and take the least energy of each classifier."""
    states = np.array(list(itertools.product([0, 1], repeat=pubo.variables)))
    best: dict[tuple[float, ...], float] = {}
    for weights, energy in zip(pubo.decode(states), pubo.energies(states), strict=True):
        key = tuple(weights.tolist())
        best[key] = min(best.get(key, np.inf), float(energy))
    return sorted(best.values())[:count]


@pytest.mark.parametrize("solver", ["exact", "anneal"])
def test_kept_states_are_distinct_classifiers(priced: Pubo, solver: str) -> None:
    """Before, the 50 lowest states of two bits were a few classifiers with other indicators."""
    found = solve(priced, solver=solver, keep=20)
    weights = priced.decode(found.bits)
    assert len(np.unique(weights, axis=0)) == len(found) == 20
    np.testing.assert_allclose(found.energies, lowest_classifiers(priced, 20), atol=1e-12)
    np.testing.assert_allclose(found.energies, priced.energies(found.bits), atol=1e-12)


def test_samplers_give_distinct_classifiers(priced: Pubo) -> None:
    qubo = quadratize(priced)
    found = solve(qubo, solver="steepest", reads=50, keep=50)
    weights = qubo.decode(found.bits)
    assert len(np.unique(weights, axis=0)) == len(found)
    np.testing.assert_allclose(found.energies, qubo.score(found.bits), atol=1e-12)


def test_the_polynomial_without_indicators_has_their_least_energies(priced: Pubo) -> None:
    known = Indicators.of(priced)
    assert known is not None
    plain = known.eliminated(priced)
    states = np.array(list(itertools.product([0, 1], repeat=plain.variables)), dtype=np.int8)
    every = np.array(list(itertools.product([0, 1], repeat=3)), dtype=np.int8)
    least = [
        priced.energies(np.hstack([np.repeat(row[None], len(every), axis=0), every])).min()
        for row in states
    ]
    np.testing.assert_allclose(plain.energies(states), least, atol=1e-12)
    np.testing.assert_allclose(priced.energies(known.best(states)), least, atol=1e-12)


def test_other_polynomials_have_no_indicators(priced: Pubo) -> None:
    assert Indicators.of(Pubo.from_dict({(0, 1): 1.0})) is None
    rows = prepare(read("breast-cancer"), scale="standard", features=3)
    assert Indicators.of(compile(rows, bits=1, l0=0.02).pubo) is None
