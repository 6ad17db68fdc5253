"""Compiled kernels: sums of products over the stored entries of sparse rows."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["add_multiset_products", "add_subset_counts"]


@jit
def _prefixes(starts: NDArray[np.int64], degree: int, repeats: bool) -> NDArray[np.int64]:
    """Count the choices of t among the first p entries of a row, [t, p], up to the widest row."""
    widest = 0
    for row in range(len(starts) - 1):
        widest = max(widest, starts[row + 1] - starts[row])
    prefix = np.zeros((degree + 1, widest + 1), dtype=np.int64)
    prefix[0, :] = 1
    for t in range(1, degree + 1):
        for p in range(1, widest + 1):
            # with repeats, the last entry may be chosen again
            prefix[t, p] = prefix[t, p - 1] + prefix[t - 1, p if repeats else p - 1]
    return prefix


@jit
def add_multiset_products(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    factors: NDArray[np.float64],
    parts: NDArray[np.int64],
    degree: int,
    sums: NDArray[np.float64],
) -> None:
    """Add factors[row, e] Π values to sums[rank, e] for all multisets of `degree` entries of a row.

    In colexicographic order, multisets of t entries up to the p-th are a prefix of all multisets
    of t entries. So each degree follows from the one below by one multiplication.
    """
    prefix = _prefixes(starts, degree, True)
    room = prefix[:degree, -1].max()
    ranks, products = np.empty((2, room), dtype=np.int64), np.empty((2, room))
    kinds = sums.shape[1]
    for row in range(len(starts) - 1):
        first, size = starts[row], starts[row + 1] - starts[row]
        now = 0
        ranks[0, 0], products[0, 0] = 0, 1.0
        for t in range(1, degree):
            write = 0
            for p in range(size):
                value, part = values[first + p], parts[t, columns[first + p]]
                for q in range(prefix[t - 1, p + 1]):
                    ranks[1 - now, write] = ranks[now, q] + part
                    products[1 - now, write] = products[now, q] * value
                    write += 1
            now = 1 - now
        for p in range(size):
            value, part = values[first + p], parts[degree, columns[first + p]]
            if kinds == 2:  # the usual case: one pass for both
                one, two = value * factors[row, 0], value * factors[row, 1]
                for q in range(prefix[degree - 1, p + 1]):
                    place = ranks[now, q] + part
                    sums[place, 0] += products[now, q] * one
                    sums[place, 1] += products[now, q] * two
                continue
            for e in range(kinds):
                factor = value * factors[row, e]
                for q in range(prefix[degree - 1, p + 1]):
                    sums[ranks[now, q] + part, e] += products[now, q] * factor


@jit
def add_subset_counts(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    factors: NDArray[np.float64],
    parts: NDArray[np.int64],
    degree: int,
    sums: NDArray[np.float64],
) -> None:
    """Add factors[row, e] to sums[rank, e], for all subsets of `degree` entries of a row.

    For 0/1 features every power of an entry is the entry itself, so that subsets are enough.
    """
    prefix = _prefixes(starts, degree, False)
    ranks = np.empty((2, prefix[:degree, -1].max()), dtype=np.int64)
    kinds = sums.shape[1]
    for row in range(len(starts) - 1):
        first, size = starts[row], starts[row + 1] - starts[row]
        now = 0
        ranks[0, 0] = 0
        for t in range(1, degree):
            write = 0
            for p in range(size):
                part = parts[t, columns[first + p]]
                for q in range(prefix[t - 1, p]):
                    ranks[1 - now, write] = ranks[now, q] + part
                    write += 1
            now = 1 - now
        for p in range(size):
            part = parts[degree, columns[first + p]]
            if kinds == 2:
                one, two = factors[row, 0], factors[row, 1]
                for q in range(prefix[degree - 1, p]):
                    place = ranks[now, q] + part
                    sums[place, 0] += one
                    sums[place, 1] += two
                continue
            for e in range(kinds):
                factor = factors[row, e]
                for q in range(prefix[degree - 1, p]):
                    sums[ranks[now, q] + part, e] += factor
