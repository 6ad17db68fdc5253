"""The commands `compile` and `estimate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from qcompile.cli.describe import (
    describe_loss,
    describe_moments,
    describe_pubo,
    describe_qubo,
    source_name,
)
from qcompile.cli.options import (
    add_dask_option,
    add_data_options,
    add_loss_options,
    add_machine_options,
    add_qubo_options,
    add_report_option,
    dask_cluster,
    grouped,
    machine_of,
    names_machine,
    page_of,
)
from qcompile.cli.output import FORMATS, show, show_rows
from qcompile.cli.parsing import add_command
from qcompile.data.options import DataOptions
from qcompile.embedding.capacity import largest_problems, physical_estimate
from qcompile.errors import InputError
from qcompile.files import atomic, loss, qubo
from qcompile.files.moments import save_moments
from qcompile.files.pubo import save_pubo
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import Compiled, compile
from qcompile.reduction.accounting import dimod_ancillas
from qcompile.reduction.estimate import estimate, paper_table
from qcompile.reduction.quadratize import QuboOptions
from qcompile.report import page
from qcompile.report.gather import compiled_run
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing

__all__ = ["add_compile_command", "add_estimate_command"]


_KINDS = {
    "moments": (".npz",),
    "loss": (".json",),
    "pubo": (".json", ".npz"),
    "qubo": qubo.ENDINGS,
}


def add_compile_command(commands: Any) -> None:
    """Add `compile`."""
    command = add_command(
        commands,
        "compile",
        summary="turn a data set into a polynomial of weight bits and a QUBO",
        example="""
            qcompile compile data.svm --order 3 --bits 4 --emit qubo.json --emit pubo.json
            qcompile compile data.svm --features 4 --bits 2 --emit qubo.json --emit moments.npz
            qcompile compile breast-cancer --features 4 --bits 1 --emit qubo=problem.lp -v
        """,
    )
    command.add_argument("data", metavar="DATA")
    command.add_argument(
        "--emit",
        action="append",
        default=[],
        metavar="[KIND=]PATH",
        help="write an artifact; its kind (moments, loss, pubo, qubo) is in the file's name or "
        "before =; may be repeated; a qubo ends in .json, .npz, .bqm, .lp, .qubo or .coo",
    )
    add_report_option(command)
    pubo = command.add_argument_group("bits")
    pubo.add_argument("--bits", type=int, default=4, metavar="D", help="bits of a weight (4)")
    pubo.add_argument("--l0", type=float, default=0.0, help="charge for each weight that is not 0")
    pubo.add_argument(
        "--threshold", type=float, default=0.0, metavar="C", help="drop terms of size up to C"
    )
    pubo.add_argument(
        "--prune", action="store_true", help="drop levels of weights that cannot be the best"
    )
    add_qubo_options(command)
    add_data_options(command)
    add_loss_options(command)
    add_dask_option(command, "sum over the files")
    command.set_defaults(run=_run_compile)


def add_estimate_command(commands: Any) -> None:
    """Add `estimate`."""
    command = add_command(
        commands,
        "estimate",
        summary="say what a problem costs: without data of any size at once, with data counted",
        example="""
            qcompile estimate --order 3 --features 100 --bits 4
            qcompile estimate --machine advantage --features 12 --bits 2
            qcompile estimate --table paper --format csv
        """,
    )
    command.add_argument("data", metavar="DATA", nargs="?", help="count the terms of these data")
    command.add_argument("--table", choices=("paper",), help="the paper's table, computed")
    command.add_argument(
        "--format", choices=FORMATS, default="text", help="text, markdown, csv or json"
    )
    command.add_argument("--bits", type=int, default=4, metavar="D", help="bits of a weight (4)")
    add_machine_options(command, default=None)
    add_data_options(command)
    add_loss_options(command)
    command.set_defaults(run=_run_estimate)


def _run_compile(options: argparse.Namespace) -> None:
    emits = [_emission(text) for text in options.emit]
    pages = page_of(options)
    atomic.check_outputs([*(path for _, path in emits), *pages], inputs=(options.data,))
    with dask_cluster(options), bar("reading"):
        compiled = compile(
            options.data,
            bits=options.bits,
            l0=options.l0,
            threshold=options.threshold,
            shrink=options.prune,
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
                page.write_report(compiled_run(compiled), path)
    moments = compiled.moments
    summary = {
        **describe_moments(moments),
        **describe_loss(compiled.loss),
        **describe_pubo(compiled.pubo),
    }
    if reduced is not None:
        summary |= describe_qubo(reduced)
        if options.compare_dimod:
            summary["dimod ancillas"] = dimod_ancillas(compiled.pubo)
    show(summary, options, written=[*(path for _, path in emits), *pages])


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


def _run_estimate(options: argparse.Namespace) -> None:
    if options.table:
        show_rows([row.to_dict() for row in paper_table()], options)
    elif options.data is not None:
        show_rows([_counted(options)], options)
    elif options.features is not None:
        with bar("estimate"), passing("estimate"):
            order = grouped(LossOptions, options).degree
            found = estimate(order, options.features, options.bits)
            physical = _on_machine(options, order, found.bits, found.ancillas)
        show_rows([found.to_dict() | physical], options)
    elif names_machine(options):
        with bar("estimate"), passing("estimate"):
            largest = largest_problems(machine_of(options))
        show_rows([problem.to_dict() for problem in largest], options)
    else:
        raise InputError(
            "give --features N (and --order, --bits), DATA, --table paper, or --machine NAME alone "
            "for the largest problems that fit"
        )


def _on_machine(
    options: argparse.Namespace, order: int, bits: int, ancillas: int
) -> dict[str, Any]:
    """Return what is needed of the machine, if one is named."""
    if not names_machine(options):
        return {}
    return physical_estimate(machine_of(options), order, bits, ancillas).to_dict()


def _counted(options: argparse.Namespace) -> dict[str, Any]:
    """Compile the data and count, beside what a complete problem of that size would need."""
    with bar("reading"):
        compiled = compile(
            options.data,
            bits=options.bits,
            data=grouped(DataOptions, options),
            loss=grouped(LossOptions, options),
        )
        reduced = compiled.quadratize()
    complete = estimate(compiled.loss.order, compiled.moments.features, options.bits)
    return {
        "data": source_name(compiled.moments),
        "features": compiled.moments.features,
        "bits_per_weight": options.bits,
        "bits": compiled.pubo.variables,
        **{f"terms_of_degree_{j}": count for j, count in enumerate(compiled.pubo.terms, 1)},
        "ancillas": len(reduced.ancillas),
        "ancillas_if_complete": complete.ancillas,
        "qubits": reduced.variables,
        "qubo_pairs": len(reduced.first),
        "cover": reduced.method,
        **_on_machine(options, compiled.loss.order, compiled.pubo.variables, len(reduced.ancillas)),
    }


def _emission(text: str) -> tuple[str, str]:
    """Tell the kind of artifact from KIND=PATH or from the file's name."""
    kind, found, path = text.partition("=")
    if found and kind not in _KINDS and kind.isalpha():
        raise InputError(f"--emit {text}: no artifact {kind!r}; expected {', '.join(_KINDS)}")
    if not found or kind not in _KINDS:
        path = text
        named = [k for k in _KINDS if k in Path(text).name.lower()]
        if len(named) != 1:
            raise InputError(
                f"--emit {text}: which artifact? Name it {', '.join(_KINDS)} in the file's name, "
                f"or write KIND=PATH, as in pubo={text}"
            )
        kind = named[0]
    if path != "-" and Path(path).suffix not in _KINDS[kind]:
        raise InputError(f"--emit {text}: a {kind} file ends in {' or '.join(_KINDS[kind])}")
    if path == "-" and ".json" not in _KINDS[kind]:
        raise InputError(f"--emit {text}: {kind} is binary; expected a file name")
    return kind, path
