"""The objective and the 0-1 risk on the way of one step, from the rows it was fitted to."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from qcompile.moments.local import fit_around, smoothed_risks
from qcompile.moments.unit_rows import UnitRows
from qcompile.report.consistency import same_energies, some_states
from qcompile.stages.arrays import Floats
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.local_fit import Around
from qcompile.stages.problem import Problem
from qcompile.stages.samples import Samples
from qcompile.stages.step import Step
from qcompile.training.descent import descend_smoothly
from qcompile.training.risks import Risk

__all__ = ["are_rows_of_step", "step_risks"]


def are_rows_of_step(problem: Problem, rows: Dataset) -> bool:
    """Whether the polynomial fitted to the rows around the centre has the problem's energies."""
    step, around = problem.encoding, problem.around
    if not isinstance(step, Step) or around is None or rows.features != step.features:
        return False
    if problem.source.rows not in (None, len(rows)):
        return False
    fit = fit_around(
        rows,
        step.centre,
        around.width,
        degree=around.degree,
        smoothing=around.smoothing,
        l2=around.l2,
        block=step.members,
    )
    states = some_states(problem)
    steps = (problem.decode(states) - np.array(step.centre))[:, step.members]
    return same_energies(fit(steps), problem.score(states), problem.dropped)


def step_risks(
    problem: Problem, samples: Samples, classifier: Classifier, rows: Dataset
) -> Iterable[Risk]:
    """Return the risks before and after a step, and of what descent finds from 0."""
    step, around = problem.encoding, problem.around
    assert isinstance(step, Step) and around is not None
    unit = UnitRows.of(rows)

    def risk(name: str, weights: Floats) -> Risk:
        return Risk(name, _objective(unit, weights, around), rows.error(weights))

    yield risk("before the step", np.array(step.centre))
    yield risk("lowest state found", problem.decode(samples.best))
    yield risk("returned", classifier.weights)
    if around.smoothing == 1:
        weights, _ = descend_smoothly(unit, around.l2)
        yield risk("descent (L-BFGS) from 0", weights)


def _objective(unit: UnitRows, weights: Floats, around: Around) -> float:
    """Return F: the risk of weights drawn around these, plus their price."""
    price = around.l2 / 2 * float(weights @ weights)
    # a smaller smoothing is the same as longer weights; without any it is the 0-1 risk
    scaled = weights / max(around.smoothing, 1e-9)
    return float(smoothed_risks(unit, scaled[None])[0]) + price
