"""Train on rows that come in batches: what is kept of the earlier ones does not grow with them.

In rounds every batch leaves a quadratic of the weights (`memory.py`), and its rows are gone. In the
paper's method its moments are added up, so that the result is that of all rows together. The first
batch says how rows are prepared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qcompile.data.prepare import PrepareOptions, prepare
from qcompile.data.weights import as_counts
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.moments.unit_rows import UnitRows
from qcompile.objective.decode import decode
from qcompile.objective.fit import LossOptions, fit_loss_with, needs_fit
from qcompile.runtime import cluster
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.calibration import Calibration
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.source import ClassifierSource
from qcompile.training import search
from qcompile.training.calibrate import calibrated_by_folds, fit_calibration
from qcompile.training.l2_path import inner_of, train_once
from qcompile.training.memory import Memory, memory_of
from qcompile.training.rounds import Found, RoundOptions, Task
from qcompile.training.start import least_squares, price_of

__all__ = ["Batches", "begun", "paper_batch", "rounds_batch"]


# A memory is a matrix of all weights.
_MOST_WEIGHTS = 2000
# Decisions about rows before they were trained on, which a calibration is fitted to.
_MOST_HELD = 10_000
_FEWEST_HELD = 20


@dataclass(frozen=True, eq=False)
class Batches:
    """A classifier of all batches so far, and what is kept of them.

    `total` is how much all rows counted, `positive` and `wrong` the shares of positive rows and of
    wrong answers of the least-squares classifiers. `held` are decisions about rows before they were
    trained on, with their signs and weights.
    """

    classifier: Classifier
    rows: Dataset  # of the last batch, prepared
    total: float
    positive: float
    wrong: float
    held: Floats
    memory: Memory | None = None
    moments: Moments | None = None
    found: Found | None = None
    loss: Loss | None = None
    notes: tuple[str, ...] = ()
    l2: float | None = None


def begun(classifier: Classifier) -> Batches:
    """Return a classifier as one that begins a training in batches: of no rows so far."""
    made = classifier.preparation
    nothing = Dataset(np.zeros((0, made.features)), np.zeros(0), made)
    return Batches(classifier, nothing, 0.0, 0.0, 0.0, np.zeros((3, 0)))


def rounds_batch(
    data: Dataset,
    before: Batches | None,
    preparation: PrepareOptions,
    options: RoundOptions,
    solver: SolveOptions,
    *,
    probabilities: bool = True,
) -> Batches:
    """Train in rounds on one more batch of raw rows; the earlier ones are remembered."""
    rows = _prepared(as_counts(data), before, preparation)
    if rows.features > _MOST_WEIGHTS:
        raise InputError(
            f"{rows.features:,} weights in batches, whose memory is a matrix of all of them; "
            f"expected up to {_MOST_WEIGHTS:,}: choose features="
        )
    with cluster.locally():
        unit = UnitRows.of(rows)
        direction = least_squares(unit)
        state = _counted(rows, before, direction)
        price = options.l2
        if price is None:
            price = price_of(state.positive, state.wrong, state.total)
        task = Task(
            unit, price, options, solver, inner_of(options, solver, rows.features, None),
            rows, direction,
        )  # fmt: skip
        first = None
        if before is not None:
            first = np.array(before.classifier.weights)
            task = replace(task, only_begin=True)
        if before is not None and before.memory is not None:
            share = rows.total / state.total
            memory = before.memory * (1 - share)
            task = replace(task, rows=unit.scaled(share), memory=memory)
        found = train_once(task, first)
        made = memory_of(task.rows, found.weights, options.width)
    kept = made if task.memory is None else task.memory + made
    source = ClassifierSource(
        **vars(replace(rows.source, rows=len(rows))), method="rounds", l2=price,
        energy=found.objective, objective=found.objective, rounds=len(found.rounds),
        solver=task.inner.name, solver_seed=solver.seed,
    )  # fmt: skip
    classifier = Classifier(frozen(found.weights), rows.preparation, source)
    state = replace(state, classifier=classifier, memory=kept, found=found, l2=price)
    return _calibrated(state, data, before, preparation) if probabilities else state


def paper_batch(
    data: Dataset,
    before: Batches | None,
    preparation: PrepareOptions,
    loss: LossOptions,
    bits: int,
    l0: float,
    solver: SolveOptions,
    *,
    probabilities: bool = True,
) -> Batches:
    """Train as in the paper on the moments of all batches so far."""
    rows = _prepared(as_counts(data), before, preparation)
    moments = moments_of(rows, loss.degree, fit=needs_fit(loss))
    if before is not None and before.moments is not None:
        moments = before.moments + moments
    fitted = fit_loss_with(moments, loss)
    task = search.Task(rows, moments, bits, l0, False, solver)
    narrow = loss.weight_range == "auto"
    samples, problem, fitted = search.search_lowest(task, fitted, narrow, search.Clock())
    state = replace(
        _counted(rows, before, None),
        classifier=decode(problem, samples),
        moments=moments,
        loss=fitted,
        l2=fitted.l2,
        notes=tuple(fitted.notes),
    )
    return _calibrated(state, data, before, preparation) if probabilities else state


def _prepared(data: Dataset, before: Batches | None, preparation: PrepareOptions) -> Dataset:
    """Return a batch prepared like the first one."""
    return preparation.apply(data) if before is None else prepare(data, like=before.rows)


def _counted(rows: Dataset, before: Batches | None, direction: Floats | None) -> Batches:
    """Return what is known of all rows with those of a batch; the classifier is that before."""
    total, positive = rows.total, float(rows.mean(rows.y > 0))
    wrong = 0.0 if direction is None else rows.error(direction)
    if before is None:
        nothing = Classifier(np.zeros(rows.features), rows.preparation)
        return Batches(nothing, rows, total, positive, wrong, np.zeros((3, 0)))
    both = before.total + total
    held = np.stack([rows.x @ before.classifier.weights, rows.y, _weights(rows)])
    return replace(
        before,
        rows=rows,
        total=both,
        positive=(before.total * before.positive + total * positive) / both,
        wrong=(before.total * before.wrong + total * wrong) / both,
        held=np.concatenate([before.held, held], axis=1)[:, -_MOST_HELD:],
    )


def _weights(rows: Dataset) -> Floats:
    return np.ones(len(rows)) if rows.weights is None else rows.weights


def _calibrated(
    state: Batches, data: Dataset, before: Batches | None, preparation: PrepareOptions
) -> Batches:
    """Return the batches with a calibration of the classifier.

    It is fitted to decisions about rows that the classifier had not seen when it made them: those
    of later batches. The first batch is split into folds instead.
    """
    made: Calibration | None = state.classifier.calibration
    decisions, signs, weights = state.held
    if decisions.size >= _FEWEST_HELD and len(np.unique(signs)) == 2:
        made = fit_calibration(decisions, signs, weights)
    elif before is None:
        made = calibrated_by_folds(as_counts(data), l2=state.l2, preparation=preparation)
    elif before.classifier.calibration is not None:
        made = before.classifier.calibration
    return replace(state, classifier=replace(state.classifier, calibration=made))
