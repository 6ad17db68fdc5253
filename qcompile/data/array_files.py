"""Read .npz and .npy files of NumPy, without objects, which may run code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.frame_reader import FileReader
from qcompile.errors import FormatError, InputError
from qcompile.files.guarded import explained, read_arrays
from qcompile.stages.arrays import Matrix
from qcompile.stages.frame import Frame
from qcompile.stages.source import Source

__all__ = ["NpyReader", "read_npz_rows"]


_MOST_EXPANDED = 200
_ROWS = ("X", "x", "data", "X_train", "x_train")
_LABELS = ("y", "labels", "label", "target", "y_train")
_NAMES = ("names", "feature_names", "columns")
_SPARSE = ("data", "indices", "indptr", "shape")


class NpyReader(FileReader):
    """The rows of one array of numbers in a .npy file: a table whose columns have no names."""

    named = False

    def frames(self) -> Iterator[Frame]:
        """Yield the one table."""
        path = Path(self.source)
        if self._schema is None and self.options.label is None:
            raise InputError(
                f"{self.name}: an array does not say which column is the label; expected "
                "label=NUMBER, from 1 on or -1 for the last, or a .npz file with arrays X and y"
            )
        with explained(path):
            values = read_arrays(path)[""]
            if values.ndim != 2 or values.dtype.kind not in "uifb":
                raise FormatError(
                    f"an array of shape {values.shape} and type {values.dtype}; expected a table "
                    "of numbers, one row for each example"
                )
        names = tuple(f"column {i + 1}" for i in range(values.shape[1]))
        yield Frame(
            self.name,
            names,
            len(values),
            lambda place, part: values[part, place].astype(np.float64),
        )


def read_npz_rows(
    path: str | Path, *, labelled: bool = True
) -> tuple[Matrix, NDArray[Any], Source, tuple[str, ...] | None]:
    """Return rows, labels, their record and the names of the columns, if they have names.

    The arrays are `X` and `y`; rows may also be sparse as `scipy.sparse.save_npz` writes them, with
    `y` beside them. If the rows need not be `labelled`, labels that are missing are NaN.
    """
    with explained(path):
        arrays = read_arrays(path, most_expanded=_MOST_EXPANDED)
        x = _sparse(arrays) if set(_SPARSE) <= set(arrays) else _array(arrays, _ROWS, "rows")
        if x.ndim != 2 or x.dtype.kind not in "uifb":
            raise FormatError(
                f"rows of shape {x.shape} and type {x.dtype}; expected a table of numbers"
            )
        if labelled or any(name in arrays for name in _LABELS):
            labels = _array(arrays, _LABELS, "labels")
        else:
            labels = np.full(x.shape[0], np.nan)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        names = _names(arrays, x.shape[1])
    with Path(path).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    about = Source(name=Path(path).name, rows=x.shape[0], sha256=digest)
    return x, _texts(labels), about, names


def _array(arrays: Mapping[str, Any], names: tuple[str, ...], what: str) -> Any:
    found = [name for name in names if name in arrays]
    if not found:
        held = ", ".join(map(repr, list(arrays)[:8])) or "nothing"
        raise FormatError(f"holds {held}; expected {what} as an array {names[0]!r}")
    return arrays[found[0]]


def _sparse(arrays: Mapping[str, Any]) -> Any:
    """Return the matrix of the parts that SciPy writes, after checking them."""
    import scipy.sparse as sp

    kind = str(_texts(np.atleast_1d(arrays.get("format", np.array(["csr"]))))[0])
    if kind not in ("csr", "csc"):
        raise FormatError(f"a sparse matrix of format {kind!r}; expected csr or csc")
    shape = tuple(int(size) for size in arrays["shape"])
    if len(shape) != 2 or min(shape) < 0 or max(shape) >= 2**31:
        raise FormatError(f"a sparse matrix of shape {shape}; expected rows and columns")
    parts = tuple(arrays[name].astype(arrays[name].dtype.newbyteorder("=")) for name in _SPARSE[:3])
    if any(part.ndim != 1 for part in parts) or any(
        part.dtype.kind not in "iu" for part in parts[1:]
    ):
        raise FormatError("a sparse matrix with damaged indices; expected whole numbers")
    made = (sp.csr_array if kind == "csr" else sp.csc_array)(parts, shape=shape)
    made.check_format(full_check=True)
    return sp.csr_array(made)


def _texts(values: Any) -> Any:
    """Return bytes as texts."""
    return np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values


def _names(arrays: Mapping[str, Any], columns: int) -> tuple[str, ...] | None:
    for name in _NAMES:
        values = arrays.get(name)
        if values is not None and values.ndim == 1 and values.dtype.kind in "US":
            if len(values) == columns and len(set(values.tolist())) == columns:
                return tuple(map(str, _texts(values).tolist()))
            raise FormatError(
                f"{len(values)} names for {columns} columns; expected different ones, one for each"
            )
    return None
