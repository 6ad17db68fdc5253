"""Dataset -> Classifier: training in rounds, or by one polynomial as in the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from qcompile.data.given import DataSource
from qcompile.data.options import load_data
from qcompile.data.prepare import RAW, PrepareOptions
from qcompile.data.split import Parts, prepare_alike, set_aside
from qcompile.data.weights import ClassWeight, as_counts, weighted
from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.moments.accumulate import moments_of
from qcompile.objective.decode import decode
from qcompile.objective.fit import LossOptions, fit_loss_with, needs_fit
from qcompile.objective.judgement import judge
from qcompile.runtime import cluster
from qcompile.runtime.progress import Progress, shown_by
from qcompile.runtime.timing import passing
from qcompile.solvers.options import ANNEALING, SolveOptions
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.machine import Machine
from qcompile.stages.samples import Samples
from qcompile.training.calibrate import calibrate
from qcompile.training.in_rounds import RoundsTask, train_in_rounds
from qcompile.training.l2_path import FOLDS
from qcompile.training.leap_cost import TrainingCost
from qcompile.training.leap_machine import LeapMachine, leap_machine_of
from qcompile.training.on_leap import train_on_leap
from qcompile.training.options import OptionsByName, TrainOptions
from qcompile.training.risks import risks
from qcompile.training.rounds import RoundOptions
from qcompile.training.search import BITS, Clock, Task, goes_over_margins, search_lowest
from qcompile.training.trained import Trained, counted_rows

__all__ = ["METHODS", "Trained", "default_search", "train"]


METHODS = ("auto", "rounds", "paper")
# Of a round: the loop forgives an answer that is not the lowest.
_ROUND_READS, _TABU_READS, _OTHER_READS = 8, 10, 100


def default_search(method: str, solver: Any = "anneal", seed: int = 0) -> SolveOptions:
    """Return how to search where nothing is said: little in a round, more in one problem."""
    if method == "rounds" and solver in ANNEALING:
        return SolveOptions(solver, _ROUND_READS, seed=seed)
    few = method == "rounds" and solver == "tabu"  # each of its reads takes a fixed time
    return SolveOptions(solver, _TABU_READS if few else _OTHER_READS, seed=seed)


def train(
    data: DataSource,
    *,
    method: str = "auto",
    bits: int | None = None,
    l0: float = 0.0,
    l2: float | str | Sequence[float] | None = None,
    loss: LossOptions | None = None,
    rounds: RoundOptions | int | None = None,
    options: SolveOptions | None = None,
    machine: MachineSource | LeapMachine | None = None,
    validation: Dataset | float = 0.0,
    test: Dataset | float = 0.0,
    preparation: PrepareOptions | Mapping[str, Any] | None = None,
    class_weight: ClassWeight = None,
    begin: Classifier | None = None,
    probabilities: bool = True,
    folds: int = FOLDS,
    time_limit: float = math.inf,
    seed: int = 0,
    confirm: Callable[[TrainingCost], bool] | None = None,
    progress: Progress | None = None,
    client: Any = None,
    **by_name: Unpack[TrainOptions],
) -> Trained:
    """Train a classifier: in rounds, or by one polynomial as in the paper.

    `data` is a `Dataset`, or what `read` takes: a file, a table, rows and labels. Options have the
    names that they have in `compile`, `solve` and the command line, such as `order=6`,
    `features=5`, `solver="neal"` or `starts=3`. They replace fields of `loss`, `preparation`,
    `options` and `rounds`, where whole records of options can be given; `rounds` may also be their
    number.

    `method` is "rounds" or "paper"; "auto" is "paper" if `bits`, `l0`, `loss` or an option of the
    loss is given, which only that method has, and "rounds" otherwise. `options` say how to search:
    in rounds the solver may also be "descent", which is L-BFGS without bits. `l2` is the price of
    the weights in rounds: a number, "cv", or numbers to choose from by cross-validation with
    `folds` folds; None needs no search. `machine` is the machine that the solver "mock" stands for.

    With `machine` "leap", or a `LeapMachine`, a QPU of Leap makes the rounds. The training is then
    one job: ``resume(found.job.id)`` continues it after any interruption. `confirm` is called with
    the cost; nothing is sent if it returns False.

    `validation` and `test` are data sets prepared in the same way, or shares of `data` to set
    aside. `preparation` holds options of `prepare` for data that are not prepared yet: parts are
    set aside first, and features are chosen and scaled by the training rows alone. Raw data are
    scaled (robust) and get a constant column unless `preparation` says otherwise. Rows count by
    their weights, as if each were there so many times, and `class_weight` ("balanced", or a number
    for each label) multiplies those of the training rows. With validation
    data the best of the lowest weights is chosen by them. `progress(done, total)` counts rounds,
    folds, or restarts of the search; with a Dask `client` its workers make the sums over the rows,
    the folds, or the restarts.

    The classifier has a calibration for `Classifier.probabilities` unless that is off: in rounds
    from decisions about rows that were held out in turn, in the paper's method from the validation
    rows, if any. Rounds may `begin` at a classifier of an earlier training.

    >>> from qcompile import read
    >>> found = train(read("breast-cancer"), test=0.3, seed=1)
    >>> found.method, found.errors["test"] < 0.06 < found.baseline
    ('rounds', True)
    >>> train("breast-cancer", order=3, bits=2, features=5).method
    'paper'
    """
    named = OptionsByName(dict(by_name))
    rounds_given = rounds is not None
    loss, rounds = named.loss(loss), named.rounds(rounds)
    method = _method(method, bits, l0, loss)
    if isinstance(l2, str) and l2 != "cv":
        raise InputError(f"l2 {l2!r}; expected a number, numbers to choose from, or 'cv'")
    if method == "paper" and begin is not None:
        raise InputError('begin= belongs to method="rounds"; the paper\'s method has no start')
    if method == "paper" and rounds is not None:
        raise InputError('rounds= belongs to method="rounds"; leave out the parameters of "paper"')
    if isinstance(data, Dataset):
        named.check_read()
    else:
        data = load_data(data, named.reading(seed))
    wanted = None if preparation is None else PrepareOptions.of(preparation)
    if wanted is None and data.preparation.is_identity:
        wanted = RAW
    wanted = named.preparation(wanted)
    options = named.search(options or default_search(method, _named_solver(named, machine), seed))
    qpu = leap_machine_of(machine, options.solver)
    if qpu is not None and method == "paper":
        raise InputError(
            "a training on Leap is in rounds: leave out bits=, l0= and the options of the loss, or "
            "send one problem of the paper's method with submit()"
        )
    chip = None
    if qpu is None and machine is not None and not isinstance(machine, LeapMachine):
        chip = load_machine(machine)
    raw = set_aside(data, validation, test, seed=seed)
    raw = as_counts(weighted(raw[0], class_weight=class_weight)), *raw[1:]
    with cluster.using(client):
        if method == "paper":
            price = _paper_l2(l2)
            loss = loss or LossOptions()
            loss = loss if price is None else replace(loss, l2=price)
            parts = raw if wanted is None else prepare_alike(raw, wanted)
            bits = BITS if bits is None else bits
            return _by_one_polynomial(parts, bits, l0, loss, options, chip, progress)
        parts = raw if wanted is None else prepare_alike(raw, wanted)
        settings = rounds or RoundOptions()
        settings = replace(settings, time_limit=min(settings.time_limit, time_limit))
        if isinstance(l2, float | int):
            settings = replace(settings, l2=float(l2))
        work = RoundsTask(
            *parts,
            raw=raw[0],
            preparation=wanted,
            options=settings,
            solver=options,
            machine=chip,
            cross_validate=l2 is not None and not isinstance(l2, float | int),
            path=None if l2 is None or isinstance(l2, float | int | str) else tuple(l2),
            folds=folds,
            seed=seed,
            begin=begin,
            probabilities=probabilities,
        )
        with shown_by(progress):
            if qpu is not None:
                return train_on_leap(work, qpu, rounds_given=rounds_given, confirm=confirm)
            return train_in_rounds(work)


def _named_solver(named: OptionsByName, machine: Any) -> Any:
    """Return the solver that was named; on Leap the QPU is the solver."""
    on_leap = machine == "leap" or isinstance(machine, LeapMachine)
    return machine if on_leap and named.solver == "anneal" else named.solver


def _method(method: str, bits: int | None, l0: float, loss: LossOptions | None) -> str:
    """Return "rounds" or "paper"."""
    if method not in METHODS:
        raise InputError(f"method {method!r}; expected one of {', '.join(METHODS)}")
    given = bits is not None or bool(l0) or loss is not None
    if method == "rounds" and given:
        raise InputError(
            'bits=, l0= and loss= belong to method="paper"; rounds have l2= and rounds='
        )
    return ("paper" if given else "rounds") if method == "auto" else method


def _paper_l2(l2: float | str | Sequence[float] | None) -> float | None:
    if l2 is None or isinstance(l2, float | int):
        return None if l2 is None else float(l2)
    raise InputError(
        'l2 of method="paper" is a number; use cross_validate() to choose it, or method="rounds"'
    )


def _by_one_polynomial(
    parts: Parts,
    bits: int,
    l0: float,
    loss: LossOptions,
    options: SolveOptions,
    machine: Machine | None,
    progress: Progress | None,
) -> Trained:
    """Train by the minimum of one polynomial over all classifiers.

    If the range of weights is "auto" and the search ends at a classifier that the loss rewards for
    wrong answers, it is repeated with half of the range.
    """
    rows, checked, tested = parts
    clock = Clock()
    on_examples = goes_over_margins(rows, bits, loss.degree, options)
    degree = 1 if on_examples and loss.degree % 2 == 0 else loss.degree
    with passing("moments"):
        moments = moments_of(rows, degree, fit=needs_fit(loss))
    clock.stage("moments", f"{len(rows):,} rows, {rows.features:,} features")
    with passing("fit loss"):
        fitted = fit_loss_with(moments, loss)
    clock.stage("loss", f"order {fitted.order}, range {fitted.range_:.3g}")
    task = Task(rows, moments, bits, l0, on_examples, options, machine)
    narrow = loss.weight_range == "auto"
    with shown_by(progress):
        samples, problem, fitted = search_lowest(task, fitted, narrow, clock)
    with passing("decode"):
        classifier = decode(problem, samples, validation=checked)
    if checked is not None:
        classifier = calibrate(classifier, checked)
    rank, energy = classifier.source.rank, classifier.source.energy
    assert rank is not None and energy is not None  # `decode` knows both
    clock.stage("decode", f"state {rank + 1} of the {len(samples)} lowest")
    named = {"train": rows, "validation": checked, "test": tested}
    errors = {
        name: part.error(classifier.weights) for name, part in named.items() if part is not None
    }
    with passing("compare risks"):
        compared = tuple(risks(rows, moments, fitted, problem, samples, classifier))
    return Trained(
        classifier=classifier,
        loss=fitted,
        problem=problem,
        samples=samples,
        stages=tuple(clock.stages),
        risks=compared,
        errors=errors,
        baseline=rows.baseline_error,
        l2=fitted.l2,
        notes=(
            *fitted.notes,
            *judge(problem, classifier.weights, energy, rows).notes,
            *_fewer_reads(samples, options),
        ),
        rows=counted_rows(named),
    )


def _fewer_reads(samples: Samples, options: SolveOptions) -> list[str]:
    """Return a note if fewer restarts were made than were asked for."""
    made = samples.info.get("reads", options.reads)
    over_margins = samples.info.get("space") == "margins" and options.sweeps is None
    if made >= options.reads or not over_margins:
        return []
    return [
        f"{made:,} of {options.reads:,} reads were made, because each visits every row many times: "
        "give sweeps= too for all of them"
    ]
