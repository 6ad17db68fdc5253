"""The commands `data` and `loss`."""

from __future__ import annotations

import argparse
import logging
from typing import Any

from qcompile.cli.describe import describe_data, describe_loss, describe_moments, source_name
from qcompile.cli.options import add_data_options, add_loss_options, grouped
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.data import named_sets, svmlight
from qcompile.data.options import DataOptions, load_data
from qcompile.data.split import split
from qcompile.data.table_write import is_text_table, save_table
from qcompile.files import atomic
from qcompile.files.loss import save_loss
from qcompile.objective.fit import LossOptions, fit_loss_with
from qcompile.pipeline import load_moments_of
from qcompile.report import plot
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.labels import label_text

__all__ = ["add_commands"]


_log = logging.getLogger("qcompile")


def add_commands(commands: Any) -> None:
    """Add `data` and `loss`."""
    _add_data_command(commands)
    _add_loss_command(commands)


def _add_data_command(commands: Any) -> None:
    command = add_command(commands, "data")
    command.add_argument("data", metavar="DATA", nargs="?")
    command.add_argument("--list", action="store_true", help="list the named sets")
    command.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="write a table (.csv, .tsv) or svmlight text",
    )
    command.add_argument(
        "--split",
        nargs="+",
        type=float,
        metavar="SHARE",
        help="split the rows at random into these shares, one -o each",
    )
    add_data_options(command, scale="none", bias=False)  # a file of raw rows is for other programs
    command.set_defaults(run=_run_data)


def _add_loss_command(commands: Any) -> None:
    command = add_command(commands, "loss")
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the loss as JSON")
    command.add_argument("--plot", metavar="FILE", help="plot it against 0-1 loss (.png .svg .pdf)")
    add_data_options(command)
    add_loss_options(command)
    command.set_defaults(run=_run_loss)


def _run_data(options: argparse.Namespace) -> None:
    if options.list:
        _list_named_sets(options)
        return
    if options.data is None:
        raise UsageError(
            "DATA is missing; expected a file, - or a named set (qcompile data --list)"
        )
    shares = options.split or [1.0]
    if options.output and len(options.output) != len(shares):
        raise UsageError(
            f"{len(shares)} parts but {len(options.output)} files; give one -o for each part"
        )
    atomic.check_outputs(options.output, inputs=(options.data,))
    with bar("reading"):
        data = load_data(options.data, grouped(DataOptions, options))
    parts = split(data, shares, seed=options.seed) if options.split else (data,)
    with bar("write"), passing("write"), atomic.all_or_nothing():
        for part, path in zip(parts, options.output, strict=False):
            (save_table if is_text_table(path) else svmlight.save_svmlight)(part, path)
    if options.output and data.preparation.negative is None:
        rest, positive = map(label_text, data.preparation.labels([-1.0, 1.0]).tolist())
        _log.warning("warning: %s is written for every label but %s", rest, positive)
    show(describe_data(data), options, written=options.output)


def _list_named_sets(options: argparse.Namespace) -> None:
    """List the named sets; in JSON the names are values, as they are not valid keys."""
    about = {name: _first_line(make) for name, make in named_sets.NAMES.items()}
    if options.json:
        show({"sets": [{"name": name, "about": text} for name, text in about.items()]}, options)
    else:
        show(about, options)


def _run_loss(options: argparse.Namespace) -> None:
    atomic.check_outputs(filter(None, (options.output, options.plot)), inputs=(options.data,))
    if options.plot:
        plot.check_ending(options.plot)
        plot.check_library()
    wanted = grouped(LossOptions, options)
    with bar("reading"):
        moments = load_moments_of(options.data, grouped(DataOptions, options), wanted)
    with bar("fit loss"), passing("fit loss"):
        loss = fit_loss_with(moments, wanted)
    written = [path for path in (options.output, options.plot) if path]
    with bar("write"), passing("write"), atomic.all_or_nothing():
        if options.output:
            save_loss(loss, options.output, preparation=moments.preparation, source=moments.source)
        if options.plot:
            plot.plot_losses({f"order {loss.order}, {source_name(moments)}": loss}, options.plot)
    show({**describe_moments(moments), **describe_loss(loss, options)}, options, written=written)


def _first_line(function: Any) -> str:
    return str(function.__doc__).splitlines()[0]
