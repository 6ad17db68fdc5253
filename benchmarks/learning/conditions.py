"""What is done to the training rows before any method sees them; test rows stay clean."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CONDITIONS", "Condition", "damaged", "flipped"]

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]


@dataclass(frozen=True)
class Condition:
    """A name, what it does in one sentence, and the function that does it."""

    name: str
    says: str
    apply: Callable[[Floats, Floats, np.random.Generator], Pair]


def _flip(y: Floats, among: NDArray[np.int64], share: float, rng: np.random.Generator) -> Floats:
    """Return labels with that share of the rows in `among` flipped, rounded to whole rows."""
    chosen = rng.choice(among, round(share * len(among)), replace=False)
    flipped = y.copy()
    flipped[chosen] *= -1
    return flipped


def flipped(share: float) -> Callable[[Floats, Floats, np.random.Generator], Pair]:
    """Return the condition that flips the labels of this share of all rows."""
    return lambda x, y, rng: (x, _flip(y, np.arange(len(y)), share, rng))


def _one_sided(x: Floats, y: Floats, rng: np.random.Generator) -> Pair:
    return x, _flip(y, np.flatnonzero(y > 0), 0.3, rng)


def _outliers(x: Floats, y: Floats, rng: np.random.Generator) -> Pair:
    chosen = rng.choice(len(y), round(0.05 * len(y)), replace=False)
    mean = x.mean(axis=0)
    rows, labels = x.copy(), y.copy()
    rows[chosen] = mean + rng.uniform(10.0, 100.0, (len(chosen), 1)) * (x[chosen] - mean)
    labels[chosen] = rng.choice((-1.0, 1.0), len(chosen))
    return rows, labels


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("clean", "Rows as they are.", lambda x, y, rng: (x, y)),
        Condition("20% flipped", "The labels of 20% of the rows are flipped.", flipped(0.2)),
        Condition("40% flipped", "The labels of 40% of the rows are flipped.", flipped(0.4)),
        Condition("30% of one class", "30% of the positive rows become negative.", _one_sided),
        Condition(
            "5% outliers",
            "5% of the rows are moved 10 to 100 times as far from the mean of all rows (uniform, "
            "one factor a row), and their labels are drawn anew, each with probability 1/2.",
            _outliers,
        ),
    )
}


def damaged(x: Floats, y: Floats, condition: str, *, name: str, seed: int) -> Pair:
    """Return the training rows of a set under a condition, the same for every method."""
    drawn = np.random.default_rng([seed, zlib.crc32(f"{name}, {condition}".encode())])
    return CONDITIONS[condition].apply(x, y, drawn)
