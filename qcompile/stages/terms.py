"""Algebra of terms: add, subtract, collect, count."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats, frozen, sum_by
from qcompile.stages.pubo import Pubo

__all__ = ["added", "difference", "most_terms"]


def most_terms(variables: int, degree: int) -> tuple[int, ...]:
    """Terms of each degree in a complete polynomial."""
    return tuple(comb(variables, j) for j in range(1, degree + 1))


def added(
    rows: NDArray[np.int32],
    values: Floats,
    more_rows: NDArray[np.int32],
    more_values: Floats,
    variables: int,
) -> tuple[NDArray[np.int32], Floats]:
    """Add terms of one degree; sums that vanish are left out."""
    joined = np.concatenate([rows, more_rows]).astype(np.int64)
    degree = joined.shape[1]
    keys = np.zeros(len(joined), dtype=np.int64)
    for t in range(degree):  # members in base `variables` sort like the rows
        keys = keys * variables + joined[:, t]
    unique, first, where = np.unique(keys, return_index=True, return_inverse=True)
    sums = sum_by(where, np.concatenate([values, more_values]), len(unique))
    used = sums != 0
    return frozen(joined[first][used], np.int32), frozen(sums[used])


def difference(one: Pubo, other: Pubo) -> Pubo:
    """Return the polynomial one - other."""
    indices, coefficients = [], []
    for j in range(max(len(one.indices), len(other.indices))):
        rows, values = _terms(one, j)
        minus_rows, minus = _terms(other, j)
        made = added(rows, values, minus_rows, -minus, max(one.variables, 1))
        indices.append(made[0])
        coefficients.append(made[1])
    return Pubo(
        variables=one.variables,
        constant=one.constant - other.constant,
        indices=tuple(indices),
        coefficients=tuple(coefficients),
    )


def _terms(pubo: Pubo, j: int) -> tuple[NDArray[np.int32], Floats]:
    if j < len(pubo.indices):
        return pubo.indices[j], pubo.coefficients[j]
    return np.empty((0, j + 1), dtype=np.int32), np.empty(0)
