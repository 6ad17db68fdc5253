"""Samples -> Classifier: weights with all that is needed to apply them to raw data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile.errors import FormatError, InputError
from qcompile.files.storage import (
    as_record,
    check_finite,
    check_header,
    explained,
    header_of,
    read_json,
    write_atomically,
)
from qcompile.stages.artifacts import (
    Dataset,
    Floats,
    Matrix,
    Preparation,
    Pubo,
    Qubo,
    frozen,
)
from qcompile.stages.samples import Samples

__all__ = ["Classifier", "decode", "load_classifier", "save_classifier", "wrong_answers"]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A linear classifier for raw rows: prepare them, multiply by the weights, take the sign.

    `source` says where it comes from: data, loss, solver, energy.
    """

    weights: Floats
    preparation: Preparation
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.weights.shape != (self.preparation.features,):
            raise InputError(
                f"{self.weights.size} weights; the data have {self.preparation.features} columns "
                "after preparation"
            )

    def decision_function(self, rows: Matrix) -> Floats:
        """Give w·x for raw rows: above 0 means the positive label."""
        return np.asarray(self.preparation.apply(self._as_wide(rows)) @ self.weights)

    def predict(self, rows: Matrix) -> Floats:
        """Give labels for raw rows, as they were in the data; a decision of 0 is negative."""
        return self.preparation.labels(np.where(self.decision_function(rows) > 0, 1.0, -1.0))

    def error(self, rows: Matrix, labels: NDArray[Any]) -> float:
        """Share of wrong answers."""
        known = {self.preparation.positive, self.preparation.negative}
        strange = sorted(set(np.asarray(labels, dtype=np.float64).tolist()) - known)
        if strange and self.preparation.negative is not None:
            raise InputError(f"label {strange[0]:g} was never seen in training")
        truth = self.preparation.signs(labels)
        return float(np.mean(np.where(self.decision_function(rows) > 0, 1.0, -1.0) != truth))

    def _as_wide(self, rows: Any) -> Matrix:
        """Sparse rows may have been read narrower than in training: absent columns are zeros."""
        import scipy.sparse as sp

        rows = sp.csr_array(rows) if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
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


def decode(
    problem: Pubo | Qubo, samples: Samples, *, validation: Dataset | None = None
) -> Classifier:
    """Give the classifier of the lowest sample, or of the one with the least validation error.

    The paper's choice: of the k lowest states that with the lowest validation error, the lower
    energy among equals. `validation` must be prepared as the training data were.
    """
    if problem.preparation is None or problem.encoding is None:
        raise InputError("this problem was not compiled from data: it encodes no classifier")
    if not len(samples):
        raise InputError("no samples to decode")
    order = np.argsort(samples.energies, kind="stable")
    weights = problem.decode(samples.bits[order])
    chosen, error = 0, None
    if validation is not None:
        errors = wrong_answers(validation, weights)
        chosen = int(np.argmin(errors))
        error = float(errors[chosen])
    source: dict[str, Any] = {
        **dict(problem.source),
        "energy": float(samples.energies[order[chosen]]),
        "rank": chosen,
        **{k: samples.info[k] for k in ("solver", "seed", "space") if k in samples.info},
    }
    if error is not None:
        source["validation_error"] = error
    if problem.loss is not None:
        source |= {"order": problem.loss.order, "loss": list(problem.loss.coefficients)}
    source |= {"bits": problem.encoding.bits, "zeta": problem.encoding.zeta}
    return Classifier(frozen(weights[chosen]), problem.preparation, source)


def wrong_answers(data: Dataset, weights: Floats) -> Floats:
    """Give the share of wrong answers of many classifiers; a decision of 0 is a negative answer."""
    decisions = np.asarray(data.x @ weights.T)
    return np.asarray(np.mean((decisions > 0) != (data.y > 0)[:, None], axis=0))


def save_classifier(classifier: Classifier, path: str | Path) -> None:
    """Write a classifier as JSON."""
    content = {
        **header_of("model"),
        "weights": classifier.weights.tolist(),
        "preparation": classifier.preparation.to_dict(),
        "source": dict(classifier.source),
    }
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def load_classifier(path: str | Path) -> Classifier:
    """Read what `save_classifier` wrote."""
    with explained(path):
        content = read_json(path)
        check_header(content, "model")
        weights = frozen(content["weights"])
        if weights.ndim != 1:
            raise FormatError("weights: expected a plain list of numbers")
        check_finite(weights)
        preparation = Preparation.from_dict(content["preparation"])
        for array in (preparation.center, preparation.scale):
            if array is not None:
                check_finite(array)
        return Classifier(weights, preparation, as_record(content["source"]))
