"""The command `train`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from qcompile.cli.options import (
    add_data_options,
    add_loss_options,
    add_machine_options,
    add_report_option,
    add_solver_options,
    dask_cluster,
    grouped,
    machine_of,
    names_machine,
    page_of,
)
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.train_leap import add_leap_options, check_place, run_on_leap, solver_at
from qcompile.cli.trained import write_trained
from qcompile.data.options import DataOptions, load_data
from qcompile.data.prepare import PrepareOptions
from qcompile.data.split import Parts, prepare_alike, set_aside
from qcompile.data.weights import as_counts, weighted
from qcompile.files import atomic
from qcompile.objective.fit import LossOptions
from qcompile.report import plot
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.solvers.options import SolveOptions
from qcompile.solvers.solve import SOLVERS
from qcompile.stages.labels import RowLabel
from qcompile.stages.machine import Machine
from qcompile.training.cross_validation import Trial, cross_validate
from qcompile.training.in_rounds import RoundsTask, train_in_rounds
from qcompile.training.l2_path import FOLDS, L2Trial
from qcompile.training.rounds import RoundOptions
from qcompile.training.search import BITS
from qcompile.training.train import METHODS, Trained, default_search, train

__all__ = ["add_commands"]


_SOLVERS = (*SOLVERS, "descent")
# Options of the paper's method and their defaults: a different value chooses that method.
_PAPER: dict[str, Any] = {
    "bits": None,
    "l0": 0.0,
    "order": None,
    "fit_to": "risk",
    "omega": None,
    "coefficients": None,
    "prior_std": None,
    "weight_range": "auto",
}
# Options that only rounds have, and their defaults.
_ROUNDS: dict[str, Any] = {
    "rounds": None,
    "time_limit": math.inf,
    "starts": 1,
    "block": None,
    "step_bits": None,
    "radius": None,
    "width": 0.5,
    "copies": 1,
}


def add_commands(commands: Any) -> None:
    """Add `train`."""
    command = add_command(commands, "train")
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the classifier as JSON")
    add_report_option(command)
    command.add_argument(
        "--plot", metavar="FILE", help="plot F, radius and width of the rounds (.png .svg .pdf)"
    )
    command.add_argument(
        "--method",
        choices=METHODS,
        default="auto",
        help="rounds, or one polynomial as in the paper; auto is paper if one of its options is "
        "given: --bits, --l0 or one of the loss (auto)",
    )
    command.add_argument(
        "--l2",
        type=_price,
        metavar="L",
        help="price of the weights; cv chooses it by cross-validation (rounds: a value that needs "
        "no search, smaller for more rows)",
    )
    _add_round_options(command)
    paper = command.add_argument_group("paper")
    paper.add_argument("--bits", type=int, metavar="D", help="bits per weight (4)")
    paper.add_argument("--l0", type=float, default=0.0, help="penalty for each nonzero weight (0)")
    _add_part_options(command)
    command.add_argument(
        "--class-weight",
        type=_class_weight,
        metavar="W",
        help="how much a training row counts by its label: balanced, or LABEL=W,LABEL=W (1 each)",
    )
    add_solver_options(command, seed=False, rounds=True)
    add_leap_options(command)
    add_machine_options(command, default=None)
    add_data_options(command)
    add_loss_options(command, l2=False)
    command.set_defaults(run=_run_train)


def _class_weight(text: str) -> dict[RowLabel, float] | str:
    """Return the weights of classes by their labels as texts."""
    if text == "balanced":
        return text
    weights: dict[RowLabel, float] = {}
    for entry in text.split(","):
        label, found, weight = entry.rpartition("=")
        try:
            if not found:
                raise ValueError
            weights[label] = float(weight)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"found {text!r}; expected balanced, or LABEL=W,LABEL=W"
            ) from None
    return weights


def _price(text: str) -> float | str:
    if text == "cv":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number or cv") from None


def _add_round_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("rounds")
    group.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="make at most N rounds (100; on Leap 40 for each block)",
    )
    group.add_argument(
        "--time-limit", type=float, default=math.inf, metavar="S", help="end after S seconds"
    )
    group.add_argument(
        "--starts", type=int, default=1, metavar="N", help="train from N starts, keep the best (1)"
    )
    group.add_argument(
        "--block",
        type=int,
        metavar="N",
        help="change at most N weights in a round (as many as the solver takes)",
    )
    group.add_argument(
        "--step-bits",
        type=int,
        metavar="D",
        help="bits of the levels of a step (one bit a weight: stay or step)",
    )
    group.add_argument(
        "--copies",
        type=int,
        default=1,
        metavar="N",
        help="solve a round for N step sizes at once: fewer rounds, each N times the work (1)",
    )
    group.add_argument("--radius", type=float, metavar="R", help="first radius of a step (auto)")
    group.add_argument(
        "--width", type=float, default=0.5, metavar="T", help="first width of the fit (0.5)"
    )


def _add_part_options(command: argparse.ArgumentParser) -> None:
    parts = command.add_argument_group("parts")
    parts.add_argument(
        "--validation",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of rows to choose by (0)",
    )
    parts.add_argument(
        "--test", type=float, default=0.0, metavar="SHARE", help="share of rows to test on (0)"
    )
    parts.add_argument(
        "--cv",
        type=int,
        metavar="K",
        help="choose l2, or a setting of --grid, by K-fold cross-validation, then train on all "
        "rows",
    )
    parts.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=A,B,...",
        help="values for order, bits, omega, l2 or weight-range; may be repeated (with --cv)",
    )


def _run_train(options: argparse.Namespace) -> None:
    written = [*filter(None, [options.output]), *page_of(options), *filter(None, [options.plot])]
    atomic.check_outputs(written, inputs=(options.data,))
    if options.grid and options.cv is None:
        raise UsageError("--grid needs --cv K: settings are compared by cross-validation")
    grid = _grid(options.grid)
    method, reason = _method(options, grid)
    _check_plot(options, method)
    check_place(options, method, _SOLVERS)
    work = _in_rounds if method == "rounds" else _as_in_the_paper
    with bar("reading"):
        raw, how = _raw_parts(options)
    parts = prepare_alike(raw, how)
    with dask_cluster(options):
        found, trials = work(options, raw, parts, how, grid)
    if found is None:  # a dry run
        return
    named = dict(zip(("train", "validation", "test"), parts, strict=True))
    write_trained(found, options, named, written, chosen=reason, trials=trials)


def _check_plot(options: argparse.Namespace, method: str) -> None:
    """Raise before any work if the picture of the rounds cannot be drawn."""
    if not options.plot:
        return
    if method != "rounds" or options.solver == "descent":
        other = "--solver descent" if method == "rounds" else "--method paper"
        raise UsageError(f"--plot shows the rounds of a training; {other} has none")
    plot.check_ending(options.plot)
    plot.check_library()


def _method(options: argparse.Namespace, grid: Mapping[str, Any]) -> tuple[str, str]:
    """Return the method, and what chose it if that was an option of the paper's method."""
    shown = _given(options, _PAPER) + [
        f"--grid {name.replace('_', '-')}" for name in grid if name != "l2"
    ]
    if options.method == "rounds" and shown:
        raise UsageError(f"{shown[0]} belongs to --method paper; leave one of them out")
    method = ("paper" if shown else "rounds") if options.method == "auto" else options.method
    others = _given(options, _ROUNDS)
    if method == "paper" and others:
        chosen = "--method paper" if options.method == "paper" else shown[0]
        raise UsageError(
            f"{others[0]} belongs to rounds, {chosen} to the paper's method; leave one of them out"
        )
    return method, f", chosen by {', '.join(shown)}" if shown and options.method == "auto" else ""


