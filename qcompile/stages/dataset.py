"""Examples with labels -1 and +1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, Matrix, frozen
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source

__all__ = ["Dataset", "answers"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Displayed):
    """Examples x (rows, dense or sparse) with labels y = -1 or +1.

    `preparation` is what was done to the raw rows, `source` is where they come from. `weights` are
    how much each row counts, 0 or more; None counts every row once.
    """

    x: Matrix
    y: Floats
    preparation: Preparation
    source: Source = field(default_factory=Source)
    weights: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", Source.of(self.source))
        if self.weights is not None:
            _check_weights(self.weights, len(self.y))
        if self.x.shape[0] != len(self.y):
            raise InputError(f"{self.x.shape[0]} rows but {len(self.y)} labels")
        if self.x.shape[1] != self.preparation.features:
            raise InputError(
                f"{self.x.shape[1]} columns, but the preparation gives {self.preparation.features}"
            )

    def __len__(self) -> int:
        return len(self.y)

    def _line(self) -> str:
        name = "" if self.source.name is None else f" of {quoted(self.source.name)}"
        return f"{many(len(self), 'row')}{name}, {many(self.features, 'feature')}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "rows": len(self),
            "features": self.features,
            "positive rows": int(np.count_nonzero(self.y > 0)),
            "weight of the rows": None if self.weights is None else self.total,
            "entries that are not 0": f"{self.density:.1%}",
            "source": self.source.name,
        }

    @property
    def features(self) -> int:
        """Number of columns."""
        return int(self.x.shape[1])

    @property
    def density(self) -> float:
        """Share of entries that are not 0."""
        stored = self.x.data if hasattr(self.x, "indptr") else self.x
        return float(np.count_nonzero(stored)) / max(1, len(self) * self.features)

    @property
    def total(self) -> float:
        """How much all rows count together: their number, or the sum of their weights."""
        return len(self) if self.weights is None else float(self.weights.sum())

    def mean(self, values: NDArray[Any]) -> Floats:
        """Return the mean of values of the rows, or of each column of them, by the weights."""
        if self.weights is None:
            return np.asarray(np.mean(values, axis=0))
        return np.asarray(self.weights @ np.asarray(values, dtype=np.float64) / self.total)

    @property
    def baseline_error(self) -> float:
        """The error of a classifier that always answers with the larger class."""
        positive = float(self.mean(self.y > 0))
        return min(positive, 1 - positive)

    def take(self, rows: NDArray[np.integer] | slice) -> Dataset:
        """Return some of the rows."""
        weights = None if self.weights is None else frozen(self.weights[rows])
        return replace(self, x=self.x[rows], y=frozen(self.y[rows]), weights=weights)

    def margins(self, weights: ArrayLike) -> Floats:
        """Return the margin y (x·w) of each example."""
        return np.asarray(self.x @ np.asarray(weights, dtype=np.float64)) * self.y

    def error(self, weights: ArrayLike) -> float:
        """Return the share of wrong answers, the 0-1 risk, as `Classifier.predict` answers.

        A decision w·x of 0 is a negative answer: wrong for positive examples only.
        """
        return float(self.errors(np.asarray(weights, dtype=np.float64)[None])[0])

    def errors(self, weights: ArrayLike) -> Floats:
        """Return the error of each row of weights."""
        decisions = np.asarray(self.x @ np.asarray(weights, dtype=np.float64).T)
        return self.mean(answers(decisions) != self.y[:, None])


def _check_weights(weights: Floats, rows: int) -> None:
    if weights.shape != (rows,):
        raise InputError(f"weights of shape {weights.shape}; expected one for each of {rows} rows")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("weights of rows: expected finite numbers of 0 or more, not all of them 0")


def answers(decisions: ArrayLike) -> Floats:
    """Return the answers to decisions w·x: +1 above 0, else -1."""
    return np.where(np.asarray(decisions) > 0, 1.0, -1.0)
