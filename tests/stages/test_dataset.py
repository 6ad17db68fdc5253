"""The 0-1 error: what `predict` answers decides, also where a decision is exactly 0."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from qcompile import (
    Classifier,
    Dataset,
    PolynomialLossClassifier,
    cross_validate,
    decode,
    from_arrays,
    solve,
    train,
)
from qcompile.cli.app import main
from qcompile.objective.judgement import warnings_for
from qcompile.report.build import report_of
from qcompile.report.run import Run
from qcompile.stages.dataset import answers

# Three positive examples and one negative one lie at the origin: their margins are 0.
X = np.array([[0.0]] * 4 + [[1.0]] * 5 + [[-1.0]] * 7)
Y = np.array([1.0] * 3 + [-1.0] + [1.0] * 5 + [-1.0] * 7)
# A decision of 0 is a negative answer: wrong for the three, right for the one.
WRONG = 3 / 16


@pytest.fixture(params=["dense", "sparse"])
def rows(request: pytest.FixtureRequest) -> Dataset:
    return from_arrays(X if request.param == "dense" else sp.csr_array(X), Y)


def test_decisions_of_zero_are_negative_answers() -> None:
    assert answers([-1.0, -0.0, 0.0, 1e-300]).tolist() == [-1, -1, -1, 1]


def test_data_sets_and_classifiers_count_the_same_errors(rows: Dataset) -> None:
    assert rows.error([1.0]) == WRONG
    assert rows.errors([[1.0], [0.0], [-1.0]]).tolist() == [WRONG, 8 / 16, 15 / 16]
    model = Classifier(np.ones(1), rows.preparation)
    assert float(np.mean(model.predict(rows.x) != Y)) == WRONG
    assert model.error(rows.x, Y) == WRONG


def test_training_decoding_and_cross_validation_count_the_same_errors(rows: Dataset) -> None:
    found = train(rows, bits=1, test=rows, validation=rows, preparation={})
    assert found.classifier.weights[0] > 0
    assert found.errors == {"train": WRONG, "validation": WRONG, "test": WRONG}
    assert found.risks[-1]["classifier"] == "returned" and found.risks[-1]["0-1 risk"] == WRONG
    assert found.problem is not None
    chosen = decode(found.problem, solve(found.problem, solver="exact"), validation=rows)
    assert chosen.source.validation_error == WRONG
    (row,) = cross_validate(rows, {"bits": [1]}, count=2)  # halves of eight rows each
    assert row["validation error"] == WRONG


def test_reports_and_warnings_count_the_same_errors(rows: Dataset) -> None:
    model = Classifier(np.ones(1), rows.preparation)
    (matrix,) = report_of(Run("x", classifier=model, parts=(("all", rows),))).confusion
    assert (matrix.true_positive, matrix.false_negative) == (5, 3)
    assert (matrix.true_negative, matrix.false_positive) == (8, 0)
    found = train(rows, bits=1, preparation={})
    assert found.loss is not None
    half = from_arrays(X[:4], Y[:4])  # 3 of 4 wrong: worse than always giving the commoner label
    assert any("no better" in text for text in warnings_for(found.loss, half, np.ones(1), 0.5))
    one = from_arrays(X[[0, 3, 3]], Y[[0, 3, 3]])  # 1 of 3 wrong, as good as that label
    assert any("no better" in text for text in warnings_for(found.loss, one, np.ones(1), 0.5))
    assert not any("no better" in text for text in warnings_for(found.loss, rows, np.ones(1), 0.5))


def test_the_estimator_counts_the_same_errors() -> None:
    model = PolynomialLossClassifier(bits=1, bias=False, scale="none").fit(X, Y)
    assert model.coef_[0, 0] > 0
    assert model.score(X, Y) == 1 - WRONG


def test_commands_count_the_same_errors(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{y:g} 1:{x:g}" for y, x in zip(Y, X[:, 0], strict=True)]
    Path("rows.svm").write_text("\n".join(lines) + "\n")
    raw = ["--scale", "none", "--no-bias"]
    assert main(["train", "rows.svm", "--bits", "1", *raw, "-o", "model.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["errors"]["train"] == WRONG
    assert main(["predict", "model.json", "rows.svm", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["error_if_the_labels_of_the_file_are_true"] == WRONG
    assert said["labels"] == [-1.0] * 4 + [1.0] * 5 + [-1.0] * 7
    emits = ["--emit", "qubo.json", "--emit", "pubo.json"]
    assert main(["compile", "rows.svm", "--bits", "1", *raw, *emits, "-q"]) == 0
    assert main(["solve", "pubo.json", "--solver", "exact", "-o", "samples.json", "-q"]) == 0
    assert (
        main(
            [
                "decode",
                "samples.json",
                "--problem",
                "pubo.json",
                "--validation",
                "rows.svm",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["validation_error"] == WRONG
