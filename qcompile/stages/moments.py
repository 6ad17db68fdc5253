"""Sums over the examples: all that later passes need from the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from qcompile.errors import InputError
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.display import Displayed, many
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source

__all__ = ["Moments"]


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Displayed):
    """Sums over the examples that every later pass needs; they add and subtract.

    `rows` is the number of the examples, and `count` the sum of their weights, which is the same
    where they have none. ``tensors[a, e]`` is Σ_i |x_i|^e z_i ⊗ ... ⊗ z_i (a factors,
    z_i = y_i x_i), each multiset of features stored once, in the order of
    `qcompile.stages.multisets`.
    """

    features: int
    order: int
    count: float
    sum_of_squares: float
    tensors: Mapping[tuple[int, int], Floats]
    preparation: Preparation | None = None
    source: Source = field(default_factory=Source)
    rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", Source.of(self.source))
        if self.rows is None:
            object.__setattr__(self, "rows", int(self.count))
        for (degree, _), tensor in self.tensors.items():
            expected = multisets.count(self.features, degree)
            if tensor.shape != (expected,):
                raise InputError(
                    f"tensor of degree {degree} has shape {tensor.shape}, expected ({expected},)"
                )

    def _line(self) -> str:
        rows = many(self.row_count, "row")
        return f"order {self.order}, {rows}, {many(self.features, 'feature')}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "order": self.order,
            "rows": self.row_count,
            "weight of the rows": None if self.count == self.rows else self.count,
            "features": self.features,
            "sums": sum(len(tensor) for tensor in self.tensors.values()),
            "source": self.source.name,
        }

    def __add__(self, other: Moments) -> Moments:
        return self._combine(other, +1)

    def __radd__(self, other: object) -> Moments:
        # sum(...) starts from 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        return self._combine(other, -1)

    def _combine(self, other: Moments, sign: int) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if set(self.tensors) != set(other.tensors):
            raise InputError(
                f"moments of order {self.order} and {other.order} hold different tensors: "
                "take both with the same order"
            )
        mine, theirs = self.preparation, other.preparation
        if mine is not None and theirs is not None and not mine.same_but_wider(theirs):
            raise InputError(
                "moments of data that were prepared differently (scaling, columns or labels) "
                "do not add up: prepare all parts in the same way"
            )
        features = max(self.features, other.features)
        wider = mine if mine is None or self.features == features else theirs
        tensors = {
            key: frozen(_padded(a, features, key[0]) + sign * _padded(b, features, key[0]))
            for (key, a), b in zip(
                self.tensors.items(), (other.tensors[k] for k in self.tensors), strict=True
            )
        }
        return replace(
            self,
            features=features,
            preparation=wider,
            source=Source(rows=self.row_count + sign * other.row_count),
            rows=self.row_count + sign * other.row_count,
            count=self.count + sign * other.count,
            sum_of_squares=self.sum_of_squares + sign * other.sum_of_squares,
            tensors=tensors,
        )

    def flipped(self) -> Moments:
        """Return the exact moments of the same rows with all labels negated."""
        tensors = {key: frozen(-t) if key[0] % 2 else t for key, t in self.tensors.items()}
        return replace(self, tensors=tensors)

    @property
    def row_count(self) -> int:
        """The number of the examples, which is what `rows` is."""
        return int(self.count) if self.rows is None else self.rows

    @property
    def rms_norm(self) -> float:
        """Root mean square of |x|."""
        return math.sqrt(self.sum_of_squares / self.count) if self.count else 0.0

    @property
    def can_fit_risk(self) -> bool:
        """Whether the moments include the tensors that the risk fit needs."""
        return (1, -1) in self.tensors


def _padded(tensor: Floats, features: int, degree: int) -> Floats:
    missing = multisets.count(features, degree) - len(tensor)
    return np.concatenate([tensor, np.zeros(missing)]) if missing else tensor
