"""Classifiers for programs without qcompile: scikit-learn, ONNX and plain JSON. They only go out.

All of them take raw rows: numbers in the order of the columns in training. Texts of a table must be
features of 0 and 1 before, named COLUMN=TEXT.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from qcompile._version import __version__
from qcompile.errors import InputError
from qcompile.files.atomic import write_atomically
from qcompile.files.classifier import classifier_of
from qcompile.stages.arrays import Floats
from qcompile.stages.classifier import Classifier
from qcompile.stages.labels import RowLabel, sorted_labels

__all__ = ["EXPORTS", "export", "to_onnx", "to_plain", "to_sklearn"]


EXPORTS = ("sklearn", "onnx", "json")
_BY_ENDING = {".skops": "sklearn", ".joblib": "sklearn", ".onnx": "onnx", ".json": "json"}
# Read by every onnxruntime since 1.14.
_OPSET, _IR_VERSION = 17, 8


def export(
    model: Classifier, output: str | Path, *, to: str | None = None, probabilities: bool = False
) -> str:
    """Write a classifier for a program without qcompile, and return the kind of the file.

    `to` is "sklearn" (a file that ends in .skops or .joblib), "onnx" or "json"; without it the
    ending decides. `probabilities` is for "sklearn" and is that of `to_sklearn`.
    """
    ending = Path(output).suffix.lower()
    kind = _BY_ENDING.get(ending) if to is None else to
    if kind not in EXPORTS:
        raise InputError(
            f"{output}: cannot tell what to export; expected to= one of {', '.join(EXPORTS)}, or a "
            f"file that ends in {', '.join(_BY_ENDING)}"
        )
    if probabilities and kind != "sklearn":
        raise InputError(
            f"probabilities= is for scikit-learn; {kind} has decisions, and probabilities if the "
            "classifier has a calibration"
        )
    if kind == "sklearn":
        _write_sklearn(to_sklearn(model, probabilities=probabilities), output, ending)
        return kind
    content = to_onnx(model).SerializeToString() if kind == "onnx" else _json_of(model)
    with write_atomically(output) as stream:
        stream.write(content)
    return kind


def _json_of(model: Classifier) -> bytes:
    return orjson.dumps(to_plain(model), option=orjson.OPT_INDENT_2) + b"\n"


def to_plain(model: Classifier) -> dict[str, Any]:
    """Return a classifier as plain values: names, weights in units of the data, labels.

    The label is the positive one where the sum of weight times value, plus the intercept, is above
    0. With a calibration the probability of it is 1 / (1 + exp(-(slope d + intercept))) for that
    sum d.

    >>> from qcompile import Preparation
    >>> plain = to_plain(Classifier(np.array([2.0]), Preparation(1, "yes", "no", names=("age",))))
    >>> plain["features"], plain["intercept"], plain["positive"]
    ([{'name': 'age', 'weight': 2.0}], 0.0, 'yes')
    """
    model = classifier_of(model)
    weights, intercept = model.raw_weights()
    made, sigmoid = model.preparation, model.calibration
    plain: dict[str, Any] = {
        "made_by": f"qcompile {__version__}",
        "decision": "sum of weight * value over the features, plus the intercept",
        "positive": made.positive,
        "negative": made.negative_or_rest,
        "intercept": intercept,
        "features": [
            {"name": name, "weight": weight}
            for name, weight in zip(model.column_names, weights.tolist(), strict=True)
        ],
    }
    if sigmoid is not None:
        plain["calibration"] = {"slope": sigmoid.slope, "intercept": sigmoid.intercept}
    if made.table is not None:
        plain["table"] = made.table.to_dict()
    return plain


def to_sklearn(model: Classifier, *, probabilities: bool = False) -> Any:
    """Return a fitted scikit-learn pipeline that predicts without qcompile.

    Its steps are a `StandardScaler` of all raw columns and a `LinearSVC` that holds the weights: it
    gives the same decisions and labels. With `probabilities` it ends in a `LogisticRegression`
    whose probabilities are those of the calibration; it gives the label with probability above 1/2,
    which may be another one near the border.
    """
    from sklearn.pipeline import Pipeline

    model = classifier_of(model)
    made = Pipeline([_scaler(model), *_unit_norm_steps(model), _last_step(model, probabilities)])
    if model.preparation.names is not None:
        made[0].feature_names_in_ = np.array(model.preparation.names, dtype=object)
    return made


def _scaler(model: Classifier) -> tuple[str, Any]:
    """Return the scaling of all raw columns; it also checks their number and their names."""
    from sklearn.preprocessing import StandardScaler

    made = model.preparation
    centred, scaled = made.center is not None, made.scale is not None
    step = StandardScaler(with_mean=centred, with_std=scaled)
    step.fit(np.zeros((2, made.raw_features)))
    columns = slice(None) if made.columns is None else made.columns
    if made.center is not None:
        step.mean_ = np.zeros(made.raw_features)
        step.mean_[columns] = made.center
    if made.scale is not None:
        step.scale_ = np.ones(made.raw_features)
        step.scale_[columns] = made.scale
        step.var_ = step.scale_**2
    return "scale", step


def _unit_norm_steps(model: Classifier) -> list[tuple[str, Any]]:
    """Return the choice of columns, which matters for the length of a row, and that length."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import Normalizer

    made = model.preparation
    if not made.unit_norm:
        return []
    norm = ("norm", Normalizer().fit(np.zeros((1, made.features - made.bias))))
    if made.columns is None:
        return [norm]
    choice = ColumnTransformer([("chosen", "passthrough", made.columns.tolist())])
    return [("columns", choice.fit(np.zeros((1, made.raw_features)))), norm]


