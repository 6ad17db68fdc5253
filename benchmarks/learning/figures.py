"""Means, ranks, wins and goals from the lines of the CSV file; errors are in percent from here on.

A cell is a set under a condition. Its error is the mean over the seeds that every method has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .conditions import CONDITIONS
from .methods import METHODS, OURS
from .run import Line

__all__ = [
    "TIE",
    "Cell",
    "Cells",
    "Duel",
    "Goal",
    "cells_of",
    "condition_means",
    "duel",
    "goals",
    "mean_ranks",
]

TIE = 0.1  # points; cells that differ by no more count as a tie
_YARDSTICK = "LogisticRegressionCV"
_TO_BEAT = "sigmoid loss"


@dataclass(frozen=True)
class Cell:
    """Mean errors in percent of every method on a set under a condition, and mean seconds."""

    set: str
    condition: str
    seeds: int
    baseline: float
    errors: Mapping[str, float]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Cells:
    """All cells, the methods that have all of them, and how many cases a method lacks."""

    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    left_out: int
    troubles: tuple[str, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets, in the order of the cells."""
        return tuple(dict.fromkeys(cell.set for cell in self.cells))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions, in the order in which they are listed."""
        there = {cell.condition for cell in self.cells}
        return tuple(name for name in CONDITIONS if name in there)

    def mean(self, method: str, condition: str | None = None) -> float:
        """Return a method's mean error over the cells, of one condition or all."""
        found = [c.errors[method] for c in self.cells if condition in (None, c.condition)]
        return float(np.mean(found)) if found else math.nan


def cells_of(lines: Iterable[Line]) -> Cells:
    """Return the cells of the cases in which every method that ever answered has an error."""
    lines = list(lines)
    good = [line for line in lines if not line.trouble]
    answered = {line.method for line in good}
    methods = tuple(name for name in METHODS if name in answered)
    by_case: dict[tuple[str, str], dict[int, dict[str, Line]]] = {}
    for line in good:
        seeds = by_case.setdefault((line.set, line.condition), {})
        seeds.setdefault(line.seed, {})[line.method] = line
    cells, left_out = [], 0
    for (name, condition), seeds in by_case.items():
        whole = [found for found in seeds.values() if len(found) == len(methods)]
        left_out += len(seeds) - len(whole)
        if whole:
            cells.append(_cell(name, condition, whole, methods))
    troubles = [f"{x.method} on {x.set}, {x.condition}: {x.trouble}" for x in lines if x.trouble]
    return Cells(tuple(cells), methods, left_out, tuple(troubles))


def _cell(
    name: str, condition: str, seeds: Sequence[Mapping[str, Line]], methods: Sequence[str]
) -> Cell:
    return Cell(
        name,
        condition,
        len(seeds),
        100 * float(np.mean([found[methods[0]].baseline for found in seeds])),
        {m: 100 * float(np.mean([found[m].error for found in seeds])) for m in methods},
        {m: float(np.mean([found[m].seconds for found in seeds])) for m in methods},
    )


def condition_means(found: Cells) -> dict[str, dict[str, float]]:
    """Return, for each method, the mean error of each condition, and of all as "mean"."""
    return {
        method: {
            **{condition: found.mean(method, condition) for condition in found.conditions},
            "mean": found.mean(method),
        }
        for method in found.methods
    }


def mean_ranks(found: Cells, methods: Sequence[str]) -> dict[str, float]:
    """Return each method's mean rank among `methods`, 1 for the best; equal errors share ranks."""
    from scipy.stats import rankdata

    if not found.cells:
        return {}
    # rounded, so that the order of a sum over seeds does not break ties
    errors = [[round(cell.errors[m], 9) for m in methods] for cell in found.cells]
    ranks = rankdata(errors, axis=1).mean(axis=0)
    return dict(zip(methods, ranks.tolist(), strict=True))


@dataclass(frozen=True)
class Duel:
    """Cells that the first of two methods wins, loses, and in which they are even."""

    wins: int
    losses: int
    ties: int


def duel(found: Cells, one: str, other: str) -> Duel:
    """Compare two methods cell by cell; at most `TIE` points apart is a tie."""
    apart = [cell.errors[one] - cell.errors[other] for cell in found.cells]
    wins = sum(value < -TIE - 1e-9 for value in apart)
    losses = sum(value > TIE + 1e-9 for value in apart)
    return Duel(wins, losses, len(apart) - wins - losses)


@dataclass(frozen=True)
class Goal:
    """A goal, whether it is held (None: not measured), and the figures that say so."""

    says: str
    held: bool | None
    figures: str


# How many points rounds must be below LogisticRegressionCV in each condition.
_BELOW = {
    "clean": -0.2,
    "20% flipped": 0.0,
    "40% flipped": 1.5,
    "30% of one class": 3.0,
    "5% outliers": 10.0,
}


def goals(found: Cells) -> list[Goal]:
    """Return what the default rounds must reach, judged by the cells."""
    made = [_extent(found)]
    for condition, points in _BELOW.items():
        made.append(_below(found, condition, points))
    return [*made, _first(found), _beats(found)]


def _extent(found: Cells) -> Goal:
    seeds = min((cell.seeds for cell in found.cells), default=0)
    sets, conditions = len(found.sets), len(found.conditions)
    whole = len(found.cells) == sets * conditions
    return Goal(
        "at least 12 sets x 5 conditions x 5 seeds, every method in every case",
        whole and sets >= 12 and conditions == len(CONDITIONS) and seeds >= 5,
        f"{sets} sets, {conditions} conditions, {len(found.cells)} cells of at least {seeds} seeds",
    )


def _below(found: Cells, condition: str, points: float) -> Goal:
    if points < 0:
        says = f"{condition}: at most {-points:g} points above {_YARDSTICK}"
    elif points == 0:
        says = f"{condition}: below {_YARDSTICK}"
    else:
        says = f"{condition}: at least {points:g} points below {_YARDSTICK}"
    if not {OURS, _YARDSTICK} <= set(found.methods) or condition not in found.conditions:
        return Goal(says, None, "not measured")
    ours, other = found.mean(OURS, condition), found.mean(_YARDSTICK, condition)
    gain = other - ours
    held = gain > 0 if points == 0 else gain >= points
    return Goal(says, held, f"{ours:.2f}% against {other:.2f}%: {_points(-gain)}")


def _points(apart: float) -> str:
    return f"{abs(apart):.2f} points {'above' if apart > 0 else 'below'}"


def _first(found: Cells) -> Goal:
    # the same method with another way to l2 is no rival
    says = "mean rank first of the linear methods, `rounds, cv` apart"
    rivals = [m for m in found.methods if METHODS[m].linear and m != "rounds, cv"]
    if OURS not in rivals or not found.cells:
        return Goal(says, None, "not measured")
    ranks = mean_ranks(found, rivals)
    own = ranks.pop(OURS)
    if not ranks:
        return Goal(says, None, "no other method is there")
    best = min(ranks, key=lambda name: ranks[name])
    return Goal(says, own < ranks[best], f"{own:.2f}; the next is {best} with {ranks[best]:.2f}")


def _beats(found: Cells) -> Goal:
    says = f"mean error below that of {_TO_BEAT}"
    if not {OURS, _TO_BEAT} <= set(found.methods) or not found.cells:
        return Goal(says, None, "not measured")
    ours, other = found.mean(OURS), found.mean(_TO_BEAT)
    return Goal(says, ours < other, f"{ours:.2f}% against {other:.2f}%")
