"""What rows that are gone say about the weights: a quadratic in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qcompile.moments.local import Derivatives, local_fit
from qcompile.moments.unit_rows import UnitRows
from qcompile.stages.arrays import Floats
from qcompile.stages.local_fit import Around

__all__ = ["Memory", "memory_of"]


@dataclass(frozen=True, eq=False)
class Memory:
    """A quadratic of the weights, constant + slope·w + w·bend·w/2, in the place of rows.

    >>> kept = Memory(1.0, np.array([2.0]), np.array([[4.0]]))
    >>> kept.at(np.array([[3.0]])), kept.slope_at(np.array([3.0]))
    (array([25.]), array([14.]))
    """

    constant: float
    slope: Floats
    bend: Floats

    def at(self, weights: Floats) -> Floats:
        """Return the value at each row of weights."""
        many = np.atleast_2d(weights)
        curved = ((many @ self.bend) * many).sum(axis=1) / 2
        return np.asarray(self.constant + many @ self.slope + curved)

    def slope_at(self, weights: Floats) -> Floats:
        """Return the gradient at weights."""
        return np.asarray(self.slope + self.bend @ weights)

    def added_to(
        self, found: Derivatives, centre: Floats, members: NDArray[np.int64]
    ) -> Derivatives:
        """Return the polynomial of a step from a centre with this one added."""
        slope = self.slope_at(centre)
        return replace(
            found,
            constant=found.constant + float(self.at(centre)[0]),
            first=found.first + slope[members],
            second=found.second + self.bend[np.ix_(members, members)],
            slope=found.slope + slope,
        )

    def __mul__(self, share: float) -> Memory:
        return Memory(share * self.constant, share * self.slope, share * self.bend)

    def __add__(self, other: Memory) -> Memory:
        return Memory(
            self.constant + other.constant, self.slope + other.slope, self.bend + other.bend
        )


def memory_of(rows: UnitRows, weights: Floats, width: float) -> Memory:
    """Return the quadratic nearest to the risk of rows around weights, made convex.

    Rows far on the wrong side bend the risk down. A quadratic that falls without end would say
    more than the rows do.
    """
    fit = local_fit(rows, weights, Around(width))
    values, vectors = np.linalg.eigh(fit.second)
    bend = (vectors * np.maximum(values, 0.0)) @ vectors.T
    turned = bend @ weights
    return Memory(
        fit.constant - float(fit.first @ weights) + float(weights @ turned) / 2,
        fit.first - turned,
        bend,
    )
