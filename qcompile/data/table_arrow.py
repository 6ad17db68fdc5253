"""The rows of a piece of a table by pyarrow, where it is installed: fast, silent about places."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import numpy as np

from qcompile.stages.cells import MISSING_NUMBERS, MISSING_TEXTS, Cells
from qcompile.stages.layout import Layout

__all__ = ["parse_with_arrow"]


@functools.cache
def _is_installed() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def parse_with_arrow(text: bytes, delimiter: str, layout: Layout) -> Cells | None:
    """Return the cells of whole records; None if there is any doubt about one of them.

    Lines are not known: they count from 0, one for each row.
    """
    if not _is_installed() or not text.strip():
        return None
    import pyarrow as pa
    from pyarrow import csv

    quoted = b'"' in text
    places = [place for _, place in (*layout.numbers, *layout.texts)]
    types: dict[str, Any] = {str(place): pa.float64() for _, place in layout.numbers}
    types |= {str(place): pa.string() for _, place in layout.texts}
    if layout.label is not None:
        places.append(layout.label)
        types[str(layout.label)] = pa.float64() if layout.numeric_labels else pa.string()
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=[str(place) for place in range(layout.width)]),
            csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
            ),
            csv.ConvertOptions(
                column_types=types,
                include_columns=[str(place) for place in places],
                null_values=list(MISSING_NUMBERS),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    return _cells(table, layout)


def _cells(table: Any, layout: Layout) -> Cells | None:
    numbers = np.empty((len(layout.numbers), table.num_rows))
    missing = 0
    for row, (column, place) in enumerate(layout.numbers):
        own = table.column(str(place))
        if own.null_count and column.fill is None:
            return None
        missing += own.null_count
        numbers[row] = own.to_numpy()
    if np.isfinite(numbers).sum() != numbers.size - missing:
        return None
    texts = []
    for column, place in layout.texts:
        cells = _stripped(table.column(str(place)))
        if column.fill is None and np.isin(cells, MISSING_TEXTS).any():
            return None
        cells[np.isin(cells, MISSING_TEXTS)] = ""
        texts.append(cells)
    labels: Any = np.full(table.num_rows, np.nan)
    if layout.label is not None:
        own = table.column(str(layout.label))
        labels = own.to_numpy() if layout.numeric_labels else _stripped(own)
        wrong = (
            own.null_count or not np.isfinite(labels).all()
            if layout.numeric_labels
            else np.isin(labels, MISSING_TEXTS).any()
        )
        if wrong:
            return None
    lines = np.arange(table.num_rows, dtype=np.int64)
    return Cells(np.ascontiguousarray(numbers.T), tuple(texts), labels, lines)


def _stripped(column: Any) -> Any:
    import pyarrow.compute as pc

    return np.array(pc.utf8_trim_whitespace(column).to_pylist(), dtype=object)
