"""The rows of a piece of a table, by Python's own reader: slow, and exact about what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.table_format import MISSING_NUMBERS, MISSING_TEXTS, number_in, records
from qcompile.data.table_layout import Layout
from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.labels import shown
from qcompile.stages.table import TableColumn

__all__ = ["Cells", "parse_cells"]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of some rows: numbers with NaN where one is missing, and texts by column."""

    numbers: Floats
    texts: tuple[NDArray[Any], ...]
    labels: NDArray[Any]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


class _Place:
    """Where a cell is, for errors."""

    def __init__(self, name: str, line: int, column: str) -> None:
        self.text = f"{name}, line {line}, column {shown(column)}"

    def error(self, message: str) -> InputError:
        return InputError(f"{self.text}: {message}")


def parse_cells(text: str, delimiter: str, layout: Layout, name: str, line: int) -> Cells:
    """Return the cells of whole records; raise InputError that names line and column."""
    lines: list[int] = []
    numbers: list[list[float]] = []
    texts: list[list[str]] = [[] for _ in layout.texts]
    labels: list[Any] = []
    try:
        for begins, cells in records(text, delimiter, line):
            if len(cells) != layout.width:
                raise _other_width(name, begins, cells, layout)
            lines.append(begins)
            numbers.append(
                [_number(cells[p], column, name, begins, layout, p) for column, p in layout.numbers]
            )
            for column_texts, (column, place) in zip(texts, layout.texts, strict=True):
                column_texts.append(_text(cells[place], column, name, begins))
            labels.append(_label(cells, layout, name, begins))
    except InputError as error:
        raise error if str(error).startswith(name) else InputError(f"{name}, {error}") from None
    return Cells(
        np.array(numbers, dtype=np.float64).reshape(len(lines), len(layout.numbers)),
        tuple(np.array(own, dtype=object) for own in texts),
        np.array(labels, dtype=np.float64 if layout.numeric_labels else object),
        np.array(lines, dtype=np.int64),
    )


def _other_width(name: str, line: int, cells: Sequence[str], layout: Layout) -> InputError:
    return InputError(
        f"{name}, line {line}: {len(cells)} cells; expected {layout.width} as in the lines before: "
        "the file may be cut off there, or a cell holds the delimiter without quotes"
    )


def _number(
    cell: str, column: TableColumn, name: str, line: int, layout: Layout, place: int
) -> float:
    value = number_in(cell)
    if value is not None and math.isfinite(value):
        return value
    where = _Place(name, line, column.name)
    if value is not None:
        raise where.error(f"{shown(cell.strip())} is not finite; expected a finite number")
    if cell.strip() in MISSING_NUMBERS:
        if column.fill is not None:
            return math.nan
        found = f"({shown(cell.strip())})" if cell.strip() else "(an empty cell)"
        raise where.error(
            f"a value is missing {found}; expected a number: fill it in with "
            'missing="median", or remove the line'
        )
    raise where.error(
        f"{shown(cell)} is no number; expected one as in the lines before: correct it, or leave "
        "the column out with ignore=COLUMN"
    )


def _text(cell: str, column: TableColumn, name: str, line: int) -> str:
    text = cell.strip()
    if text not in MISSING_TEXTS:
        return text
    if column.fill is None:
        raise _Place(name, line, column.name).error(
            "a value is missing; expected a text: count it as none of the categories with "
            "missing=0, or remove the line"
        )
    return ""


def _label(cells: Sequence[str], layout: Layout, name: str, line: int) -> Any:
    if layout.label is None:
        return math.nan if layout.numeric_labels else ""
    cell = cells[layout.label].strip()
    where = _Place(name, line, layout.names[layout.label])
    if cell in MISSING_TEXTS:
        raise where.error("the label is missing; expected one for each row")
    if not layout.numeric_labels:
        return cell
    value = number_in(cell)
    if value is None or not math.isfinite(value):
        raise where.error(f"label {shown(cell)} among numbers; expected a finite number")
    return value
