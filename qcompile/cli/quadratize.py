"""Commands about polynomials that were not compiled from data: quadratize, and how any is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from qcompile.cli.common import add_command, show
from qcompile.errors import InputError
from qcompile.files import qubo as qubo_files
from qcompile.files import storage as files
from qcompile.reduction.cover import METHODS
from qcompile.stages.artifacts import Pubo, Qubo

__all__ = ["add_commands", "add_qubo_options", "load_problem"]

_FILE_HELP = """\
FILE is a polynomial as .json or .npz: of qcompile, OpenJij's cimod (BinaryPolynomialModel), a
BinaryQuadraticModel of dimod or cimod, or plain terms such as [[[0,1,2],-1.5],[[1],2.0]] or
{"0,1,2":-1.5,"1":2.0}. Variables may have any labels.
"""


def add_commands(commands: Any) -> None:
    """Declare `quadratize`."""
    command = add_command(
        commands,
        "quadratize",
        summary="turn a polynomial of any degree into a QUBO",
        example="""
            qcompile quadratize pubo.json -o qubo.json
            qcompile quadratize pubo.json --cover greedy --max-ancillas 3 -o small-qubo.json
        """,
        takes_data=False,
    )
    command.description = f"{command.description}{_FILE_HELP}"
    command.add_argument("pubo", metavar="FILE", help="the polynomial (.json, .npz)")
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"write the QUBO; ends in {', '.join(qubo_files.ENDINGS)}",
    )
    command.add_argument(
        "--spins", action="store_true", help="variables are -1/+1 (where the file does not say)"
    )
    add_qubo_options(command)
    command.add_argument("--seed", type=int, default=0, help="for whatever is random (0)")
    command.set_defaults(run=_run_quadratize)


def add_qubo_options(command: argparse.ArgumentParser) -> None:
    """Declare how products are replaced, and how the QUBO is written."""
    qubo = command.add_argument_group("qubo")
    qubo.add_argument("--cover", choices=METHODS, default="auto", help="which products to replace")
    qubo.add_argument(
        "--strength", type=float, default=1.0, metavar="F", help="scale the gates (experiments)"
    )
    qubo.add_argument(
        "--max-ancillas", type=int, metavar="K", help="leave out terms until K ancillas are enough"
    )
    qubo.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="seconds for --cover exact (60)"
    )
    qubo.add_argument(
        "--compare-dimod", action="store_true", help="count the ancillas that dimod would use"
    )
    qubo.add_argument(
        "--drop-offset", action="store_true", help="let .coo and .qubo leave the offset out"
    )


def load_problem(path: str) -> Pubo | Qubo:
    """Read a QUBO of qcompile or any polynomial, whichever it is."""
    from qcompile.files.interchange import is_qubo_file, read_pubo

    _check_ending(path)
    return qubo_files.load_qubo(path)[0] if is_qubo_file(path) else read_pubo(path)


def _check_ending(path: str) -> None:
    files.check_exists(path)
    if Path(path).suffix.lower() not in (".json", ".npz"):
        raise InputError(f"{path}: expected a qubo or pubo file that ends in .json or .npz")


def _run_quadratize(options: argparse.Namespace) -> None:
    from qcompile.files.interchange import read_pubo
    from qcompile.reduction.accounting import account, dimod_ancillas
    from qcompile.reduction.quadratize import quadratize

    written = [path for path in [options.output] if path]
    files.check_outputs(written, inputs=(options.pubo,))
    _check_ending(options.pubo)
    for path in written:
        if path != "-" and Path(path).suffix.lower() not in qubo_files.ENDINGS:
            raise InputError(
                f"{path}: expected a QUBO file ending in {', '.join(qubo_files.ENDINGS)}"
            )
    pubo = read_pubo(options.pubo, vartype="SPIN" if options.spins else None)
    qubo = quadratize(
        pubo,
        cover=options.cover,
        strength=options.strength,
        max_ancillas=options.max_ancillas,
        seed=options.seed,
        time_limit=options.time_limit,
    )
    for path in written:
        qubo_files.save_qubo(qubo, path, pubo=pubo, drop_offset=options.drop_offset)
    counted = {name: value for name, value in account(qubo).items() if value is not None}
    summary = {
        "degree": pubo.degree,
        **{f"terms of degree {j}": count for j, count in enumerate(pubo.terms, 1)},
        **counted,
    }
    if options.compare_dimod:
        summary["dimod ancillas"] = dimod_ancillas(pubo)
    show(summary, options, written=written)