def _given(options: argparse.Namespace, group: Mapping[str, Any]) -> list[str]:
    """Return the options of a group that have another value than their default."""
    names = [name for name, default in group.items() if getattr(options, name) != default]
    return ["--" + name.replace("_", "-") for name in names]


def _in_rounds(
    options: argparse.Namespace,
    raw: Parts,
    parts: Parts,
    how: PrepareOptions,
    grid: Mapping[str, Any],
) -> tuple[Trained | None, Sequence[L2Trial]]:
    settings = RoundOptions(
        l2=options.l2 if isinstance(options.l2, float) else None,
        bits=options.step_bits,
        block=options.block,
        rounds=RoundOptions.rounds if options.rounds is None else options.rounds,
        time_limit=options.time_limit,
        starts=options.starts,
        radius=options.radius,
        width=options.width,
        copies=options.copies,
    )
    work = RoundsTask(
        *parts,
        raw=raw[0],
        preparation=how,
        options=settings,
        solver=_search("rounds", options),
        machine=_machine(options),
        cross_validate=options.l2 == "cv" or options.cv is not None,
        path=grid.get("l2"),
        folds=FOLDS if options.cv is None else options.cv,
        seed=options.seed,
    )
    if options.on == "leap":
        with bar("rounds", counted=not (options.yes or options.dry_run)):
            return run_on_leap(work, options), ()
    with bar("rounds"):
        found = train_in_rounds(work)
    return found, found.trials


