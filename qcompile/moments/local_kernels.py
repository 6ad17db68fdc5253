"""Kernels for sums over unit rows: expected derivatives of the 0-1 loss, and their products."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.stages.arrays import Floats

__all__ = [
    "add_all_pairs",
    "add_margins",
    "add_pairs",
    "add_rows",
    "derivatives",
    "risks_of_margins",
]


@jit
def derivatives(margins: Floats, shares: Floats, spread: float, made: Floats) -> float:
    """Write each row's share of the expected derivatives into `made`; return its share of the risk.

    Rows of `made` are the derivatives of order 1, 2, ... by the margin of a row of unit length:
    G1 = -φ(z)/s, G2 = z φ(z)/s², G3 = (1 - z²) φ(z)/s³ with z the margin divided by the spread s.
    """
    density = 1.0 / math.sqrt(2.0 * math.pi)
    root = math.sqrt(0.5)
    total = 0.0
    orders = made.shape[0]
    for i in range(len(margins)):
        z = margins[i] / spread
        total += shares[i] * 0.5 * math.erfc(z * root)
        g = shares[i] * density * math.exp(-0.5 * z * z) / spread
        if orders > 0:
            made[0, i] = -g
        if orders > 1:
            made[1, i] = z * g / spread
        if orders > 2:
            made[2, i] = (1.0 - z * z) * g / (spread * spread)
    return total


@jit
def risks_of_margins(margins: Floats, shares: Floats, totals: Floats) -> None:
    """Add the share of each row in the smoothed risk of each column of margins."""
    root = math.sqrt(0.5)
    for i in range(margins.shape[0]):
        for k in range(margins.shape[1]):
            totals[k] += shares[i] * 0.5 * math.erfc(margins[i, k] * root)


@jit
def add_margins(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    weights: Floats,
    margins: Floats,
) -> None:
    """Add x·w of sparse rows for each column of `weights` (features x candidates)."""
    for i in range(len(starts) - 1):
        row = margins[i]
        for e in range(starts[i], starts[i + 1]):
            value, own = values[e], weights[columns[e]]
            for k in range(len(row)):
                row[k] += value * own[k]


@jit
def add_rows(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    factors: Floats,
    total: Floats,
) -> None:
    """Add the sparse rows times their factors."""
    for i in range(len(starts) - 1):
        f = factors[i]
        if f != 0.0:
            for e in range(starts[i], starts[i + 1]):
                total[columns[e]] += f * values[e]


@jit
def add_all_pairs(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    factors: Floats,
    total: Floats,
) -> None:
    """Add factor · x_a x_b of sparse rows, a at or before b in the row: all columns take part."""
    for i in range(len(starts) - 1):
        f = factors[i]
        if f == 0.0:
            continue
        last = starts[i + 1]
        for e in range(starts[i], last):
            row, scaled = total[columns[e]], f * values[e]
            for d in range(e, last):
                row[columns[d]] += scaled * values[d]


@jit
def add_pairs(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: Floats,
    factors: Floats,
    places: NDArray[np.int64],
    total: Floats,
) -> None:
    """Add factor · x_a x_b of sparse rows, a at or before b in the row, at their places.

    A column with a negative place is left out. Pairs are added once, so that `total` plus its
    transpose, with the diagonal counted once, is the whole matrix.
    """
    for i in range(len(starts) - 1):
        f = factors[i]
        if f == 0.0:
            continue
        for e in range(starts[i], starts[i + 1]):
            a = places[columns[e]]
            if a < 0:
                continue
            scaled = f * values[e]
            for d in range(e, starts[i + 1]):
                b = places[columns[d]]
                if b >= 0:
                    total[a, b] += scaled * values[d]
