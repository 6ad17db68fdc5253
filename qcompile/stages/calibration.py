"""The probability of the positive label, by the decision of a classifier."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.display import Displayed

__all__ = ["Calibration"]


@dataclass(frozen=True, repr=False)
class Calibration(Displayed):
    """A sigmoid of the decision (Platt): P(positive) = 1 / (1 + exp(-(slope d + intercept))).

    >>> Calibration(2.0, 0.0).probabilities([0.0, 1e9, -1e9])
    array([0.5, 1. , 0. ])
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept)):
            raise InputError(
                f"calibration with slope {self.slope:g} and intercept {self.intercept:g}; "
                "expected finite numbers"
            )

    def _line(self) -> str:
        return f"slope {self.slope:.4g}, intercept {self.intercept:.4g}"

    def _facts(self) -> Mapping[str, object]:
        return {"slope": self.slope, "intercept": self.intercept}

    def logits(self, decisions: ArrayLike) -> Floats:
        """Return the logarithm of the odds of the positive label for each decision."""
        with np.errstate(over="ignore"):  # beyond the largest number the probability is 0 or 1
            return np.asarray(self.slope * np.asarray(decisions, np.float64) + self.intercept)

    def probabilities(self, decisions: ArrayLike) -> Floats:
        """Return the probability of the positive label for each decision."""
        return np.asarray(np.exp(self.log_probabilities(decisions)))

    def log_probabilities(self, decisions: ArrayLike, *, positive: bool = True) -> Floats:
        """Return the logarithm of the probability of the positive label, or of the negative one.

        It is exact where the probability itself is too small for a number.
        """
        logits = self.logits(decisions)
        return np.asarray(-np.logaddexp(0.0, -logits if positive else logits))