def _last_step(model: Classifier, probabilities: bool) -> tuple[str, Any]:
    """Return the linear classifier, as if it had been fitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    made, weights = model.preparation, _own_weights(model)
    if made.columns is not None and not made.unit_norm:  # the others do not count
        full = np.zeros(made.raw_features)
        full[made.columns] = weights
        weights = full
    intercept = float(model.weights[-1]) if made.bias else 0.0
    sign = 1.0
    if probabilities:
        if model.calibration is None:
            raise InputError(
                "this classifier has no calibration, which probabilities need: use calibrate(), "
                "or train it again in rounds"
            )
        slope = model.calibration.slope
        weights, intercept = slope * weights, slope * intercept + model.calibration.intercept
    labels = _sorted_labels(model)
    if labels[1] != made.positive:  # classes of scikit-learn are sorted, the second is positive
        sign = -1.0
    last: Any = LogisticRegression() if probabilities else LinearSVC()
    last.classes_ = np.array(labels)
    last.coef_ = sign * weights[None, :]
    # where a decision of 0 would be positive, the smallest number makes it negative
    last.intercept_ = np.array([sign * intercept or (0.0 if sign > 0 else 5e-324)])
    last.n_features_in_ = len(weights)
    last.n_iter_ = np.array([1], dtype=np.int32) if probabilities else 1
    return "classify", last


def _own_weights(model: Classifier) -> Floats:
    """Return the weights of the chosen columns."""
    return np.array(model.weights[:-1] if model.preparation.bias else model.weights)


def _sorted_labels(model: Classifier) -> list[RowLabel]:
    made = model.preparation
    return sorted_labels((made.negative_or_rest, made.positive))


def _write_sklearn(pipeline: Any, output: str | Path, ending: str) -> None:
    if ending == ".skops":
        try:
            from skops.io import dumps
        except ImportError:
            raise InputError(
                f"{output}: skops is not installed; expected pip install skops, or a file that "
                "ends in .joblib"
            ) from None
        with write_atomically(output) as stream:
            stream.write(dumps(pipeline))
        return
    if ending != ".joblib":
        raise InputError(
            f"{output}: expected a file that ends in .skops or .joblib for a scikit-learn pipeline"
        )
    import joblib

    with write_atomically(output) as stream:
        joblib.dump(pipeline, stream)


def to_onnx(model: Classifier) -> Any:
    """Return a classifier as an ONNX model, in double precision.

    Its input `rows` are raw rows. Its outputs are the `label` and the `decision` of each row, and
    the `probability` of the positive label if the classifier has a calibration. The names of the
    columns are in its metadata. It needs the package onnx (the extra of that name).
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise InputError(
            "onnx is not installed; expected pip install 'qcompile-anneal[onnx]'"
        ) from None
    model = classifier_of(model)
    made = model.preparation
    graph = _Graph(helper, TensorProto)
    value = "rows"
    if made.columns is not None:
        value = graph.add("Gather", [value, graph.whole(made.columns)], axis=1)
    if made.center is not None:
        value = graph.add("Sub", [value, graph.numbers(made.center)])
    if made.scale is not None:
        value = graph.add("Div", [value, graph.numbers(made.scale)])
    if made.unit_norm:
        norm = graph.add("ReduceL2", [value], axes=[1], keepdims=1)
        value = graph.add("Div", [value, graph.add("Max", [norm, graph.numbers([1e-300])])])
    value = graph.add("MatMul", [value, graph.numbers(_own_weights(model))])
    intercept = float(model.weights[-1]) if made.bias else 0.0
    graph.add("Add", [value, graph.numbers([intercept])], output="decision")
    above = graph.add("Greater", ["decision", graph.numbers([0.0])])
    place = graph.add("Cast", [above], to=TensorProto.INT64)
    graph.add("Gather", [graph.labels(made.negative_or_rest, made.positive), place], output="label")
    if model.calibration is not None:
        steep = graph.add("Mul", ["decision", graph.numbers([model.calibration.slope])])
        logits = graph.add("Add", [steep, graph.numbers([model.calibration.intercept])])
        graph.add("Sigmoid", [logits], output="probability")
    return graph.finished(model)


