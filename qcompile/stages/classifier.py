"""A linear classifier of raw rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.calibration import Calibration
from qcompile.stages.dataset import answers
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.frame import is_frame
from qcompile.stages.frame_cells import raw_rows_of
from qcompile.stages.labels import label_text
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import ClassifierSource

__all__ = ["Classifier"]


@dataclass(frozen=True, eq=False, repr=False)
class Classifier(Displayed):
    """A linear classifier for raw rows: prepare them, multiply by the weights, take the sign.

    `source` says which data it was trained on, and how the weights were found. `calibration` turns
    decisions into probabilities; None if it was not fitted.
    """

    weights: Floats
    preparation: Preparation
    source: ClassifierSource = field(default_factory=ClassifierSource)
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", ClassifierSource.of(self.source))
        if self.weights.shape != (self.preparation.features,):
            raise InputError(
                f"{self.weights.size} weights; the data have {self.preparation.features} columns "
                "after preparation"
            )

    def _line(self) -> str:
        name = "" if self.source.name is None else f", trained on {quoted(self.source.name)}"
        return f"{many(len(self.weights), 'weight')}{name}"

    def _facts(self) -> Mapping[str, object]:
        source = self.source
        return {
            "weights": ", ".join(f"{w:.4g}" for w in self.weights[:20].tolist()),
            "features": len(self.weights),
            "preparation": self.preparation,
            "calibration": self.calibration,
            "energy": source.energy,
            "rank": source.rank,
            "solver": source.solver,
            "validation error": source.validation_error,
            "source": source.name,
        }

    def decision_function(self, rows: Matrix) -> Floats:
        """Return w·x for raw rows: above 0 means the positive label.

        Rows are dense, sparse, or a table (pandas, polars, pyarrow, a dictionary of columns). Its
        columns are matched by name with those of the training data, if these had names.
        """
        return np.asarray(self.preparation.apply(self._as_wide(rows)) @ self.weights)

    def predict(self, rows: Matrix) -> NDArray[Any]:
        """Return a label of the training data for each raw row; a decision of 0 is negative."""
        return self.preparation.labels(answers(self.decision_function(rows)))

    def probabilities(self, rows: Matrix) -> Floats:
        """Return the probability of the positive label for each raw row."""
        if self.calibration is None:
            raise InputError(
                "this classifier has no calibration, which probabilities need: use calibrate() "
                "with rows that it was not trained on, or train it again in rounds"
            )
        return self.calibration.probabilities(self.decision_function(rows))

    @property
    def used_columns(self) -> NDArray[np.int64]:
        """The raw columns whose weights are not 0."""
        made = self.preparation
        columns = np.arange(made.raw_features) if made.columns is None else made.columns
        own = self.weights[:-1] if made.bias else self.weights
        return np.asarray(columns[own != 0], dtype=np.int64)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the raw columns; "column 1" and so on, as the file counts, if they have none.

        >>> Classifier(np.array([1.0, 2.0]), Preparation(2)).column_names
        ('column 1', 'column 2')
        """
        made = self.preparation
        if made.names is not None:
            return made.names
        base = 1 if self.source.index_base is None else self.source.index_base
        return tuple(f"column {number + base}" for number in range(made.raw_features))

    def raw_weights(self) -> tuple[Floats, float]:
        """Return a weight for each raw column, in units of the data, and the intercept.

        Their decision, rows·weights + intercept, is that of `decision_function`. Raise InputError
        if rows are brought to unit norm: no weights of raw columns do the same then.

        >>> made = Preparation(1, center=np.array([3.0]), scale=np.array([2.0]), bias=True)
        >>> Classifier(np.array([4.0, 1.0]), made).raw_weights()
        (array([2.]), -5.0)
        """
        made = self.preparation
        if made.unit_norm:
            raise InputError(
                "rows are brought to unit norm, so that raw columns have no weights of their own; "
                'train with scale="robust" or "standard"'
            )
        own = self.weights[:-1] if made.bias else self.weights
        intercept = float(self.weights[-1]) if made.bias else 0.0
        if made.scale is not None:
            own = own / made.scale
        if made.center is not None:
            intercept -= float(own @ made.center)
        full = np.zeros(made.raw_features)
        full[slice(None) if made.columns is None else made.columns] = own
        return full, intercept

    def missing_columns(self, rows: Matrix) -> NDArray[np.int64]:
        """Return the used columns that are 0 in all of these raw rows."""
        filled = np.zeros(max(self.preparation.raw_features, rows.shape[1]), dtype=bool)
        if hasattr(rows, "indptr"):
            filled[rows.indices[rows.data != 0]] = True
        else:
            filled[: rows.shape[1]] = np.any(np.asarray(rows) != 0, axis=0)
        used = self.used_columns
        return np.asarray(used[~filled[used]], dtype=np.int64)

    def error(self, rows: Matrix, labels: NDArray[Any]) -> float:
        """Return the share of rows that get a wrong label."""
        return self.error_of(self.decision_function(rows), labels)

    def error_of(self, decisions: Floats, labels: NDArray[Any]) -> float:
        """Return the share of decisions whose answers disagree with the labels."""
        unknown = self.preparation.unknown_labels(labels)
        if unknown:
            raise InputError(f"label {label_text(unknown[0])} was never seen in training")
        return float(np.mean(answers(decisions) != self.preparation.signs(labels)))

    def _as_wide(self, rows: Any) -> Matrix:
        """Return rows as wide as in training: columns missing from sparse rows are zeros."""
        import scipy.sparse as sp

        if is_frame(rows):
            rows = raw_rows_of(rows, self.preparation)
        rows = sp.csr_array(rows) if sp.issparse(rows) else _numbers(rows)
        if rows.ndim != 2:
            raise InputError(f"rows of shape {rows.shape}; expected a table, one row an example")
        if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
            raise InputError("a value is NaN or infinite; expected finite numbers")
        missing = self.preparation.raw_features - rows.shape[1]
        if missing > 0 and sp.issparse(rows):
            return sp.csr_array(
                (rows.data, rows.indices, rows.indptr), (rows.shape[0], rows.shape[1] + missing)
            )
        return rows


def _numbers(rows: Any) -> Floats:
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"rows from {type(rows).__name__}, which are no numbers; expected a table, one row an "
            "example"
        ) from None
