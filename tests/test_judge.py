"""The compiled polynomial is the training problem: E(q) over all assignments, from the examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import discretize, fit_loss, moments_of
from qcompile.stages.dataset import Dataset
from tests import judge
from tests.strategies import datasets, dense


def agree(data: Dataset, order: int, bits: int, l2: float, l0: float, seed: int) -> None:
    """Compare every energy with the objective computed straight from the examples."""
    rng = np.random.default_rng(seed)
    coefficients = tuple(rng.normal(size=order + 1).tolist())
    moments = moments_of(data, order)
    loss = fit_loss(moments, coefficients=coefficients, l2=l2, range_=float(rng.uniform(0.3, 2)))
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
    loss = fit_loss(moments, coefficients=(0.5, -1.0, 0.0, 0.1), range_=1.0)
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
