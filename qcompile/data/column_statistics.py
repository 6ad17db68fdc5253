"""What scaling and the choice of features need to know of each column; parts of the rows add up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qcompile.data.robust import robust_scaling
from qcompile.data.row_sample import RowSample
from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, Matrix, frozen, sum_by
from qcompile.stages.preparation import SCALINGS, Preparation

__all__ = ["ColumnStatistics"]


_ROUNDING = 32 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Means, squared distances from them, largest sizes, and products with the labels.

    `together` is Σ (x - mean x)(y - mean y). Sums of parts are joined by the shifts of their means
    (Chan, Golub, LeVeque), so that nothing large cancels. Quantiles do not add up: robust scaling
    looks at the `sample` of the rows.
    """

    count: float
    mean: Floats
    squares: Floats
    largest: Floats
    label: float
    together: Floats
    sample: RowSample | None = None

    @classmethod
    def of(
        cls,
        x: Matrix,
        y: Floats,
        sample: RowSample | None = None,
        weights: Floats | None = None,
    ) -> ColumnStatistics:
        """Return the statistics of rows with signs y; `sample` is taken of these rows.

        With `weights` a row counts as so many rows.
        """
        memory.require(
            64 * x.shape[1],
            f"statistics of {x.shape[1]:,} columns",
            "renumber the features so that fewer columns are empty",
        )
        if not len(y):
            nothing = np.zeros(x.shape[1])
            return cls(0, nothing, nothing, nothing, 0.0, nothing, sample)
        if weights is not None:
            return cls._weighted(x, y, weights)
        mean, squares = _means_and_squares(x)
        label = float(y.mean())
        together = np.asarray(x.T @ (y - label), dtype=np.float64)
        return cls(len(y), mean, squares, _largest(x), label, together, sample)

    @classmethod
    def _weighted(cls, x: Matrix, y: Floats, weights: Floats) -> ColumnStatistics:
        count = float(weights.sum())
        mean = np.asarray(weights @ x, dtype=np.float64) / count
        if hasattr(x, "indptr"):
            own = np.repeat(weights, np.diff(x.indptr))
            distances = own * (x.data - mean[x.indices]) ** 2
            stored = sum_by(x.indices, own, x.shape[1])
            squares = sum_by(x.indices, distances, x.shape[1]) + (count - stored) * mean**2
        else:
            squares = weights @ (np.asarray(x) - mean) ** 2
        label = float(weights @ y) / count
        together = np.asarray(x.T @ (weights * (y - label)), dtype=np.float64)
        return cls(count, mean, squares, _largest(x), label, together)

    @property
    def features(self) -> int:
        """Number of columns."""
        return len(self.mean)

    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        width = max(self.features, other.features)
        one, two = self._padded(width), other._padded(width)
        sample = one.sample + two.sample if one.sample and two.sample else None
        if not one.count or not two.count:
            return replace(two if not one.count else one, sample=sample)
        count = one.count + two.count
        shift, turn = two.mean - one.mean, two.label - one.label
        weight = one.count * two.count / count
        return ColumnStatistics(
            count,
            one.mean + shift * (two.count / count),
            one.squares + two.squares + weight * shift * shift,
            np.maximum(one.largest, two.largest),
            one.label + turn * (two.count / count),
            one.together + two.together + weight * turn * shift,
            sample,
        )

    def flipped(self) -> ColumnStatistics:
        """Return the statistics with all labels exchanged."""
        return replace(self, label=-self.label, together=-self.together)

    def _padded(self, width: int) -> ColumnStatistics:
        """Return the statistics of more columns; a column that was not seen is 0 everywhere."""
        missing = width - self.features
        if not missing:
            return self
        return replace(
            self,
            mean=np.pad(self.mean, (0, missing)),
            squares=np.pad(self.squares, (0, missing)),
            largest=np.pad(self.largest, (0, missing)),
            together=np.pad(self.together, (0, missing)),
        )

    def preparation(
        self,
        labels: Preparation,
        *,
        scale: str,
        features: int | None,
        bias: bool,
        rows: Matrix | None = None,
        weights: Floats | None = None,
    ) -> Preparation:
        """Return the preparation of the rows; `labels` is one that leaves them as they are.

        Robust scaling looks at `rows`, which count `weights` times, or else at the sample.
        """
        if scale not in SCALINGS:
            raise InputError(f"scaling {scale!r}; expected one of {', '.join(SCALINGS)}")
        columns = None if features is None else self._most_correlated(features)
        chosen = slice(None) if columns is None else columns
        center, spread = self._scaling(scale, chosen, rows, weights)
        return replace(
            labels,
            raw_features=self.features,
            columns=None if columns is None else frozen(columns, np.int64),
            center=None if center is None else frozen(center),
            scale=None if spread is None else frozen(spread),
            unit_norm=scale == "unit-norm",
            bias=bias,
            scaling=scale,
        )

    def _scaling(
        self,
        scale: str,
        chosen: slice | NDArray[np.int64],
        rows: Matrix | None,
        weights: Floats | None,
    ) -> tuple[Floats | None, Floats | None]:
        """Return the centre and the scale of the chosen columns."""
        center = None
        if scale == "robust":
            if rows is None:
                assert self.sample is not None  # taken wherever robust scaling is asked for
                rows = self.sample.of_width(self.features)
            return robust_scaling(rows if isinstance(chosen, slice) else rows[:, chosen], weights)
        if scale == "standard":
            center, spread = self.mean[chosen], self._deviation()[chosen]
        elif scale == "max-abs":
            spread = self.largest[chosen]
        else:
            return None, None
        # a constant column has no spread but what rounding makes of it: its size is left as it is,
        # and its centre is its value, so that it becomes 0 and not the rounding of its mean
        largest = self.largest[chosen]
        varies = spread > _ROUNDING * largest
        if center is not None:
            center = np.where(varies, center, np.copysign(largest, center))
        return center, np.where(varies, spread, 1.0)

    def _deviation(self) -> Floats:
        return np.asarray(np.sqrt(self.squares / max(1, self.count)))

    def _most_correlated(self, number: int) -> NDArray[np.int64]:
        """Return the columns with the largest correlation with the label, ascending."""
        if not 1 <= number <= self.features:
            raise InputError(
                f"{number} features chosen of {self.features}; expected 1 to {self.features}"
            )
        deviation = self._deviation()
        usable = deviation > _ROUNDING * self.largest
        covariance = self.together / self.count
        correlation = np.divide(covariance, deviation, out=np.zeros(self.features), where=usable)
        # rounding makes ties of equal columns look different: compare 12 digits, then position
        ranked = np.argsort(-np.round(np.abs(correlation), 12), kind="stable")
        return np.sort(ranked[:number])


def _means_and_squares(x: Matrix) -> tuple[Floats, Floats]:
    """Return the means, and the sums of squared distances from them."""
    mean = np.asarray(x.mean(axis=0), dtype=np.float64).ravel()
    if hasattr(x, "indptr"):
        # squares of distances from the mean, the zeros that are not stored at the end
        distances = (x.data - mean[x.indices]) ** 2
        stored = np.bincount(x.indices, minlength=x.shape[1])
        squares = sum_by(x.indices, distances, x.shape[1])
        return mean, squares + (x.shape[0] - stored) * mean**2
    return mean, np.asarray(x.var(axis=0), dtype=np.float64) * x.shape[0]


def _largest(x: Matrix) -> Floats:
    if hasattr(x, "indptr"):
        largest = np.zeros(x.shape[1])
        np.maximum.at(largest, x.indices, np.abs(x.data))
        return largest
    return np.asarray(np.abs(x).max(axis=0), dtype=np.float64)
