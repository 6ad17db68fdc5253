"""Judges of Figure 4: agreement with the paper, and comparisons of two methods over folds.

All of them take the tables as they were written, so that every count of the report can be made
again from the CSV files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .methods import CONVEX

__all__ = ["Paired", "best_convex", "folds_of", "paired", "within_bar", "within_two_samples"]

Row = dict[str, str]
Floats = Sequence[float] | NDArray[np.float64]
Place = tuple[str, int]  # a set and a label noise in percent
# Variance of a mean over k folds whose training sets overlap, in units of the variance of a fold:
# 1/k + rows to test / rows to train (Nadeau and Bengio, Machine Learning 52, 2003).
_TEN_FOLDS = 1 / 10 + 1 / 9
_NORMAL = 1.96


def within_bar(row: Row) -> bool:
    """Whether our mean is at or below the paper's mean plus its error bar."""
    limit = float(row["paper_test_error_percent"]) + float(row["paper_error_bar_percent"])
    return float(row["test_error_percent"]) <= limit + 1e-9


def within_two_samples(row: Row) -> bool:
    """Whether our mean is at or below the paper's, but for what both error bars explain.

    The bars are standard deviations over ten folds; each mean has the corrected standard error.
    """
    both = float(row["error_bar_percent"]) ** 2 + float(row["paper_error_bar_percent"]) ** 2
    room = _NORMAL * math.sqrt(_TEN_FOLDS * both)
    gap = float(row["test_error_percent"]) - float(row["paper_test_error_percent"])
    return gap <= room + 1e-9


@dataclass(frozen=True)
class Paired:
    """One method against another over the same folds: negative differences are better."""

    difference: float
    standard_error: float  # of the mean difference, without correction
    p: float  # one-sided, corrected for overlapping training sets

    @property
    def no_worse(self) -> bool:
        """Whether the mean difference is at most one standard error."""
        return self.difference <= self.standard_error + 1e-9

    @property
    def clearly_better(self) -> bool:
        """Whether the corrected test says better, at 5%."""
        return self.p < 0.05


def paired(ours: Floats, theirs: Floats) -> Paired:
    """Compare the errors of two methods on the same folds."""
    from scipy.stats import t as student

    gaps = np.subtract(ours, theirs)
    count, mean = len(gaps), float(np.mean(gaps))
    variance = float(np.var(gaps, ddof=1))
    if variance < 1e-18:
        return Paired(mean, 0.0, 0.0 if mean < 0 else 1.0)
    corrected = math.sqrt(variance * (1 / count + 1 / (count - 1)))
    chance = float(student.cdf(mean / corrected, count - 1))
    return Paired(mean, math.sqrt(variance / count), chance)


def folds_of(rows: Sequence[Row], split: int = 0) -> dict[tuple[str, Place], list[float]]:
    """Return the errors of the folds by method and place."""
    found = {}
    for row in rows:
        if int(row["split"]) == split:
            place = row["dataset"], int(row["label_noise_percent"])
            errors = [float(v) for k, v in row.items() if k.startswith("fold_") and v != ""]
            found[row["method"], place] = errors
    return found


def best_convex(folds: dict[tuple[str, Place], list[float]], place: Place) -> str | None:
    """Return the convex method with the least mean test error, if all of them were run."""
    known = {name: folds.get((name, place)) for name in CONVEX}
    if not all(known.values()):
        return None
    return min(known, key=lambda name: float(np.mean(known[name] or [])))
