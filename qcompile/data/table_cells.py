"""The rows of a piece of a table, by Python's own reader: slow, and exact about what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from qcompile.data.table_format import records
from qcompile.errors import InputError
from qcompile.stages.cell_values import label_of, number_of, text_of
from qcompile.stages.cells import Cells
from qcompile.stages.layout import Layout

__all__ = ["parse_cells"]


def parse_cells(text: str, delimiter: str, layout: Layout, line: int) -> Cells:
    """Return the cells of whole records; raise InputError that names line and column."""
    name = layout.head.file
    lines: list[int] = []
    numbers: list[list[float]] = []
    texts: list[list[str]] = [[] for _ in layout.texts]
    labels: list[Any] = []
    try:
        for begins, cells in records(text, delimiter, line):
            if len(cells) != layout.width:
                raise _other_width(begins, cells, layout)
            lines.append(begins)
            numbers.append([number_of(cells[p], layout, begins, p, c) for c, p in layout.numbers])
            for column_texts, (column, place) in zip(texts, layout.texts, strict=True):
                column_texts.append(text_of(cells[place], layout, begins, place, column))
            labels.append(_label(cells, layout, begins))
    except InputError as error:
        raise error if str(error).startswith(name) else InputError(f"{name}, {error}") from None
    return Cells(
        np.array(numbers, dtype=np.float64).reshape(len(lines), len(layout.numbers)),
        tuple(np.array(own, dtype=object) for own in texts),
        np.array(labels, dtype=np.float64 if layout.numeric_labels else object),
        np.array(lines, dtype=np.int64),
    )


def _other_width(line: int, cells: Sequence[str], layout: Layout) -> InputError:
    number = "1 cell" if len(cells) == 1 else f"{len(cells):,} cells"
    if len(cells) < layout.width and "\n" in cells[-1]:
        why = "a quotation mark there is never closed"
    else:
        why = "the file may be cut off there, or a cell holds the delimiter without quotes"
    return InputError(
        f"{layout.head.file}, line {line}: {number}; expected {layout.width:,} as in the lines "
        f"before: {why}"
    )


def _label(cells: Sequence[str], layout: Layout, line: int) -> Any:
    if layout.label is None:
        return math.nan if layout.numeric_labels else ""
    return label_of(cells[layout.label], layout, line)
