"""Centre and scale of columns that a few wild values do not move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qcompile.runtime import memory
from qcompile.runtime.threads import ordered
from qcompile.stages.arrays import Floats, Matrix

__all__ = ["robust_scaling"]


_REACH = 5 / 1.349  # in units of the interquartile range: 5 deviations of normal values
_ROUNDING = 32 * np.finfo(np.float64).eps


def robust_scaling(x: Matrix, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the centre and the scale of each column, by its values clipped near the median.

    Values are clipped at the median ± 5 IQR / 1.349, with quartiles as `np.quantile` gives them.
    The centre is the mean of the clipped values and the scale their deviation. A column stays as
    it is (centre 0, scale 1) if its IQR is 0, or if it holds only 0 and 1. A column that is 0 in
    more than half of the rows has centre 0, so that sparse rows stay sparse.

    Only the values matter, not their order or whether zeros are stored: sparse and dense rows have
    the same result, bit for bit. With `weights` a row counts as so many rows.
    """
    if weights is not None:
        return _weighted_scaling(x, weights)
    rows, features = x.shape
    center, scale = np.zeros(features), np.ones(features)
    filled = np.bincount(x.indices, minlength=features) if hasattr(x, "indptr") else None
    # with fewer values than this besides 0, both quartiles are 0
    quarter = (rows - 1) // 4
    columns = np.arange(features) if filled is None else np.flatnonzero(filled > quarter)
    if rows > 1 and len(columns):
        column = _columns(x) if filled is None else _sparse_columns(x, columns)
        found = ordered(lambda place: _scaling(column(place), rows), range(len(columns)))
        for place, (middle, spread) in zip(columns.tolist(), found, strict=True):
            center[place], scale[place] = middle, spread
    return center, scale


def _columns(x: Floats) -> Callable[[int], Floats]:
    return lambda place: np.asarray(x[:, place], dtype=np.float64)


def _sparse_columns(x: Matrix, columns: np.ndarray) -> Callable[[int], Floats]:
    """Return the function that gives the stored values of a column, by its place in `columns`."""
    memory.require(
        36 * x.nnz,
        f"sorting the {x.nnz:,} values of the columns",
        'use scale="max-abs", or limit rows=',
        announce=False,
    )
    chosen = x[:, columns] if len(columns) < x.shape[1] else x
    by_column = chosen.tocsc()
    ends, values = by_column.indptr, by_column.data
    return lambda place: np.asarray(values[ends[place] : ends[place + 1]], dtype=np.float64)


def _scaling(values: Floats, rows: int) -> tuple[float, float]:
    """Return the centre and the scale of a column; values that are not given are 0."""
    values = np.sort(values[values != 0])
    zeros = rows - len(values)
    first, median, third = (_quantile(values, zeros, share) for share in (0.25, 0.5, 0.75))
    is_flat = third - first <= _ROUNDING * max(abs(first), abs(third))
    if is_flat or (values[0] == values[-1] == 1):
        return 0.0, 1.0
    reach = _REACH * (third - first)
    low, high = median - reach, median + reach
    clipped, nothing = np.clip(values, low, high), min(max(0.0, low), high)
    mean = (float(clipped.sum()) + zeros * nothing) / rows
    squares = float(((clipped - mean) ** 2).sum()) + zeros * (nothing - mean) ** 2
    deviation = float(np.sqrt(squares / rows))
    return (0.0 if 2 * zeros > rows else mean), deviation or 1.0


def _quantile(values: Floats, zeros: int, share: float) -> float:
    """Return a quantile of sorted values and some zeros, between two of them by their distance."""
    below = int(np.searchsorted(values, 0.0))
    exact = share * (len(values) + zeros - 1)
    place = int(exact)

    def at(rank: int) -> float:
        if below <= rank < below + zeros:
            return 0.0
        return float(values[rank if rank < below else rank - zeros])

    low = at(place)
    part = exact - place
    return low if part == 0 else low + part * (at(place + 1) - low)


def _weighted_scaling(x: Matrix, weights: Floats) -> tuple[Floats, Floats]:
    """Return the centre and the scale of each column of rows that count `weights` times."""
    rows, features = float(weights.sum()), x.shape[1]
    center, scale = np.zeros(features), np.ones(features)
    by_column = x.tocsc() if hasattr(x, "indptr") else None

    def column(place: int) -> tuple[float, float]:
        if by_column is None:
            return _weighted(np.asarray(x[:, place], dtype=np.float64), weights, rows)
        part = slice(by_column.indptr[place], by_column.indptr[place + 1])
        return _weighted(by_column.data[part], weights[by_column.indices[part]], rows)

    if rows > 1:
        for place, found in enumerate(ordered(column, range(features))):
            center[place], scale[place] = found
    return center, scale


def _weighted(values: Floats, weights: Floats, rows: float) -> tuple[float, float]:
    """Return the centre and the scale of a column; the rest of the rows has the value 0."""
    seen = values != 0
    order = np.argsort(values[seen], kind="stable")
    values, weights = values[seen][order], weights[seen][order]
    if not len(values):
        return 0.0, 1.0
    zeros = max(rows - float(weights.sum()), 0.0)
    if zeros < _ROUNDING * rows:
        zeros = 0.0
    below = int(np.searchsorted(values, 0.0))
    levels = np.insert(values, below, 0.0)
    ends = np.cumsum(np.insert(weights, below, zeros))
    first, median, third = (_weighted_quantile(levels, ends, share) for share in (0.25, 0.5, 0.75))
    is_flat = third - first <= _ROUNDING * max(abs(first), abs(third))
    if is_flat or (values[0] == values[-1] == 1):
        return 0.0, 1.0
    reach = _REACH * (third - first)
    low, high = median - reach, median + reach
    clipped, nothing = np.clip(values, low, high), min(max(0.0, low), high)
    mean = (float(weights @ clipped) + zeros * nothing) / rows
    squares = float(weights @ (clipped - mean) ** 2) + zeros * (nothing - mean) ** 2
    deviation = float(np.sqrt(squares / rows))
    return (0.0 if 2 * zeros > rows else mean), deviation or 1.0


def _weighted_quantile(levels: Floats, ends: Floats, share: float) -> float:
    """Return the quantile of values that are repeated up to their ends, as `np.quantile` gives it.

    >>> _weighted_quantile(np.array([1.0, 2.0]), np.array([1.0, 3.0]), 0.25)
    1.5
    """
    exact = share * max(float(ends[-1]) - 1, 0.0)
    place = int(exact)
    low, high = (
        float(levels[min(int(np.searchsorted(ends, rank, side="right")), len(levels) - 1)])
        for rank in (place, place + 1)
    )
    part = exact - place
    return low if part == 0 else low + part * (high - low)
