"""Algebra of terms: rows of ascending variables with a coefficient each, all of one degree.

Rows are compared as rows, never as one packed number that could overflow: any degree and any
number of variables below 2^31 are exact.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats, frozen, sum_by

__all__ = ["collect", "most_terms", "order_of_rows"]


def most_terms(variables: int, degree: int) -> tuple[int, ...]:
    """Return the number of terms of each degree in a complete polynomial."""
    return tuple(comb(variables, j) for j in range(1, degree + 1))


def order_of_rows(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the stable order that sorts rows lexicographically."""
    members = rows.astype(np.int64)
    if members.shape[1] % 2:
        members = np.pad(members, ((0, 0), (1, 0)))
    # Two members of 32 bits fit into one word of 64 bits, whatever they are: half the sorting.
    words = members[:, 0::2] << 32 | members[:, 1::2]
    return np.lexsort(words.T[::-1])


def collect(
    rows: NDArray[np.int32], values: Floats, *more: tuple[NDArray[np.int32], Floats]
) -> tuple[NDArray[np.int32], Floats]:
    """Add up equal terms of one degree, in lexicographic order; sums of 0 are left out.

    Values of equal terms are added in the order in which they are given.

    >>> rows, sums = collect(np.array([[1, 2], [0, 3]]), np.ones(2), (np.array([[1, 2]]), [5.0]))
    >>> rows.tolist(), sums.tolist()
    ([[0, 3], [1, 2]], [1.0, 6.0])
    """
    rows = np.concatenate([rows, *(r for r, _ in more)])
    values = np.concatenate([values, *(v for _, v in more)])
    if not len(rows):
        return frozen(rows, np.int32), frozen(values)
    order = order_of_rows(rows)
    ordered = rows[order]
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    group = np.empty(len(rows), dtype=np.int64)
    group[order] = np.cumsum(begins) - 1
    sums = sum_by(group, values, int(group.max()) + 1)
    used = sums != 0
    return frozen(ordered[begins][used], np.int32), frozen(sums[used])
