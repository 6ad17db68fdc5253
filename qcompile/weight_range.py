"""Choose how far weights may reach, so that an odd loss cannot be abused.

An odd polynomial of the margin falls without bound on one side: past its turn (√3 σ for the cubic
fit) a *more* wrong margin costs *less*. If weights may reach too far, the minimum of the compiled
problem is such an abuse: a negative "risk" and a useless classifier. The range r (weights up to
zeta = r · s) that "auto" takes for cubics is the largest up to 2 for which the lowest point of the
whole box [-zeta, zeta]^n keeps

- the objective at 0 or above, as a risk must be, and
- the root mean square margin within 0.8 of the turn.

Every grid of weights lies inside the box, so its minimum is not below 0 either. The lowest point is
searched by descent from several starts, at O(n³) a sweep; the examples are not looked at. Other
odd orders take the range at which no row of typical length can pass the turn at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from qcompile import multisets
from qcompile.artifacts import Dataset, Floats, Loss, Moments
from qcompile.errors import InputError
from qcompile.threads import ordered

__all__ = ["Cubic", "choose_range", "warnings_for"]

WIDEST = 2.0
_MOST_FEATURES = 400
_LARGEST_RMS = 0.8
_STEP = 2**0.25
_SWEEPS = 100
# share of wrong margins past the turn that is worth a word
_WORTH_A_WARNING = 0.05


def choose_range(moments: Moments, loss: Loss, range_: float | str) -> Loss:
    """Give the loss with its weight range, worked out where `range_` is "auto"."""
    if range_ != "auto":
        try:
            value = float(range_)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"range {range_!r}; expected auto or a number above 0")
        return replace(loss, range_=value)
    scaled = [a * loss.prior_std**p for p, a in enumerate(loss.coefficients)]
    if loss.order == 1:
        steepest = abs(scaled[1]) * float(np.abs(moments.tensors[1, 0]).sum()) / moments.count
        # the linear objective may fall from a_0 to 0, not further
        return replace(loss, range_=min(WIDEST, scaled[0] / steepest) if steepest else WIDEST)
    if math.isinf(loss.turn):
        return replace(loss, range_=WIDEST)
    safe = _safe_range(moments, loss)
    if loss.order != 3 or safe >= WIDEST:
        return replace(loss, range_=safe)
    if moments.features > _MOST_FEATURES:
        note = (
            f"auto range: {moments.features} features are too many for a search "
            f"(at most {_MOST_FEATURES}); took the always safe {safe:.3g}"
        )
        return replace(loss, range_=safe, notes=(*loss.notes, note))
    return replace(loss, range_=_search(moments, loss, safe))


def warnings_for(loss: Loss, data: Dataset, weights: Floats, energy: float) -> list[str]:
    """Say where a classifier takes advantage of the loss instead of fitting the data."""
    found = []
    if energy < 0:
        found.append(
            f"the objective is {energy:.3g}, below 0: no risk is. "
            f"Wrong margins are rewarded; use a smaller --range than {loss.range_:.3g}"
        )
    beyond = float(np.mean(data.margins(weights) < -loss.turn))
    if beyond > _WORTH_A_WARNING:
        found.append(
            f"{beyond:.0%} of the margins are wrong and beyond the turn of the loss at "
            f"-{loss.turn:.3g}, where being more wrong costs less; use a smaller --range"
        )
    return found


def _safe_range(moments: Moments, loss: Loss) -> float:
    """|γ| <= |w| |x| <= r s √n |x|: no row of typical length gets past the turn."""
    reach = loss.prior_std * math.sqrt(moments.features) * moments.rms_norm
    return min(WIDEST, loss.turn / reach) if reach else WIDEST


def _search(moments: Moments, loss: Loss, safe: float) -> float:
    """Widen the box step by step from a safe one until its lowest point falls below 0."""
    cubic = Cubic.of(moments, loss)
    energy, point = cubic.lowest(safe, np.zeros(moments.features))
    while energy < 0:
        safe /= 2
        energy, point = cubic.lowest(safe, point / 2)
    steps = math.ceil(math.log(WIDEST / safe) / math.log(_STEP))
    best = safe
    for k in range(1, steps + 1):
        reach = min(WIDEST, safe * _STEP**k)
        energy, point = cubic.lowest(reach, point)
        if energy < 0:
            break
        if cubic.rms_margin(point) <= _LARGEST_RMS * loss.turn:
            best = reach
    return best


@dataclass(frozen=True, eq=False)
class Cubic:
    """The objective as a cubic of v = w / s: value, slope and curvature at any point."""

    constant: float
    first: Floats
    second: Floats
    third: Floats
    margin_squares: Floats

    @classmethod
    def of(cls, moments: Moments, loss: Loss) -> Cubic:
        """Take the objective of a loss of degree 3 or less."""
        a = [c * loss.prior_std**p for p, c in enumerate(loss.coefficients)]
        a += [0.0] * (4 - len(a))
        one, two, three = (_full(moments, degree) for degree in (1, 2, 3))
        ridge = loss.l2 * loss.prior_std**2 * np.eye(moments.features)
        return cls(a[0], a[1] * one, 2 * a[2] * two + ridge, 6 * a[3] * three, two)

    def rms_margin(self, point: Floats) -> float:
        """Root mean square of the margins."""
        return math.sqrt(max(0.0, float(point @ self.margin_squares @ point)))

    def lowest(self, reach: float, known: Floats) -> tuple[float, Floats]:
        """Descend from several starts, `known` among them; gives the lowest point found."""
        found = ordered(lambda start: self._descend(start, reach), self._starts(reach, known))
        return min(found, key=lambda pair: pair[0])

    def _starts(self, reach: float, known: Floats) -> Iterator[Floats]:
        size = len(self.first)
        rng = np.random.default_rng(0)
        yield known
        yield np.zeros(size)
        # all margins as wrong, or as right, as the first moment can make them
        yield reach * np.sign(self.first)
        yield -reach * np.sign(self.first)
        for _ in range(max(1, min(8, 2 * 10**7 // size**3))):
            yield rng.uniform(-reach, reach, size)
            yield rng.choice([-reach, reach], size)

    def _descend(self, start: Floats, reach: float) -> tuple[float, Floats]:
        from qcompile.descent_kernel import descend

        point = np.array(start)
        bend = self.third @ point
        curves = self.second + bend
        slope = self.first + self.second @ point + bend @ point / 2
        energy = self.constant + point @ (self.first + self.second @ point / 2 + bend @ point / 6)
        return float(energy + descend(point, slope, curves, self.third, reach, _SWEEPS)), point


def _full(moments: Moments, degree: int) -> Floats:
    """Unpack a symmetric tensor, divided by the number of examples."""
    n = moments.features
    if degree > moments.order:
        return np.zeros((n,) * degree)
    packed = moments.tensors[degree, 0] / moments.count
    parts = multisets.rank_parts(n, degree)
    if degree == 1:
        return packed
    rows, columns = np.indices((n, n))
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    if degree == 2:
        return np.asarray(packed[parts[1, low] + parts[2, high]])
    full = np.empty((n, n, n))
    for a in range(n):
        first, last = np.minimum(low, a), np.maximum(high, a)
        middle = np.clip(a, low, high)
        full[a] = packed[parts[1, first] + parts[2, middle] + parts[3, last]]
    return full
