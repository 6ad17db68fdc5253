"""Compiled descent of a cubic in a box, one coordinate at a time."""

import math

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = ["search"]


@jit
def _best_step(slope: float, curve: float, third: float, low: float, high: float) -> float:
    """Minimise slope δ + curve δ²/2 + third δ³/6 over low <= δ <= high."""
    best, lowest = 0.0, 0.0
    # where slope + curve δ + third δ²/2 vanishes
    one, other = 0.0, 0.0
    if third != 0.0:
        inside = curve * curve - 2.0 * third * slope
        if inside > 0.0:
            root = math.sqrt(inside)
            one, other = (root - curve) / third, (-root - curve) / third
    elif curve > 0.0:
        one = -slope / curve
    for step in (low, high, one, other):
        if low <= step <= high:
            change = step * (slope + step * (curve / 2.0 + step * third / 6.0))
            if change < lowest:
                best, lowest = step, change
    return best


@jit
def _move(
    a: int,
    step: float,
    point: NDArray[np.float64],
    slope: NDArray[np.float64],
    curves: NDArray[np.float64],
    thirds: NDArray[np.float64],
) -> float:
    """Change one coordinate, update the derivatives, and return the change of the value."""
    size = len(point)
    change = step * (slope[a] + step * (curves[a, a] / 2.0 + step * thirds[a, a, a] / 6.0))
    for i in range(size):
        slope[i] += step * (curves[a, i] + step * thirds[a, a, i] / 2.0)
    for i in range(size):
        for j in range(size):
            curves[i, j] += step * thirds[a, i, j]
    point[a] += step
    return float(change)


@jit
def _descend(
    point: NDArray[np.float64],
    slope: NDArray[np.float64],
    curves: NDArray[np.float64],
    thirds: NDArray[np.float64],
    box: float,
    sweeps: int,
    state: NDArray[np.uint64],
) -> float:
    """Move `point` inside [-box, box]^n until no coordinate can be improved; return the change.

    Each sweep takes the coordinates in a random order: which valley is found depends on it.

    `slope`, `curves` and `thirds` are the first, second and (constant) third derivatives at
    `point`; the first two are kept up to date, an accepted move costs n² operations.
    """
    size = len(point)
    total = 0.0
    order = np.arange(size)
    for _ in range(sweeps):
        before = total
        for i in range(size - 1, 0, -1):
            j = int(uniform(state) * (i + 1))
            order[i], order[j] = order[j], order[i]
        for a in order:
            third = thirds[a, a, a]
            step = _best_step(slope[a], curves[a, a], third, -box - point[a], box - point[a])
            if step == 0.0:
                continue
            total += _move(int(a), step, point, slope, curves, thirds)
        if before - total <= 1e-6 * (1.0 + abs(total)):
            break
    return total


@jit
def _copy(
    point: NDArray[np.float64],
    slope: NDArray[np.float64],
    curves: NDArray[np.float64],
    to_point: NDArray[np.float64],
    to_slope: NDArray[np.float64],
    to_curves: NDArray[np.float64],
) -> None:
    """Copy a state, number by number: `a[:] = b` takes seconds to compile."""
    size = len(point)
    for i in range(size):
        to_point[i], to_slope[i] = point[i], slope[i]
        for j in range(size):
            to_curves[i, j] = curves[i, j]


@jit
def search(
    point: NDArray[np.float64],
    slope: NDArray[np.float64],
    curves: NDArray[np.float64],
    thirds: NDArray[np.float64],
    box: float,
    sweeps: int,
    kicks: int,
    seed: int,
) -> float:
    """Descend, then move a few coordinates to corners and descend again; keep the lower point.

    Gives the change of the value; `point` ends at the lowest one seen.
    """
    state = generator(seed)
    size = len(point)
    total = _descend(point, slope, curves, thirds, box, sweeps, state)
    best_point, best_slope, best_curves = point.copy(), slope.copy(), curves.copy()
    for _ in range(kicks):
        value = total
        for _ in range(1 + int(uniform(state) * (size // 4))):
            a = int(uniform(state) * size)
            corner = box if uniform(state) < 0.5 else -box
            value += _move(a, corner - point[a], point, slope, curves, thirds)
        value += _descend(point, slope, curves, thirds, box, sweeps, state)
        if value < total - 1e-12:
            total = value
            _copy(point, slope, curves, best_point, best_slope, best_curves)
        else:
            _copy(best_point, best_slope, best_curves, point, slope, curves)
    return total
