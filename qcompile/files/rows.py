"""Prepared rows to .npz and back, number for number, for a training that is resumed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import FormatError
from qcompile.files.guarded import (
    as_record,
    check_finite,
    explained,
    header_of,
    preparation_from_dict,
    preparation_to_dict,
    read_npz,
    whole_number,
    write_npz,
)
from qcompile.stages.arrays import Matrix, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.source import Source

__all__ = ["load_rows", "save_rows"]


def save_rows(parts: Mapping[str, Dataset], path: str | Path) -> None:
    """Write data sets by name, such as train and test; sparse rows stay sparse."""
    header: dict[str, Any] = {**header_of("rows"), "parts": {}}
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in parts.items():
        header["parts"][name] = {
            "shape": list(part.x.shape),
            "preparation": preparation_to_dict(part.preparation),
            "source": part.source.to_dict(),
        }
        for kind, array in _arrays_of(part.x).items():
            arrays[f"{name}_{kind}"] = array
        arrays[f"{name}_y"] = part.y
        if part.weights is not None:
            arrays[f"{name}_weights"] = part.weights
    write_npz(path, header, arrays)


def load_rows(path: str | Path) -> dict[str, Dataset]:
    """Read data sets that `save_rows` wrote."""
    with explained(path):
        header, arrays = read_npz(path, "rows")
        for array in arrays.values():
            if array.dtype.kind == "f":
                check_finite(array)
        parts = as_record(header["parts"])
        return {name: _part(name, as_record(own), arrays) for name, own in parts.items()}


def _arrays_of(x: Matrix) -> dict[str, NDArray[Any]]:
    if not hasattr(x, "indptr"):
        return {"x": np.asarray(x, dtype=np.float64)}
    return {"data": x.data, "indices": x.indices, "indptr": x.indptr}


def _part(name: str, own: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Dataset:
    rows, columns = map(whole_number, own["shape"])
    labels = arrays[f"{name}_y"]
    if not np.isin(labels, (-1.0, 1.0)).all():
        raise FormatError("a label is neither -1 nor 1")
    x: Matrix
    if f"{name}_x" in arrays:
        x = arrays[f"{name}_x"]
        if x.shape != (rows, columns):
            raise FormatError(f"{name}: found an array of {x.shape}; expected {(rows, columns)}")
    else:
        x = _sparse(name, (rows, columns), arrays)
    preparation = preparation_from_dict(as_record(own["preparation"]))
    assert preparation is not None
    weights = arrays.get(f"{name}_weights")
    return Dataset(
        x,
        frozen(labels),
        preparation,
        Source.of(as_record(own["source"])),
        None if weights is None else frozen(weights),
    )


def _sparse(name: str, shape: tuple[int, int], arrays: Mapping[str, NDArray[Any]]) -> Matrix:
    import scipy.sparse as sp

    entries = [arrays[f"{name}_{kind}"] for kind in ("data", "indices", "indptr")]
    if any(array.dtype.kind not in "iu" for array in entries[1:]):
        raise FormatError(f"{name}: expected whole numbers as places of entries")
    found = sp.csr_array(tuple(entries), shape=shape)
    found.check_format(full_check=True)  # raises ValueError for places outside
    return found
