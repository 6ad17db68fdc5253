"""Cells of a table, and the numbers that they stand for once the columns are known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.table import TableSchema

__all__ = ["MISSING_NUMBERS", "MISSING_TEXTS", "Cells", "number_in", "rows_of_cells"]


# Cells that hold no number, and those that hold no text.
MISSING_NUMBERS = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", "none")
MISSING_TEXTS = ("", "?", "NA", "NaN")
_NUMBER = re.compile(r"[ \t]*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[ \t]*", re.ASCII)
_INFINITE = re.compile(r"[ \t]*[+-]?inf(?:inity)?[ \t]*", re.IGNORECASE)
_SPARSE_FROM = 64  # features of texts


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of some rows: numbers with NaN where one is missing, and texts by column.

    `lines` say where each row begins in its file, or which row of a table in memory it is.
    """

    numbers: Floats
    texts: tuple[NDArray[Any], ...]
    labels: NDArray[Any]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def number_in(cell: str) -> float | None:
    """Return the number in a cell, None if there is none; infinity is a number here.

    >>> number_in(" 1.5e3"), number_in("1_000"), number_in("-inf"), number_in("nan")
    (1500.0, None, -inf, None)
    """
    if _NUMBER.fullmatch(cell) or _INFINITE.fullmatch(cell):
        return float(cell)
    return None


def rows_of_cells(cells: Cells, schema: TableSchema) -> Matrix:
    """Return the numbers that cells stand for, one-hot for texts; sparse if these are many."""
    import scipy.sparse as sp

    numbers, texts = iter(cells.numbers.T), iter(cells.texts)
    if not cells.texts:
        fills = [column.fill for column in schema.columns if column.kind == "number"]
        return _filled(cells.numbers, fills)
    blocks: list[Any] = []
    many = sum(len(column.categories) for column in schema.columns) > _SPARSE_FROM
    for column in schema.columns:
        if column.kind == "number":
            blocks.append(_filled(next(numbers)[:, None], [column.fill]))
        elif column.kind == "text":
            blocks.append(_one_hot(next(texts), column.categories, sparse=many))
    if many:
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks]))
    return np.hstack(blocks)


def _filled(numbers: Floats, fills: Sequence[float | None]) -> Floats:
    places = np.isnan(numbers)
    if not places.any():
        return numbers
    values = np.array([0.0 if fill is None else fill for fill in fills])
    return np.where(places, values, numbers)


def _one_hot(texts: NDArray[Any], categories: Sequence[str], *, sparse: bool) -> Any:
    """Return a column for each category; a text that is none of them is 0 everywhere."""
    import scipy.sparse as sp

    codes = {category: code for code, category in enumerate(categories)}
    found = np.array([codes.get(text, -1) for text in texts], dtype=np.int64)
    rows = np.flatnonzero(found >= 0)
    ones = np.ones(len(rows))
    made = sp.csr_array((ones, (rows, found[rows])), shape=(len(texts), len(categories)))
    return made if sparse else made.toarray()
