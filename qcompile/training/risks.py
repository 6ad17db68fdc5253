"""The objective and the 0-1 risk of classifiers on rows: where accuracy is lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qcompile.objective.cubic import Cubic
from qcompile.stages.arrays import Floats
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.problem import Problem
from qcompile.stages.record import Record
from qcompile.stages.samples import Samples

__all__ = ["Risk", "descend", "objective_of", "risks"]


# Up to this many features the continuous minimum is searched from several starts.
_CONTINUOUS_FEATURES = 400


@dataclass(frozen=True)
class Risk(Record):
    """The objective of a classifier and its share of wrong answers on the training rows."""

    classifier: str
    objective: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key."""
        return {
            "classifier": self.classifier,
            "objective": self.objective,
            "0-1 risk": self.error,
        }


def objective_of(rows: Dataset, loss: Loss, weights: Floats) -> float:
    """Return the mean loss of the rows plus the regulariser."""
    return float(rows.mean(loss(rows.margins(weights)))) + loss.l2 / 2 * float(weights @ weights)


def risks(
    rows: Dataset,
    moments: Moments,
    loss: Loss,
    problem: Problem,
    samples: Samples,
    classifier: Classifier,
) -> Iterable[Risk]:
    """Return the risks of four classifiers, which show where accuracy is lost.

    They are the best with continuous weights, the same rounded to the levels of the bits, the
    lowest state that was found, and the classifier that was returned.
    """
    encoding = problem.encoding
    assert encoding is not None

    def risk(name: str, weights: Floats) -> Risk:
        return Risk(name, objective_of(rows, loss, weights), rows.error(weights))

    if loss.order <= 3 and moments.features <= _CONTINUOUS_FEATURES:
        _, point = Cubic.of(moments, loss).lowest(loss.range_)
        continuous = point * loss.prior_std
        yield risk("best continuous", continuous)
        yield risk("rounded to the grid", encoding.decode(encoding.encode(continuous)))
    else:
        continuous = descend(rows, loss, problem.decode(samples.best))
        yield risk("best continuous near it", continuous)
        yield risk("that rounded to the grid", encoding.decode(encoding.encode(continuous)))
    yield risk("lowest state found", problem.decode(samples.best))
    yield risk("returned", classifier.weights)


def descend(rows: Dataset, loss: Loss, start: Floats) -> Floats:
    """Return a local minimum of the objective within the range of the weights."""
    from scipy.optimize import minimize

    slopes = np.polynomial.polynomial.polyder(np.array(loss.coefficients))

    def objective(weights: Floats) -> tuple[float, Floats]:
        margins = rows.margins(weights)
        push = np.polynomial.polynomial.polyval(margins, slopes) * rows.y / rows.total
        if rows.weights is not None:
            push = push * rows.weights
        slope = np.asarray(rows.x.T @ push) + loss.l2 * weights
        return objective_of(rows, loss, weights), slope

    bounds = [(-loss.zeta, loss.zeta)] * len(start)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)
