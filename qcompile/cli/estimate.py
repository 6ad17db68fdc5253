"""The command `estimate`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from qcompile.cli.describe import source_name
from qcompile.cli.options import (
    add_data_options,
    add_loss_options,
    add_machine_options,
    grouped,
    machine_of,
    names_machine,
)
from qcompile.cli.output import FORMATS, show_rows
from qcompile.cli.parsing import UsageError, add_command
from qcompile.data.options import DataOptions, load_data
from qcompile.embedding.capacity import largest_problems, physical_estimate
from qcompile.files.hybrid import hybrid_limits
from qcompile.files.machines import catalogue
from qcompile.leap.rounds import READS, estimate_rounds
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import compile
from qcompile.reduction.estimate import Estimate, estimate, paper_table
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing

__all__ = ["add_commands"]


_BITS = 4
_AS_MANY_AS_USUAL = "auto"


def add_commands(commands: Any) -> None:
    """Add `estimate`."""
    command = add_command(commands, "estimate")
    command.add_argument("data", metavar="DATA", nargs="?", help="count the terms for these data")
    command.add_argument("--table", choices=("paper",), help="compute the table of the paper")
    command.add_argument(
        "--format", choices=FORMATS, default="text", help="text, markdown, csv or json"
    )
    command.add_argument(
        "--bits", type=int, metavar="D", help="bits per weight (4, with --rounds 1)"
    )
    command.add_argument(
        "--rounds",
        nargs="?",
        const=_AS_MANY_AS_USUAL,
        type=_rounds,
        metavar="N",
        help="estimate a training in rounds, of N rounds (40 for each block): the largest step, "
        "chains and QPU time; of all machines if none is named",
    )
    command.add_argument(
        "--reads",
        type=int,
        default=READS,
        metavar="N",
        help=f"reads of a round, for --rounds ({READS})",
    )
    add_machine_options(command, default=None)
    add_data_options(command)
    add_loss_options(command)
    command.set_defaults(run=_run_estimate)


def _rounds(text: str) -> int | str:
    try:
        return text if text == _AS_MANY_AS_USUAL else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a number of rounds; DATA must come before --rounds"
        ) from None


def _run_estimate(options: argparse.Namespace) -> None:
    if options.rounds is not None:
        _run_rounds(options)
        return
    options.bits = _BITS if options.bits is None else options.bits
    if options.table:
        show_rows([row.to_dict() for row in paper_table()], options)
    elif options.data is not None:
        show_rows([_counted(options)], options)
    elif options.features is not None:
        with bar("estimate"), passing("estimate"):
            order = grouped(LossOptions, options).degree
            found = estimate(order, options.features, options.bits)
            physical = _on_machine(options, order, found.bits, found.ancillas)
        show_rows([found.to_dict() | _on_hybrid(found) | physical], options)
    elif names_machine(options):
        with bar("estimate"), passing("estimate"):
            largest = largest_problems(machine_of(options))
        show_rows([problem.to_dict() for problem in largest], options)
    else:
        raise UsageError(
            "give --features N (and --order, --bits), DATA, --table paper, --rounds, or only "
            "--machine NAME for the largest problems that fit"
        )


def _run_rounds(options: argparse.Namespace) -> None:
    """Estimate a training in rounds on the machine that is named, or on all of the catalogue."""
    for name in ("table", "order", "coefficients"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} with --rounds, whose steps are quadratic; leave one out")
    data = None
    if options.data is not None:
        with bar("read"):
            data = load_data(options.data, replace(grouped(DataOptions, options), bias=False))
    machines = [machine_of(options)] if names_machine(options) else list(catalogue().values())
    with bar("estimate"), passing("estimate"):
        found = [
            estimate_rounds(
                machine,
                options.features if data is None else data.features,
                bits=1 if options.bits is None else options.bits,
                rounds=None if options.rounds == _AS_MANY_AS_USUAL else options.rounds,
                reads=options.reads,
            )
            for machine in machines
        ]
    show_rows([row.to_dict() for row in found], options)


def _on_machine(
    options: argparse.Namespace, order: int, bits: int, ancillas: int
) -> dict[str, Any]:
    """Return the physical qubits of an estimate if a machine is named."""
    if not names_machine(options):
        return {}
    return physical_estimate(machine_of(options), order, bits, ancillas).to_dict()


def _on_hybrid(found: Estimate) -> dict[str, Any]:
    """Return how a problem exceeds the hybrid solvers of Leap; nothing if it does not."""
    limits = hybrid_limits()
    exceeded = {
        "exceeds_hybrid": limits.exceeded_by_bqm(found.qubits, found.qubo_pairs),
        "exceeds_nonlinear": limits.exceeded_by_nonlinear(found.bits, found.terms),
    }
    return {name: words for name, words in exceeded.items() if words}


def _counted(options: argparse.Namespace) -> dict[str, Any]:
    """Compile the data and return its counts, and those of a complete problem of that size."""
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
