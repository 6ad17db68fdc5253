"""What the estimator is given, checked as scikit-learn does, and as data sets of two classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, are_constant, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import checked_row_label
from qcompile.stages.preparation import Preparation

__all__ = [
    "checked_classes",
    "checked_columns",
    "checked_weights",
    "of_two_classes",
    "times_class_weight",
]


def checked_weights(sample_weight: Any, rows: Any) -> Floats | None:
    """Return the weights of rows; raise ValueError unless there is a number for each."""
    if sample_weight is None:
        return None
    weights = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64))
    if (weights < 0).any():
        place = int(np.argmax(weights < 0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: {weights[place]:g} for row "
            f"{place}; expected 0 or more."
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is 0 for all rows, so that no class is left; expected a row that counts."
        )
    return weights


def checked_columns(rows: Any) -> None:
    """Raise ValueError if all rows are equal."""
    if are_constant(rows):
        raise ValueError(
            "X is the same in all rows that count: every column is constant, so that no classifier "
            "tells one class from another; expected a column with different values."
        )


def checked_classes(classes: NDArray[Any]) -> None:
    """Raise ValueError if there is only one class."""
    if len(classes) < 2:
        raise ValueError(
            f"Classifier can't train when only one class is present: all rows that count have the "
            f"label {classes[0]}; expected rows of at least two classes."
        )


def times_class_weight(
    weights: Floats | None,
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
) -> Floats | None:
    """Return the weights of rows times those of their classes."""
    if class_weight is None:
        return weights
    own = np.ones(len(codes)) if weights is None else weights
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r}; expected 'balanced', None, or a weight for labels."
            )
        sums = np.bincount(codes, own, minlength=len(classes))
        there = sums > 0
        factors = np.divide(sums.sum(), there.sum() * sums, out=np.zeros(len(sums)), where=there)
        return np.asarray(own * factors[codes])
    factors = np.ones(len(classes))
    for label, weight in class_weight.items():
        place = np.flatnonzero(classes == label)
        if len(place) and not (np.isfinite(weight) and weight >= 0):
            raise ValueError(
                f"class_weight of label {label!r} is {weight}; expected a number of 0 or more."
            )
        factors[place] = weight
    found = np.asarray(own * factors[codes])
    if not found.any():
        raise ValueError("class_weight is 0 for every class that is present.")
    return found


def of_two_classes(
    rows: Any,
    codes: NDArray[np.int64],
    weights: Floats | None,
    classes: NDArray[Any],
    chosen: int,
    names: NDArray[Any] | None,
) -> Dataset:
    """Return the rows as a data set of a class against the rest; of two, against the other."""
    signs = frozen(np.where(codes == chosen, 1.0, -1.0))
    labels: dict[str, Any] = {}
    try:
        labels["positive"] = checked_row_label(_plain(classes[chosen]))
        labels["negative"] = checked_row_label(_plain(classes[0])) if len(classes) == 2 else None
    except (InputError, TypeError, ValueError):  # labels that a file of a classifier cannot hold
        labels = {}
    named = None if names is None else tuple(map(str, names))
    made = Preparation(raw_features=rows.shape[1], names=named, **labels)
    return Dataset(rows, signs, made, weights=None if weights is None else frozen(weights))


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
