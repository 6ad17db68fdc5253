"""How raw columns become features: choice, scaling, bias, label names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, Matrix, frozen, row_norms
from qcompile.stages.display import Displayed, many
from qcompile.stages.labels import (
    RowLabel,
    checked_row_label,
    label_text,
    row_labels,
    sorted_labels,
)
from qcompile.stages.table import TableSchema

__all__ = ["SCALINGS", "Preparation"]


SCALINGS = ("none", "standard", "robust", "max-abs", "unit-norm")


@dataclass(frozen=True, eq=False, repr=False)
class Preparation(Displayed):
    """What was done to raw rows, so that a classifier can be applied to raw data later.

    In this order: choose `columns`, subtract `center`, divide by `scale`, bring each row to unit
    norm, append a column of ones. `negative` is None if one class stands against all others.
    `scaling` names the way of `SCALINGS` that gave centre and scale; older files do not say.
    `names` are those of the raw columns, if they have names. `table` is how a table became the raw
    columns, if the rows come from one. Labels are numbers or texts.
    """

    raw_features: int
    positive: RowLabel = 1.0
    negative: RowLabel | None = -1.0
    columns: NDArray[np.int64] | None = None
    center: Floats | None = None
    scale: Floats | None = None
    unit_norm: bool = False
    bias: bool = False
    scaling: str | None = None
    names: tuple[str, ...] | None = None
    table: TableSchema | None = None

    def __post_init__(self) -> None:
        if self.scaling == "none":  # one way to say it, as in files of earlier versions
            object.__setattr__(self, "scaling", None)
        if self.names is not None and len(self.names) != self.raw_features:
            raise InputError(f"{len(self.names)} names for {self.raw_features} columns")
        if self.table is not None and len(self.table.names) != self.raw_features:
            raise InputError(
                f"a table of {len(self.table.names)} features for {self.raw_features} columns"
            )
        if self.negative is not None and isinstance(self.negative, str) != isinstance(
            self.positive, str
        ):
            raise InputError("one label is a text, the other a number; expected two of a kind")

    def _line(self) -> str:
        steps = [step for step, done in self._steps.items() if done]
        made = f"{many(self.raw_features, 'column')} to {many(self.features, 'feature')}"
        return ", ".join([made, *steps])

    def _facts(self) -> Mapping[str, object]:
        return {
            "raw columns": self.raw_features,
            "features": self.features,
            **self._steps,
            "positive label": label_text(self.positive),
            "negative label": label_text(self.negative),
        }

    @property
    def _steps(self) -> dict[str, bool]:
        return {
            "chosen": self.columns is not None,
            "centred": self.center is not None,
            "scaled": self.scale is not None,
            "unit norm": self.unit_norm,
            "bias": self.bias,
        }

    @property
    def features(self) -> int:
        """Number of columns after preparation."""
        chosen = self.raw_features if self.columns is None else len(self.columns)
        return chosen + self.bias

    @property
    def is_identity(self) -> bool:
        """Whether prepared rows are the raw rows."""
        whole = self.columns is None and self.center is None and self.scale is None
        return whole and not self.unit_norm and not self.bias

    def signs(self, labels: ArrayLike) -> Floats:
        """Return +1 for the positive label and -1 for all others."""
        return np.where(row_labels(labels) == self.positive, 1.0, -1.0)

    def unknown_labels(self, labels: ArrayLike) -> list[RowLabel]:
        """Return the labels that training has not seen, sorted; none if it took a rest as one."""
        if self.negative is None:
            return []
        return sorted_labels(set(row_labels(labels).tolist()) - {self.positive, self.negative})

    def labels(self, signs: ArrayLike) -> NDArray[Any]:
        """Return the labels that signs or decisions stand for; 0 is negative.

        If several labels are negative, the result is -1, or one less than the positive label; for
        a text it is "not" and the text.
        """
        return np.where(np.asarray(signs) > 0, self.positive, self.negative_or_rest)

    @property
    def negative_or_rest(self) -> RowLabel:
        """The negative label, or one that stands for all labels but the positive one."""
        if self.negative is not None:
            return self.negative
        if isinstance(self.positive, str):
            return f"not {self.positive}"
        # a label below the positive one, so that it reads back as negative
        return -1.0 if self.positive > -1 else self.positive - 1

    def apply(self, rows: Matrix) -> Matrix:
        """Prepare raw rows; sparse rows stay sparse unless they must be centred."""
        import scipy.sparse as sp

        if rows.shape[1] != self.raw_features:
            raise InputError(
                f"data with {rows.shape[1]} features, expected {self.raw_features} as in training"
            )
        x: Any = rows if self.columns is None else rows[:, self.columns]
        if self.center is not None:
            x = _centred(x, self.center) if sp.issparse(x) else x - self.center
        if self.scale is not None:
            if sp.issparse(x):  # the same division as of dense values, for the same rounding
                x = sp.csr_array((x.data / self.scale[x.indices], x.indices, x.indptr), x.shape)
            else:
                x = x / self.scale
        if self.unit_norm:
            norms = row_norms(x)
            factor = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
            if sp.issparse(x):
                x = sp.csr_array(
                    (x.data * np.repeat(factor, np.diff(x.indptr)), x.indices, x.indptr), x.shape
                )
            else:
                x = x * factor[:, None]
        if self.bias:
            ones = np.ones((x.shape[0], 1))
            x = sp.csr_array(sp.hstack([x, ones])) if sp.issparse(x) else np.hstack([x, ones])
        return x

    def same_but_wider(self, other: Preparation) -> bool:
        """Whether both prepare rows alike, up to columns that one of them does not have."""
        mine, theirs = self.to_dict(), other.to_dict()
        for values in (mine, theirs):
            values.pop("scaling", None)  # only a name, which older files lack
            values.pop("names", None)
            values.pop("table", None)
        if self.columns is None and self.scale is None and not self.bias:
            mine.pop("raw_features")
            theirs.pop("raw_features")
        return mine == theirs

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "raw_features": self.raw_features,
            "positive": self.positive,
            "negative": self.negative,
            "columns": None if self.columns is None else self.columns.tolist(),
            "center": None if self.center is None else self.center.tolist(),
            "scale": None if self.scale is None else self.scale.tolist(),
            "unit_norm": self.unit_norm,
            "bias": self.bias,
            **({} if self.scaling is None else {"scaling": self.scaling}),
            **({} if self.names is None else {"names": list(self.names)}),
            **({} if self.table is None else {"table": self.table.to_dict()}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Preparation:
        """Return the preparation that `to_dict` wrote; raise InputError if it is invalid."""
        names = {"columns": np.int64, "center": np.float64, "scale": np.float64}
        arrays = {k: None if values[k] is None else frozen(values[k], t) for k, t in names.items()}
        prepared = cls(
            raw_features=int(values["raw_features"]),
            positive=checked_row_label(values["positive"]),
            negative=None if values["negative"] is None else checked_row_label(values["negative"]),
            unit_norm=bool(values["unit_norm"]),
            bias=bool(values["bias"]),
            scaling=values.get("scaling"),
            names=_names(values.get("names")),
            table=None if values.get("table") is None else TableSchema.from_dict(values["table"]),
            **arrays,
        )
        if prepared.scaling not in (None, *SCALINGS):
            raise InputError(f"scaling: expected one of {', '.join(SCALINGS)}")
        chosen = prepared.features - prepared.bias
        columns = prepared.columns
        inside = columns is None or bool(((columns >= 0) & (columns < prepared.raw_features)).all())
        if not inside or not 1 <= prepared.raw_features < 2**31:
            raise InputError("a chosen column lies outside of the data")
        for name, array in arrays.items():
            if array is not None and (array.ndim != 1 or not np.isfinite(array).all()):
                raise InputError(f"{name}: expected a plain list of finite numbers")
        if prepared.scale is not None and not prepared.scale.all():
            raise InputError("scale: a column would be divided by 0")
        for name in ("center", "scale"):
            array = arrays[name]
            if array is not None and len(array) != chosen:
                raise InputError(f"{name} has {len(array)} values, expected {chosen}")
        return prepared


def _names(values: Any) -> tuple[str, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list) or not all(isinstance(name, str) for name in values):
        raise InputError("names: expected a list of texts, one for each raw column")
    return tuple(values)


def _centred(x: Matrix, center: Floats) -> Matrix:
    """Return sparse rows minus the centre: sparse or dense, whichever is smaller."""
    import scipy.sparse as sp

    rows, columns = x.shape
    moved = np.flatnonzero(center)
    if not len(moved):
        return x
    stored = int((center[x.indices] == 0).sum()) + rows * len(moved)
    dense, sparse = 8 * rows * columns, 12 * stored + 8 * rows
    memory.require(
        min(dense, sparse + 12 * rows * len(moved)),
        f"centring {len(moved):,} columns of {rows:,} x {columns:,} sparse values, which become "
        "dense,",
        'use scale="max-abs", which keeps zeros, or choose fewer features= or rows=',
    )
    if dense <= sparse:
        return x.toarray() - center
    ends = np.arange(rows + 1, dtype=np.int64) * len(moved)
    shift = sp.csr_array(
        (np.tile(-center[moved], rows), np.tile(moved.astype(x.indices.dtype), rows), ends), x.shape
    )
    return sp.csr_array(x + shift)
