from __future__ import annotations

import numpy as np
import pytest

from qcompile import InputError, compile, fit_loss, from_arrays, moments_of
from qcompile.objective.weight_space import cubic_of_moments, weight_cubic
from tests.strategies import dense


@pytest.mark.parametrize("bits", [2, 3, 4])
@pytest.mark.parametrize("shrink", [False, True])
def test_weight_space_is_the_polynomial(bits: int, shrink: bool) -> None:
    pubo = compile(
        "mease-wyner", scale="none", bias=False, bits=bits, features=5, prune=shrink
    ).pubo
    cubic = weight_cubic(pubo)
    assert cubic is not None and pubo.encoding is not None
    states = np.random.default_rng(0).integers(0, 2, (200, pubo.variables))
    assert cubic.energies(pubo.encoding.decode(states)) == pytest.approx(pubo.energies(states))
    assert np.allclose(cubic.third, cubic.third.transpose(1, 0, 2))
    assert np.allclose(cubic.third, cubic.third.transpose(0, 2, 1))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("bits", [1, 3])
def test_the_cubic_of_moments_is_the_objective_on_the_rows(order: int, bits: int) -> None:
    rng = np.random.default_rng(order)
    rows = from_arrays(rng.normal(size=(40, 5)), np.where(rng.random(40) < 0.5, 1, -1))
    coefficients = tuple(rng.normal(size=order + 1).tolist())
    moments = moments_of(rows, order)
    loss = fit_loss(moments, coefficients=coefficients, l2=0.3, weight_range=1.3)
    cubic = cubic_of_moments(moments, loss, bits)
    states = rng.integers(0, 2, (200, cubic.encoding.variables))
    weights = cubic.encoding.decode(states)
    margins = rows.y[:, None] * (dense(rows) @ weights.T)
    powers = sum(a * margins**j for j, a in enumerate(coefficients))
    wanted = np.mean(powers, axis=0) + 0.15 * (weights**2).sum(axis=1)
    assert cubic.energies(weights) == pytest.approx(wanted, rel=1e-12)


def test_a_cubic_that_overflows_is_an_input_error() -> None:
    rows = from_arrays(1e29 * np.eye(4), [1, -1, 1, -1])
    moments = moments_of(rows, 3)
    loss = fit_loss(moments, coefficients=(0, 0, 0, 1e250), weight_range=1.0)
    with pytest.raises(InputError, match="overflow"):
        cubic_of_moments(moments, loss, 2)
