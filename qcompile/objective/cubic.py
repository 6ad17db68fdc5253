"""The objective as a polynomial of the weights, for descent in a box."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.threads import ordered
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats
from qcompile.stages.energies import add_energies
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments

__all__ = ["Cubic", "Objective", "Polynomial", "full_tensor", "memory_needed", "objective_of"]


_MOST_FEATURES, _MOST_TERMS = 400, 300_000
_SWEEPS = 100
_KICKED_TERMS = 20_000
_LEVELS = 9


class Objective(Protocol):
    """The objective as a function of v = w / s."""

    def lowest(self, reach: float) -> tuple[float, Floats]:
        """Search the lowest point of the box [-reach, reach]^n."""

    def lowest_wrong(self, reach: float) -> float:
        """Descend from corners where margins are wrong; infinite if all end on the right side."""

    def mean_margin(self, point: Floats) -> float:
        """Mean margin at a point."""

    def rms_margin(self, point: Floats) -> float:
        """Root mean square of the margins at a point."""


def objective_of(moments: Moments, loss: Loss) -> Objective | None:
    """Return the objective in a form that can be searched, or None if that would take too long."""
    if loss.order <= 3:
        return Cubic.of(moments, loss) if moments.features <= _MOST_FEATURES else None
    terms = sum(multisets.count(moments.features, j) for j in range(1, loss.order + 1))
    return Polynomial.of(moments, loss) if terms <= _MOST_TERMS else None


@dataclass(frozen=True, eq=False)
class Cubic:
    """The objective as a cubic of v = w / s: value, slope and curvature at any point."""

    constant: float
    first: Floats
    second: Floats
    third: Floats
    margin_squares: Floats
    mean: Floats

    @classmethod
    def of(cls, moments: Moments, loss: Loss) -> Cubic:
        """Return the objective of a loss of degree 3 or less."""
        a = [c * loss.prior_std**p for p, c in enumerate(loss.coefficients)]
        a += [0.0] * (4 - len(a))
        one, two, three = (full_tensor(moments, degree) for degree in (1, 2, 3))
        with np.errstate(all="ignore"):  # what overflows is refused with the range, in one line
            three *= 6 * a[3]  # in place: it is the largest array by far
        ridge = loss.l2 * loss.prior_std**2 * np.eye(moments.features)
        return cls(a[0], a[1] * one, 2 * a[2] * two + ridge, three, two, one)

    def rms_margin(self, point: Floats) -> float:
        """Root mean square of the margins."""
        return math.sqrt(max(0.0, float(point @ self.margin_squares @ point)))

    def mean_margin(self, point: Floats) -> float:
        """Mean of the margins."""
        return float(self.mean @ point)

    def lowest(self, reach: float) -> tuple[float, Floats]:
        """Search the lowest point of the box [-reach, reach]^n."""
        found = ordered(lambda start: self._descend(start, reach), self._starts(reach))
        return min(found, key=lambda pair: pair[0])

    def lowest_wrong(self, reach: float) -> float:
        """Descend from corners where margins are wrong; infinite if all end on the right side."""
        rng = np.random.default_rng(0)
        worst = reach * np.sign(self.first)
        starts = [worst] + [worst * (rng.random(len(worst)) < 0.8) for _ in range(3)]
        found = list(ordered(lambda start: self._descend(start, reach, kicks=0), starts))
        return min((e for e, point in found if self.mean_margin(point) < 0), default=math.inf)

    def _starts(self, reach: float) -> Iterator[Floats]:
        size = len(self.first)
        rng = np.random.default_rng(0)
        yield np.zeros(size)
        # all margins as wrong, or as right, as the first moment can make them
        yield reach * np.sign(self.first)
        yield -reach * np.sign(self.first)
        yield rng.choice([-reach, reach], size)
        for _ in range(min(40, 4 * 10**6 // size**3)):
            yield reach * rng.choice([-1, -0.5, 0, 0.5, 1], size)

    def _descend(
        self, start: Floats, reach: float, kicks: int | None = None
    ) -> tuple[float, Floats]:
        from qcompile.objective.descent_kernel import search

        point = np.array(start)
        with np.errstate(all="ignore"):  # what overflows is refused with the range, in one line
            bend = self.third @ point
            curves = self.second + bend
            slope = self.first + self.second @ point + bend @ point / 2
            half = self.first + self.second @ point / 2 + bend @ point / 6
            energy = self.constant + point @ half
        if kicks is None:
            kicks = min(15, 3 * 10**7 // len(point) ** 3)
        seed = int(np.abs(start / reach).sum())
        change = search(point, slope, curves, self.third, reach, _SWEEPS, kicks, seed)
        return float(energy + change), point


@dataclass(frozen=True, eq=False)
class Polynomial:
    """The objective for any order, term by term: slower than `Cubic`, for few features."""

    constant: float
    indices: tuple[NDArray[np.int32], ...]
    values: tuple[Floats, ...]
    mean: Floats
    margin_squares: Floats

    @classmethod
    def of(cls, moments: Moments, loss: Loss) -> Polynomial:
        """Return the objective of a loss of any degree."""
        indices, values = [], []
        for j, a in enumerate(loss.coefficients[1:], 1):
            members = multisets.enumerate_multisets(moments.features, j)
            scale = a * loss.prior_std**j / moments.count
            orderings = multisets.orderings(moments.features, j)
            tensor = moments.tensors[j, 0] * orderings * scale
            if j == 2:
                tensor[members[:, 0] == members[:, 1]] += loss.l2 * loss.prior_std**2 / 2
            indices.append(members)
            values.append(tensor)
        mean, squares = full_tensor(moments, 1), full_tensor(moments, 2)
        return cls(loss.coefficients[0], tuple(indices), tuple(values), mean, squares)

    def rms_margin(self, point: Floats) -> float:
        """Root mean square of the margins."""
        return math.sqrt(max(0.0, float(point @ self.margin_squares @ point)))

    def mean_margin(self, point: Floats) -> float:
        """Mean of the margins."""
        return float(self.mean @ point)

    def values_at(self, points: Floats) -> Floats:
        """Evaluate at several points, one a row."""
        columns = np.ascontiguousarray(points.T)
        energies = np.full(len(points), self.constant)
        for rows, values in zip(self.indices, self.values, strict=True):
            add_energies(columns, rows, values, energies)
        return energies

    @property
    def terms(self) -> int:
        """Number of terms."""
        return sum(map(len, self.values))

    def with_ridge(self, ridge: float) -> Polynomial:
        """Return the objective plus ridge/2 |v|²."""
        members, values = self.indices[1], self.values[1].copy()
        values[members[:, 0] == members[:, 1]] += ridge / 2
        return replace(self, values=(self.values[0], values, *self.values[2:]))

    def lowest_on(self, levels: Floats, starts: int) -> tuple[float, Floats]:
        """Search the lowest point whose coordinates are all among the levels, of which 0 is one."""
        size = len(self.mean)
        rng = np.random.default_rng(0)
        slopes = np.sign(self.mean) * np.abs(levels).max()
        points = [np.zeros(size)]
        points += [_nearest(levels, share * slopes) for share in (0.25, 1.0, -0.25, -1.0)]
        points += [rng.choice(levels, size) for _ in range(starts)]
        found = ordered(lambda start: self._settle(start, levels), points)
        point, lowest = min(found, key=lambda pair: pair[1])
        return lowest, point

    def lowest(self, reach: float) -> tuple[float, Floats]:
        """Search the lowest point of the box [-reach, reach]^n."""
        size = len(self.mean)
        rng = np.random.default_rng(0)
        starts = [np.zeros(size), reach * np.sign(self.mean), -reach * np.sign(self.mean)]
        starts += [rng.choice([-reach, 0, reach], size) for _ in range(9)]
        found = ordered(lambda start: self._descend(start, reach), starts)
        return min(found, key=lambda pair: pair[0])

    def _descend(self, start: Floats, reach: float) -> tuple[float, Floats]:
        """Descend, then move some weights to corners and descend again; keep the lower point."""
        rng = np.random.default_rng(len(start))
        levels = np.linspace(-reach, reach, _LEVELS)
        point, lowest = self._settle(start, levels)
        for _ in range(min(20, max(2, _KICKED_TERMS // self.terms))):
            kicked = point.copy()
            chosen = rng.choice(len(point), 1 + len(point) // 4, replace=False)
            kicked[chosen] = rng.choice([-reach, reach], len(chosen))
            tried, value = self._settle(kicked, levels)
            if value < lowest:
                point, lowest = tried, value
        return lowest, point

    def lowest_wrong(self, reach: float) -> float:
        """Descend from corners where margins are wrong; infinite if all end on the right side."""
        rng = np.random.default_rng(0)
        worst = -reach * np.sign(self.mean)
        starts = [worst] + [worst * (rng.random(len(worst)) < 0.8) for _ in range(3)]
        levels = np.linspace(-reach, reach, _LEVELS)
        found = [self._settle(start, levels) for start in starts]
        return min((e for point, e in found if self.mean_margin(point) < 0), default=math.inf)

    def _settle(self, start: Floats, levels: Floats) -> tuple[Floats, float]:
        """Try the levels of one weight after the other until none is better."""
        point, lowest = start, float(self.values_at(start[None])[0])
        improved = True
        while improved:
            improved = False
            for a in range(len(point)):
                tries = np.repeat(point[None], len(levels), axis=0)
                tries[:, a] = levels
                values = self.values_at(tries)
                if values.min() < lowest - 1e-12 * (1 + abs(lowest)):
                    lowest, improved = float(values.min()), True
                    point = tries[int(values.argmin())]
        return point, lowest


def _nearest(levels: Floats, wanted: Floats) -> Floats:
    """Return the level next to each number."""
    return np.asarray(levels[np.abs(levels[:, None] - wanted).argmin(axis=0)])


def memory_needed(features: int) -> int:
    """Return the bytes of a cubic of so many weights with full derivatives, while it is made."""
    return 8 * features**3 + 80 * features**2


def full_tensor(moments: Moments, degree: int) -> Floats:
    """Return a symmetric tensor of degree 1 to 3 unpacked, divided by the number of examples."""
    n = moments.features
    if degree > moments.order:
        return np.zeros((n,) * degree)
    packed = moments.tensors[degree, 0]
    if degree == 1:
        return packed / moments.count
    parts = multisets.rank_parts(n, degree)
    rows, columns = np.indices((n, n))
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    if degree == 2:
        return np.asarray(packed[parts[1, low] + parts[2, high]] / moments.count)
    full = np.empty((n, n, n))
    for a in range(n):
        first, last = np.minimum(low, a), np.maximum(high, a)
        middle = np.clip(a, low, high)
        np.divide(
            packed[parts[1, first] + parts[2, middle] + parts[3, last]], moments.count, full[a]
        )
    return full
