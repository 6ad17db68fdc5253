from __future__ import annotations

import math

import pytest

from qcompile import Loss


def test_the_turn_is_the_nearest_one() -> None:
    assert Loss((0.5, -4, 0, 5 / 3, 0, -1 / 5)).turn == pytest.approx(1)


def test_the_turn_of_the_cubic_is_where_it_stops_rising() -> None:
    assert Loss((0.5, -3.0, 0.0, 1.0)).turn == pytest.approx(1.0)
    assert math.isinf(Loss((0.5, -1.0)).turn)
    assert math.isinf(Loss((0.5, -1.0, 0.0, 0.0, 1.0)).turn)
