"""The command `train`."""

from __future__ import annotations

import argparse
import logging
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
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.provenance import with_provenance
from qcompile.cli.wording import in_options
from qcompile.data.options import DataOptions, load_data
from qcompile.data.prepare import PrepareOptions
from qcompile.data.split import Parts, prepare_alike, set_aside
from qcompile.files import atomic
from qcompile.files.classifier import save_classifier
from qcompile.objective.fit import LossOptions
from qcompile.report import page, plot
from qcompile.report.gather import trained_run
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.solvers.options import SolveOptions
from qcompile.stages.machine import Machine
from qcompile.training.cross_validation import Trial, cross_validate
from qcompile.training.in_rounds import RoundsTask, train_in_rounds
from qcompile.training.l2_path import FOLDS, L2Trial
from qcompile.training.rounds import RoundOptions
from qcompile.training.search import BITS
from qcompile.training.train import METHODS, Trained, default_search, train

__all__ = ["add_commands"]


_log = logging.getLogger("qcompile")


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
    "rounds": 100,
    "time_limit": math.inf,
    "starts": 1,
    "block": None,
    "step_bits": None,
    "radius": None,
    "width": 0.5,
}


def add_commands(commands: Any) -> None:
    """Add `train`."""
    command = add_command(
        commands,
        "train",
        summary="train a classifier: in rounds, or by one polynomial as in the paper",
        example="""
            qcompile train data.svm --test 0.2 -o model.json
            qcompile train data.svm --l2 cv --validation 0.2 --test 0.2
            qcompile train data.svm --order 3 --bits 4 --features 5 -o model.json
        """,
    )
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
    add_solver_options(command, seed=False, rounds=True)
    add_machine_options(command, default=None)
    add_data_options(command)
    add_loss_options(command, l2=False)
    command.set_defaults(run=_run_train)


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
        "--rounds", type=int, default=100, metavar="N", help="make at most N rounds (100)"
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
    work = _in_rounds if method == "rounds" else _as_in_the_paper
    with bar("reading"):
        raw, how = _raw_parts(options)
    parts = prepare_alike(raw, how)
    with dask_cluster(options):
        found, trials = work(options, raw, parts, how, grid)
    with atomic.all_or_nothing():
        if options.output:
            save_classifier(found.classifier, options.output)
        if options.report:
            named = dict(zip(("train", "validation", "test"), parts, strict=True))
            run = with_provenance(trained_run(found, named), options)
            page.write_report(run, options.report)
        if options.plot and found.rounds:
            plot.plot_rounds(found, options.plot)
    if options.plot and not found.rounds:
        _log.warning("warning: %s is not written: no round was made", options.plot)
        written.remove(options.plot)
    for note in found.notes:
        _log.warning("warning: %s", in_options(note, options))
    if options.json:
        summary = {
            "method": found.method,
            "l2": found.l2,
            "stages": [stage.to_dict() for stage in found.stages],
            "rounds": [own.to_dict() for own in found.rounds],
            "where accuracy is lost": [risk.to_dict() for risk in found.risks],
            "errors": dict(found.errors),
            "baseline error": found.baseline,
            "cross-validation": [trial.to_dict() for trial in trials],
        }
        show(summary, options, written=written)
    else:
        shown = {"method": f"{method}{reason}", **_in_words(found, trials)}
        show(shown, options, written=written)


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
) -> tuple[Trained, Sequence[L2Trial]]:
    settings = RoundOptions(
        l2=options.l2 if isinstance(options.l2, float) else None,
        bits=options.step_bits,
        block=options.block,
        rounds=options.rounds,
        time_limit=options.time_limit,
        starts=options.starts,
        radius=options.radius,
        width=options.width,
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
    with bar(options.solver):
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
    usual = default_search(method, options.solver, options.seed)
    reads = usual.reads if options.reads is None else options.reads
    sweeps = usual.sweeps if options.sweeps is None else options.sweeps
    return SolveOptions(options.solver, reads, options.keep, sweeps, options.seed)


def _in_words(found: Trained, trials: Sequence[Trial | L2Trial]) -> dict[str, str]:
    """Return the trials, the stages, the risks and the errors of a training as text."""
    shown: dict[str, str] = {}
    for trial in trials:
        setting = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in trial.setting.items()
        )
        shown[f"cv: {setting}"] = f"validation error {trial.error:.4f} ± {trial.spread:.4f}"
    for stage in found.stages:
        shown[f"stage {stage.name}"] = f"{stage.seconds:.3f} s, {stage.size}"
    if found.l2 is not None:
        shown["l2"] = f"{found.l2:.4g}"
    for risk in found.risks:
        shown[risk.classifier] = f"objective {risk.objective:.6f}, 0-1 risk {risk.error:.4f}"
    for part, error in found.errors.items():
        shown[f"{part} error"] = f"{error:.4f}"
    shown["baseline error"] = f"{found.baseline:.4f}, of always predicting the more frequent label"
    return shown


def _raw_parts(options: argparse.Namespace) -> tuple[Parts, PrepareOptions]:
    """Read the data and set parts aside; return the raw parts, and how to prepare them.

    Parts are set aside first so that features are chosen and scaled by the training rows alone.
    """
    wanted = grouped(DataOptions, options)
    plain = replace(wanted, scale="none", features=None, bias=False)
    raw = load_data(options.data, plain)
    return set_aside(raw, options.validation, options.test, seed=options.seed), wanted.preparation


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
