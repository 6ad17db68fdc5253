"""What one cell of a table holds, or the error that says where and why it holds nothing."""

from __future__ import annotations

import math

from qcompile.errors import InputError
from qcompile.stages.cells import MISSING_NUMBERS, MISSING_TEXTS, number_in
from qcompile.stages.labels import shown
from qcompile.stages.layout import Layout
from qcompile.stages.table import TableColumn

__all__ = ["label_of", "number_is_missing", "number_of", "text_of"]


def number_of(cell: str, layout: Layout, row: int, place: int, column: TableColumn) -> float:
    """Return the number in a cell, NaN if it is missing and to be filled in."""
    value = number_in(cell)
    if value is not None and math.isfinite(value):
        return value
    if value is not None:
        found = f"{shown(cell.strip())} is not finite; expected a finite number: correct it, or "
        found += f"remove the {layout.head.unit}"
        raise layout.error(row, place, found)
    if cell.strip() in MISSING_NUMBERS:
        if column.fill is not None:
            return math.nan
        raise number_is_missing(cell, layout, row, place)
    raise layout.error(
        row,
        place,
        f"{shown(cell)} is no number; expected one as in the {layout.head.unit}s before: correct "
        "it, or leave the column out with ignore=COLUMN",
    )


def number_is_missing(cell: str, layout: Layout, row: int, place: int) -> InputError:
    """Return the error about a cell without a number."""
    found = f"({shown(cell.strip())})" if cell.strip() else "(an empty cell)"
    return layout.error(
        row,
        place,
        f"a value is missing {found}; expected a number: fill it in with "
        f'missing="median", or remove the {layout.head.unit}',
    )


def text_of(cell: str, layout: Layout, row: int, place: int, column: TableColumn) -> str:
    """Return the text in a cell, an empty one if it is missing and may be."""
    text = cell.strip()
    if text not in MISSING_TEXTS:
        return text
    if column.fill is None:
        raise layout.error(
            row,
            place,
            "a value is missing; expected a text: count it as none of the categories with "
            f"missing=0, or remove the {layout.head.unit}",
        )
    return ""


def label_of(cell: str, layout: Layout, row: int) -> float | str:
    """Return the label in a cell."""
    place = layout.label
    assert place is not None
    text = cell.strip()
    if text in MISSING_TEXTS:
        raise layout.error(row, place, "the label is missing; expected one for each row")
    if not layout.numeric_labels:
        return text
    value = number_in(text)
    if value is None or not math.isfinite(value):
        raise layout.error(
            row, place, f"label {shown(text)} among numbers; expected a finite number"
        )
    return value
