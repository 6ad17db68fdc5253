from __future__ import annotations

import itertools

import numpy as np
import pytest

from qcompile import InputError, compile, judge, quadratize, read
from qcompile.data.prepare import from_arrays, prepare
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return prepare(read("breast-cancer"), scale="standard", features=3, bias=True)


def anti_classifier(rows: Dataset) -> Floats:
    return -np.asarray(np.linalg.lstsq(np.asarray(rows.x), rows.y, rcond=None)[0])


def test_an_energy_above_that_of_zero_is_said(rows: Dataset) -> None:
    pubo = compile(rows, bits=2).pubo
    for problem in (pubo, quadratize(pubo)):
        bad = judge(problem, anti_classifier(rows), 3.0)
        assert bad.energy_of_zero == pytest.approx(0.5)
        assert len(bad.notes) == 1 and "all weights 0" in bad.notes[0]
        assert judge(problem, anti_classifier(rows), 0.5).notes == ()
    worse = judge(pubo, anti_classifier(rows), 3.0, rows)
    assert worse.error is not None and worse.error > 0.9
    assert not any("rewarded" in note for note in worse.notes)  # it was not: its energy is high
    assert any("no better" in note for note in worse.notes)


def test_zero_is_known_with_indicators_and_pruned_levels(rows: Dataset) -> None:
    priced = compile(rows, bits=2, l0=0.01).pubo
    pruned = compile(rows, bits=2, prune=True).pubo
    for problem in (priced, pruned):
        zero = judge(problem, np.zeros(4), 0.0).energy_of_zero
        assert zero == pytest.approx(0.5, abs=1e-9)


def test_a_good_classifier_is_not_warned_about(rows: Dataset) -> None:
    pubo = compile(rows, bits=2).pubo
    states = np.array(list(itertools.product([0, 1], repeat=8)))
    energies = pubo.energies(states)
    best = int(np.argmin(energies))
    found = judge(pubo, pubo.decode(states[best]), float(energies[best]), rows)
    assert found.notes == () and found.error is not None and found.error < 0.1


@pytest.mark.parametrize(("order", "wide", "fair"), [(3, 3.0, 2.0), (8, 1.0, 0.3)])
def test_a_problem_that_rewards_wrong_answers_is_refused(
    rows: Dataset, order: int, wide: float, fair: float
) -> None:
    """The exact minimum of the wide range is wrong on most rows, that of the other on few."""
    with pytest.raises(InputError, match=r"wrong answers are rewarded.*anyway=True"):
        compile(rows, order=order, bits=2, weight_range=wide)
    compiled = compile(rows, order=order, bits=2, weight_range=wide, anyway=True)
    assert any("rewarded" in note for note in compiled.loss.notes)
    right = compile(rows, order=order, bits=2, weight_range=fair)
    states = np.array(list(itertools.product([0, 1], repeat=8)))
    for pubo, is_wrong in ((compiled.pubo, True), (right.pubo, False)):
        lowest = pubo.decode(states[np.argmin(pubo.energies(states))])
        assert (rows.error(lowest) > rows.baseline_error) is is_wrong


def test_a_loss_upside_down_is_refused() -> None:
    with pytest.raises(InputError, match="rises at margin 0"):
        compile("breast-cancer", scale="none", bias=False, bits=1)
    noted = compile("breast-cancer", scale="none", bias=False, bits=1, anyway=True).loss.notes
    assert len(noted) == 1 and "rises at margin 0" in noted[0]


def test_own_coefficients_are_refused_only_for_what_they_reward() -> None:
    x = np.array([[1.0], [1.1], [-1.0], [-0.9]])
    data = from_arrays(x, np.array([1, 1, -1, -1]))
    with pytest.raises(InputError, match="wrong answers are rewarded"):
        compile(data, coefficients=(0.1, 1.0), bits=2, weight_range=1.0)
    assert compile(data, coefficients=(0.1, -1.0), bits=2, weight_range=1.0).loss.notes == ()
