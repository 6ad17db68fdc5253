"""The command `verify`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from qcompile.cli.options import add_machine_options, machine_of
from qcompile.cli.output import show
from qcompile.cli.parsing import NOT_PROVED, add_command
from qcompile.data.replay import same_rows
from qcompile.errors import InputError
from qcompile.files import embedding as embedding_files
from qcompile.files.interchange import read_pubo
from qcompile.files.qubo import load_qubo
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import check_embedding
from qcompile.stages.qubo import Qubo
from qcompile.verification.check import Check
from qcompile.verification.verify import verify

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `verify`."""
    command = add_command(
        commands,
        "verify",
        summary="prove that a QUBO file holds the problem that it claims to hold",
        example="""
            qcompile verify qubo.json --data data.svm
            qcompile verify qubo.json --pubo pubo.json
            qcompile verify qubo.json --embedding embedding.json
        """,
        takes_data=False,
    )
    command.add_argument("qubo", metavar="QUBO", help="a .json or .npz file of qcompile")
    command.add_argument("--data", metavar="DATA", help="the data that it was compiled from")
    command.add_argument("--pubo", metavar="FILE", help="the polynomial that it was made from")
    command.add_argument("--embedding", metavar="FILE", help="also check this embedding of it")
    command.add_argument(
        "--assignments",
        type=int,
        default=200,
        metavar="N",
        help="random assignments to try with --data (200)",
    )
    command.add_argument("--seed", type=int, default=0, help="random seed of the assignments (0)")
    add_machine_options(command, default=None)
    command.set_defaults(run=_run_verify)


def _run_verify(options: argparse.Namespace) -> int:
    with bar("read"):
        with passing("read"):
            qubo, reference = load_qubo(options.qubo)
            pubo = None if options.pubo is None else read_pubo(options.pubo)
            data = None if options.data is None else same_rows(options.data, qubo)
        with passing("verify"):
            found = verify(
                qubo,
                pubo=pubo,
                reference=reference,
                data=data,
                assignments=options.assignments,
                seed=options.seed,
            )
        checks = list(found.checks)
        if options.embedding is not None:
            with passing("check the embedding"):
                checks.append(_check_embedding(options, qubo))
    holds = all(check.holds for check in checks)
    shown = {check.name: f"{'ok' if check.holds else 'FAILED'}: {check.detail}" for check in checks}
    algebra = any(check.name.startswith("algebra") for check in found.checks)
    if found.holds and not holds:
        shown["verdict"] = "the QUBO is proved, but this embedding is not valid for it: embed again"
    elif data is not None and _only_rows_differ(found.checks, data, qubo):
        count = qubo.source.rows
        rows = f"{qubo.source.name or 'data'}, {'?' if count is None else count} rows"
        shown["verdict"] = f"NOT proved: these are not the rows it was compiled from ({rows})"
    elif not holds:
        shown["verdict"] = "NOT proved: do not use this file"
    elif not algebra:
        shown["verdict"] = (
            "the gates hold, but there is no record of the polynomial that was compiled"
        )
    else:
        shown["verdict"] = "proved: the minimum over the ancillas is the polynomial, for all bits"
    show(shown, options)
    return 0 if holds else NOT_PROVED


def _only_rows_differ(checks: Sequence[Check], data: Dataset, qubo: Qubo) -> bool:
    """Whether the only failed check is that the data differ from the recorded ones."""
    if [check.name for check in checks if not check.holds] != ["data"]:
        return False
    known, given = qubo.source, data.source
    if known.sha256 is not None and given.sha256 is not None:
        other = known.sha256 != given.sha256
    else:
        other = known.name != given.name
    return other or known.rows not in (None, len(data))


def _check_embedding(options: argparse.Namespace, qubo: Qubo) -> Check:
    """Check chains against the problem and their own machine, or one that the options name."""
    embedding = embedding_files.load_embedding(options.embedding)
    machine = machine_of(options, embedding.machine)
    try:
        check_embedding(embedding, qubo, machine)
    except InputError as error:
        return Check("embedding", False, str(error))
    size = f"{embedding.qubits} qubits of {machine.name}"
    return Check("embedding", True, f"{len(embedding.chains)} chains on {size}, all couplers found")
