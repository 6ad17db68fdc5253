"""The command `compile`."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from qcompile.cli.describe import (
    brief_names,
    describe_fit,
    describe_loss,
    describe_moments,
    describe_pubo,
    describe_qubo,
)
from qcompile.cli.expected import describe_expected, rows_at_hand
from qcompile.cli.options import (
    add_dask_option,
    add_data_options,
    add_loss_options,
    add_qubo_options,
    add_report_option,
    dask_cluster,
    grouped,
    page_of,
)
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.provenance import with_provenance
from qcompile.cli.step import run_step
from qcompile.data.options import DataOptions
from qcompile.files import atomic, loss, qubo
from qcompile.files.moments import save_moments
from qcompile.files.pubo import save_pubo
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import Compiled, compile
from qcompile.reduction.accounting import dimod_ancillas
from qcompile.reduction.quadratize import QuboOptions
from qcompile.report import page
from qcompile.report.gather import compiled_run
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing

__all__ = ["add_commands"]


_KINDS = {
    "moments": (".npz",),
    "loss": (".json",),
    "pubo": (".json", ".npz"),
    "qubo": qubo.ENDINGS,
}
BITS = 4


def add_commands(commands: Any) -> None:
    """Add `compile`."""
    command = add_command(commands, "compile")
    command.add_argument("data", metavar="DATA")
    command.add_argument(
        "--emit",
        action="append",
        default=[],
        metavar="[KIND=]PATH",
        help="write a result; KIND is moments, loss, pubo or qubo; without it the kind that the "
        "file's name contains, otherwise qubo; may be repeated; a qubo ends in "
        f"{', '.join(qubo.ENDINGS[:-1])} or {qubo.ENDINGS[-1]}",
    )
    add_report_option(command)
    pubo = command.add_argument_group("bits")
    pubo.add_argument(
        "--bits",
        type=int,
        metavar="D",
        help="bits per weight (4; with --around one, stay or step, or the bits of its levels)",
    )
    pubo.add_argument("--l0", type=float, default=0.0, help="penalty for each nonzero weight (0)")
    pubo.add_argument(
        "--threshold",
        type=float,
        default=0.0,
        metavar="C",
        help="drop terms with coefficients up to C in size (0)",
    )
    pubo.add_argument(
        "--prune",
        action="store_true",
        help="remove levels of weights that are provably not optimal",
    )
    add_qubo_options(command)
    add_data_options(command)
    add_loss_options(command)
    command.add_argument(
        "--anyway",
        action="store_true",
        help="compile also a problem whose best classifier rewards wrong answers",
    )
    add_dask_option(command, "compute the sums over the files")
    _add_step_options(command)
    command.set_defaults(run=_run_compile)


def _add_step_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("step from a classifier")
    group.add_argument(
        "--around",
        metavar="MODEL",
        help="compile one round of training: the best step from this classifier",
    )
    group.add_argument(
        "--radius", type=float, metavar="R", help="longest step of a weight (auto; with --around)"
    )
    group.add_argument(
        "--width", type=float, metavar="T", help="width of the fit (0.5; with --around)"
    )
    group.add_argument(
        "--block",
        type=int,
        metavar="N",
        help="change only the N weights of largest slope (all; with --around)",
    )


def _run_compile(options: argparse.Namespace) -> None:
    emits = [_emission(text) for text in options.emit]
    pages = page_of(options)
    if options.around is not None:
        run_step(options, emits)
        return
    for name in ("radius", "width", "block"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} is for a step from a classifier: give --around MODEL too")
    atomic.check_outputs([*(path for _, path in emits), *pages], inputs=(options.data,))
    with dask_cluster(options), bar("reading"):
        compiled = compile(
            options.data,
            bits=BITS if options.bits is None else options.bits,
            l0=options.l0,
            threshold=options.threshold,
            prune=options.prune,
            anyway=options.anyway,
            data=grouped(DataOptions, options),
            loss=grouped(LossOptions, options),
            qubo=grouped(QuboOptions, options),
        )
        wanted = not emits or bool(pages) or any(kind == "qubo" for kind, _ in emits)
        reduced = compiled.quadratize() if wanted else None
        with passing("write"), atomic.all_or_nothing():
            for kind, path in emits:
                _write_artifact(compiled, kind, path, drop_offset=options.drop_offset)
            for path in pages:
                page.write_report(with_provenance(compiled_run(compiled), options), path)
    moments = compiled.moments
    summary = {
        **describe_moments(moments),
        **describe_loss(compiled.loss, options),
        **describe_pubo(compiled.pubo),
    }
    if reduced is not None:
        summary |= describe_qubo(reduced) | describe_expected(
            reduced, options, partial(rows_at_hand, options.data, reduced)
        )
        summary |= describe_fit(reduced, options)
        if options.compare_dimod:
            summary["dimod ancillas"] = dimod_ancillas(compiled.pubo)
    written = [*(path for _, path in emits), *pages]
    show(summary, options, written=written, brief=brief_names(summary))


def _write_artifact(compiled: Compiled, kind: str, path: str, *, drop_offset: bool) -> None:
    moments = compiled.moments
    if kind == "moments":
        save_moments(moments, path)
    elif kind == "loss":
        loss.save_loss(compiled.loss, path, preparation=moments.preparation, source=moments.source)
    elif kind == "pubo":
        save_pubo(compiled.pubo, path)
    else:
        qubo.save_qubo(compiled.quadratize(), path, pubo=compiled.pubo, drop_offset=drop_offset)


def _emission(text: str) -> tuple[str, str]:
    """Return the kind and the path of a result from KIND=PATH or from the file's name.

    A name that says nothing means the QUBO.
    """
    kind, found, path = text.partition("=")
    if found and kind not in _KINDS and kind.isalpha():
        raise UsageError(f"--emit {text}: invalid kind {kind!r}; expected {', '.join(_KINDS)}")
    if not found or kind not in _KINDS:
        path = text
        named = [k for k in _KINDS if k in Path(text).name.lower()]
        if len(named) > 1:
            raise UsageError(
                f"--emit {text}: the name contains {' and '.join(named)}; write KIND=PATH, as in "
                f"{named[0]}={text}"
            )
        kind = named[0] if named else "qubo"
    if path != "-" and Path(path).suffix.lower() not in _KINDS[kind]:
        raise UsageError(f"--emit {text}: a {kind} file ends in {' or '.join(_KINDS[kind])}")
    if path == "-" and ".json" not in _KINDS[kind]:
        raise UsageError(f"--emit {text}: {kind} is binary; expected a file name")
    return kind, path
