"""Losses that are no polynomials: they cannot be compiled, only annealed over the margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.artifacts import Floats

__all__ = ["QLoss", "ZeroOneLoss"]


@dataclass(frozen=True)
class ZeroOneLoss:
    """1 for a wrong answer, 0 for a right one; a margin of 0 is wrong.

    >>> ZeroOneLoss()([-1.0, 0.0, 2.0]).tolist()
    [1.0, 1.0, 0.0]
    """

    l2: float = 0.0

    def __call__(self, margins: ArrayLike) -> Floats:
        """Evaluate the loss."""
        return (np.asarray(margins) <= 0).astype(np.float64)


@dataclass(frozen=True)
class QLoss:
    """A square hinge that is cut off: min((1 - q)², max(0, 1 - γ)²), q <= 0.

    Denchev, Ding, Vishwanathan, Neven: Robust classification with adiabatic quantum optimization.

    >>> QLoss(q=-1.0)([-5.0, 0.0, 2.0]).tolist()
    [4.0, 1.0, 0.0]
    """

    q: float
    l2: float = 0.0

    def __post_init__(self) -> None:
        if not -1e6 <= self.q <= 0:
            raise InputError(f"q {self.q:g}; expected a number up to 0")

    @property
    def ceiling(self) -> float:
        """The largest value."""
        return (1 - self.q) ** 2

    def __call__(self, margins: ArrayLike) -> Floats:
        """Evaluate the loss."""
        gap = np.maximum(0.0, 1.0 - np.asarray(margins, dtype=np.float64))
        return np.asarray(np.minimum(self.ceiling, gap * gap))
