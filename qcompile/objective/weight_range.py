"""Choose how far weights may reach, so that an odd loss cannot be abused.

An odd polynomial of the margin falls without bound on one side: past its turn (√3 σ for the cubic
fit) a *more* wrong margin costs *less*. If weights may reach too far, the minimum of the compiled
problem is such an abuse: a negative "risk" and a useless classifier. The range r (weights up to
zeta = r · s) that "auto" takes is the largest up to 2 for which the lowest point that a search
finds in the box [-zeta, zeta]^n keeps

- the objective at 0 or above, as a risk must be,
- the mean margin at 0 or above, as a classifier that has learnt something must,
- the root mean square margin within 0.8 of the turn, and
- at most a fifth of the margins wrong and past the turn, whatever their distribution (Cantelli's
  inequality from mean and variance; mostly it is a few percent),

and for which no valley on the wrong side (mean margin below 0) is half as deep as that point is
below w = 0: a coarse grid of weights may miss the lowest point but not by that much.

The search is by descent from several starts with many kicks, at O(n³) a sweep for cubics; the
examples are not looked at. It is a search, no proof: `warnings_for` looks at a classifier itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime.threads import ordered
from qcompile.stages import multisets
from qcompile.stages.artifacts import Dataset, Floats, Loss, Moments

__all__ = ["Cubic", "choose_range", "rewarded", "warnings_for"]

WIDEST = 2.0
_MOST_FEATURES, _MOST_TERMS = 400, 300_000
_LARGEST_RMS, _MOST_BEYOND = 0.8, 0.2
_STEP = 2**0.25
_STEPS_BELOW = 24  # narrowest range that is tried: the safe one over 2^6
_SWEEPS = 100
_KICKED_TERMS = 20_000
# share of wrong margins past the turn that is worth a word
_WORTH_A_WARNING = 0.05


class _Objective(Protocol):
    """The objective as a function of v = w / s."""

    def lowest(self, reach: float) -> tuple[float, Floats]:
        """Search the lowest point of the box [-reach, reach]^n."""

    def lowest_wrong(self, reach: float) -> float:
        """Descend from corners where margins are wrong; infinite if all end on the right side."""

    def mean_margin(self, point: Floats) -> float:
        """Mean margin at a point."""

    def rms_margin(self, point: Floats) -> float:
        """Root mean square of the margins at a point."""


def choose_range(moments: Moments, loss: Loss, range_: float | str) -> Loss:
    """Give the loss with its weight range, worked out where `range_` is "auto"."""
    if range_ != "auto":
        return _given_range(moments, loss, range_)
    if loss.order == 1:
        steepest = abs(loss.coefficients[1]) * loss.prior_std
        steepest *= float(np.abs(moments.tensors[1, 0]).sum()) / moments.count
        # the linear objective may fall from a_0 to 0, not further
        falls = loss.coefficients[0] / steepest if steepest else WIDEST
        return replace(loss, range_=min(WIDEST, falls) if falls > 0 else WIDEST)
    if math.isinf(loss.turn) or not loss.turn:
        return replace(loss, range_=WIDEST if loss.turn else 1.0)
    safe = _safe_range(moments, loss)
    if loss.order % 2 == 0 and loss.coefficients[-1] > 0:
        return replace(loss, range_=safe)  # even orders come without the sums for a search
    objective = _objective(moments, loss)
    if objective is None:
        note = (
            f"auto range: {moments.features} features are too many for a search; "
            f"took {safe:.3g}, at which no row of typical length can pass the turn"
        )
        return replace(loss, range_=safe, notes=(*loss.notes, note))
    return replace(loss, range_=_search(objective, loss, safe))


def _given_range(moments: Moments, loss: Loss, range_: float | str) -> Loss:
    """Take the user's range; say so where it invites abuse."""
    try:
        value = float(range_)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"range {range_!r}; expected auto or a number above 0")
    loss = replace(loss, range_=value)
    if loss.order != 3 or math.isinf(loss.turn) or value <= _safe_range(moments, loss):
        return loss
    objective = _objective(moments, loss)
    if objective is None:
        return loss
    wrong = objective.lowest_wrong(value)
    if wrong < 0:  # no risk is: that is worth a word, whatever else the box holds
        note = (
            f"with range {value:.3g} the objective falls to {wrong:.3g} where the mean margin is "
            "negative: very wrong margins are rewarded; use --range auto"
        )
        return replace(loss, notes=(*loss.notes, note))
    return loss


