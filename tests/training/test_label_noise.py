from __future__ import annotations

import math

import numpy as np
import pytest

from qcompile import InputError, LabelNoise
from qcompile.training.label_noise import fit_label_noise


def _drawn(rows: int, positive: float, negative: float, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    d = 6 * rng.normal(size=rows)
    truth = rng.random(rows) < 1 / (1 + np.exp(-(1.5 * d - 1)))
    wrong = rng.random(rows) < np.where(truth, positive, negative)
    return d, np.where(truth ^ wrong, 1.0, -1.0), wrong, truth


def _surprise(found: LabelNoise, d: np.ndarray, y: np.ndarray) -> float:
    total = 0.0
    for one, label in zip(d.tolist(), y.tolist(), strict=True):
        up = 1 / (1 + math.exp(-(found.slope * one + found.intercept)))
        q = up * (1 - found.positive) + (1 - up) * found.negative
        total -= math.log(q if label > 0 else 1 - q)
    for rate in (found.positive, found.negative):
        total -= math.log(rate) + 9 * math.log(1 - rate)
    return total


@pytest.mark.parametrize(("positive", "negative"), [(0.1, 0.3), (0.25, 0.02), (0.001, 0.001)])
def test_rates_of_flipped_labels_are_found(positive: float, negative: float) -> None:
    d, y, wrong, truth = _drawn(20_000, positive, negative)
    found = fit_label_noise(d, y)
    assert found.positive == pytest.approx(wrong[truth].mean(), abs=0.01)
    assert found.negative == pytest.approx(wrong[~truth].mean(), abs=0.01)
    chances = found.chances(d, y)
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        part = (chances >= low) & (chances <= high)
        if part.sum() > 200:
            assert chances[part].mean() == pytest.approx(wrong[part].mean(), abs=0.05)


def test_the_fit_is_the_best_of_its_neighbours() -> None:
    d, y, _, _ = _drawn(400, 0.2, 0.1)
    found = fit_label_noise(d, y)
    least = _surprise(found, d, y)
    own = (found.positive, found.negative, found.slope, found.intercept)
    for place in range(4):
        for factor in (0.97, 1.03):
            moved = [*own]
            moved[place] *= factor
            assert _surprise(LabelNoise(*moved), d, y) > least
    twice = fit_label_noise(d, y, np.full(400, 1.0))
    assert twice == found


def test_chances_are_by_bayes() -> None:
    known = LabelNoise(0.3, 0.1, 2.0, -1.0)
    for d in (-2.0, 0.0, 0.7, 3.0):
        up = 1 / (1 + math.exp(-(2 * d - 1)))
        positive = (1 - up) * 0.1 / ((1 - up) * 0.1 + up * 0.7)
        negative = up * 0.3 / (up * 0.3 + (1 - up) * 0.9)
        assert known.chances([d, d], [1, -1]).tolist() == pytest.approx([positive, negative])
    assert known.chances([-1e6, 1e6], [1, -1]).tolist() == [1.0, 1.0]


def test_decisions_without_labels_are_refused() -> None:
    with pytest.raises(InputError, match="2 decisions and 1 labels"):
        fit_label_noise([1.0, 2.0], [1.0])
