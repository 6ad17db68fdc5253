"""Classifiers to JSON and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import InputError
from qcompile.files.atomic import write_atomically
from qcompile.files.guarded import (
    as_record,
    check_finite,
    check_header,
    explained,
    finite,
    header_of,
    numbers,
    preparation_from_dict,
    read_json,
)
from qcompile.stages.arrays import frozen
from qcompile.stages.calibration import Calibration
from qcompile.stages.classifier import Classifier
from qcompile.stages.source import ClassifierSource

__all__ = ["classifier_of", "load_classifier", "save_classifier"]


def save_classifier(classifier: Classifier, path: str | Path) -> None:
    """Write a classifier as JSON."""
    content = {
        **header_of("model"),
        "weights": classifier.weights.tolist(),
        "preparation": classifier.preparation.to_dict(),
        "source": classifier.source.to_dict(),
        **_calibration_to_dict(classifier.calibration),
    }
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def classifier_of(model: Any) -> Classifier:
    """Return a classifier that is given as such or as a file."""
    if isinstance(model, Classifier):
        return model
    if isinstance(model, str | Path):
        return load_classifier(model)
    raise InputError(
        f"found a {type(model).__name__}; expected a Classifier: that of an estimator is its "
        "classifier_, or of several classes one of classifiers_"
    )


def load_classifier(path: str | Path) -> Classifier:
    """Read a classifier that `save_classifier` wrote."""
    with explained(path):
        content = read_json(path)
        check_header(content, "model")
        weights = frozen(numbers(content["weights"]))
        check_finite(weights)
        preparation = preparation_from_dict(as_record(content["preparation"]))
        assert preparation is not None
        for array in (preparation.center, preparation.scale):
            if array is not None:
                check_finite(array)
        source = ClassifierSource.of(as_record(content["source"]))
        calibration = _calibration_of(content.get("calibration"))
        return Classifier(weights, preparation, source, calibration)


def _calibration_to_dict(calibration: Calibration | None) -> dict[str, Any]:
    """Return the entry of a file; a classifier without calibration has none."""
    if calibration is None:
        return {}
    values = {"slope": calibration.slope, "intercept": calibration.intercept}
    return {"calibration": values}


def _calibration_of(values: Any) -> Calibration | None:
    if values is None:
        return None
    own = as_record(values)
    return Calibration(finite(own["slope"]), finite(own["intercept"]))
