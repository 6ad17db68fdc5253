"""The command `report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qcompile.cli.output import Worded, show
from qcompile.cli.parsing import add_command
from qcompile.errors import InputError
from qcompile.files import atomic
from qcompile.report.page import write_report

if TYPE_CHECKING:
    from qcompile.stages.dataset import Dataset

__all__ = ["add_command_report", "check_report_ending"]


_ENDINGS = (".html", ".htm")


def add_command_report(
    commands: Any, same_rows: Callable[..., Dataset], prepared: Callable[..., Dataset]
) -> None:
    """Declare `report`.

    `same_rows` reads the very rows that a problem was compiled from, `prepared` all rows of a
    file.
    """
    command = add_command(
        commands,
        "report",
        summary="show a run as one HTML page: pipeline, qubits, chip, energies, accuracy",
        example="""
            qcompile report qubo.json embedding.json samples.json model.json -o report.html
            qcompile report model.json --data data.svm -o report.html
        """,
    )
    command.add_argument(
        "run_",
        nargs="+",
        metavar="RUN",
        help="a folder with files of qcompile (qubo, pubo, embedding, samples, model; known by "
        "what they hold), such files, or a job of submit (its id or folder)",
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="write the page there (.html)"
    )
    command.add_argument(
        "--data",
        metavar="DATA",
        help="what it was compiled from: for the confusion matrix and where accuracy is lost",
    )
    command.add_argument("--test", metavar="DATA", help="other data: a confusion matrix of theirs")
    command.add_argument("--jobs", metavar="FOLDER", help="where jobs are kept (QCOMPILE_JOBS)")
    command.set_defaults(run=lambda options: _run_report(options, same_rows, prepared))


def check_report_ending(path: str) -> None:
    """Raise unless a name that a browser opens."""
    if path != "-" and not path.lower().endswith(_ENDINGS):
        raise InputError(f"{path}: expected a page ending in .html")


def _run_report(
    options: argparse.Namespace,
    same_rows: Callable[..., Dataset],
    prepared: Callable[..., Dataset],
) -> None:
    from qcompile.report import gather as run_files

    check_report_ending(options.output)
    inputs = (*options.run_, options.data, options.test)
    atomic.check_outputs([options.output], inputs=inputs)
    run = run_files.gather(options.run_, jobs=options.jobs)
    origin = run.origin
    if origin is None and (options.data or options.test):
        raise InputError(
            f"{options.run_[0]}: nothing says how its data were prepared; --data and --test need "
            "a model or a problem compiled from data"
        )
    if "-" in (options.data, options.test):
        raise InputError("-: the data of a report are read more than once; expected a file")
    if options.data is not None:
        rows = same_rows(options.data, origin)
        run = run_files.with_data(run, rows, lambda: prepared(options.data, origin))
    if options.test is not None:
        run = run_files.with_test(run, prepared(options.test, origin))
    shown, absent = write_report(run, options.output)
    summary = {"shown": shown, "not shown": Worded(absent, ", ".join(absent) or "nothing")}
    show(summary, options, written=[options.output])