class _Graph:
    """An ONNX graph that grows node by node."""

    def __init__(self, helper: Any, types: Any) -> None:
        self._helper, self._types = helper, types
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[str] = []

    def add(self, kind: str, inputs: list[str], output: str | None = None, **how: Any) -> str:
        """Add a node and return the name of its value."""
        name = f"value{len(self._nodes)}" if output is None else output
        self._nodes.append(self._helper.make_node(kind, inputs, [name], **how))
        if output is not None:
            self._outputs.append(output)
        return name

    def _constant(self, kind: Any, values: list[Any]) -> str:
        name = f"constant{len(self._constants)}"
        made = self._helper.make_tensor(name, kind, [len(values)], values)
        self._constants.append(made)
        return name

    def numbers(self, values: Any) -> str:
        """Add constants and return their name."""
        return self._constant(self._types.DOUBLE, np.asarray(values, dtype=np.float64).tolist())

    def whole(self, values: Any) -> str:
        """Add whole numbers and return their name."""
        return self._constant(self._types.INT64, np.asarray(values, dtype=np.int64).tolist())

    def labels(self, negative: RowLabel, positive: RowLabel) -> str:
        """Add the labels and return their name."""
        if isinstance(positive, str):
            texts = [str(negative).encode(), positive.encode()]
            return self._constant(self._types.STRING, texts)
        return self._constant(self._types.DOUBLE, [float(negative), float(positive)])

    def finished(self, model: Classifier) -> Any:
        """Return the model."""
        info, double = self._helper.make_tensor_value_info, self._types.DOUBLE
        made = model.preparation
        own = self._types.STRING if isinstance(made.positive, str) else double
        kinds = {"label": own, "decision": double, "probability": double}
        graph = self._helper.make_graph(
            self._nodes,
            "qcompile_classifier",
            [info("rows", double, ["N", made.raw_features])],
            [info(name, kind, ["N"]) for name, kind in kinds.items() if name in self._outputs],
            self._constants,
        )
        found = self._helper.make_model(
            graph,
            opset_imports=[self._helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="qcompile",
            producer_version=__version__,
        )
        about = {
            "feature_names": json.dumps(list(model.column_names)),
            "positive": json.dumps(made.positive),
        }
        self._helper.set_model_props(found, about)
        return found
