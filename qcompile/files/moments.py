"""Moments to .npz and back."""

from __future__ import annotations

import math
from pathlib import Path

from qcompile.errors import FormatError
from qcompile.files.guarded import (
    as_record,
    check_finite,
    explained,
    header_of,
    number,
    preparation_from_dict,
    preparation_to_dict,
    read_npz,
    whole_number,
    write_npz,
)
from qcompile.stages.arrays import frozen
from qcompile.stages.moments import Moments
from qcompile.stages.source import Source

__all__ = ["load_moments", "save_moments"]


def save_moments(moments: Moments, path: str | Path) -> None:
    """Write moments as .npz."""
    header = {
        **header_of("moments"),
        "features": moments.features,
        "order": moments.order,
        "count": moments.count,
        **({} if moments.count == moments.rows else {"rows": moments.rows}),
        "sum_of_squares": moments.sum_of_squares,
        "preparation": preparation_to_dict(moments.preparation),
        "source": moments.source.to_dict(),
    }
    arrays = {_tensor_name(*key): tensor for key, tensor in moments.tensors.items()}
    write_npz(path, header, arrays)


def load_moments(path: str | Path) -> Moments:
    """Read moments that `save_moments` wrote."""
    with explained(path):
        header, arrays = read_npz(path, "moments")
        tensors = {_tensor_key(name): frozen(array) for name, array in arrays.items()}
        for tensor in tensors.values():
            check_finite(tensor)
        features, order = whole_number(header["features"]), whole_number(header["order"])
        squares, count = number(header["sum_of_squares"]), number(header["count"])
        rows = whole_number(header["rows"]) if "rows" in header else whole_number(header["count"])
        sizes = 0 < count < math.inf and 0 <= squares < math.inf
        if not (1 <= order <= 8 and features >= 1 and rows >= 1 and sizes):
            raise FormatError("order, features, count or sum of squares is out of range")
        missing = {(degree, 0) for degree in range(1, order + 1)} - set(tensors)
        if missing:
            raise FormatError(f"tensors {sorted(missing)} are missing")
        return Moments(
            features=features,
            order=order,
            count=count if "rows" in header else rows,
            sum_of_squares=squares,
            tensors=tensors,
            preparation=preparation_from_dict(header["preparation"]),
            source=Source.of(as_record(header["source"])),
            rows=rows,
        )


def _tensor_name(degree: int, power: int) -> str:
    return f"tensor_{degree}_{power}"


def _tensor_key(name: str) -> tuple[int, int]:
    _, degree, power = name.split("_")
    if not 1 <= int(degree) <= 8 or abs(int(power)) > 8:
        raise FormatError(f"unknown array {name!r}")
    return int(degree), int(power)
