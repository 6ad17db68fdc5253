"""min over the ancillas of the QUBO is the polynomial, for every assignment: by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import qcompile
from qcompile import InputError, Pubo, compile, quadratize
from tests import judge
from tests.by_brute_force import minimum_over_ancillas
from tests.problems import complete
from tests.strategies import polynomials


@pytest.mark.parametrize("cover", ["auto", "halves", "greedy", "exact", "dimod"])
@settings(deadline=None, max_examples=40)
@given(pubo=polynomials(degree=3))
def test_cubics_are_kept_exactly(cover: str, pubo: Pubo) -> None:
    qubo = quadratize(pubo, cover=cover)
    assert qubo.logical == pubo.variables
    if qubo.variables <= 14:
        expected = pubo.energies(judge.all_assignments(pubo.variables))
        np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-9)


@pytest.mark.parametrize("cover", ["auto", "halves", "greedy", "dimod"])
@settings(deadline=None, max_examples=25)
@given(pubo=polynomials(degree=5, variables=6))
def test_higher_degrees_are_kept_exactly(cover: str, pubo: Pubo) -> None:
    qubo = quadratize(pubo, cover=cover)
    if qubo.variables <= 15:
        expected = pubo.energies(judge.all_assignments(pubo.variables))
        np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-8)


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (7, 3), (6, 4), (6, 5), (6, 6)])
def test_a_wrong_ancilla_costs_something_unless_it_changes_nothing(
    variables: int, degree: int
) -> None:
    pubo = complete(variables, degree)
    qubo = quadratize(pubo)
    bits = judge.all_assignments(variables)
    full = qubo.complete(bits)
    np.testing.assert_allclose(qubo.energies(full), pubo.energies(bits), atol=1e-9)
    for k in range(qubo.logical, qubo.variables):
        flipped = full.copy()
        flipped[:, k] ^= 1
        gates = qubo.ancillas.on[k - variables], qubo.ancillas.off[k - variables]
        extra = qubo.energies(flipped) - qubo.energies(full)
        assert (extra > (0 if min(gates) else -1e-12)).all()


@pytest.mark.parametrize("value", [-1.0, -3.7, 1.0])
@pytest.mark.parametrize("degree", [3, 4, 5, 11])
def test_the_gate_of_a_lone_product_needs_no_small_coefficients(degree: int, value: float) -> None:
    pubo = Pubo.from_dict({tuple(range(degree)): value})
    account = qcompile.account(quadratize(pubo))
    assert account.qubo_dynamic_range is not None and account.ising_dynamic_range is not None
    assert account.qubo_dynamic_range < 2.003 and account.ising_dynamic_range < 2.003
    if degree < 6:
        expected = pubo.energies(judge.all_assignments(degree))
        np.testing.assert_allclose(minimum_over_ancillas(quadratize(pubo)), expected, atol=1e-9)


def test_gates_cannot_be_weaker() -> None:
    """At nine tenths of the strength some assignment prefers a wrong ancilla."""
    pubo = Pubo.from_dict({(0, 1, 2): -3.0, (0, 1, 3): 2.0, (0, 1, 4): 4.0})
    expected = pubo.energies(judge.all_assignments(5))
    weak = minimum_over_ancillas(quadratize(pubo, strength=0.9))
    assert weak.min() < expected.min() - 0.1 or (weak < expected - 0.1).any()
    np.testing.assert_allclose(minimum_over_ancillas(quadratize(pubo)), expected, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"cover": "best"}, {"strength": 0.0}, {"strength": float("nan")}, {"max_ancillas": -1}],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        quadratize(complete(4, 3), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="for cubics"):
        quadratize(complete(5, 4), cover="exact")


@pytest.mark.parametrize("terms", [{}, {(): 2.0}, {(0,): 1.0}, {(0, 1): 1.0}])
def test_polynomials_without_products_need_no_ancilla(terms: dict[tuple[int, ...], float]) -> None:
    pubo = Pubo.from_dict(terms)
    qubo = quadratize(pubo)
    assert len(qubo.ancillas) == 0
    bits = judge.all_assignments(pubo.variables).reshape(1 << pubo.variables, -1)
    np.testing.assert_allclose(qubo.energies(bits), pubo.energies(bits))


def test_real_one_hot_data(real_data: object) -> None:
    """The 32,561 rows of a9a, and mushrooms: the bipartition's numbers."""
    from pathlib import Path

    folder = Path(str(real_data))
    adult = compile(
        folder / "adult9.svm.xz", bits=1, weight_range=1.0, rows=32561, scale="none", bias=False
    ).quadratize()
    assert len(adult.ancillas) <= 2023
    mushrooms = compile(
        folder / "mushrooms.svm.xz", bits=1, weight_range=1.0, scale="none", bias=False
    ).quadratize()
    assert len(mushrooms.ancillas) <= 1158


@pytest.mark.parametrize("cover", ["auto", "halves", "greedy", "exact", "dimod"])
@pytest.mark.parametrize("variables", [4, 5, 6])
def test_complete_cubics_are_kept_by_every_cover(cover: str, variables: int) -> None:
    """Halves have a short way of their own; other covers of the same size must not take it."""
    for seed in range(4):
        pubo = complete(variables, 3, seed)
        expected = pubo.energies(judge.all_assignments(variables))
        found = minimum_over_ancillas(quadratize(pubo, cover=cover))
        np.testing.assert_allclose(found, expected, atol=1e-9)
