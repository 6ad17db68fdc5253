"""Arrays of terms from Python's lists and dictionaries of them, without a loop over the terms."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.terms import collect

__all__ = ["Arrays", "arrays_of"]


Arrays = tuple[float, tuple[NDArray[np.int32], ...], tuple[Floats, ...], NDArray[np.bool_]]
_LARGEST = 2**31 - 1
_MOST_MEMBERS = 64
_MOST_UNUSED = 10**6  # variables, beside eight for each member of a term


def arrays_of(keys: Sequence[Collection[Any]], values: Sequence[Any]) -> Arrays | None:
    """Return constant, rows and sums of each degree, and which variables occur, or None.

    It is None unless all is plain: members are integers from 0 on, no two of a term alike, and
    numbers are finite. Equal terms are added up in the order in which they are given; sums of 0 are
    left out.

    >>> constant, rows, sums, there = arrays_of([(), (2, 0), (0, 2)], [1, 2.0, 3.0])
    >>> constant, rows[1].tolist(), sums[1].tolist(), there.tolist()
    (1.0, [[0, 2]], [5.0], [True, False, True])
    """
    if not set(map(type, values)) <= {int, float}:
        return None
    sizes = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    if len(sizes) and sizes.max() > _MOST_MEMBERS:
        return None
    if not set(map(type, chain.from_iterable(keys))) <= {int}:
        return None
    try:
        members = np.fromiter(chain.from_iterable(keys), dtype=np.int64, count=int(sizes.sum()))
        numbers = np.fromiter(values, dtype=np.float64, count=len(keys))
    except OverflowError:  # an integer beyond 64 bits, or beyond what is a number
        return None
    limit = min(_LARGEST, _MOST_UNUSED + 8 * len(members))
    if len(members) and not (members.min() >= 0 and members.max() < limit):
        return None
    if not np.isfinite(numbers).all():
        return None
    constant, parts = sum(numbers[sizes == 0].tolist(), 0.0), []
    begins = np.concatenate([[0], np.cumsum(sizes)])
    for degree in range(1, int(sizes.max(initial=0)) + 1):
        chosen = np.flatnonzero(sizes == degree)
        rows = members[begins[chosen][:, None] + np.arange(degree)].astype(np.int32)
        if (rows[:, 1:] <= rows[:, :-1]).any():
            rows = np.sort(rows, axis=1)
            if (rows[:, 1:] == rows[:, :-1]).any():
                return None
        parts.append(_added(rows, numbers[chosen]))
    while parts and not len(parts[-1][1]):
        parts.pop()
    if not all(np.isfinite(sums).all() for _, sums in parts) or not np.isfinite(constant):
        return None
    there = np.zeros(int(members.max(initial=-1)) + 1, dtype=np.bool_)
    there[members] = True
    return constant, tuple(rows for rows, _ in parts), tuple(sums for _, sums in parts), there


def _added(rows: NDArray[np.int32], values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Add up equal terms; most lists have each term once and in order, which is soon seen."""
    if (values != 0).all() and _ascending(rows):
        return frozen(rows, np.int32), frozen(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return collect(rows, values)


def _ascending(rows: NDArray[np.int32]) -> bool:
    """Whether each row is after the one before it."""
    undecided = np.ones(max(0, len(rows) - 1), dtype=np.bool_)
    for column in rows.T:
        step = np.diff(column.astype(np.int64))
        if (undecided & (step < 0)).any():
            return False
        undecided &= step == 0
    return not undecided.any()
