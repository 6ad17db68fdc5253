"""Choose how far weights may reach, so that the lowest state of the loss classifies.

An odd polynomial of the margin falls without bound on one side: beyond `Loss.reward_margin` (√3 σ
for the cubic fit) a *more* wrong margin costs *less*. If the range of weights is too wide, the
minimum of the compiled problem has a negative "risk" and is a useless classifier. The range r
(weights up to zeta = r · s) that "auto" takes is the largest up to 2 for which the lowest point
that a search finds in the box [-zeta, zeta]^n keeps

- the objective at 0 or above, as a risk must be,
- the mean margin at 0 or above, as a classifier that has learnt something must,
- the root mean square margin within 0.8 of the reward margin, and
- at most a fifth of the margins wrong and beyond the reward margin, for any distribution with this
  mean and variance (Cantelli's inequality; mostly it is a few percent),

and for which no valley on the wrong side (mean margin below 0) is half as deep as that point is
below w = 0: a coarse grid of weights may miss the lowest point but not by that much.

Losses that rise on both sides have a search of their own in `even_range`.

The search is by descent from several starts with many kicks, at O(n³) a sweep for cubics; the
examples are not looked at. It is a search, no proof: `judgement` looks at the problem itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qcompile.errors import InputError
from qcompile.objective.cubic import Objective, objective_of
from qcompile.objective.even_range import choose_even_range
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments

__all__ = ["choose_range"]


WIDEST = 2.0
_LARGEST_RMS, _MOST_BEYOND = 0.8, 0.2
_STEP = 2**0.25
_STEPS_BELOW = 24  # narrowest range that is tried: the safe one over 2^6


def choose_range(
    moments: Moments,
    loss: Loss,
    wanted: float | str,
    priced: Callable[[Loss], Loss] = lambda loss: loss,
) -> Loss:
    """Return the loss with its weight range, worked out where `wanted` is "auto".

    `priced` gives a loss the regulariser that belongs to its range.
    """
    if wanted != "auto":
        return _given_range(moments, loss, wanted)
    if loss.order == 1:
        steepest = abs(loss.coefficients[1]) * loss.prior_std
        steepest *= float(np.abs(moments.tensors[1, 0]).sum()) / moments.count
        # the linear objective may fall from a_0 to 0, not further
        falls = loss.coefficients[0] / steepest if steepest else WIDEST
        return replace(loss, range_=min(WIDEST, falls) if falls > 0 else WIDEST)
    rises = loss.order % 2 == 0 and loss.coefficients[-1] > 0
    found = choose_even_range(moments, loss, WIDEST, priced) if rises else None
    if found is not None:
        return found
    if math.isinf(loss.reward_margin) or not loss.reward_margin:
        return replace(loss, range_=WIDEST if loss.reward_margin else 1.0)
    safe = _safe_range(moments, loss)
    if rises:
        return replace(loss, range_=safe)
    objective = objective_of(moments, loss)
    if objective is None:
        note = (
            f"auto range: {moments.features} features are too many for a search; "
            f"took {safe:.3g}, at which no row of typical length can pass the turn"
        )
        return replace(loss, range_=safe, notes=(*loss.notes, note))
    return replace(loss, range_=_search(objective, loss, safe))


def _given_range(moments: Moments, loss: Loss, wanted: float | str) -> Loss:
    """Return the loss with the user's range, and with a note if the range is too wide."""
    try:
        value = float(wanted)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"weight range {wanted!r}; expected auto or a number above 0")
    loss = replace(loss, range_=value)
    if loss.order != 3 or math.isinf(loss.reward_margin) or value <= _safe_range(moments, loss):
        return loss
    objective = objective_of(moments, loss)
    if objective is None:
        return loss
    wrong = objective.lowest_wrong(value)
    if wrong < 0:  # a risk is never negative
        note = (
            f"with range {value:.3g} the objective falls to {wrong:.3g} where the mean margin is "
            'negative: very wrong margins are rewarded; use weight_range="auto"'
        )
        return replace(loss, notes=(*loss.notes, note))
    return loss


def _safe_range(moments: Moments, loss: Loss) -> float:
    """|γ| <= |w| |x| <= r s √n |x|: no row of typical length gets past the turn."""
    reach = loss.prior_std * math.sqrt(moments.features) * moments.rms_norm
    return min(WIDEST, loss.reward_margin / reach) if reach else WIDEST


def _search(objective: Objective, loss: Loss, safe: float) -> float:
    """Search the largest safe range up to 2 by bisection."""
    floor = 0.0 if loss.coefficients[0] > 0 else -math.inf  # own losses may start below 0

    def holds(reach: float) -> bool:
        energy, point = objective.lowest(reach)
        mean, rms = objective.mean_margin(point), objective.rms_margin(point)
        if energy < floor or mean < 0 or rms > _LARGEST_RMS * loss.reward_margin:
            return False
        variance = max(0.0, rms**2 - mean**2)
        if variance > _MOST_BEYOND * (variance + (mean + loss.reward_margin) ** 2):
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
