"""Train on a QPU of Leap: as one job, with the cost known first, and resumed after any crash."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from qcompile.errors import InputError, LeapError, QcompileError
from qcompile.leap import owners
from qcompile.leap.client import Leap, connect
from qcompile.leap.folder import jobs_folder
from qcompile.leap.job_store import alone_in, new_job_id
from qcompile.leap.records import CANCELLED
from qcompile.leap.retry import Patience
from qcompile.leap.submission import cancel, check_account
from qcompile.runtime.progress import News, news_to
from qcompile.solvers.restarts import check_counts
from qcompile.stages.display import many
from qcompile.training.in_rounds import RoundsTask, check_rows, train_in_rounds
from qcompile.training.leap_cost import (
    TrainingCost,
    check_budget,
    rounds_on,
    size_on,
    training_cost,
)
from qcompile.training.leap_job import TrainingJob, create_training
from qcompile.training.leap_machine import LeapMachine
from qcompile.training.leap_steps import BUDGET, LeapSteps, Link
from qcompile.training.trained import Trained

__all__ = [
    "Access",
    "cancel_training",
    "cost_on_leap",
    "resume_training",
    "status_of",
    "train_on_leap",
]


_log = logging.getLogger("qcompile")


@dataclass(frozen=True)
class Access:
    """How to connect to the solver of a training that exists; by default as when it was begun."""

    profile: str | None = None
    region: str | None = None
    same_account: bool = False
    patience: Patience | None = None
    timeout: float = 3600.0


def train_on_leap(
    work: RoundsTask,
    machine: LeapMachine,
    *,
    rounds_given: bool = True,
    confirm: Callable[[TrainingCost], bool] | None = None,
) -> Trained:
    """Train in rounds with a QPU as the solver; all of it is one job.

    Unless `rounds_given`, there are 40 rounds for each block of weights. `confirm` is called with
    the cost; nothing is sent if it returns False. After any interruption ``resume(job.id)``
    continues.
    """
    _check(work)
    with _opened(machine) as leap:
        work, cost = _planned(work, machine, leap, rounds_given)
        if confirm is not None and not confirm(cost):
            raise InputError("nothing was sent: the cost was not confirmed")
        training = _new_training(work, machine, cost, leap)
        _log.info("job %s", training.id)
        with Link(lambda: nullcontext(leap)) as link:
            return _run(training, link)


def cost_on_leap(
    work: RoundsTask, machine: LeapMachine, *, rounds_given: bool = True
) -> TrainingCost:
    """Return what a training would cost on a QPU in its present state; nothing is sent."""
    _check(work)
    with _opened(machine) as leap:
        return _planned(work, machine, leap, rounds_given)[1]


def _opened(machine: LeapMachine) -> AbstractContextManager[Leap]:
    """Connect to the QPU that the settings name."""
    return connect(
        "qpu",
        solver=machine.solver,
        profile=machine.profile,
        region=machine.region,
        patience=machine.patience,
        timeout=machine.timeout,
    )


def _planned(
    work: RoundsTask, machine: LeapMachine, leap: Leap, rounds_given: bool
) -> tuple[RoundsTask, TrainingCost]:
    """Return the training with its number of rounds, and what it costs."""
    features = work.rows.features
    if not rounds_given:
        size = size_on(leap, features, work.options)
        work = replace(work, options=replace(work.options, rounds=rounds_on(features, size)))
    cost = training_cost(leap, features, work.options, work.solver, machine.seconds)
    check_budget(cost)
    return work, cost


def _check(work: RoundsTask) -> None:
    """Raise InputError for what a training on Leap does not do, before anything is asked of it."""
    if work.cross_validate:
        raise InputError(
            "cross-validation on Leap would pay for a training of every fold: choose l2= on this "
            'computer first, or use PolynomialLossClassifier(solver="leap") in a grid search'
        )
    if work.options.degree != 2:
        raise InputError("degree 3 of a step needs ancillas; use steps of degree 2")
    check_counts(work.solver.reads, work.solver.sweeps, work.solver.keep)
    if work.solver.sweeps is not None:
        raise InputError("sweeps= with a QPU, which has none; leave it out")
    check_rows(work.rows)


def _new_training(
    work: RoundsTask, machine: LeapMachine, cost: TrainingCost, leap: Leap
) -> TrainingJob:
    """Write the folder of a training; nothing was sent before."""
    created = datetime.now(UTC)
    name, place = new_job_id(created), jobs_folder(machine.jobs)
    training = TrainingJob(
        folder=place / name,
        id=name,
        label=machine.label,
        created=created.isoformat(timespec="seconds"),
        solver=leap.identity,
        endpoint=leap.endpoint,
        account=leap.fingerprint(name),
        chain_strength=machine.chain_strength,
        digests={},
        source=work.rows.source.name or "",
        profile=machine.profile or "",
        region=machine.region or "",
        budget=machine.seconds,
        options=work.options,
        search=replace(work.solver, solver="leap", parameters=dict(work.solver.parameters or {})),
        cost=cost,
    )
    parts = {"train": work.rows, "validation": work.validation, "test": work.test}
    with alone_in(place):
        known = {name: part for name, part in parts.items() if part is not None}
        training = create_training(training, known, again=machine.again)
    _claim(training)
    return training


def _claim(training: TrainingJob) -> None:
    """Record that the training belongs to its present folder."""
    with owners.alone_with(training):
        owners.claim(training)


def _run(
    training: TrainingJob, link: Link, change: Callable[[LeapSteps], None] | None = None
) -> Trained:
    """Make all rounds of a training from its folder; those that are on disk are not sent."""
    with training.locked(), _status_in_errors(training):
        parts = training.rows()  # also of a new training: the same numbers in the same order
        steps = LeapSteps(training, parts["train"].features, link)
        if change is not None:
            change(steps)
        work = RoundsTask(
            parts["train"],
            parts.get("validation"),
            parts.get("test"),
            raw=parts["train"],
            preparation=None,
            options=training.options,
            solver=training.search,
            seed=training.search.seed,
            inner=steps,
            keep=steps.keep,
        )
        found = train_in_rounds(work)
        steps.finish(found.classifier, found.objective, len(found.rounds), found.ended)
    if found.ended == "interrupted":
        _log.warning("job %s: %s", training.id, status_of(training))
    return replace(found, job=training)


def resume_training(
    training: TrainingJob,
    *,
    solver: str | None = None,
    budget: float | None = None,
    access: Access | None = None,
    progress: News | None = None,
) -> Trained:
    """Continue a training with the round it was in, and return its result.

    A round that may have been sent is looked up first, and answers that are on disk are not
    fetched again; a training that has ended needs no network. `solver` names another QPU to go on
    with: a round that waits for the old one is cancelled, and a new one is made with new chains.
    """
    how = access or Access()
    original = owners.original_of(training)
    if original is not None:
        raise LeapError(
            f"job {training.id}: {training.folder} is a copy of {original}: resume it there, or "
            "delete that folder and resume it here"
        )
    _claim(training)

    def opened() -> AbstractContextManager[Leap]:
        return _connected(training, how, solver)

    with Link(opened) as link, news_to(progress):
        return _run(training, link, lambda steps: steps.change(solver, budget))


@contextmanager
def _connected(training: TrainingJob, how: Access, solver: str | None) -> Iterator[Leap]:
    """Connect to the present solver of a training, with the account that it was begun with."""
    with connect(
        "qpu",
        solver=solver or training.progress.solver or training.solver.name,
        profile=how.profile or training.profile or None,
        region=how.region or training.region or None,
        patience=how.patience,
        timeout=how.timeout,
    ) as leap:
        check_account(training, leap, how.same_account)
        yield leap


def cancel_training(training: TrainingJob, *, access: Access | None = None) -> list[str]:
    """End a training: make no more rounds, and cancel the one that has not run yet.

    Return the stage of the training. What was learnt is kept, and ``resume(job.id)`` returns it.
    """
    how = access or Access()
    with training.locked(), _status_in_errors(training):
        known = training.progress
        if not known.ended:
            training.record(replace(known, ended=CANCELLED))
        current = training.open_round
        if current is not None and training.progress.ended == CANCELLED:
            cancel(
                current,
                profile=how.profile,
                region=how.region,
                same_account=how.same_account,
                patience=how.patience,
            )
        return [training.stage]


def status_of(training: TrainingJob) -> str:
    """Return what a training has learnt, and the command that continues it, for people."""
    known = training.progress
    resume = f"qcompile resume {training.name}"
    if known.ended == BUDGET:
        return f"it has spent its budget; go on with {resume} and a larger budget="
    if known.ended:
        return f"it has ended ({known.ended}); fetch the classifier with: {resume}"
    value = "" if known.objective is None else f", F {known.objective:.5f}"
    spent = f"{many(known.rounds, 'round')} kept{value}, {known.seconds:.4g} s of QPU access time"
    return f"{spent}; continue with: {resume}"


@contextmanager
def _status_in_errors(training: TrainingJob) -> Iterator[None]:
    """Add to every error what is kept, and the command that continues from there."""
    try:
        yield
    except KeyboardInterrupt:
        _log.warning("job %s: %s", training.id, status_of(training))
        raise
    except QcompileError as error:
        text = str(error).removeprefix(f"job {training.id}: ")
        code = getattr(error, "code", None)
    else:
        return
    other = "" if training.progress.ended else " (on another solver: solver=NAME)"
    raise LeapError(f"job {training.id}: {text}; {status_of(training)}{other}", code)
