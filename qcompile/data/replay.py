"""Read the rows of an earlier run again, as its record says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.given import DataSource, arrays_of, is_path, kind_of, table_of
from qcompile.data.named_sets import is_named
from qcompile.data.prepare import checked_rows, from_arrays
from qcompile.data.read import read, read_rows
from qcompile.data.split import add_noise, shuffle
from qcompile.data.table import read_table
from qcompile.data.table_layout import TableOptions
from qcompile.errors import InputError, QcompileError
from qcompile.stages.arrays import Matrix, frozen
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import label_text, row_labels, shown
from qcompile.stages.preparation import Preparation
from qcompile.stages.problem import Problem
from qcompile.stages.source import Source
from qcompile.stages.table import TableSchema

__all__ = ["labelled_rows", "prepared", "raw_rows", "recorded_rows", "same_rows"]


# Rows that are looked at without being asked for are few: entries of the table, bytes of the file.
_MOST_ENTRIES, _MOST_BYTES = 20_000_000, 64 << 20


def recorded_rows(problem: Problem | Classifier) -> Dataset | None:
    """Return the rows that a problem was compiled from if its record leads to them; else None.

    They are those of a named set, or of a file of that name in the current folder whose digest is
    the recorded one. Large data are not read.
    """
    source, prepared = problem.source, problem.preparation
    if source.name is None or source.rows is None or prepared is None:
        return None
    if source.rows * prepared.raw_features > _MOST_ENTRIES or source.parts is not None:
        return None
    named = is_named(source.name)
    path = Path(source.name)
    if not named and not (path.name == source.name and _is_small_file(path) and source.sha256):
        return None
    try:
        rows = same_rows(source.name, problem)
    except QcompileError:
        return None
    return rows if source.is_of(rows.source, len(rows)) else None


def _is_small_file(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _MOST_BYTES
    except (OSError, ValueError):
        return False


def same_rows(data: DataSource, problem: Problem | Classifier) -> Dataset:
    """Read the rows that a problem was compiled from, prepared as for it."""
    prepared, source = problem.preparation, problem.source
    if prepared is None:
        raise InputError("this problem does not say how its data were prepared")
    _check_record(source)
    shuffled = source.shuffle_seed is not None
    rows = (
        _table(data, problem)
        if kind_of(data) == "table"
        else read(
            data,
            positive=prepared.positive if prepared.negative is None else None,
            rows=None if shuffled else source.rows,
            index_base=source.index_base,
            num_features=None if is_named(data) else prepared.raw_features,
            seed=source.seed or 0,
        )
    )
    rows = _labelled(data, rows, prepared)
    if source.shuffle_seed is not None:
        rows = shuffle(rows, seed=source.shuffle_seed).take(slice(source.rows))
    if source.noise is not None:
        rows = add_noise(rows, source.noise, seed=source.noise_seed or 0)
    return Dataset(prepared.apply(rows.x), rows.y, prepared, rows.source)


def _table(data: DataSource, problem: Problem | Classifier) -> Dataset:
    prepared, source = problem.preparation, problem.source
    assert prepared is not None
    limit = None if source.shuffle_seed is not None else source.rows
    x, labels, about, _ = read_table(table_of(data), rows=limit, schema=prepared.table)
    positive = prepared.positive if prepared.negative is None else None
    return from_arrays(x, labels, positive=positive, source=about)


def _labelled(data: DataSource, rows: Dataset, preparation: Preparation) -> Dataset:
    """Return rows whose labels have the signs that the record gives them, not their own order."""
    labels = rows.preparation.labels(rows.y)
    _check_labels(data, labels, preparation)
    return replace(rows, y=frozen(preparation.signs(labels)))


def _check_record(source: Source) -> None:
    for name in source.invalid:
        raise InputError(f"the record of its data has an invalid {name}: {shown(source[name])}")
    if source.noise is not None and source.noise_seed is None:
        raise InputError("the record of its data has noise, but noise_seed is missing")


def prepared(data: DataSource, problem: Problem | Classifier) -> Dataset:
    """Read data with known labels, prepared as in training."""
    preparation = problem.preparation
    assert preparation is not None
    rows, labels = raw_rows(
        data, preparation.raw_features, problem.source.index_base, table=preparation.table
    )
    _check_labels(data, labels, preparation)
    return Dataset(preparation.apply(rows), frozen(preparation.signs(labels)), preparation)


def labelled_rows(data: DataSource, model: Classifier, *, label: str | None = None) -> Dataset:
    """Read raw rows with known labels, in their own order, as wide as those of training.

    `label` names the label column of a table if it is another than in training.
    """
    made, is_table = model.preparation, kind_of(data) == "table"
    name = data if is_path(data) else "data"
    if label is not None and not is_table:
        raise InputError(f"{name}: label= is for tables, which have columns with names")
    if is_table and made.table is None:
        x, labels, _, _ = read_table(table_of(data), TableOptions(label))
        rows: Matrix = x
    else:
        table = made.table
        table = table.with_label(label) if table is not None and label is not None else table
        rows, labels = raw_rows(data, made.raw_features, model.source.index_base, table=table)
    _check_labels(data, labels, made)
    if rows.shape[1] != made.raw_features:
        raise InputError(
            f"{name}: {rows.shape[1]} features, expected {made.raw_features} as in training"
        )
    raw = Preparation(made.raw_features, made.positive, made.negative, names=made.names)
    return Dataset(rows, frozen(raw.signs(labels)), raw)


def raw_rows(
    data: DataSource,
    features: int,
    index_base: int | None,
    *,
    labelled: bool = True,
    table: TableSchema | None = None,
) -> tuple[Matrix, NDArray[Any]]:
    """Read rows as wide as those of training, with indices counted from the same base.

    If they need not be `labelled`, a label that is missing or no number is NaN. The columns of a
    table are matched by name with those of `table`.
    """
    kind = kind_of(data)
    if kind == "table":
        x, found, _, _ = read_table(table_of(data), schema=table, labelled=labelled)
        return x, found
    if kind == "arrays":
        given = arrays_of(data, labelled=labelled)
        found = np.full(np.shape(given.x)[0], np.nan) if given.labels is None else given.labels
        return checked_rows(given.x, given.source.name or "data"), row_labels(found)
    if kind == "named":
        rows, labels, _ = read_rows(data)
    else:
        rows, labels, _ = read_rows(
            data, num_features=features, index_base=index_base, labelled=labelled
        )
    return rows, labels


def _check_labels(data: DataSource, labels: NDArray[Any], preparation: Preparation) -> None:
    unknown = preparation.unknown_labels(labels)
    if unknown:
        name = data if is_path(data) else "data"
        raise InputError(
            f"{name}: label {label_text(unknown[0])} was never seen in training; expected "
            f"{label_text(preparation.positive)} or {label_text(preparation.negative)}"
        )
