"""The command `quadratize`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from qcompile.cli.describe import describe_fit, describe_qubo
from qcompile.cli.expected import describe_expected
from qcompile.cli.options import add_qubo_options
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.files import atomic
from qcompile.files.interchange import check_problem_ending, read_pubo
from qcompile.files.qubo import ENDINGS, save_qubo
from qcompile.reduction.accounting import dimod_ancillas
from qcompile.reduction.quadratize import quadratize

__all__ = ["add_commands"]


_FILE_HELP = """\
FILE is a polynomial as .json or .npz: a pubo file, a BinaryPolynomialModel of OpenJij's cimod, a
BinaryQuadraticModel of dimod or cimod, or plain terms such as [[[0,1,2],-1.5],[[1],2.0]] or
{"0,1,2":-1.5,"1":2.0}. Variables may have any labels.
"""


def add_commands(commands: Any) -> None:
    """Add `quadratize`."""
    command = add_command(commands, "quadratize")
    command.description = f"{command.description}{_FILE_HELP}"
    command.add_argument("pubo", metavar="FILE", help="the polynomial (.json, .npz)")
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"write the QUBO; ends in {', '.join(ENDINGS)}",
    )
    command.add_argument(
        "--spins", action="store_true", help="variables are -1 and +1, if the file does not say"
    )
    add_qubo_options(command)
    command.add_argument("--seed", type=int, default=0, help="random seed (0)")
    command.set_defaults(run=_run_quadratize)


def _run_quadratize(options: argparse.Namespace) -> None:
    written = [path for path in [options.output] if path]
    atomic.check_outputs(written, inputs=(options.pubo,))
    check_problem_ending(options.pubo)
    for path in written:
        if path != "-" and Path(path).suffix.lower() not in ENDINGS:
            raise UsageError(f"{path}: expected a QUBO file ending in {', '.join(ENDINGS)}")
    pubo = read_pubo(options.pubo, vartype="SPIN" if options.spins else None)
    qubo = quadratize(
        pubo,
        cover=options.cover,
        strength=options.strength,
        max_ancillas=options.max_ancillas,
        compress=options.compress,
        seed=options.seed,
        time_limit=options.time_limit,
        effort=options.effort,
    )
    for path in written:
        save_qubo(qubo, path, pubo=pubo, drop_offset=options.drop_offset)
    summary = {
        "degree": pubo.degree,
        **{f"terms of degree {j}": count for j, count in enumerate(pubo.terms, 1)},
        **describe_qubo(qubo),
        **describe_expected(qubo, options),
        **describe_fit(qubo, options),
    }
    if options.compare_dimod:
        summary["dimod ancillas"] = dimod_ancillas(pubo)
    show(summary, options, written=written)