def _as_in_the_paper(
    options: argparse.Namespace,
    raw: Parts,
    parts: Parts,
    how: PrepareOptions,
    grid: Mapping[str, Any],
) -> tuple[Trained, Sequence[Trial]]:
    if options.l2 == "cv":
        raise UsageError("--l2 cv is for rounds; in the paper's method use --cv K --grid l2=A,B")
    if options.solver == "descent":
        raise UsageError("--solver descent is for rounds; leave out the options of --method paper")
    solver, loss = _search("paper", options), grouped(LossOptions, options)
    bits = BITS if options.bits is None else options.bits
    trials: list[Trial] = []
    if options.cv is not None:
        with bar("cross-validate"), passing("cross-validate"):
            trials = cross_validate(
                raw[0], grid or {"bits": [bits]}, count=options.cv, bits=bits, l0=options.l0,
                loss=loss, options=solver, seed=options.seed, preparation=how,
            )  # fmt: skip
        bits, loss = trials[0].bits, trials[0].loss
    data, validation, test = parts
    with bar(solver_at(options)):
        found = train(
            data,
            method="paper",
            bits=bits,
            l0=options.l0,
            loss=loss,
            options=solver,
            machine=_machine(options),
            # rows that are to stay as they are must not look as if they were to be scaled
            preparation=PrepareOptions() if data.preparation.is_identity else None,
            validation=validation or 0.0,
            test=test or 0.0,
            seed=options.seed,
        )
    return found, trials


def _machine(options: argparse.Namespace) -> Machine | None:
    """Return the machine that the options name, if they do."""
    return machine_of(options) if names_machine(options) else None


def _search(method: str, options: argparse.Namespace) -> SolveOptions:
    """Return how to search: what was asked for, and the defaults of the method."""
    solver = solver_at(options)
    usual = default_search(method, solver, options.seed)
    reads = usual.reads if options.reads is None else options.reads
    sweeps = usual.sweeps if options.sweeps is None else options.sweeps
    return SolveOptions(solver, reads, options.keep, sweeps, options.seed)


def _raw_parts(options: argparse.Namespace) -> tuple[Parts, PrepareOptions]:
    """Read the data and set parts aside; return the raw parts, and how to prepare them.

    Parts are set aside first so that features are chosen and scaled by the training rows alone.
    """
    wanted = grouped(DataOptions, options)
    plain = replace(wanted, scale="none", features=None, bias=False)
    raw = load_data(options.data, plain)
    rows, *others = set_aside(raw, options.validation, options.test, seed=options.seed)
    wanted_weight = options.class_weight
    if isinstance(wanted_weight, Mapping) and not isinstance(raw.preparation.positive, str):
        wanted_weight = {_number(label): weight for label, weight in wanted_weight.items()}
    rows = as_counts(weighted(rows, class_weight=wanted_weight))
    return (rows, others[0], others[1]), wanted.preparation


def _number(label: RowLabel) -> RowLabel:
    """Return a label as a number, or as it is if it reads as none."""
    try:
        return float(label)
    except ValueError:
        return label


def _grid(entries: list[str]) -> dict[str, list[Any]]:
    """Return the values of each --grid NAME=A,B,..."""
    grid: dict[str, list[Any]] = {}
    kinds: dict[str, Any] = {
        "order": int, "bits": int, "omega": float, "l2": float, "weight_range": str
    }  # fmt: skip
    for entry in entries:
        name, found, values = entry.partition("=")
        name = "weight_range" if name == "range" else name.replace("-", "_")
        if not found or name not in kinds:
            raise UsageError(
                f"--grid {entry}: expected NAME=A,B,... with a name of "
                + ", ".join(kinds).replace("_", "-")
            )
        try:
            numbers = [kinds[name](value) for value in values.split(",")]
        except ValueError:
            raise UsageError(f"--grid {entry}: expected numbers separated by commas") from None
        grid[name] = numbers
    return grid
