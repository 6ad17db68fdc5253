"""Train in rounds: price of the weights, the loop, the choice among the lowest, the yardstick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qcompile.data.prepare import PrepareOptions
from qcompile.errors import InputError
from qcompile.moments.unit_rows import UnitRows
from qcompile.objective.judgement import learnt_nothing, no_better
from qcompile.runtime.progress import muted
from qcompile.runtime.timing import passing
from qcompile.solvers.options import SolveOptions
from qcompile.solvers.restarts import check_counts
from qcompile.stages.arrays import Floats, are_constant, frozen
from qcompile.stages.calibration import Calibration
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.display import many
from qcompile.stages.machine import Machine
from qcompile.stages.source import ClassifierSource
from qcompile.training.calibrate import calibrated_by_folds
from qcompile.training.descent import descend_smoothly
from qcompile.training.inner import StepSolver
from qcompile.training.l2_path import (
    FOLDS,
    PATH,
    L2Trial,
    choose_l2,
    follow_path,
    inner_of,
    train_once,
)
from qcompile.training.risks import Risk
from qcompile.training.rounds import Found, RoundOptions, Task
from qcompile.training.search import Clock
from qcompile.training.start import carried_over, default_l2, least_squares
from qcompile.training.trained import Trained, counted_rows

__all__ = ["RoundsTask", "check_rows", "train_in_rounds"]


_DESCENT_STARTS = 4


@dataclass(frozen=True, eq=False)
class RoundsTask:
    """What to train in rounds on: prepared rows, and the raw rows for cross-validation.

    `path` holds the prices of the weights to choose from by cross-validation with `folds` folds;
    None takes the price of the options. `inner` makes the rounds in the place of `solver`, and
    `keep` is given the best classifier so far after every round. Rounds start at `begin` if it is
    given. Without `probabilities` no calibration is fitted.
    """

    rows: Dataset
    validation: Dataset | None
    test: Dataset | None
    raw: Dataset
    preparation: PrepareOptions | None
    options: RoundOptions
    solver: SolveOptions
    machine: Machine | None = None
    cross_validate: bool = False
    path: Sequence[float] | None = None
    folds: int = FOLDS
    seed: int = 0
    inner: StepSolver | None = None
    keep: Callable[[Classifier, Found], None] | None = None
    begin: Classifier | None = None
    probabilities: bool = True


def train_in_rounds(work: RoundsTask) -> Trained:
    """Train, choose by the validation rows if any, compare with descent, and calibrate."""
    rows = work.rows
    check_counts(work.solver.reads, work.solver.sweeps, work.solver.keep)
    check_rows(rows)
    clock = Clock()
    with passing("unit rows"):
        unit = UnitRows.of(rows)
        direction = least_squares(unit)
    clock.stage("rows", f"{len(rows):,} rows, {rows.features:,} features")
    price, trials = _price(work, direction)
    if trials:
        clock.stage("cross-validation", f"{len(trials)} values of l2, {work.folds} folds")
    options = _with_share_of_time(_with_starts(work), (work.folds + 1) * len(trials))
    inner = work.inner or inner_of(options, work.solver, rows.features, work.machine)
    first = None if work.begin is None else carried_over(work.begin, rows.preparation)
    task = Task(
        unit, price, options, work.solver, inner, rows, direction, only_begin=first is not None
    )
    if work.keep is not None:
        task = replace(task, after_round=_keeping(work, work.keep, price, inner))
    with passing("rounds"):
        found = _trained(task, trials, first)
    clock.stage(inner.name, _said(found, price))
    classifier = _chosen(work, found, price, inner)
    with passing("compare with descent"), muted():
        compared = _risks(task, found, classifier)
    with passing("calibrate"):
        classifier = replace(classifier, calibration=_calibration(work, found, price))
    parts = {"train": rows, "validation": work.validation, "test": work.test}
    errors = {name: p.error(classifier.weights) for name, p in parts.items() if p is not None}
    return Trained(
        classifier=classifier,
        loss=None,
        problem=found.problem,
        samples=found.samples,
        stages=tuple(clock.stages),
        risks=compared,
        errors=errors,
        baseline=rows.baseline_error,
        notes=tuple(_notes(rows, found, classifier, compared)),
        method="rounds",
        l2=price,
        rounds=found.rounds,
        trials=tuple(trials),
        ended=found.ended,
        rows=counted_rows(parts),
    )


def _keeping(
    work: RoundsTask, keep: Callable[[Classifier, Found], None], price: float, inner: StepSolver
) -> Callable[[Found], None]:
    """Return what is done after a round: keep the classifier that would be returned now."""
    return lambda found: keep(_chosen(work, found, price, inner), found)


def check_rows(rows: Dataset) -> None:
    """Raise InputError if there is nothing to learn from these rows."""
    if len(np.unique(rows.y)) < 2:
        raise InputError("the training rows are all of one class; expected rows of both classes")
    own = rows.x[:, : rows.features - rows.preparation.bias]
    stored = own.data if hasattr(own, "indptr") else own
    if not np.any(stored):
        raise InputError("all features are zero: every classifier has margin 0 on these data")
    if are_constant(own):
        raise InputError(
            "every column is constant, so that all rows get the same answer; expected a column "
            "with different values"
        )


def _price(work: RoundsTask, direction: Floats) -> tuple[float, list[L2Trial]]:
    """Return the price of the weights, and the trials if it was chosen by cross-validation."""
    known = work.options.l2
    if not work.cross_validate:
        return default_l2(work.rows, direction) if known is None else known, []
    path = work.path
    if path is None:
        path = [default_l2(work.rows, direction) * share for share in PATH]
    with passing("cross-validate"):
        trials = choose_l2(
            work.raw,
            path,
            _with_share_of_time(work.options, (work.folds + 1) * len(path)),
            work.solver,
            count=work.folds,
            seed=work.seed,
            preparation=work.preparation,
            machine=work.machine,
        )
    return trials[0].l2, trials


def _with_share_of_time(options: RoundOptions, trainings: int) -> RoundOptions:
    """Return the options for one of several trainings that share the time limit."""
    return replace(options, time_limit=options.time_limit / max(1, trainings))


def _with_starts(work: RoundsTask) -> RoundOptions:
    """Return the options; descent takes a few starts, as it is cheap and may end anywhere."""
    if work.solver.solver == "descent" and work.options.starts == 1:
        return replace(work.options, starts=_DESCENT_STARTS)
    return work.options


def _trained(task: Task, trials: Sequence[L2Trial], first: Floats | None) -> Found:
    """Train at the price that was chosen: along the path to it if it was chosen on one."""
    if not trials or first is not None:
        return train_once(task, first)
    path = sorted((trial.l2 for trial in trials if trial.l2 >= task.l2), reverse=True)
    return list(follow_path(task, path))[-1]


def _said(found: Found, price: float) -> str:
    """Return how a training went, in a line."""
    rounds = many(len(found.rounds), "round") if found.rounds else found.ended
    end = f", {found.ended}" if found.rounds else ""
    return f"{rounds}, objective {found.objective:.5f}, l2 {price:.3g}{end}"


def _chosen(work: RoundsTask, found: Found, price: float, inner: StepSolver) -> Classifier:
    """Return the classifier with the lowest objective, or the least validation error."""
    weights, rank, error = found.weights, 0, None
    if work.validation is not None:
        errors = work.validation.errors(found.lowest)
        rank = int(np.argmin(errors))
        weights, error = found.lowest[rank], float(errors[rank])
    value = float(found.values[rank]) if work.validation is not None else found.objective
    source = ClassifierSource(
        **vars(replace(work.rows.source, rows=len(work.rows))),
        energy=value,
        rank=rank,
        solver=inner.name,
        solver_seed=work.solver.seed,
        validation_error=error,
        method="rounds",
        objective=value,
        rounds=len(found.rounds),
        l2=price,
    )
    return Classifier(frozen(weights), work.rows.preparation, source)


def _risks(task: Task, found: Found, classifier: Classifier) -> tuple[Risk, ...]:
    """Return objective and 0-1 risk of the classifier and of what descent finds."""
    own = float(task.objective(classifier.weights)[0])
    here = Risk("trained in rounds", own, task.data.error(classifier.weights))
    if found.ended == "descent":
        return (replace(here, classifier="trained by descent"),)
    if found.ended in ("interrupted", "time limit", "cancelled"):
        return (here,)
    try:
        weights, value = descend_smoothly(task.rows, task.l2, direction=task.direction)
    except KeyboardInterrupt:  # the classifier is there already
        return (here,)
    return here, Risk("descent (L-BFGS)", value, task.data.error(weights))


def _calibration(work: RoundsTask, found: Found, price: float) -> Calibration | None:
    """Return the calibration by folds of the training rows; None for a training that was ended."""
    if found.ended in ("interrupted", "cancelled") or not work.probabilities:
        return None
    raw = work.raw if work.preparation is not None else work.rows
    try:
        return calibrated_by_folds(raw, l2=price, preparation=work.preparation, seed=work.seed)
    except KeyboardInterrupt:  # the classifier is there already
        return None


def _notes(
    rows: Dataset, found: Found, classifier: Classifier, compared: Sequence[Risk]
) -> list[str]:
    """Return what the user should know."""
    notes = []
    if learnt_nothing(rows, classifier.weights):
        notes.append(no_better(rows, classifier.weights, 'a smaller l2=, or l2="cv"'))
    if found.ended == "limit of rounds":
        notes.append("the limit of rounds= was reached before the training settled")
    if found.ended == "time limit":
        notes.append("the time_limit= was reached before the training settled")
    if found.ended == "budget":
        notes.append("the budget= was reached before the training settled: this is the best so far")
    if found.ended == "cancelled":
        notes.append("the training was cancelled: this is the best so far")
    if len(compared) > 1 and compared[1].objective < compared[0].objective - 1e-3:
        notes.append(
            f"descent (L-BFGS) finds a lower objective, {compared[1].objective:.5f} instead of "
            f"{compared[0].objective:.5f}: try more reads=, starts= or rounds="
        )
    return notes
