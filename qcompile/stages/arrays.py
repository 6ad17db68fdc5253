"""Array types and helpers that stages share."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Floats", "Matrix", "are_constant", "extent", "frozen", "row_norms", "sum_by"]


Floats: TypeAlias = NDArray[np.float64]
# A numpy array or a scipy.sparse.csr_array; their type hints have no useful common part.
Matrix: TypeAlias = Any


def frozen(array: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a read-only view of the array."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view


def extent(values: Floats) -> tuple[float, float]:
    """Return the smallest absolute value above 0 and the largest, in little memory."""
    smallest, largest = math.inf, 0.0
    flat = values.reshape(-1)
    for start in range(0, flat.size, 1 << 18):
        sizes = np.abs(flat[start : start + (1 << 18)])
        largest = max(largest, float(sizes.max(initial=0.0)))
        smallest = min(smallest, float(sizes[sizes > 0].min(initial=math.inf)))
    return smallest, largest


def sum_by(groups: NDArray[np.integer], values: Floats, number: int) -> Floats:
    """Return the sum of the values of each group 0..number-1."""
    return np.asarray(np.bincount(groups, values, minlength=number), dtype=np.float64)


def are_constant(rows: Matrix) -> bool:
    """Whether every column has the same value in all rows.

    >>> are_constant(np.array([[1.0, 2.0], [1.0, 2.0]])), are_constant(np.array([[1.0], [0.0]]))
    (True, False)
    """
    if rows.shape[0] < 2:
        return True
    if not hasattr(rows, "indptr"):
        return bool((rows[1] == rows[0]).all() and (rows[1:] == rows[0]).all())
    filled = np.bincount(rows.indices, rows.data != 0, minlength=rows.shape[1])
    if not np.isin(filled, (0, rows.shape[0])).all():
        return False
    return bool((rows.max(axis=0).toarray() == rows.min(axis=0).toarray()).all())


def row_norms(rows: Matrix) -> Floats:
    """Return the Euclidean norm of each row."""
    import scipy.sparse as sp

    if sp.issparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel())
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))
