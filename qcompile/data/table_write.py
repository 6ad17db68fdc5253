"""Rows to the text of a table, with the names of their columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from qcompile.data import named_sets
from qcompile.files.atomic import write_atomically
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import label_text

__all__ = ["is_text_table", "save_table"]


_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_BLOCK = 1 << 16


def is_text_table(path: str | Path) -> bool:
    """Whether a file is written as a table, by its ending: .csv, .tsv or .tab.

    >>> is_text_table("rows.CSV"), is_text_table("rows.svm")
    (True, False)
    """
    return Path(path).suffix.lower() in _DELIMITERS


def save_table(data: Dataset, path: str | Path) -> None:
    """Write the rows as CSV or TSV: a line of names, then the values and the label of each row.

    Numbers are written so that they read back as the same.
    """
    delimiter = _DELIMITERS[Path(path).suffix.lower()]
    with write_atomically(path) as stream:
        for text in _texts(data, delimiter):
            stream.write(text.encode())


def _texts(data: Dataset, delimiter: str) -> Iterator[str]:
    names = _names(data)
    label = "label"
    while label in names:
        label += "_"
    yield _written([[*names, label]], delimiter)
    labels = list(map(label_text, data.preparation.labels(data.y).tolist()))
    for start in range(0, len(data), _BLOCK):
        block = data.x[start : start + _BLOCK]
        rows = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
        own = labels[start : start + _BLOCK]
        cells = ([*map(repr, row), name] for row, name in zip(rows.tolist(), own, strict=True))
        yield _written(cells, delimiter)


def _names(data: Dataset) -> list[str]:
    """Return the names of the columns, after preparation."""
    made = data.preparation
    names = made.names or named_sets.column_names(data.source.name)
    if names is None or len(names) != made.raw_features:
        names = tuple(f"x{number + 1}" for number in range(made.raw_features))
    chosen = names if made.columns is None else [names[column] for column in made.columns]
    return [*chosen, *(["bias"] if made.bias else [])]


def _written(rows: Iterable[list[str]], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
