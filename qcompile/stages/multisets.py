"""Multisets of features in colexicographic order: how symmetric tensors are stored.

A symmetric tensor of degree k over n features has one entry for each multiset
{i_1 <= ... <= i_k}, at position C(i_1, 1) + C(i_2 + 1, 2) + ... + C(i_k + k - 1, k). The position
does not depend on n, so a tensor over fewer features is a prefix of one over more.

>>> enumerate_multisets(2, 2).tolist()
[[0, 0], [0, 1], [1, 1]]
"""

from math import comb

import numpy as np
from numpy.typing import NDArray

__all__ = ["count", "enumerate_multisets", "inner", "orderings", "rank", "rank_parts"]


def count(features: int, degree: int) -> int:
    """Count the multisets of `degree` features.

    >>> count(123, 3)
    317750
    """
    if features == 0:
        return int(degree == 0)
    return comb(features + degree - 1, degree)


def rank_parts(features: int, degree: int) -> NDArray[np.int64]:
    """Tabulate what feature i adds to the position as the t-th smallest member: [t, i]."""
    if count(features, degree) >= 2**63:
        raise OverflowError(f"positions of {degree} of {features} features exceed 64 bits")
    table = np.zeros((degree + 1, features), dtype=np.int64)
    for t in range(1, degree + 1):
        # C(i + t - 1, t), each row the running sum of the row above it.
        table[t] = np.arange(features) if t == 1 else np.cumsum(table[t - 1])
    return table


def rank(multisets: NDArray[np.integer], features: int) -> NDArray[np.int64]:
    """Return the positions of multisets, one a row, members ascending."""
    degree = multisets.shape[1]
    parts = rank_parts(features, degree)
    position = np.zeros(len(multisets), dtype=np.int64)
    for t in range(degree):
        position += parts[t + 1, multisets[:, t]]
    return position


def enumerate_multisets(features: int, degree: int) -> NDArray[np.int32]:
    """List all multisets, one a row, in storage order."""
    members = np.zeros((1, 0), dtype=np.int32)
    for t in range(1, degree + 1):
        sizes = [count(i + 1, t - 1) for i in range(features)]
        largest = np.repeat(np.arange(features, dtype=np.int32), sizes)
        below = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.arange(0)
        members = np.column_stack([members[below], largest])
    return members


def inner(a: NDArray[np.float64], b: NDArray[np.float64], *, features: int, degree: int) -> float:
    """Return the inner product of two full tensors, each multiset weighted by its orderings.

    Works slice by slice (all multisets with the same largest member), so that it needs no
    memory of the size of the tensors.
    """
    orderings, run = _orderings(features, degree - 1)
    total, start = 0.0, 0
    for i in range(features):
        size, below = count(i + 1, degree - 1), count(i, degree - 1)
        weights = orderings[:size] * degree
        if degree > 1:
            weights[below:] /= run[below:size] + 1
        stop = start + size
        total += float(np.sum(weights * a[start:stop] * b[start:stop]))
        start = stop
    return total


def orderings(features: int, degree: int) -> NDArray[np.float64]:
    """Return the number of orders in which each multiset can be written.

    >>> orderings(2, 2).tolist()
    [1.0, 2.0, 1.0]
    """
    return _orderings(features, degree)[0]


def _orderings(features: int, degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the orderings of each multiset and how often its largest member is repeated."""
    orderings, run = np.ones(1), np.zeros(1)
    for t in range(1, degree + 1):
        new_orderings, new_run = [], []
        for i in range(features):
            size, below = count(i + 1, t - 1), count(i, t - 1)
            repeated = np.ones(size)
            if t > 1:
                repeated[below:] = run[below:size] + 1
            new_orderings.append(orderings[:size] * t / repeated)
            new_run.append(repeated)
        orderings, run = np.concatenate(new_orderings), np.concatenate(new_run)
    return orderings, run