def rewarded(loss: Loss, data: Dataset, weights: Floats) -> bool:
    """Say whether a classifier is low because it is wrong: most rows are, or wrong ones pay."""
    margins = data.margins(weights)
    wrong = margins < 0
    return bool(np.mean(wrong) > 0.5 or (wrong.any() and float(np.mean(loss(margins[wrong]))) < 0))


def warnings_for(loss: Loss, data: Dataset, weights: Floats, energy: float) -> list[str]:
    """Say where a classifier takes advantage of the loss instead of fitting the data."""
    margins = data.margins(weights)
    found = []
    if rewarded(loss, data, weights):
        found.append(
            f"wrong margins are rewarded: {np.mean(margins < 0):.0%} of the rows are wrong at an "
            f"objective of {energy:.3g}; use a smaller --range than {loss.range_:.3g}"
        )
    elif energy < 0:
        found.append(
            f"the objective is {energy:.3g}, below 0, which no risk is: this loss falls below 0 at "
            "right answers. Compare it with other objectives of this loss only"
        )
    answers = np.where(margins * data.y > 0, 1.0, -1.0)  # 0 is a negative answer
    if float(np.mean(answers != data.y)) >= data.baseline_error:
        found.append(_no_better(data))
    beyond = float(np.mean(margins < -loss.turn))
    if beyond > _WORTH_A_WARNING:
        found.append(
            f"{beyond:.0%} of the margins are wrong and beyond the turn of the loss at "
            f"-{loss.turn:.3g}, where being more wrong costs less; use a smaller --range"
        )
    return found


def _no_better(data: Dataset) -> str:
    """Say that nothing was learnt, and what most often helps."""
    prepared = data.preparation
    scaled = prepared.scale is not None or prepared.unit_norm
    advice = [] if scaled else ["--scale standard"]
    advice += [] if prepared.bias else ["--bias"]
    advice += ["more --bits", "another --order"]
    return (
        f"no better than always giving the commoner label (error {data.baseline_error:.2%}); try "
        + ", ".join(advice)
    )


def _safe_range(moments: Moments, loss: Loss) -> float:
    """|γ| <= |w| |x| <= r s √n |x|: no row of typical length gets past the turn."""
    reach = loss.prior_std * math.sqrt(moments.features) * moments.rms_norm
    return min(WIDEST, loss.turn / reach) if reach else WIDEST


def _objective(moments: Moments, loss: Loss) -> _Objective | None:
    """Give what can be searched, or None where that would take too long."""
    if loss.order <= 3:
        return Cubic.of(moments, loss) if moments.features <= _MOST_FEATURES else None
    terms = sum(multisets.count(moments.features, j) for j in range(1, loss.order + 1))
    return _Polynomial.of(moments, loss) if terms <= _MOST_TERMS else None


