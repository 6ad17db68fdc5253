"""How likely is a label wrong? From decisions about rows that were held out, and their labels.

Labels are taken to be flipped at random, at one rate in each class, and the true label to be
positive with the probability of a sigmoid of the decision. Far from the border the sigmoid is 0 or
1, so that the labels that differ there tell the rates. Bayes' rule then gives the probability that
a label was flipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.record import Record

__all__ = ["LabelNoise", "fit_label_noise"]


# Rates are below this: at 1/2 the labels of a class say nothing.
_MOST = 0.45
# What is known before: as if this many labels had been seen, so many of them wrong.
_SEEN, _WRONG = 10.0, 1.0
_FIRST_RATES = (0.02, 0.2)


@dataclass(frozen=True)
class LabelNoise(Record):
    """Rates of wrong labels among rows that are truly positive or negative, and the sigmoid.

    P(truly positive) = 1 / (1 + exp(-(slope d + intercept))) for a decision d.
    """

    positive: float
    negative: float
    slope: float
    intercept: float

    def chances(self, decisions: ArrayLike, signs: ArrayLike) -> Floats:
        """Return the probability that each label is wrong.

        >>> LabelNoise(0.2, 0.2, 1.0, 0.0).chances([0.0, -9.0, 9.0], [1, 1, 1]).round(3)
        array([0.2, 1. , 0. ])
        """
        from scipy.special import expit

        logits = self.slope * np.asarray(decisions, dtype=np.float64) + self.intercept
        up, down = expit(logits), expit(-logits)
        given = np.asarray(signs) > 0
        wrong = np.where(given, down * self.negative, up * self.positive)
        right = np.where(given, up * (1 - self.positive), down * (1 - self.negative))
        return np.asarray(wrong / np.maximum(wrong + right, 1e-300))


def fit_label_noise(
    decisions: ArrayLike, signs: ArrayLike, weights: ArrayLike | None = None
) -> LabelNoise:
    """Return the rates and the sigmoid that make the labels (signs) most likely.

    The rates are known a little before, as if one of ten labels had been seen to be wrong, so that
    a few rows do not tell of no noise at all.
    """
    from scipy.optimize import minimize

    d, y = np.asarray(decisions, dtype=np.float64), np.asarray(signs, dtype=np.float64)
    if not len(d) or d.shape != y.shape:
        raise InputError(f"{d.size} decisions and {y.size} labels; expected as many, one at least")
    count = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=np.float64)
    scale = float(np.std(d)) or 1.0
    work = (d / scale, y > 0, count)
    bounds = [(1e-4, _MOST), (1e-4, _MOST), (0.0, 1e3), (-30.0, 30.0)]
    best = None
    for rate in _FIRST_RATES:
        first = np.array([rate, rate, 2.0, 0.0])
        found = minimize(_surprise, first, work, method="L-BFGS-B", jac=True, bounds=bounds)
        if best is None or found.fun < best.fun:
            best = found
    assert best is not None
    positive, negative, slope, intercept = best.x.tolist()
    return LabelNoise(positive, negative, slope / scale, intercept)


def _surprise(at: Floats, d: Floats, given: Floats, count: Floats) -> tuple[float, Floats]:
    """Return minus the logarithm of the likelihood and of what is known before, and its slope."""
    from scipy.special import expit

    positive, negative, slope, intercept = at
    up = expit(slope * d + intercept)
    room = 1 - positive - negative
    q = np.clip(negative + room * up, 1e-12, 1 - 1e-12)
    value = -float((count * np.log(np.where(given, q, 1 - q))).sum())
    pull = count * (q - given) / (q * (1 - q))
    bend = pull * room * up * (1 - up)
    pulled = float((pull * up).sum())
    gradient = np.array([-pulled, pull.sum() - pulled, (bend * d).sum(), bend.sum()])
    for place in (0, 1):
        rate = at[place]
        value -= _WRONG * float(np.log(rate)) + (_SEEN - _WRONG) * float(np.log1p(-rate))
        gradient[place] += (_SEEN - _WRONG) / (1 - rate) - _WRONG / rate
    return value, gradient
