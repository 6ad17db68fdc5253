"""What `compile`, `quadratize` and `embed` say about the errors of a machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qcompile.cli.output import Worded
from qcompile.data.named_sets import is_named
from qcompile.data.replay import same_rows
from qcompile.errors import QcompileError
from qcompile.files.machines import load_machine
from qcompile.rehearsal.expected_loss import MOST_COUPLINGS, ExpectedLoss, expected_loss
from qcompile.runtime.timing import passing
from qcompile.stages.arrays import extent
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import Embedded
from qcompile.stages.qubo import Qubo

__all__ = ["describe_expected", "rows_at_hand"]


# Rows that are read once more for a summary are few: entries of the table, bytes of the file.
_MOST_ENTRIES, _MOST_BYTES = 1_000_000, 4 << 20
_LARGEST = 1e100  # squares of larger coefficients overflow


def describe_expected(
    problem: Qubo | Embedded,
    options: argparse.Namespace,
    rows: Callable[[], Dataset | None] = lambda: None,
) -> dict[str, Any]:
    """Return the loss that errors of the machine are expected to cause, of energy and accuracy.

    `rows` reads the training rows; it is not called if nothing is computed.
    """
    if options.quiet:
        return {}
    qubo = problem.qubo if isinstance(problem, Embedded) else problem
    if len(qubo.first) > MOST_COUPLINGS:
        why = f"not computed above {MOST_COUPLINGS:,} couplings; see: qcompile rehearse"
        return {"expected energy loss": Worded(None, why)}
    chip = problem.embedding.machine if isinstance(problem, Embedded) else load_machine(None)
    if not qubo.has_terms or not qubo.variables or chip.precision is None:
        return {}
    if max(extent(qubo.linear)[1], extent(qubo.quadratic)[1]) > _LARGEST:
        return {}
    try:
        with passing("expected loss"):
            return _in_words(expected_loss(problem, rows=rows()))
    except QcompileError as error:  # the result of the command is there already
        return {"expected energy loss": Worded(None, f"not computed: {error}")}


def _in_words(found: ExpectedLoss) -> dict[str, Any]:
    """Return the figures; the text of the first says all that matters in a line."""
    least = "at least " if found.at_least else ""
    if found.changed:
        text = f"{least}{found.energy:.3g}, by errors of {found.machine}"
    else:
        text = f"0: errors of {found.machine} leave the same state the lowest"
    if found.changed and found.error is not None:
        text += f"; {found.error:+.4f} to the training error of {found.best_error:.4f}"
    shown: dict[str, Any] = {"expected energy loss": Worded(found.energy, text)}
    if found.error is not None:
        shown["expected error loss"] = found.error
    shown["share of draws with another lowest state"] = found.changed
    return shown


def rows_at_hand(data: str, problem: Qubo) -> Dataset | None:
    """Return the rows that a problem was compiled from, if they are few and can be read again."""
    prepared, source = problem.preparation, problem.source
    if prepared is None or source.rows is None or source.parts is not None:
        return None
    if source.rows * prepared.raw_features > _MOST_ENTRIES:
        return None
    if not is_named(data) and not _is_small_file(Path(data)):
        return None
    try:
        rows = same_rows(data, problem)
    except QcompileError:
        return None
    return rows if source.is_of(rows.source, len(rows)) else None


def _is_small_file(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _MOST_BYTES
    except (OSError, ValueError):
        return False
