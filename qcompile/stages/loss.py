"""Losses of the margin: polynomials, 0-1 loss, q-loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.display import Displayed, quoted

__all__ = ["Loss", "QLoss", "ZeroOneLoss"]


@dataclass(frozen=True)
class ZeroOneLoss:
    """The 0-1 loss of a margin: 0 for margins above 0, else 1.

    A margin of 0 costs 1, because a margin alone does not say which answer was given.

    >>> ZeroOneLoss()([-1.0, 0.0, 2.0]).tolist()
    [1.0, 1.0, 0.0]
    """

    l2: float = 0.0

    def __call__(self, margins: ArrayLike) -> Floats:
        """Return the loss of each margin."""
        return (np.asarray(margins) <= 0).astype(np.float64)


@dataclass(frozen=True)
class QLoss:
    """The squared hinge loss with a ceiling: min((1 - q)², max(0, 1 - γ)²), q <= 0.

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
        """Return the loss of each margin."""
        gap = np.maximum(0.0, 1.0 - np.asarray(margins, dtype=np.float64))
        return np.asarray(np.minimum(self.ceiling, gap * gap))


@dataclass(frozen=True, repr=False)
class Loss(Displayed):
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

    def _line(self) -> str:
        return f"order {self.order}, fit {quoted(self.fit)}, weights up to {self.zeta:.4g}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "order": self.order,
            "fit": self.fit,
            "coefficients": ", ".join(f"{a:.4g}" for a in self.coefficients[:20]),
            "prior_std": self.prior_std,
            "range": self.range_,
            "zeta": self.zeta,
            "l2": self.l2,
            "omega": self.omega,
            "notes": "; ".join(self.notes) or None,
        }

    def __call__(self, margins: ArrayLike) -> Floats:
        """Return the loss of each margin."""
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

    @property
    def turn(self) -> float:
        """How wrong a margin is where more wrong ones begin to cost less; infinite if none do.

        From 0 to the left the loss rises up to -turn and falls beyond. `falls_for_good` says
        whether it rises again.
        """
        return self._turn[0]

    @property
    def falls_for_good(self) -> bool:
        """Whether the loss never rises again beyond -turn."""
        return self._turn[1]

    @cached_property
    def _turn(self) -> tuple[float, bool]:
        flat = self.flat_margins
        left = np.sort(flat[flat < 0])[::-1]
        if not len(left):
            return math.inf, False
        # one place between each two margins of slope 0, one before the first, one beyond the last
        places = np.concatenate([left[:1] / 2, (left[:-1] + left[1:]) / 2, 2 * left[-1:]])
        with np.errstate(all="ignore"):
            slopes = np.polynomial.polynomial.polyval(places, self._slopes)
            summed = np.polynomial.polynomial.polyval(-places, np.abs(self._slopes))
            # a double root comes out as two near ones: the slope between them is rounding, no fall
            rises = slopes < 1e-12 * summed
        if not rises[0] or rises.all():
            return math.inf, False
        first = int(np.argmin(rises))
        turn = -float(left[first - 1])
        # one number where both mean the same: roots of both signs are rounded differently
        same = math.isclose(turn, self.reward_margin, rel_tol=1e-9)
        return self.reward_margin if same else turn, not rises[first:].any()

    @cached_property
    def reward_margin(self) -> float:
        """The margin up to which the loss does not reward wrong answers; infinite if it never does.

        Odd orders fall without bound on one side. With odd powers only this is the `turn`; with
        other powers too it is the smallest margin, of either sign, where the slope is 0. Even
        orders with a positive leading coefficient rise in the end. They reward wrong answers only
        if they fall below 0 before, as the eighth order does: then this is where the fall begins.
        """
        flat = self.flat_margins
        if self.order % 2 == 0 and self.coefficients[-1] > 0:
            return self._fall_below_zero(flat)
        return float(np.abs(flat).min()) if len(flat) else math.inf

    def _fall_below_zero(self, flat: Floats) -> float:
        """Return how wrong margins are where the loss begins to fall below 0."""
        wrong = np.sort(flat[flat < 0])[::-1]
        rewarded = np.flatnonzero(self(wrong) < min(0.0, self.coefficients[0]))
        if not len(rewarded):
            return math.inf
        first = int(rewarded[0])
        return float(-wrong[first - 1]) if first else 0.0

    @property
    def scale(self) -> float:
        """The margin up to which a picture of the loss should reach at least."""
        sizes = [self.turn, self.reward_margin]
        if self.omega is not None and self.omega > 0:
            sizes.append(self.omega ** (-1 / self.order))
        return float(max((size for size in sizes if 1e-9 < size < 1e9), default=1.0))

    @property
    def _slopes(self) -> Floats:
        """Coefficients of the derivative."""
        with np.errstate(over="ignore"):
            slopes = np.polynomial.polynomial.polyder(np.array(self.coefficients))
        return np.trim_zeros(slopes, "b")

    @cached_property
    def flat_margins(self) -> Floats:
        """Margins where the slope is 0."""
        if len(self._slopes) < 2:
            return np.zeros(0)
        with np.errstate(all="ignore"):
            try:
                roots = np.polynomial.polynomial.polyroots(self._slopes)
            except np.linalg.LinAlgError:  # coefficients of absurd sizes
                return np.zeros(0)
        near = np.abs(roots.imag) <= 1e-9 * np.abs(roots)
        return np.asarray(roots[near].real, dtype=np.float64)
