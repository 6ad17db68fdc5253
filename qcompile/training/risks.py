"""What a classifier pays on rows, by several losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from qcompile.objective.cubic import Cubic
from qcompile.stages.arrays import Floats
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = ["descend", "objective_of", "risks"]


_CONTINUOUS_FEATURES = 400


def objective_of(rows: Dataset, loss: Loss, weights: Floats) -> float:
    """Mean loss of the examples and the regulariser."""
    return float(np.mean(loss(rows.margins(weights)))) + loss.l2 / 2 * float(weights @ weights)


def risks(
    rows: Dataset,
    moments: Moments,
    loss: Loss,
    problem: Pubo | Qubo,
    samples: Samples,
    classifier: Classifier,
) -> Iterable[Mapping[str, Any]]:
    """Say where accuracy is lost: continuous, rounded to the grid, best state, returned one."""
    encoding = problem.encoding
    assert encoding is not None

    def row(name: str, weights: Floats) -> Mapping[str, Any]:
        value = objective_of(rows, loss, weights)
        wrong = rows.error(weights)
        return {"classifier": name, "objective": value, "0-1 risk": wrong}

    if loss.order <= 3 and moments.features <= _CONTINUOUS_FEATURES:
        _, point = Cubic.of(moments, loss).lowest(loss.range_)
        continuous = point * loss.prior_std
        yield row("best continuous", continuous)
        yield row("rounded to the grid", encoding.decode(encoding.encode(continuous)))
    else:
        continuous = descend(rows, loss, problem.decode(samples.best))
        yield row("best continuous near it", continuous)
        yield row("that rounded to the grid", encoding.decode(encoding.encode(continuous)))
    yield row("lowest state found", problem.decode(samples.best))
    yield row("returned", classifier.weights)


def descend(rows: Dataset, loss: Loss, start: Floats) -> Floats:
    """Follow the slope of the objective within the range of the weights."""
    from scipy.optimize import minimize

    slopes = np.polynomial.polynomial.polyder(np.array(loss.coefficients))

    def objective(weights: Floats) -> tuple[float, Floats]:
        margins = rows.margins(weights)
        push = np.polynomial.polynomial.polyval(margins, slopes) * rows.y / len(rows)
        slope = np.asarray(rows.x.T @ push) + loss.l2 * weights
        return objective_of(rows, loss, weights), slope

    bounds = [(-loss.zeta, loss.zeta)] * len(start)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)
