"""Choose how far weights may reach if the loss rises on both sides.

An even polynomial with a positive leading coefficient has no lowest value at infinity, but it is
narrow: beyond a margin of about twice its width every answer is expensive, and the eighth order
falls far below 0 on the wrong side before. Then all weights 0, or an anti-classifier, is the lowest
state of a coarse grid. So ranges are tried from wide to narrow. For each one the lowest point is
searched on the grids of two and three bits and on a finer one, and judged by the correlation of
label and decision that it has, mean(γ) / √mean(γ²): the number that least squares makes largest.
The first range whose worst correlation is near that of least squares is taken, else the best.

Only the moments are needed; rows are not looked at. It is a search, no proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qcompile.objective.cubic import Polynomial
from qcompile.stages import multisets
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments

__all__ = ["choose_even_range"]


_STEP, _STEPS = 2**0.5, 14
# The grids of two bits, of three bits, and one that stands for more, in units of the range.
_GRIDS = (
    np.array([-0.5, 0.0, 0.5, 1.0]),
    np.arange(-3, 5) / 4,
    np.linspace(-1.0, 1.0, 9),
)
_NEAR_THE_BEST = 0.9
# Terms times features times starts: a few seconds for the largest problem that is searched.
_WORK = 2_000_000
_MOST_STARTS = 6


def choose_even_range(
    moments: Moments, loss: Loss, widest: float, priced: Callable[[Loss], Loss]
) -> Loss | None:
    """Return the loss with its range; None if the moments do not allow a search.

    `priced` gives a loss the regulariser that belongs to its range.
    """
    unit = _unit(moments, loss)
    if loss.order > moments.order or not unit:
        return None
    terms = sum(multisets.count(moments.features, j) for j in range(1, loss.order + 1))
    starts = min(_MOST_STARTS, _WORK // (terms * moments.features) - 5)
    if starts < 0:
        narrow = min(widest, 2 * unit / math.sqrt(moments.features))
        note = (
            f"auto range: {moments.features} features are too many for a search at order "
            f"{loss.order}; took {narrow:.3g}, at which margins are about as wide as the loss"
        )
        return replace(loss, range_=narrow, notes=(*loss.notes, note))
    objective = Polynomial.of(moments, loss)
    enough = _NEAR_THE_BEST * _best_correlation(objective)
    best, chosen = 0.0, None
    for reach in dict.fromkeys(min(widest, 4 * unit / _STEP**k) for k in range(_STEPS)):
        own = replace(loss, range_=reach)
        ridge = (priced(own).l2 - loss.l2) * loss.prior_std**2
        quality = _worst_correlation(objective.with_ridge(ridge), reach, starts, best)
        if quality > best:
            best, chosen = quality, own
        if quality >= enough:
            break
    return chosen


def _unit(moments: Moments, loss: Loss) -> float:
    """Return the range at which a typical margin is where the loss of right answers is least.

    It is 0 if there is no such margin.
    """
    flat = loss.flat_margins
    right = flat[flat > 0]
    reach = loss.prior_std * moments.rms_norm
    return float(right.min()) / reach if len(right) and reach else 0.0


def _best_correlation(objective: Polynomial) -> float:
    """Return the correlation of label and decision that least squares has."""
    solved = np.linalg.lstsq(objective.margin_squares, objective.mean, rcond=None)[0]
    weights = np.asarray(solved, dtype=np.float64)
    return math.sqrt(max(0.0, objective.mean_margin(weights)))


def _worst_correlation(objective: Polynomial, reach: float, starts: int, bar: float) -> float:
    """Return the least correlation of label and decision at the lowest points of the grids.

    The search ends at the first grid that is not above the bar.
    """
    worst = 1.0
    for levels in _GRIDS:
        _, point = objective.lowest_on(reach * levels, starts)
        rms = objective.rms_margin(point)
        worst = min(worst, objective.mean_margin(point) / rms if rms else 0.0)
        if worst <= bar:
            break
    return worst
