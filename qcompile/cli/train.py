"""The command `train`."""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from typing import Any

from qcompile.cli.options import (
    add_data_options,
    add_loss_options,
    add_report_option,
    add_solver_options,
    dask_cluster,
    grouped,
    page_of,
)
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.wording import with_notes_in_options
from qcompile.data.options import DataOptions, load_data
from qcompile.data.prepare import PrepareOptions
from qcompile.data.split import Parts, prepare_alike, set_aside
from qcompile.files import atomic
from qcompile.files.classifier import save_classifier
from qcompile.objective.fit import LossOptions
from qcompile.report import page
from qcompile.report.gather import trained_run
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.solvers.options import SolveOptions
from qcompile.training.cross_validation import Trial, cross_validate
from qcompile.training.train import Trained, train

__all__ = ["add_commands"]


_log = logging.getLogger("qcompile")


def add_commands(commands: Any) -> None:
    """Add `train`."""
    command = add_command(
        commands,
        "train",
        summary="train a classifier: all stages at once",
        example="""
            qcompile train data.svm --order 3 --bits 4 --solver anneal -o model.json
            qcompile train data.svm --scale standard --features 5 --validation 0.2 --test 0.2
            qcompile train data.svm --scale standard --features 3 --cv 3 --grid bits=1,2
        """,
    )
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the classifier as JSON")
    add_report_option(command)
    command.add_argument("--bits", type=int, default=4, metavar="D", help="bits per weight (4)")
    command.add_argument(
        "--l0", type=float, default=0.0, help="penalty for each nonzero weight (0)"
    )
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
        help="choose a setting of --grid by K-fold cross-validation, then train on all rows",
    )
    parts.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=A,B,...",
        help="values for order, bits, omega, l2 or range; may be repeated (with --cv)",
    )
    add_solver_options(command, seed=False)
    add_data_options(command)
    add_loss_options(command)
    command.set_defaults(run=_run_train)


def _run_train(options: argparse.Namespace) -> None:
    written = [*filter(None, [options.output]), *page_of(options)]
    atomic.check_outputs(written, inputs=(options.data,))
    if options.grid and options.cv is None:
        raise UsageError("--grid needs --cv K: settings are compared by cross-validation")
    solver = SolveOptions(
        options.solver, options.num_reads, options.keep, options.sweeps, options.seed
    )
    loss, bits = grouped(LossOptions, options), options.bits
    with bar("reading"):
        raw, how = _raw_parts(options)
    data, validation, test = prepare_alike(raw, how)
    trials: list[Trial] = []
    with dask_cluster(options):
        if options.cv is not None:
            grid = _grid(options.grid) or {"bits": [bits]}
            with bar("cross-validate"), passing("cross-validate"):
                trials = cross_validate(
                    raw[0], grid, count=options.cv, bits=bits, l0=options.l0, loss=loss,
                    options=solver, seed=options.seed, preparation=how,
                )  # fmt: skip
            bits, loss = trials[0].bits, trials[0].loss
        with bar(options.solver):
            found = train(
                data,
                bits=bits,
                l0=options.l0,
                loss=loss,
                options=solver,
                validation=validation or 0.0,
                test=test or 0.0,
                seed=options.seed,
            )
    if options.output:
        save_classifier(found.classifier, options.output)
    if options.report:
        parts = {"train": data, "validation": validation, "test": test}
        run = with_notes_in_options(trained_run(found, parts), options)
        page.write_report(run, options.report)
    for note in found.notes:
        _log.warning("warning: %s", note)
    if options.json:
        summary = {
            "stages": [stage.to_dict() for stage in found.stages],
            "where accuracy is lost": [risk.to_dict() for risk in found.risks],
            "errors": dict(found.errors),
            "baseline error": found.baseline,
            "cross-validation": [trial.to_dict() for trial in trials],
        }
        show(summary, options, written=written)
    else:
        show(_in_words(found, trials), options, written=written)


def _in_words(found: Trained, trials: list[Trial]) -> dict[str, str]:
    """Return the trials, the stages, the risks and the errors of a training as text."""
    shown: dict[str, str] = {}
    for trial in trials:
        setting = ", ".join(f"{name} {value}" for name, value in trial.setting.items())
        shown[f"cv: {setting}"] = f"validation error {trial.error:.4f} ± {trial.spread:.4f}"
    for stage in found.stages:
        shown[f"stage {stage.name}"] = f"{stage.seconds:.3f} s, {stage.size}"
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
    kinds: dict[str, Any] = {"order": int, "bits": int, "omega": float, "l2": float, "range": str}
    for entry in entries:
        name, found, values = entry.partition("=")
        if not found or name not in kinds:
            raise UsageError(
                f"--grid {entry}: expected NAME=A,B,... with a name of {', '.join(kinds)}"
            )
        try:
            numbers = [kinds[name](value) for value in values.split(",")]
        except ValueError:
            raise UsageError(f"--grid {entry}: expected numbers separated by commas") from None
        grid["range_" if name == "range" else name] = numbers
    return grid
