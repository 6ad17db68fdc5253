"""The command `verify`."""

from __future__ import annotations

import argparse
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
from qcompile.verification.check import Check, Verification
from qcompile.verification.verify import verify

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `verify`."""
    command = add_command(commands, "verify")
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
    command.add_argument(
        "--seed", type=int, help="random seed of the assignments (new ones every time)"
    )
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
    show({**shown, "verdict": _verdict(found, holds, data, qubo)}, options)
    return 0 if holds else NOT_PROVED


def _verdict(found: Verification, holds: bool, data: Dataset | None, qubo: Qubo) -> str:
    """Return what the checks of the QUBO, and of its embedding, amount to."""
    if found.holds and not holds:
        return "the QUBO is proved, but this embedding is not valid for it: embed again"
    if data is not None and found.failed == ("data",):
        source = qubo.source
        if not source.is_of(data.source, len(data)):
            rows = f"{source.name or 'data'}, {'?' if source.rows is None else source.rows} rows"
            return f"NOT proved: these are not the rows it was compiled from ({rows})"
    if not holds:
        return "NOT proved: do not use this file"
    if not any(check.name.startswith("algebra") for check in found.checks):
        return "the gates hold, but there is no record of the polynomial that was compiled"
    if qubo.compression is not None:
        return "proved: the lowest bits are a minimum of the polynomial; other energies may differ"
    return "proved: the minimum over the ancillas is the polynomial, for all bits"


def _check_embedding(options: argparse.Namespace, qubo: Qubo) -> Check:
    """Check chains against the problem and their own machine, or one that the options name."""
    copies = embedding_files.load_embeddings(options.embedding)
    machine = machine_of(options, copies[0].machine)
    for number, embedding in enumerate(copies, 1):
        try:
            check_embedding(embedding, qubo, machine)
        except InputError as error:
            which = f"copy {number}: " if len(copies) > 1 else ""
            return Check("embedding", False, f"{which}{error}")
    chains = f"{sum(len(embedding.chains) for embedding in copies)} chains"
    if len(copies) > 1:
        chains = f"{len(copies)} copies that share no qubit, {chains}"
    size = f"{sum(embedding.qubits for embedding in copies)} qubits of {machine.name}"
    return Check("embedding", True, f"{chains} on {size}, all couplers found")
