"""Arrays to a `Dataset`; choice, scaling and bias of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qcompile.data.column_statistics import ColumnStatistics
from qcompile.data.robust import robust_scaling
from qcompile.data.rows import canonical, check_classes, check_sizes, featureless, no_rows
from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, Matrix, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.expected import READ_IT, check_kind
from qcompile.stages.labels import RowLabel, checked_row_label, label_text, row_labels
from qcompile.stages.preparation import SCALINGS, Preparation
from qcompile.stages.source import Source
from qcompile.stages.table import TableSchema

__all__ = ["RAW", "PrepareOptions", "checked_rows", "from_arrays", "prepare"]


@dataclass(frozen=True)
class PrepareOptions:
    """How to prepare raw rows: the options of `prepare`."""

    scale: str = "none"
    features: int | None = None
    bias: bool = False
    like: Dataset | None = None

    @classmethod
    def of(cls, wanted: PrepareOptions | Mapping[str, Any]) -> PrepareOptions:
        """Return the options as they are, or made of a mapping.

        >>> PrepareOptions.of({"scale": "standard"}).scale
        'standard'
        """
        if isinstance(wanted, PrepareOptions):
            return wanted
        given, known = dict(wanted), [field.name for field in fields(cls)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise InputError(f"preparation with {unknown[0]!r}; expected {', '.join(known)}")
        return cls(**given)

    @property
    def learns_from_rows(self) -> bool:
        """Whether other rows would have been prepared differently."""
        return self.features is not None or self.scale in ("standard", "robust", "max-abs")

    def apply(self, data: Dataset) -> Dataset:
        """Return the rows prepared."""
        return prepare(
            data, scale=self.scale, features=self.features, bias=self.bias, like=self.like
        )


# How raw rows are prepared where nothing is said.
RAW = PrepareOptions(scale="robust", bias=True)


def from_arrays(
    x: Matrix,
    labels: ArrayLike,
    *,
    positive: RowLabel | None = None,
    source: Mapping[str, Any] | None = None,
    name: str = "data",
    names: Sequence[str] | None = None,
    table: TableSchema | None = None,
) -> Dataset:
    """Return a data set of rows (dense or sparse) and their two labels, numbers or texts.

    `names` are those of the columns, and `table` says how a table became these rows.

    >>> from_arrays([[1.0], [2.0]], [0, 5]).y
    array([-1.,  1.])
    >>> from_arrays([[1.0], [2.0]], ["sick", "healthy"]).preparation.positive
    'sick'
    """
    known = Source.of(source or {})
    if name == "data":
        name = known.name or name
    values = row_labels(labels, name)
    rows = checked_rows(x, name)
    if values.shape != (rows.shape[0],):
        raise InputError(
            f"{name}: rows of shape {rows.shape} with labels of shape {values.shape}; expected one "
            "label for each row"
        )
    if not len(values):
        raise no_rows(name)
    if rows.shape[1] == 0:
        raise featureless(name)
    if values.dtype.kind != "U" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(
            f"{name}, row {row + 1}: label {values[row]}, a value that is NaN or infinite; "
            "expected a finite number for each row"
        )
    classes = [checked_row_label(label) for label in np.unique(values).tolist()]
    check_classes(classes, positive, name, None if table is None else table.label)
    preparation = Preparation(
        raw_features=rows.shape[1],
        positive=classes[-1] if positive is None else positive,
        negative=classes[0] if positive is None else None,
        names=None if names is None else tuple(names),
        table=table,
    )
    return Dataset(rows, frozen(preparation.signs(values)), preparation, known)


def checked_rows(x: Any, name: str) -> Matrix:
    """Return rows as numbers, dense or sparse; raise InputError that names row and column."""
    import scipy.sparse as sp

    rows: Any = canonical(x) if sp.issparse(x) else _dense(x, name)
    if rows.ndim != 2:
        raise InputError(f"{name}: rows of shape {rows.shape}; expected a table, one row each")
    stored = rows.data if sp.issparse(rows) else rows
    wrong = ~np.isfinite(stored)
    if wrong.any():
        place = np.argwhere(wrong)[0]
        value = stored[tuple(place)]
        if sp.issparse(rows):
            row = int(np.searchsorted(rows.indptr, place[0], side="right")) - 1
            place = np.array([row, rows.indices[place[0]]])
        raise InputError(
            f"{name}, row {place[0] + 1}, column {place[1] + 1}: {value}, a value that is NaN or "
            "infinite; expected a finite number: fill it in, or leave the row out"
        )
    check_sizes(stored, name)
    return rows


def _dense(x: Any, name: str) -> Floats:
    """Return rows as numbers; raise InputError that says what they are otherwise."""
    try:
        if np.iscomplexobj(x):
            raise TypeError
        return frozen(x)
    except (TypeError, ValueError):
        raise InputError(
            f"{name}: rows of a {type(x).__name__} that are no table of real numbers; expected "
            "one row of numbers for each label"
        ) from None


def prepare(
    data: Dataset,
    *,
    scale: str = "none",
    features: int | None = None,
    bias: bool = False,
    like: Dataset | None = None,
) -> Dataset:
    """Choose the most useful features, scale them, and append a column of ones.

    `features` keeps that many columns, the ones most correlated with the label. `scale` is "none",
    "standard" (mean 0, deviation 1), "robust" (the same after clipping each column at its median
    ± 5 IQR / 1.349, so that outliers do not matter), "max-abs" (keeps zeros, so sparse data stay
    sparse) or "unit-norm" (each row). "robust" leaves columns with IQR 0 and columns of 0 and 1 as
    they are, and does not centre a column that is 0 in more than half of the rows. What was done
    is kept in ``preparation`` and can be applied to raw rows.

    Features are chosen and scaled by the rows given here, so set rows for tests aside before, and
    prepare them `like` the others:

    >>> from qcompile import read, split
    >>> rows, held = split(read("breast-cancer"), (0.7, 0.3), seed=1)
    >>> rows = prepare(rows, scale="standard", features=5)
    >>> held = prepare(held, like=rows)
    """
    check_kind(data, Dataset, READ_IT)
    if like is not None:
        check_kind(like, Dataset, READ_IT)
        return _prepared_like(data, like, own=scale != "none" or features is not None or bias)
    if scale not in SCALINGS:
        raise InputError(f"scaling {scale!r}; expected one of {', '.join(SCALINGS)}")
    if not data.preparation.is_identity:
        raise InputError("these data are prepared already; prepare raw data once")
    if features is None and scale in ("none", "unit-norm"):
        preparation = replace(
            data.preparation, unit_norm=scale == "unit-norm", bias=bias, scaling=scale
        )
    elif features is None and scale == "robust":
        center, spread = map(frozen, robust_scaling(data.x, data.weights))
        preparation = replace(
            data.preparation, center=center, scale=spread, bias=bias, scaling=scale
        )
    else:
        columns = ColumnStatistics.of(data.x, data.y, weights=data.weights)
        preparation = columns.preparation(
            data.preparation,
            scale=scale,
            features=features,
            bias=bias,
            rows=data.x,
            weights=data.weights,
        )
    return replace(data, x=preparation.apply(data.x), preparation=preparation)


def _prepared_like(data: Dataset, like: Dataset, *, own: bool) -> Dataset:
    made, raw = like.preparation, data.preparation
    if own:
        raise InputError("prepare like other data, or by scale, features and bias; not both")
    if not raw.is_identity:
        raise InputError("these data are prepared already; prepare raw data once")
    if (raw.positive, raw.negative) != (made.positive, made.negative):
        raise InputError(
            f"labels {label_text(raw.positive)} and {label_text(raw.negative)}; expected "
            f"{label_text(made.positive)} and {label_text(made.negative)}, as in the other data"
        )
    return replace(data, x=made.apply(data.x), preparation=made)