def _search(objective: _Objective, loss: Loss, safe: float) -> float:
    """Halve the ladder of ranges between hardly anything and 2; the larger, the worse."""
    floor = 0.0 if loss.coefficients[0] > 0 else -math.inf  # own losses may start below 0

    def holds(reach: float) -> bool:
        energy, point = objective.lowest(reach)
        mean, rms = objective.mean_margin(point), objective.rms_margin(point)
        if energy < floor or mean < 0 or rms > _LARGEST_RMS * loss.turn:
            return False
        variance = max(0.0, rms**2 - mean**2)
        if variance > _MOST_BEYOND * (variance + (mean + loss.turn) ** 2):
            return False
        return objective.lowest_wrong(reach) >= (energy + loss.coefficients[0]) / 2

    ladder = [safe * _STEP**k for k in range(-_STEPS_BELOW, 0)]
    ladder += [
        min(WIDEST, safe * _STEP**k)
        for k in range(math.ceil(max(0.0, math.log(WIDEST / safe) / math.log(_STEP))) + 1)
    ]
    low, high = 0, len(ladder) - 1
    first = _STEPS_BELOW  # where it should hold already
    while low < high:
        middle = first if low < first <= high else (low + high + 1) // 2
        first = -1
        if holds(ladder[middle]):
            low = middle
        else:
            high = middle - 1
    return ladder[low]


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
        """Take the objective of a loss of degree 3 or less."""
        a = [c * loss.prior_std**p for p, c in enumerate(loss.coefficients)]
        a += [0.0] * (4 - len(a))
        one, two, three = (_full(moments, degree) for degree in (1, 2, 3))
        ridge = loss.l2 * loss.prior_std**2 * np.eye(moments.features)
        return cls(a[0], a[1] * one, 2 * a[2] * two + ridge, 6 * a[3] * three, two, one)

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
class _Polynomial:
    """The objective for any order, term by term: slower than `Cubic`, for few features."""

    constant: float
    indices: tuple[NDArray[np.int32], ...]
    values: tuple[Floats, ...]
    mean: Floats
    margin_squares: Floats

    @classmethod
    def of(cls, moments: Moments, loss: Loss) -> _Polynomial:
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
        mean, squares = _full(moments, 1), _full(moments, 2)
        return cls(loss.coefficients[0], tuple(indices), tuple(values), mean, squares)

    def rms_margin(self, point: Floats) -> float:
        return math.sqrt(max(0.0, float(point @ self.margin_squares @ point)))

    def mean_margin(self, point: Floats) -> float:
        return float(self.mean @ point)

    def values_at(self, points: Floats) -> Floats:
        """Evaluate at several points, one a row."""
        from qcompile.objective.expand_kernel import add_energies

        columns = np.ascontiguousarray(points.T)
        energies = np.full(len(points), self.constant)
        for rows, values in zip(self.indices, self.values, strict=True):
            add_energies(columns, rows, values, energies)
        return energies

    def lowest(self, reach: float) -> tuple[float, Floats]:
        size = len(self.mean)
        rng = np.random.default_rng(0)
        starts = [np.zeros(size), reach * np.sign(self.mean), -reach * np.sign(self.mean)]
        starts += [rng.choice([-reach, 0, reach], size) for _ in range(9)]
        found = ordered(lambda start: self._descend(start, reach), starts)
        return min(found, key=lambda pair: pair[0])

    def _descend(self, start: Floats, reach: float) -> tuple[float, Floats]:
        """Descend, then move some weights to corners and descend again, keeping what is lower."""
        rng = np.random.default_rng(len(start))
        point, lowest = self._settle(start, reach)
        for _ in range(min(20, max(2, _KICKED_TERMS // sum(map(len, self.values))))):
            kicked = point.copy()
            chosen = rng.choice(len(point), 1 + len(point) // 4, replace=False)
            kicked[chosen] = rng.choice([-reach, reach], len(chosen))
            tried, value = self._settle(kicked, reach)
            if value < lowest:
                point, lowest = tried, value
        return lowest, point

    def lowest_wrong(self, reach: float) -> float:
        rng = np.random.default_rng(0)
        worst = -reach * np.sign(self.mean)
        starts = [worst] + [worst * (rng.random(len(worst)) < 0.8) for _ in range(3)]
        found = [self._settle(start, reach) for start in starts]
        return min((e for point, e in found if self.mean_margin(point) < 0), default=math.inf)

    def _settle(self, start: Floats, reach: float) -> tuple[Floats, float]:
        """Try nine levels of one weight after the other until none is better."""
        levels = np.linspace(-reach, reach, 9)
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
