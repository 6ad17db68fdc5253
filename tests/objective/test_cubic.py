from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from qcompile import fit_loss, moments_of
from qcompile.data.prepare import prepare
from qcompile.data.read import read
from qcompile.objective import cubic
from qcompile.objective.descent_kernel import _best_step
from tests.strategies import dense


def test_unpacked_tensors_are_the_full_ones() -> None:
    data = read("synthetic:examples=20,features=4")
    z = dense(data) * data.y[:, None]
    full = cubic.full_tensor(moments_of(data, 3), 3)
    np.testing.assert_allclose(full, np.einsum("ia,ib,ic->abc", z, z, z) / 20, atol=1e-12)


@pytest.mark.parametrize("order", [3, 5])
def test_the_search_knows_the_value_at_the_point_that_it_finds(order: int) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=6)
    moments = moments_of(data, order)
    loss = fit_loss(moments, weight_range=1.0, l2=0.2, prior_std=0.7)
    objective = cubic.objective_of(moments, loss)
    assert objective is not None
    energy, point = objective.lowest(1.0)
    weights = 0.7 * point
    margins = data.margins(weights)
    assert energy == pytest.approx(float(loss(margins).mean() + 0.1 * weights @ weights), rel=1e-9)
    assert objective.mean_margin(point) * 0.7 == pytest.approx(margins.mean())
    assert objective.rms_margin(point) * 0.7 == pytest.approx(math.sqrt((margins**2).mean()))


@pytest.mark.parametrize("third", [0.5, -0.5, 0.0])
def test_the_best_step_is_the_best_of_a_fine_grid(third: float) -> None:
    grid = np.linspace(-1.5, 2, 100_001)
    values = grid * (-1 + grid * (0.75 + grid * third / 6))
    assert _best_step(-1.0, 1.5, third, -1.5, 2.0) == pytest.approx(grid[values.argmin()], abs=1e-4)


def test_the_lowest_point_by_another_optimiser_is_inside_the_turn() -> None:
    data = read("mease-wyner")
    loss = fit_loss(moments_of(data, 3))
    first = np.sign((dense(data) * data.y[:, None]).mean(axis=0))
    box = [(-loss.zeta, loss.zeta)] * data.features
    found = [
        minimize(
            lambda w: float(loss(data.margins(w)).mean() + loss.l2 / 2 * w @ w),
            side * loss.zeta * first,
            bounds=box,
        )
        for side in (-1, 0, 1)
    ]
    best = min(found, key=lambda result: float(result.fun))
    assert best.fun >= 0
    assert math.sqrt((data.margins(best.x) ** 2).mean()) <= 0.8 * loss.turn
