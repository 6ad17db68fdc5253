"""The compiled polynomial is the training problem: E(q) over all assignments, from the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Loss, MemoryLimitError, Moments, discretize, fit_loss, moments_of
from qcompile.data.prepare import from_arrays
from qcompile.stages import multisets
from qcompile.stages.dataset import Dataset
from tests import judge
from tests.problems import compiled, synthetic
from tests.strategies import datasets, dense


def test_small_thresholds_are_bounded_too() -> None:
    moments = synthetic(3, 4, 40)
    loss = fit_loss(moments)
    exact = discretize(moments, loss, 2)
    states = judge.all_assignments(8)
    sizes = sorted(abs(c) for values in exact.coefficients for c in values.tolist())
    for threshold in sizes[:4]:
        rough = discretize(moments, loss, 2, threshold=threshold)
        change = np.abs(exact.energies(states) - rough.energies(states)).max()
        assert change <= rough.dropped * (1 + 1e-9)


def test_terms_that_cancel_exactly_are_left_out() -> None:
    moments = moments_of(from_arrays(np.array([[1.0], [-1.0]]), [1, -1]), 2)
    pubo = discretize(moments, fit_loss(moments, coefficients=(0, -1, 1), weight_range=1.0), 2)
    assert pubo.to_dict() == {(): 0.0, (1,): 0.75, (0, 1): -1.0}


@pytest.mark.parametrize("l0", [-1.0, math.nan, math.inf])
def test_impossible_l0_is_refused(l0: float) -> None:
    moments = synthetic()
    with pytest.raises(InputError):
        discretize(moments, fit_loss(moments), 1, l0=l0)


def test_a_loss_of_higher_order_than_the_moments_is_refused() -> None:
    with pytest.raises(InputError):
        discretize(synthetic(1), Loss((0.5, -1, 0, 1)), 1)


def test_overflowing_coefficients_are_refused() -> None:
    moments = synthetic()
    with pytest.raises(InputError, match="overflow"):
        discretize(moments, replace(fit_loss(moments), range_=1e200), 2)


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
    pubo = discretize(moments, fit_loss(moments, coefficients=(0, -1, 0, 1), weight_range=1.0), 1)
    assert all(set(term) <= {1, 2} or len(term) < 2 for term in pubo.to_dict())


@pytest.mark.slow
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


def test_too_many_terms_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = {(j, 0): np.zeros(multisets.count(40, j)) for j in (1, 2, 3)}
    moments = Moments(40, 3, 10, 10.0, zeros)
    loss = fit_loss(moments, coefficients=(0, -1, 0, 1), weight_range=1.0)
    monkeypatch.setenv("QCOMPILE_MEMORY", "10MB")
    with pytest.raises(MemoryLimitError, match=r"640 bits, up to 43,.* terms.*bits="):
        discretize(moments, loss, 16)


def agree(data: Dataset, order: int, bits: int, l2: float, l0: float, seed: int) -> None:
    """Compare every energy with the objective computed straight from the examples."""
    rng = np.random.default_rng(seed)
    coefficients = tuple(rng.normal(size=order + 1).tolist())
    moments = moments_of(data, order)
    loss = fit_loss(
        moments, coefficients=coefficients, l2=l2, weight_range=float(rng.uniform(0.3, 2))
    )
    pubo = discretize(moments, loss, bits, l0=l0)
    assert pubo.variables == data.features * (bits + (1 if l0 and bits > 1 else 0))
    states = judge.all_assignments(pubo.variables)
    w = judge.weights(states, data.features, bits, loss.zeta)
    expected = judge.objective(dense(data), np.asarray(data.y), w, coefficients, l2)
    if l0:
        expected = expected + judge.l0_charge(states, data.features, bits, l0)
    np.testing.assert_allclose(pubo.energies(states), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(pubo.decode(states), w, atol=1e-12)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
@settings(deadline=None, max_examples=12)
@given(
    data=datasets(max_features=3),
    l2=st.sampled_from([0.0, 0.3]),
    l0=st.sampled_from([0.0, 0.7]),
    seed=st.integers(0, 1000),
)
def test_energies_are_the_objective(
    order: int, bits: int, data: Dataset, l2: float, l0: float, seed: int
) -> None:
    agree(data, order, bits, l2, l0 if data.features * (bits + 1) <= 12 else 0.0, seed)


@pytest.mark.parametrize("order", [7, 8])
@settings(deadline=None, max_examples=5)
@given(data=datasets(max_features=3), seed=st.integers(0, 1000))
def test_energies_are_the_objective_for_orders_seven_and_eight(
    order: int, data: Dataset, seed: int
) -> None:
    agree(data, order, 2, 0.1, 0.0, seed)


@settings(deadline=None, max_examples=10)
@given(data=datasets(max_features=1), bits=st.integers(5, 12), seed=st.integers(0, 1000))
def test_energies_are_the_objective_for_many_bits(data: Dataset, bits: int, seed: int) -> None:
    agree(data, 3, bits, 0.2, 0.0, seed)


@settings(deadline=None, max_examples=20)
@given(data=datasets(max_features=4), bits=st.integers(1, 3), l0=st.floats(0.01, 1.0))
def test_indicators_cost_what_they_should_once_minimised(
    data: Dataset, bits: int, l0: float
) -> None:
    """min over v of the ℓ0 part is λ0 times the number of weights that are not zero."""
    moments = moments_of(data, 3)
    loss = fit_loss(moments, coefficients=(0.5, -1.0, 0.0, 0.1), weight_range=1.0)
    with_l0 = discretize(moments, loss, bits, l0=l0)
    without = discretize(moments, loss, bits)
    states = judge.all_assignments(with_l0.variables)
    energies = with_l0.energies(states)
    own = states[:, : without.variables]
    rows, where = np.unique(own, axis=0, return_inverse=True)
    lowest = np.full(len(rows), np.inf)
    np.minimum.at(lowest, where.ravel(), energies)
    used = (without.decode(rows) != 0).sum(axis=1)
    np.testing.assert_allclose(lowest, without.energies(rows) + l0 * used, atol=1e-9)
