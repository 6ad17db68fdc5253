from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qcompile import InputError, Loss, fit_loss, moments_of
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.objective import cubic
from qcompile.objective.judgement import warnings_for
from qcompile.stages.dataset import Dataset
from tests import judge
from tests.problems import optimum
from tests.strategies import datasets, dense


def test_the_linear_objective_stays_above_zero() -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 1)
    loss = fit_loss(moments)
    slope = abs(loss.coefficients[1]) * np.abs(moments.tensors[1, 0]).sum() / moments.count
    assert loss.coefficients[0] - loss.zeta * slope >= -1e-12


def test_a_regulariser_allows_a_wider_range() -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 3)
    free, held = (fit_loss(moments, prior_std=1.0, l2=l2).range_ for l2 in (0.0, 10.0))
    assert free < held


def test_too_many_features_for_a_search_get_the_safe_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 3)
    monkeypatch.setattr(cubic, "_MOST_FEATURES", 29)
    loss = fit_loss(moments)
    assert "too many" in loss.notes[0]
    assert loss.zeta * math.sqrt(30) * moments.rms_norm <= loss.reward_margin * (1 + 1e-9)


@pytest.mark.parametrize("order", [3, 5, 7])
@pytest.mark.parametrize(
    ("name", "scale", "bias"),
    [("breast-cancer", "max-abs", True), ("breast-cancer", "max-abs", False),
     ("breast-cancer", "standard", False), ("mease-wyner", "standard", True)],
)  # fmt: skip
def test_the_auto_range_holds_for_classifiers_found_from_the_examples(
    order: int, name: str, scale: str, bias: bool
) -> None:
    """Restarted coordinate descent on the examples themselves, on a grid of eight levels."""
    data = prepare(read(name), scale=scale, features=6, bias=bias)
    loss = fit_loss(moments_of(data, order), prior_std=1.0)
    levels = np.linspace(-1, 1, 9) * loss.zeta
    best, chosen = judge.coordinate_search(
        dense(data), np.asarray(data.y), levels, loss.coefficients, loss.l2, starts=40
    )
    assert best >= -1e-9
    assert warnings_for(loss, data, chosen, best) == []


def test_a_wide_range_of_the_users_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 3)
    assert any("rewarded" in note for note in fit_loss(moments, weight_range=2.0).notes)
    assert fit_loss(moments, weight_range=0.1).notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["long-servedio", "mease-wyner", "synthetic", "breast-cancer"])
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_the_auto_range_keeps_the_spurious_minimum_away(name: str, bits: int) -> None:
    data = prepare(read(name), features=min(9, 15 // bits), scale="standard")
    loss, energy, weights = optimum(data, bits=bits, range_="auto")
    assert 0 < loss.range_ <= 2
    assert energy >= 0
    told = warnings_for(loss, data, weights, energy)
    if (name, bits) == ("breast-cancer", 1):  # weights of 0 or more only, and no bias
        assert len(told) == 1 and "no better than" in told[0]
    else:
        assert told == []


def test_a_range_too_wide_lets_wrong_margins_win_and_is_warned_about() -> None:
    data = prepare(read("synthetic"), features=9)
    loss, energy, weights = optimum(data, bits=2, range_=4.0)
    assert energy < 0
    assert any("are rewarded" in text for text in warnings_for(loss, data, weights, energy))


def test_right_answers_below_zero_are_no_reward_for_wrong_ones() -> None:
    x = np.array([[1.0], [1.1], [-1.0], [-0.9]])
    data = from_arrays(x, np.array([1, 1, -1, -1]))
    loss = Loss((0.1, -1.0))  # falls below 0 at margins above 0.1
    told = warnings_for(loss, data, np.array([1.0]), -0.9)
    assert len(told) == 1 and "below 0 at right answers" in told[0]
    assert "rewarded" in warnings_for(Loss((0.1, 1.0)), data, np.array([-1.0]), -0.9)[0]


def test_an_even_loss_that_pays_for_wrong_answers_is_known() -> None:
    """Between -1 and -3 the eighth order falls far below 0; the fourth and the sixth do not."""
    moments = moments_of(read("synthetic"), 1)
    for order in (4, 6):
        assert math.isinf(fit_loss(moments, order).reward_margin)
    loss = fit_loss(moments, 8)
    wrong = -np.linspace(0, 6, 60_001)
    values = loss(wrong)
    first = int(np.argmax(values < 0))
    assert values.min() < -100
    peak = first - int(np.argmax(np.diff(values[: first + 1])[::-1] > 0))
    assert loss.reward_margin == pytest.approx(-wrong[peak], abs=1e-3)
    assert loss.range_ < 0.5
    assert Loss((0.5, 1.0, 0.1)).reward_margin == 0.0  # falls at once, and below 0
    assert math.isinf(Loss((-1.0, -1.0, 0.2)).reward_margin)


def test_a_loss_upside_down_is_told() -> None:
    x = np.array([[1.0, 900.0], [1.2, -800.0], [-1.0, 700.0], [-1.1, -950.0]])
    loss = fit_loss(moments_of(from_arrays(x, np.array([1, 1, -1, -1])), 3))
    assert (loss.coefficients[1] >= 0) == any("rises at margin 0" in note for note in loss.notes)
    raw = fit_loss(moments_of(read("breast-cancer"), 3))
    assert raw.coefficients[1] > 0 and any('scale="robust"' in note for note in raw.notes)
    scaled = fit_loss(moments_of(prepare(read("breast-cancer"), scale="standard"), 3))
    assert scaled.coefficients[1] < 0 and scaled.notes == ()


def lowest(data: Dataset, loss: Loss) -> float:
    levels = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * loss.zeta
    found, _ = judge.coordinate_search(
        dense(data), np.asarray(data.y), levels, loss.coefficients, loss.l2, starts=12
    )
    return found


@pytest.mark.parametrize("name", ["german.numer", "heart_scale", "ionosphere"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_auto_range_is_safe_on_real_data(real_data: Path, name: str, bias: bool) -> None:
    """With a wide range the minimum lies below 0; with auto no search finds one that does."""
    data = prepare(read(real_data / f"{name}.svm.xz"), scale="standard", bias=bias)
    moments = moments_of(data, 3)
    assert lowest(data, fit_loss(moments, weight_range=3.0)) < 0
    assert lowest(data, fit_loss(moments)) >= 0


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(data=datasets(), order=st.sampled_from([1, 3, 5, 7]))
def test_auto_ranges_exist_for_every_odd_order(data: Dataset, order: int) -> None:
    moments = moments_of(data, order)
    assume(moments.sum_of_squares > 0)
    try:
        loss = fit_loss(moments)
    except InputError as error:
        assert "do not depend on the rows" in str(error)
        assume(False)
    assert 0 < loss.range_ <= 2
