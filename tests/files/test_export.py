from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from qcompile import (
    Calibration,
    Classifier,
    Dataset,
    InputError,
    PolynomialLossClassifier,
    explain,
    export,
    from_arrays,
    load_classifier,
    prepare,
    save_classifier,
    to_onnx,
    to_plain,
    to_sklearn,
)
from qcompile.cli.app import main

HOWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bias": {"bias": True},
    "standard": {"scale": "standard", "bias": True},
    "chosen": {"scale": "robust", "features": 3, "bias": True},
    "max-abs": {"scale": "max-abs"},
    "unit": {"scale": "unit-norm", "bias": True},
    "chosen unit": {"scale": "unit-norm", "features": 3},
}
LABELS: dict[str, tuple[Any, ...]] = {"text": ("benign", "malignant"), "number": (0, 3)}
NAMES = ("a", "b", "c", "d", "e")


def _rows(labels: str, positive: Any = None) -> Dataset:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(90, 5)) * [1.0, 20.0, 0.1, 3.0, 1.0] + [0.0, 50.0, 0.0, -4.0, 9.0]
    x[rng.random(x.shape) < 0.2] = 0.0
    x[-1] = 0.0
    own = np.array(LABELS[labels])[(x @ [1.0, 0.05, -9.0, 0.2, 0.0] > 2).astype(int)]
    return from_arrays(x, own, names=NAMES, positive=positive)


def _model(how: str, labels: str = "text", positive: Any = None) -> tuple[Classifier, Dataset]:
    raw = _rows(labels, positive)
    made = prepare(raw, **HOWS[how])
    weights = np.random.default_rng(3).normal(size=made.features)
    return Classifier(weights, made.preparation, calibration=Calibration(1.5, 0.2)), raw


@pytest.mark.parametrize("labels", list(LABELS))
@pytest.mark.parametrize("how", list(HOWS))
def test_scikit_learn_gives_the_same_labels_on_raw_rows(how: str, labels: str) -> None:
    pandas = pytest.importorskip("pandas")
    model, raw = _model(how, labels)
    table = pandas.DataFrame(np.asarray(raw.x), columns=NAMES)
    found = to_sklearn(model)
    assert found.predict(table).tolist() == model.predict(raw.x).tolist()
    assert found.decision_function(table) == pytest.approx(model.decision_function(raw.x))
    with pytest.raises(ValueError, match="feature names"), warnings.catch_warnings():
        found.predict(table[list(reversed(NAMES))])
    more = to_sklearn(model, probabilities=True)
    assert more.predict_proba(table)[:, 1] == pytest.approx(model.probabilities(raw.x))
    assert "qcompile" not in repr([type(step).__module__ for _, step in found.steps])


def test_the_smaller_label_may_be_the_positive_one() -> None:
    model, raw = _model("plain", "text", "benign")
    model = Classifier(
        model.weights, replace(model.preparation, negative="malignant"), calibration=None
    )
    plain = Classifier(model.weights, replace(model.preparation, names=None))
    found = to_sklearn(plain)
    x = np.asarray(raw.x)
    assert (x[-1] == 0).all()  # a decision of 0 is negative
    assert found.predict(x).tolist() == model.predict(x).tolist()
    assert found.predict(sp.csr_array(x)).tolist() == model.predict(x).tolist()
    assert set(found.predict(x)) == {"benign", "malignant"}


@pytest.mark.parametrize("ending", ["skops", "joblib"])
def test_files_of_scikit_learn_come_back(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("skops" if ending == "skops" else "joblib")
    model, raw = _model("chosen")
    path = tmp_path / f"model.{ending}"
    assert export(model, path) == "sklearn"
    if ending == "skops":
        from skops.io import load

        found = load(path, trusted=[])
    else:
        import joblib

        found = joblib.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows without names
        assert found.predict(np.asarray(raw.x)).tolist() == model.predict(raw.x).tolist()


@pytest.mark.parametrize("labels", list(LABELS))
@pytest.mark.parametrize("how", list(HOWS))
def test_onnx_gives_the_same_labels_on_raw_rows(how: str, labels: str) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, raw = _model(how, labels)
    made = to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    session = runtime.InferenceSession(made.SerializeToString())
    label, decision, probability = session.run(None, {"rows": np.asarray(raw.x)})
    assert label.tolist() == model.predict(raw.x).tolist()
    assert decision == pytest.approx(model.decision_function(raw.x), rel=1e-12, abs=1e-12)
    assert probability == pytest.approx(model.probabilities(raw.x), rel=1e-9)
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["feature_names"]) == list(NAMES)
    plain = to_onnx(Classifier(model.weights, model.preparation))
    assert [output.name for output in plain.graph.output] == ["label", "decision"]


@pytest.mark.parametrize("how", [name for name in HOWS if "unit" not in name])
def test_plain_json_is_enough_to_predict(how: str, tmp_path: Path) -> None:
    model, raw = _model(how)
    path = tmp_path / "weights.json"
    assert export(model, path) == "json"
    plain = json.loads(path.read_text())
    assert plain == json.loads(json.dumps(to_plain(model)))
    assert [feature["name"] for feature in plain["features"]] == list(NAMES)
    for row, wanted in zip(np.asarray(raw.x).tolist(), model.predict(raw.x), strict=True):
        total = plain["intercept"] + sum(
            feature["weight"] * value for feature, value in zip(plain["features"], row, strict=True)
        )
        assert plain["positive" if total > 0 else "negative"] == wanted


def test_errors_say_what_cannot_be_exported(tmp_path: Path) -> None:
    unit, _ = _model("unit")
    with pytest.raises(InputError, match="raw columns have no weights"):
        to_plain(unit)
    plain = Classifier(unit.weights, unit.preparation)
    with pytest.raises(InputError, match="no calibration, which probabilities need"):
        to_sklearn(plain, probabilities=True)
    with pytest.raises(InputError, match="cannot tell what to export"):
        export(plain, tmp_path / "model.bin")
    with pytest.raises(InputError, match="one of sklearn, onnx, json"):
        export(plain, tmp_path / "model.json", to="pickle")
    with pytest.raises(InputError, match=r"ends in \.skops or \.joblib"):
        export(plain, tmp_path / "model.pkl", to="sklearn")
    with pytest.raises(InputError, match="probabilities= is for scikit-learn"):
        export(plain, tmp_path / "model.onnx", probabilities=True)
    assert list(tmp_path.iterdir()) == []


def test_the_command_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = _model("standard")
    save_classifier(model, tmp_path / "model.json")
    output = str(tmp_path / "weights.json")
    assert main(["export", str(tmp_path / "model.json"), "-o", output, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["features"], told["written"]) == ("json", 5, [output])
    known = load_classifier(tmp_path / "model.json")
    assert json.loads(Path(output).read_text()) == json.loads(json.dumps(to_plain(known)))
    assert main(["export", str(tmp_path / "model.json"), "-o", str(tmp_path / "m.txt")]) == 2
    assert "cannot tell what to export; expected --to" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["joblib", "onnx", "json"])
def test_an_estimator_is_told_from_its_classifier(tmp_path: Path, ending: str) -> None:
    estimator: Any = PolynomialLossClassifier()
    with pytest.raises(InputError, match=r"PolynomialLossClassifier; expected .* classifier_"):
        export(estimator, tmp_path / f"x.{ending}")
    with pytest.raises(InputError, match="classifier_"):
        explain(estimator)
    assert list(tmp_path.iterdir()) == []
