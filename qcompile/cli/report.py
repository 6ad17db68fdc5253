"""The command `report`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from qcompile.cli.output import Worded, show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.provenance import with_provenance
from qcompile.data.replay import labelled_rows, prepared, same_rows
from qcompile.files import atomic
from qcompile.report.gather import gather, with_data, with_test
from qcompile.report.page import check_ending, write_report
from qcompile.report.run import Run

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `report`."""
    command = add_command(commands, "report")
    command.add_argument(
        "run_",
        nargs="+",
        metavar="RUN",
        help="a folder with files of qcompile (qubo, pubo, embedding, samples, model; recognised "
        "by their content), single files, or a job of submit (its id or folder)",
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="write the page (.html)"
    )
    command.add_argument(
        "--data",
        metavar="DATA",
        help="the data it was compiled from: shows a confusion matrix and where accuracy is lost",
    )
    command.add_argument(
        "--test", metavar="DATA", help="other data: shows a confusion matrix for them"
    )
    command.add_argument("--jobs", metavar="FOLDER", help="folder of the jobs (QCOMPILE_JOBS)")
    command.set_defaults(run=_run_report)


def _run_report(options: argparse.Namespace) -> None:
    check_ending(options.output)
    inputs = (*options.run_, options.data, options.test)
    atomic.check_outputs([options.output], inputs=inputs)
    run = _with_rows(gather(options.run_, jobs=options.jobs), options)
    shown, absent = write_report(with_provenance(run, options), options.output)
    summary = {"shown": shown, "not shown": Worded(absent, ", ".join(absent) or "nothing")}
    show(summary, options, written=[options.output])


# What would make sections of the page appear that need data.
_REASONS = {
    "confusion": "data with known labels (--data DATA, --test DATA) and a classifier",
    "calibration": "a classifier with a calibration (of train), and --data DATA or --test DATA",
    "suspects": "--data DATA and a classifier",
    "risks": "--data DATA, what it was compiled from, with its problem and samples",
}


def _with_rows(run: Run, options: argparse.Namespace) -> Run:
    """Add the rows of --data and --test, prepared as in training."""
    run = replace(run, reasons={**_REASONS, **run.reasons})
    if options.data is None and options.test is None:
        return run
    origin = run.origin
    if origin is None:
        raise UsageError(
            f"{options.run_[0]}: no record of how data were prepared; --data and --test need a "
            "model or a problem compiled from data"
        )
    if "-" in (options.data, options.test):
        raise UsageError("-: data are read more than once; expected a file")
    if options.data is not None:
        rows = same_rows(options.data, origin)
        run = with_data(run, rows, lambda: prepared(options.data, origin))
        if run.classifier is not None and not run.risks:  # then all rows were given
            run = replace(run, raw=labelled_rows(options.data, run.classifier))
    if options.test is not None:
        run = with_test(run, prepared(options.test, origin))
    return run
