"""How much each row counts: weights of rows and of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import RowLabel, label_text

__all__ = ["ClassWeight", "as_counts", "weighted"]


ClassWeight = Mapping[RowLabel, float] | str | None


def as_counts(data: Dataset) -> Dataset:
    """Return rows whose weights are taken as the number of times that each is there.

    Rows of weight 0 are left out. Weights that add up to less than the number of rows, such as
    shares of 1, are made larger by one factor until they add up to it.

    >>> from qcompile import from_arrays
    >>> rows = replace(from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1]), weights=np.array([0, .1, .3]))
    >>> as_counts(rows).weights
    array([0.5, 1.5])
    """
    if data.weights is None:
        return data
    if not data.weights.all():
        data = data.take(np.flatnonzero(data.weights))
    assert data.weights is not None  # taken with the rows
    total = float(data.weights.sum())
    if total >= len(data):
        return data
    return replace(data, weights=frozen(data.weights * (len(data) / total)))


def weighted(
    data: Dataset, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
) -> Dataset:
    """Return the rows with weights: those they have, times `sample_weight`, times their class's.

    `class_weight` maps labels to numbers, 1 for a label that it leaves out; "balanced" lets both
    classes count alike.

    >>> from qcompile import from_arrays
    >>> weighted(from_arrays([[1.0], [2.0], [3.0]], [0, 1, 1]), class_weight="balanced").weights
    array([1.5 , 0.75, 0.75])
    """
    if sample_weight is not None:
        own = np.asarray(sample_weight, dtype=np.float64)
        data = replace(data, weights=frozen(own if data.weights is None else own * data.weights))
    if class_weight is None:
        return data
    factors = _of_classes(data, class_weight)
    return replace(
        data, weights=frozen(factors if data.weights is None else factors * data.weights)
    )


def _of_classes(data: Dataset, class_weight: Mapping[RowLabel, float] | str) -> Floats:
    """Return the factor of each row by its class."""
    positive = data.y > 0
    share = float(data.mean(positive))
    if class_weight == "balanced":
        if not 0 < share < 1:
            raise InputError("the rows are all of one class; expected rows of both classes")
        return np.where(positive, 0.5 / share, 0.5 / (1 - share))
    if isinstance(class_weight, str):
        raise InputError(
            f"class_weight= {class_weight!r}; expected 'balanced' or a weight for each label"
        )
    made = data.preparation
    own = {made.positive: 1.0, made.negative_or_rest: 1.0}
    for label, weight in class_weight.items():
        if label not in own:
            raise InputError(
                f"class_weight= names label {label_text(label)}; the labels are "
                + " and ".join(map(label_text, own))
            )
        own[label] = float(weight)
        if not (math.isfinite(own[label]) and own[label] >= 0):
            raise InputError(
                f"class_weight= gives label {label_text(label)} the weight {own[label]:g}; "
                "expected a number of 0 or more"
            )
    return np.where(positive, own[made.positive], own[made.negative_or_rest])
