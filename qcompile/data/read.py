"""Read svmlight files or a named set into a `Dataset`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from qcompile.data import named_sets
from qcompile.data.prepare import from_arrays
from qcompile.data.rows import check_limits, index_base_of, matrix_of, no_rows, source_of
from qcompile.data.svmlight import NO_LABEL, Piece, open_files
from qcompile.runtime import memory
from qcompile.runtime.progress import Progress, shown_by
from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import RowLabel
from qcompile.stages.source import Source

__all__ = ["read", "read_rows"]


def read(
    source: str | Path,
    *,
    positive: RowLabel | None = None,
    rows: int | None = None,
    index_base: int | None = None,
    num_features: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Dataset:
    """Read a whole svmlight file (plain, .gz, .bz2, .xz, ``-``) or make a named set.

    A pattern such as ``part-*.svm.gz`` reads all files that match, in the order of their names.

    The larger of two labels becomes +1; `positive` sets one class against the rest. `index_base`
    is 0 or 1; without it a file that uses index 0 is 0-based. `rows` stops reading early.
    `num_features` fixes the number of columns. `seed` is for sets that are drawn at random.
    `progress(done, total)` counts bytes; total is None where the size is not known.

    >>> read("long-servedio").x.shape
    (2000, 21)
    """
    with shown_by(progress):
        x, labels, about = read_rows(
            source, rows=rows, index_base=index_base, num_features=num_features, seed=seed
        )
    return from_arrays(x, labels, positive=positive, source=about)


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
