"""Judge a classifier, or the best one of a problem before it is solved.

`judge` says what is wrong with a classifier that a solver found: an energy above that of all
weights 0, wrong answers that the loss rewards, an error no smaller than the baseline. `compile`,
`solve`, `decode`, `submit`, `resume`, `train` and the estimator all take their warnings from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qcompile.objective.cubic import Cubic, Polynomial, objective_of
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.problem import Problem
from qcompile.stages.record import Record

__all__ = [
    "Judgement",
    "fault_of",
    "judge",
    "learnt_nothing",
    "no_better",
    "rewarded",
    "upside_down",
    "warnings_for",
]


# share of wrong margins past the turn that is worth a word
_WORTH_A_WARNING = 0.05
# Terms times features times levels up to which the grid of the bits is searched itself.
_GRID_WORK = 2_000_000
_STARTS = 6


@dataclass(frozen=True)
class Judgement(Record):
    """What is known about a classifier, and what its user should be told (`notes`).

    `energy_of_zero` is the energy of all weights 0; None for a step from other weights. `error`
    and `baseline` are of the rows it was trained on, so many `rows`; None if those are not at hand.
    """

    energy: float
    energy_of_zero: float | None
    error: float | None = None
    baseline: float | None = None
    notes: tuple[str, ...] = ()
    rows: int | None = None


def judge(
    problem: Problem, weights: Floats, energy: float, rows: Dataset | None = None
) -> Judgement:
    """Judge a classifier by its energy, and by the rows that the problem was compiled from.

    `rows` are prepared as for the problem; without them the energy alone is judged.

    >>> import qcompile
    >>> rows = qcompile.prepare(qcompile.read("breast-cancer"), scale="standard", features=3)
    >>> problem = qcompile.compile(rows, bits=2).pubo
    >>> found = qcompile.judge(problem, -rows.x.T @ rows.y, 10.0, rows)
    >>> len(found.notes) > 1 and found.error > found.baseline
    True
    """
    zero = _energy_of_zero(problem)
    low = zero is None or energy <= zero + 1e-9 * (1 + abs(zero)) + problem.dropped
    notes = []
    if not low:
        notes.append(
            f"the energy {energy:.4g} is above {zero:.4g}, which all weights 0 have: the search "
            "found no low state; take more samples, use another solver=, fewer features= or bits="
        )
    if rows is None:
        return Judgement(energy, zero, notes=tuple(notes))
    if problem.loss is not None:
        notes += warnings_for(problem.loss, rows, weights, energy, low=low)
    elif learnt_nothing(rows, weights):
        notes.append(no_better(rows, weights, _advice(rows)))
    error, baseline = rows.error(weights), rows.baseline_error
    return Judgement(energy, zero, error, baseline, tuple(notes), len(rows))


def _energy_of_zero(problem: Problem) -> float | None:
    """Return the energy of the state whose weights are all 0."""
    encoding, loss = problem.encoding, problem.loss
    if encoding is None or loss is None:
        return None
    nothing = np.zeros(encoding.features)
    bits = np.atleast_2d(encoding.encode(nothing))
    if not problem.has_terms or np.any(encoding.decode(bits)):  # pruned: 0 is no level
        return float(loss.coefficients[0])
    indicators = np.zeros((1, problem.logical - bits.shape[1]), dtype=bits.dtype)
    return float(problem.score(np.hstack([bits, indicators]))[0])


def rewarded(loss: Loss, data: Dataset, weights: Floats) -> bool:
    """Whether the low objective comes from misclassified rows.

    That is so if more than half are wrong, or if wrong margins have negative loss.
    """
    margins = data.margins(weights)
    wrong = margins < 0
    if float(data.mean(wrong)) > 0.5:
        return True
    own = None if data.weights is None else data.weights[wrong]
    if own is not None and not own.any():
        return False
    return bool(wrong.any() and float(np.average(loss(margins[wrong]), weights=own)) < 0)


def warnings_for(
    loss: Loss, data: Dataset, weights: Floats, energy: float, *, low: bool = True
) -> list[str]:
    """Return warnings where a classifier exploits the loss instead of fitting the data.

    A classifier whose energy is not `low` was not rewarded: the search failed.
    """
    margins = data.margins(weights)
    found = []
    if low and rewarded(loss, data, weights):
        found.append(
            f"wrong margins are rewarded: {data.mean(margins < 0):.0%} of the rows are wrong at an "
            f"objective of {energy:.3g}; use a smaller weight_range= than {loss.range_:.3g}"
        )
    elif energy < 0:
        found.append(
            f"the objective is {energy:.3g}, below 0, which no risk is: this loss falls below 0 at "
            "right answers. Compare it with other objectives of this loss only"
        )
    if learnt_nothing(data, weights):
        found.append(no_better(data, weights, _advice(data)))
    beyond = float(data.mean(margins < -loss.reward_margin))
    if beyond > _WORTH_A_WARNING:
        found.append(
            f"{beyond:.0%} of the margins are wrong and beyond the turn of the loss at "
            f"-{loss.reward_margin:.3g}, where being more wrong costs less; use a smaller "
            "weight_range="
        )
    return found


def learnt_nothing(data: Dataset, weights: Floats) -> bool:
    """Whether as many rows are wrong as with the commoner label, or more."""
    # equal shares may be rounded differently
    lightest = 1.0 if data.weights is None else float(data.weights[data.weights > 0].min())
    half_a_row = 0.5 * lightest / max(1, data.total)
    return data.error(weights) > data.baseline_error - half_a_row


def no_better(data: Dataset, weights: Floats, advice: str) -> str:
    """Return the warning that nothing was learnt, with what may help."""
    return (
        f"no better than always giving the commoner label: the error on the training rows is "
        f"{data.error(weights):.2%}, and that of the commoner label {data.baseline_error:.2%}; "
        f"try {advice}"
    )


def _advice(data: Dataset) -> str:
    """Return what most often helps."""
    prepared = data.preparation
    scaled = prepared.scale is not None or prepared.unit_norm
    advice = [] if scaled else ['scale="robust"']
    advice += [] if prepared.bias else ["bias=True"]
    return ", ".join([*advice, "more bits=", "another order="])


def fault_of(moments: Moments, loss: Loss, bits: int) -> str | None:
    """Return why the best classifier of a problem is worthless; None if no reason was found.

    The loss may be upside down, or its lowest state may have margins that are wrong on average.
    The search for that state takes the moments only, and no problem that is too large for it.
    """
    if loss.fit != "custom" and loss.coefficients[1] >= 0:
        return upside_down(loss.coefficients[1])
    found = _lowest(moments, loss, bits)
    if found is None:
        return None
    energy, point, mean = found
    if mean >= 0 or not _wrong_at_unit_length(moments, point):
        return None
    return (
        f"wrong answers are rewarded: with range {loss.range_:.3g} the lowest state has energy "
        f'{energy:.3g} and a mean margin of {mean:.3g}; use weight_range="auto" or a smaller one'
    )


def upside_down(slope: float) -> str:
    """Return the warning about a fitted loss whose slope at margin 0 is not negative."""
    return (
        f"the fitted loss rises at margin 0 (a_1 = {slope:.3g}): right answers cost more than "
        'wrong ones. Features of very different sizes do this; try scale="robust"'
    )


def _lowest(moments: Moments, loss: Loss, bits: int) -> tuple[float, Floats, float] | None:
    """Search the lowest state: its energy, its weights over the prior's deviation, its margin."""
    terms = sum(multisets.count(moments.features, j) for j in range(1, loss.order + 1))
    fine = bits > 3
    levels = np.linspace(-1.0, 1.0, 9) if fine else np.arange(1 - 2**bits // 2, 2**bits // 2 + 1)
    step = loss.range_ if fine else loss.range_ * 2.0 ** (1 - bits)
    objective: Polynomial | Cubic
    if terms * moments.features * len(levels) <= _GRID_WORK:
        objective = Polynomial.of(moments, loss)
        energy, point = objective.lowest_on(step * levels, _STARTS)
        return energy, point, objective.mean_margin(point)
    searched = objective_of(moments, loss)
    if searched is None:
        return None
    energy, point = searched.lowest(loss.range_)
    return energy, point, searched.mean_margin(point)


def _wrong_at_unit_length(moments: Moments, point: Floats) -> bool:
    """Whether the margins would be wrong on average too if every row had length 1."""
    return not moments.can_fit_risk or float(moments.tensors[1, -1] @ point) < 0
