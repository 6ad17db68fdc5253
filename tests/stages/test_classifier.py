from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import qcompile
from qcompile import (
    Classifier,
    Dataset,
    InputError,
    compile,
    decode,
    load_classifier,
    prepare,
    read,
    save_classifier,
    solve,
    train,
)
from tests.problems import identity


def test_a_classifier_works_on_raw_rows(cancer: Dataset, tmp_path: Path) -> None:
    raw = read("breast-cancer")
    compiled = compile("breast-cancer", bits=2, features=5, scale="standard", bias=True)
    found = decode(compiled.pubo, solve(compiled.pubo, solver="exact"))
    decisions = np.asarray(cancer.x) @ found.weights
    assert found.decision_function(raw.x) == pytest.approx(decisions)
    labels = raw.preparation.labels(raw.y)
    assert set(found.predict(raw.x)) == {0.0, 1.0}
    assert found.error(raw.x, labels) == pytest.approx(np.mean((decisions > 0) != (raw.y > 0)))
    path = tmp_path / "model.json"
    save_classifier(found, path)
    back = load_classifier(path)
    assert (back.predict(raw.x) == found.predict(raw.x)).all()
    assert back.source == found.source
    assert back.source["order"] == 3 and "energy" in back.source


def test_narrow_sparse_rows_are_widened_and_wide_ones_refused() -> None:
    rows = sp.csr_array(np.eye(3))
    model = Classifier(np.array([1.0, -1.0, 2.0, 3.0]), identity(4))
    assert model.decision_function(rows) == pytest.approx([1, -1, 2])
    with pytest.raises(InputError, match="3 features, expected 4"):
        model.decision_function(np.eye(3))
    with pytest.raises(InputError, match="5 features, expected 4"):
        model.decision_function(sp.csr_array(np.eye(5)))
    with pytest.raises(InputError, match="2 weights"):
        Classifier(np.zeros(2), identity(4))


def test_rows_of_strange_kinds_are_read_or_refused(cancer: Dataset) -> None:
    model = Classifier(np.array([1.0, -1.0, 2.0]), identity(3))
    assert model.decision_function(sp.csc_array(np.eye(2))) == pytest.approx([1, -1])
    assert model.decision_function([[1.0, 0.0, 1.0]]) == pytest.approx([3])
    for rows, message in (([1.0, 2.0, 3.0], "expected a table"), ([[np.nan] * 3], "NaN")):
        with pytest.raises(InputError, match=message):
            model.predict(np.array(rows))
    with pytest.raises(InputError, match="label 5"):
        model.error(np.eye(3), np.array([1, -1, 5]))
    with pytest.raises(InputError, match="with 3 features; expected 6"):
        train(cancer, test=prepare(read("breast-cancer"), scale="standard", features=3))
    with pytest.raises(InputError, match="leave rows"):
        train(cancer, test=float("nan"))


def test_errors_are_counted_on_decisions_and_zero_is_negative() -> None:
    found = Classifier(np.array([1.0]), replace(identity(1), positive=2.0, negative=1.0))
    labels = np.array([2.0, 1.0, 2.0, 1.0])
    assert found.error_of(np.array([0.5, -0.5, 0.0, 0.0]), labels) == 0.25
    assert found.error(np.array([[0.5], [-0.5], [0.0], [0.0]]), labels) == 0.25
    assert found.preparation.unknown_labels([2, 7, 1, 3, 7]) == [3.0, 7.0]
    assert replace(found.preparation, negative=None).unknown_labels([2, 7]) == []
    with pytest.raises(InputError, match="label 3 was never seen"):
        found.error_of(np.zeros(1), np.array([3.0]))


@pytest.mark.parametrize("scale", ["none", "standard", "robust", "max-abs"])
@pytest.mark.parametrize("bias", [False, True])
def test_weights_in_units_of_the_data_decide_alike(scale: str, bias: bool) -> None:
    raw = qcompile.read("breast-cancer")
    rows = qcompile.prepare(raw, scale=scale, features=7, bias=bias)
    drawn = np.random.default_rng(3).normal(size=rows.features)
    model = qcompile.Classifier(drawn, rows.preparation)
    weights, intercept = model.raw_weights()
    assert weights.shape == (raw.features,) and np.count_nonzero(weights) == 7
    x = np.asarray(raw.x.toarray() if hasattr(raw.x, "toarray") else raw.x)
    assert np.allclose(x @ weights + intercept, model.decision_function(x))


def test_rows_of_unit_norm_have_no_weights_of_raw_columns() -> None:
    rows = qcompile.prepare(qcompile.read("breast-cancer"), scale="unit-norm")
    model = qcompile.Classifier(np.ones(rows.features), rows.preparation)
    with pytest.raises(InputError, match="unit norm"):
        model.raw_weights()
