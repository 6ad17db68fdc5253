"""Checks that every reader shares, and the matrix of the pieces that were read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qcompile.data.svmlight import Piece, Reader
from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, Matrix, extent
from qcompile.stages.labels import RowLabel, label_text, shown
from qcompile.stages.source import Source

__all__ = [
    "canonical",
    "check_classes",
    "check_limits",
    "check_sizes",
    "featureless",
    "index_base_of",
    "matrix_of",
    "no_rows",
    "source_of",
    "stacked",
]


_SMALLEST, _LARGEST = 1e-100, 1e100


def check_sizes(values: Floats, name: str) -> None:
    """Raise InputError if the squares of the numbers would overflow or underflow."""
    smallest, largest = extent(values)
    if smallest < _SMALLEST or largest > _LARGEST:
        wrong = smallest if smallest < _SMALLEST else largest
        raise InputError(
            f"{name}: a value of size {wrong:.3g}; expected 0 or sizes from {_SMALLEST:g} to "
            f"{_LARGEST:g}: bring the features to scale"
        )


def canonical(x: Any) -> Matrix:
    """Return sparse rows with ascending columns, none of them repeated, no stored zeros."""
    import scipy.sparse as sp

    rows = sp.csr_array(x, dtype=np.float64)
    if not rows.has_canonical_format or np.any(rows.data == 0):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def check_limits(rows: int | None, index_base: int | None, num_features: int | None) -> None:
    """Raise InputError if a limit of the reader is out of range."""
    if rows is not None and rows < 1:
        raise InputError(f"a limit of {rows} rows; expected at least 1")
    if index_base not in (None, 0, 1):
        shown = index_base if isinstance(index_base, int) else type(index_base).__name__
        raise InputError(f"index base {shown}; expected 0 or 1")
    if num_features is not None and not 1 <= num_features < 2**31:
        raise InputError(f"{num_features} features; expected 1 to {2**31 - 1}")


def no_rows(name: str) -> InputError:
    """Return the error for data without rows."""
    return InputError(f"{name}: no rows; expected svmlight text: label index:value ...")


def featureless(name: str) -> InputError:
    """Return the error for data without features."""
    return InputError(f"{name}: no features, labels only; expected rows: label index:value ...")


def check_classes(
    classes: Sequence[RowLabel], positive: RowLabel | None, name: str, column: str | None = None
) -> None:
    """Raise InputError unless the labels, of this column of a table, make two classes."""
    found = ", ".join(map(label_text, classes[:8])) + (", ..." if len(classes) > 8 else "")
    if len(classes) == 1:
        raise InputError(f"{name}: one class only (label {found}); expected two")
    if positive is None and len(classes) > 2:
        place, other = "", ""
        if column is not None:
            place, other = f" in column {shown(column)}", ", or another column with label=COLUMN"
        raise InputError(
            f"{name}: {len(classes)} classes{place} ({found}); expected two: "
            f"choose one against the rest with positive=LABEL{other}"
        )
    if positive is not None and positive not in classes:
        raise InputError(
            f"{name}: no row has the positive label {label_text(positive)}; found {found}"
        )


def source_of(reader: Reader, rows: int, base: int) -> Source:
    """Return the record of the file that was read."""
    # the digest of half a file would match nothing
    digest = reader.digest if reader.complete else None
    return Source(name=Path(reader.name).name, rows=rows, index_base=base, sha256=digest)


def index_base_of(pieces: Sequence[Piece]) -> int:
    """Return the first index of the file; only files that count from 0 use index 0."""
    return 0 if any(len(p.indices) and p.indices.min() == 0 for p in pieces) else 1


def matrix_of(pieces: Sequence[Piece], *, base: int, num_features: int | None) -> Matrix:
    """Return the pieces as one sparse matrix."""
    import scipy.sparse as sp

    for piece in pieces:
        _check_indices(piece, base, num_features)
    indices = np.concatenate([piece.indices for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    shifts = np.cumsum([0] + [len(piece.indices) for piece in pieces[:-1]])
    starts = [p.starts[1:] + shift for p, shift in zip(pieces, shifts, strict=True)]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *starts])
    if base:
        indices -= base
    width = int(indices.max(initial=-1)) + 1 if num_features is None else num_features
    x = sp.csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))
    x.has_canonical_format = True  # the parser insists on ascending indices
    return x


def stacked(blocks: Sequence[Matrix]) -> Matrix:
    """Return blocks of rows of one width as one, sparse if they are."""
    import scipy.sparse as sp

    if len(blocks) == 1:
        return blocks[0]
    return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.vstack(blocks)


def _check_indices(piece: Piece, base: int, num_features: int | None) -> None:
    wrong = piece.indices < base
    expected = f"expected indices from {base} on (pass index_base=0 if the file is 0-based)"
    if num_features is not None and not wrong.any():
        wrong = piece.indices >= num_features + base
        expected = f"expected at most {num_features - 1 + base} for {num_features} features"
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        line = piece.lines[int(np.searchsorted(piece.starts, entry, side="right")) - 1]
        raise InputError(f"{piece.name}, line {line}: index {piece.indices[entry]}; {expected}")
