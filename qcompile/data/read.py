"""Read files, tables in memory, rows with labels or a named set into a `Dataset`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from qcompile.data import named_sets
from qcompile.data.given import DataSource, arrays_of, kind_of, table_of
from qcompile.data.prepare import from_arrays
from qcompile.data.rows import check_limits, index_base_of, matrix_of, no_rows, source_of
from qcompile.data.svmlight import NO_LABEL, Piece, open_files
from qcompile.data.table import read_table
from qcompile.data.table_layout import TableOptions
from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.runtime.progress import Progress, shown_by
from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.dataset import Dataset
from qcompile.stages.expected import kind_name
from qcompile.stages.labels import RowLabel
from qcompile.stages.source import Source

__all__ = ["check_plain", "read", "read_rows"]


def read(
    source: DataSource,
    *,
    positive: RowLabel | None = None,
    rows: int | None = None,
    index_base: int | None = None,
    num_features: int | None = None,
    seed: int = 0,
    label: str | int | None = None,
    missing: str | float = "refuse",
    one_hot: bool = False,
    ignore: Sequence[str | int] = (),
    progress: Progress | None = None,
) -> Dataset:
    """Return the rows and labels of a file, of a table, of arrays, or of a named set.

    Files are svmlight text (plain, .gz, .bz2, .xz, ``-``), tables (.csv, .tsv, also compressed,
    .parquet, .feather, .arrow, .npy) and .npz files with arrays X and y. In memory the source may
    be a table of pandas, polars or pyarrow, a dictionary of columns, a pair (X, y) of rows (a
    table, an array, sparse rows of SciPy) and labels, or a Bunch of scikit-learn. ``openml:NAME``
    fetches a table over the network. A `Dataset` is returned as it is. A pattern such as
    ``part-*.svm.gz`` reads all files that match, in the order of their names.

    The larger of two labels becomes +1; `positive` sets one class against the rest. `index_base`
    is 0 or 1; without it a file that uses index 0 is 0-based. `rows` stops reading early.
    `num_features` fixes the number of columns. `seed` is for sets that are drawn at random.

    The delimiter and the header of a text table are found out. `label` is the label column, by name
    or by number from 1 on; without it, it is the one called label, target, class or y, else the
    last. `missing` fills missing values in by the "mean" or the "median" of their column or by a
    number; "refuse" refuses them. `one_hot` turns each text of a text column into a feature of 0
    and 1. `ignore` names columns to leave out. `progress(done, total)` counts bytes; total is None
    where the size is not known.

    >>> read("long-servedio").x.shape
    (2000, 21)
    >>> read({"age": [31, 42], "size": [170, 160], "sick": ["no", "yes"]}).preparation.names
    ('age', 'size')
    """
    options = TableOptions(label, missing, one_hot, ignore)
    if isinstance(source, Dataset):
        check_plain(options, source)
        if (positive, rows, index_base, num_features) != (None, None, None, None):
            raise InputError("options of reading with a Dataset: use take() on it")
        return source
    kind = kind_of(source)
    if kind == "table":
        with shown_by(progress):
            x, labels, about, table = read_table(table_of(source), options, rows=rows)
        return from_arrays(
            x, labels, positive=positive, source=about, names=table.names, table=table
        )
    check_plain(options, source)
    if kind == "arrays":
        check_limits(rows, index_base, num_features)
        given = arrays_of(source)
        whole = from_arrays(
            given.x, given.labels, positive=positive, source=given.source, names=given.names
        )
        return whole if rows is None else whole.take(slice(rows))
    with shown_by(progress):
        x, labels, about = read_rows(
            source, rows=rows, index_base=index_base, num_features=num_features, seed=seed
        )
    return from_arrays(x, labels, positive=positive, source=about)


def check_plain(options: TableOptions, source: DataSource) -> None:
    """Raise InputError if there are options that only tables have, for data that are no table."""
    if options != TableOptions():
        name = source if isinstance(source, str | Path) else kind_name(source)
        raise InputError(
            f"{name}: label=, missing=, one_hot= and ignore= are for tables; expected one, such as "
            "a file that ends in .csv or .parquet"
        )


def read_rows(
    source: str | Path,
    *,
    rows: int | None = None,
    index_base: int | None = None,
    num_features: int | None = None,
    seed: int = 0,
    labelled: bool = True,
) -> tuple[Matrix, Floats, Source]:
    """Return rows and labels as they are in the file, and the record of where they come from.

    If the rows need not be `labelled`, a label that is missing or no number is NaN.
    """
    check_limits(rows, index_base, num_features)
    if named_sets.is_named(source):
        x, labels, made = named_sets.make(str(source), seed=seed)
        return x[:rows], np.asarray(labels[:rows], dtype=np.float64), made
    reader = open_files(source, labelled=labelled)
    pieces: list[Piece] = []
    found = used = 0
    for piece in reader:
        pieces.append(piece if rows is None else piece.take(rows - found))
        found += len(pieces[-1])
        used += piece.nbytes
        memory.require(
            used,  # joining the pieces, which are held already, needs as much once more
            f"{reader.name}: holding more than {found:,} rows",
            "limit rows=, or leave out what needs all rows at once (features=, shuffle=, noise=, "
            'scale="standard" or "max-abs") so that the file is read in pieces',
            announce=False,
        )
        if found == rows:
            break
    if not pieces:
        raise no_rows(reader.name)
    base = index_base_of(pieces) if index_base is None else index_base
    x = matrix_of(pieces, base=base, num_features=num_features)
    labels = np.concatenate([piece.labels for piece in pieces])
    if not labelled:
        labels[labels == NO_LABEL] = np.nan
    del pieces, piece  # their memory is needed twice otherwise
    return x, labels, source_of(reader, len(labels), base)
