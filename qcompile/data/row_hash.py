"""A number for each row by its values alone: neither its place nor how it is held matters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Matrix

__all__ = ["mixed", "row_hashes"]


_BLOCK = 1 << 20


def row_hashes(x: Matrix, *, seed: int = 0) -> NDArray[np.uint64]:
    """Return a random-looking number for each row: equal rows have equal ones.

    Dense and sparse rows with the same values have the same number, and so has a row with zeros
    appended.

    >>> import scipy.sparse as sp
    >>> x = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> one, two, three = row_hashes(x)
    >>> bool(one == three != two), bool((row_hashes(sp.csr_array(x)) == row_hashes(x)).all())
    (True, True)
    """
    rows: Any = x
    made = np.empty(rows.shape[0], dtype=np.uint64)
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        if hasattr(part, "indptr"):
            own = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
            columns, values = part.indices, part.data
        else:
            own, columns = np.nonzero(part)
            values = part[own, columns]
        there = values != 0
        made[start : start + step] = _hashes(
            own[there], columns[there], values[there], part.shape[0], seed
        )
    return made


def _hashes(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], number: int, seed: int
) -> NDArray[np.uint64]:
    """Return the sums of mixed entries, by rows; sums of whole numbers have no order."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    places = mixed(columns.astype(np.uint64) + np.uint64(seed) * np.uint64(0x2545F491))
    total = np.zeros(number, dtype=np.uint64)
    np.add.at(total, rows, mixed(bits ^ places))
    return mixed(total)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a different random-looking number for each (SplitMix64)."""
    with np.errstate(over="ignore"):
        made = numbers + np.uint64(0x9E3779B97F4A7C15)
        made = (made ^ (made >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        made = (made ^ (made >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return made ^ (made >> np.uint64(31))
