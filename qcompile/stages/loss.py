"""Losses of the margin: polynomials, 0-1 loss, q-loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats

__all__ = ["Loss", "QLoss", "ZeroOneLoss"]


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


@dataclass(frozen=True)
class Loss:
    """A polynomial loss L(γ) = Σ a_p γ^p with the scales it was made for.

    `fit` says where the coefficients come from: "risk" (0-1 risk under the weight prior), "loss"
    (0-1 loss under one margin prior), "omega" (even orders) or "custom". Weights live in
    (-zeta, zeta], zeta = range_ * prior_std. The objective adds (l2/2) |w|².
    """

    coefficients: tuple[float, ...]
    fit: str = "custom"
    prior_std: float = 1.0
    range_: float = 2.0
    l2: float = 0.0
    omega: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers = (*self.coefficients, self.prior_std, self.range_, self.l2)
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"loss with a coefficient or scale that is not finite: {numbers}")
        if len(self.coefficients) < 2:
            raise InputError("a loss needs at least two coefficients, a_0 and a_1")
        if self.prior_std <= 0 or self.range_ <= 0 or self.l2 < 0:
            raise InputError(
                f"prior_std {self.prior_std:g}, range {self.range_:g} and l2 {self.l2:g}: "
                "expected the first two above 0 and l2 not below"
            )

    def __call__(self, margins: ArrayLike) -> Floats:
        """Evaluate the loss."""
        values = np.asarray(margins, dtype=np.float64)
        return np.asarray(np.polynomial.polynomial.polyval(values, np.array(self.coefficients)))

    @property
    def order(self) -> int:
        """Degree of the polynomial."""
        return len(self.coefficients) - 1

    @property
    def zeta(self) -> float:
        """Largest weight."""
        return self.range_ * self.prior_std

    @cached_property
    def turn(self) -> float:
        """Margin beyond which a loss rewards what is wrong; infinite where it does not.

        Where the loss has odd powers only, -turn is where it stops rising to the left: past it a
        *more* wrong margin costs *less*. With other powers too it is the smallest margin, of either
        sign, where the slope is 0. Even orders with a positive leading coefficient rise again; they
        turn only where they fall below 0 in between, as the eighth order does.
        """
        slopes = np.polynomial.polynomial.polyder(self.coefficients)
        slopes = np.trim_zeros(slopes, "b")
        roots = np.polynomial.polynomial.polyroots(slopes) if len(slopes) > 1 else np.zeros(0)
        real = roots[np.abs(roots.imag) <= 1e-9 * np.abs(roots)].real
        if self.order % 2 == 0 and self.coefficients[-1] > 0:
            return self._turn_before_a_reward(real)
        return float(np.abs(real).min()) if len(real) else math.inf

    def _turn_before_a_reward(self, level: Floats) -> float:
        """Return the last rise before a wrong margin costs less than 0; `level` has slope 0."""
        wrong = np.sort(level[level < 0])[::-1]
        rewarded = np.flatnonzero(self(wrong) < min(0.0, self.coefficients[0]))
        if not len(rewarded):
            return math.inf
        first = int(rewarded[0])
        return float(-wrong[first - 1]) if first else 0.0
