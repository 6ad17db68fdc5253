from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qcompile import Loss


def test_the_turn_is_the_nearest_one() -> None:
    assert Loss((0.5, -4, 0, 5 / 3, 0, -1 / 5)).turn == pytest.approx(1)


def test_the_turn_of_the_cubic_is_where_it_stops_rising() -> None:
    assert Loss((0.5, -3.0, 0.0, 1.0)).turn == pytest.approx(1.0)
    assert math.isinf(Loss((0.5, -1.0)).turn)
    assert math.isinf(Loss((0.5, -1.0, 0.0, 0.0, 1.0)).turn)


def test_the_turn_is_that_of_wrong_margins() -> None:
    loss = Loss((0.5, -1.0, 1.0, 1.0))  # flat at -1 and at 1/3
    assert loss.turn == pytest.approx(1.0) and loss.falls_for_good
    assert loss.reward_margin == pytest.approx(1 / 3)  # the range of weights is chosen with care
    assert math.isinf(Loss((0.5, 3.0, 0.0, -1.0)).turn)  # upside down: it falls from the start


def test_a_loss_that_dips_turns_but_rewards_nothing() -> None:
    loss = Loss((0.5, -0.1, -1.0, 0.0, 1.0))
    assert loss.turn == pytest.approx(0.0502538, rel=1e-5) and not loss.falls_for_good
    assert loss([-10.0, -0.7]).min() > 0 and math.isinf(loss.reward_margin)


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=7))
@example([0, -3, -3, -1])
def test_the_turn_is_the_first_peak_to_the_left(coefficients: list[int]) -> None:
    """Judged by walking down a fine grid; coefficients of few digits have no tiny dips."""
    loss = Loss(tuple(map(float, coefficients)))
    # slopes between the points of the grid: differences of the loss are lost beside its constant
    margins = -np.linspace(0, 40, 100_001)
    between = (margins[:-1] + margins[1:]) / 2 + 1e-7 * np.sqrt(2)
    rises = sum(k * c * between ** (k - 1) for k, c in enumerate(coefficients) if k) < 0
    if not rises[0]:
        assert math.isinf(loss.turn)
    elif rises.all():
        assert loss.turn > 39.9
    else:
        first = int(np.argmin(rises))
        assert loss.turn == pytest.approx(-margins[first], abs=1e-3)
        assert loss.falls_for_good == (not rises[first + 5 :].any())


@pytest.mark.parametrize(
    "coefficients",
    [(1e308, -1e308, 1e308, 1e308), (0.5, -1e-300, 0.0, 1e300), (0.0, 0.0), (1.0, 0)],
)
def test_absurd_losses_have_a_scale(coefficients: tuple[float, ...]) -> None:
    loss = Loss(coefficients)
    assert loss.turn >= 0 and loss.reward_margin >= 0 and 1e-9 < loss.scale < 1e9
