"""The cells of a table in memory, and its rows as the schema of another table says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.cell_values import label_of, number_is_missing, number_of, text_of
from qcompile.stages.cells import Cells, rows_of_cells
from qcompile.stages.frame import Frame, frame_of
from qcompile.stages.labels import shortest
from qcompile.stages.layout import Head, Layout, layout_like
from qcompile.stages.preparation import Preparation
from qcompile.stages.table import TableColumn, TableSchema

__all__ = ["cell_texts", "cells_of_frame", "raw_rows_of", "rows_like"]


def rows_like(table: Any, schema: TableSchema) -> Matrix:
    """Return the rows of a table in memory, its columns matched by name with those of a schema.

    >>> schema = TableSchema((TableColumn("age"), TableColumn("colour", "text", ("blue", "red"))))
    >>> rows_like({"colour": ["red", "blue"], "age": [31, 42]}, schema)
    array([[31.,  0.,  1.],
           [42.,  1.,  0.]])
    """
    frame = frame_of(table)
    head = Head(frame.name, frame.names, len(frame.names), "row")
    # labels are not read: they need not even be there
    layout = Layout(**{**vars(layout_like(schema, head, labelled=False)), "label": None})
    return rows_of_cells(cells_of_frame(frame, layout), schema)


def raw_rows_of(table: Any, preparation: Preparation) -> Matrix:
    """Return the raw rows of a table in memory, as wide as a preparation expects them.

    Columns are matched by name if those of the preparation have names, and by place otherwise.
    """
    if preparation.table is not None:
        return rows_like(table, preparation.table)
    if preparation.names is not None:
        return rows_like(table, TableSchema(tuple(map(TableColumn, preparation.names))))
    frame = frame_of(table)
    if len(frame.names) != preparation.raw_features:
        raise InputError(
            f"a table of {len(frame.names):,} columns; expected {preparation.raw_features:,} as in "
            "training, without the label"
        )
    return rows_like(table, TableSchema(tuple(map(TableColumn, frame.names))))


def cells_of_frame(frame: Frame, layout: Layout, *, first: int = 1) -> Cells:
    """Return the cells of a table; raise InputError that names row and column.

    `first` is the number of the first row.
    """
    numbers = np.empty((len(layout.numbers), len(frame)))
    for row, (column, place) in enumerate(layout.numbers):
        numbers[row] = _numbers(frame.column(place), layout, first, place, column)
    texts = tuple(
        _texts(frame.column(place), layout, first, place, column) for column, place in layout.texts
    )
    lines = np.arange(first, first + len(frame), dtype=np.int64)
    return Cells(np.ascontiguousarray(numbers.T), texts, _labels(frame, layout, first), lines)


def _numbers(
    values: NDArray[Any], layout: Layout, first: int, place: int, column: TableColumn
) -> Floats:
    if values.dtype == object:
        cells = enumerate(values.tolist(), first)
        return np.array([number_of(cell, layout, row, place, column) for row, cell in cells])
    unknown = np.flatnonzero(~np.isfinite(values))
    for row in unknown[:1] if column.fill is None else unknown[np.isinf(values[unknown])][:1]:
        if np.isnan(values[row]):
            raise number_is_missing("NaN", layout, first + int(row), place)
        number_of(str(values[row]), layout, first + int(row), place, column)
    return values


def _texts(
    values: NDArray[Any], layout: Layout, first: int, place: int, column: TableColumn
) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    cells = enumerate(cell_texts(values), first)
    made[:] = [text_of(cell, layout, row, place, column) for row, cell in cells]
    return made


def _labels(frame: Frame, layout: Layout, first: int) -> NDArray[Any]:
    if layout.label is None:
        return np.full(len(frame), np.nan) if layout.numeric_labels else np.full(len(frame), "")
    values = frame.column(layout.label)
    if values.dtype != object and layout.numeric_labels and np.isfinite(values).all():
        return values
    found = [label_of(cell, layout, row) for row, cell in enumerate(cell_texts(values), first)]
    return np.array(found, dtype=np.float64 if layout.numeric_labels else object)


def cell_texts(values: NDArray[Any]) -> list[str]:
    """Return the values of a column as the texts that a file of text would hold."""
    return values.tolist() if values.dtype == object else list(map(_as_text, values.tolist()))


def _as_text(value: float) -> str:
    return shortest(value) if np.isfinite(value) else str(value).replace("nan", "NaN")
