"""Commands that are given tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from qcompile import load_classifier, read
from qcompile.cli.app import main


@pytest.fixture
def tables(here: Path) -> Path:
    """A folder with a table to train on, and new rows with their columns in another order."""
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 2, 20, 30]].copy()
    frame["diagnosis"] = frame.pop("target").map({0: "malignant", 1: "benign"})
    frame["site"] = ["right, upper" if row % 3 == 0 else "left" for row in range(len(frame))]
    frame.iloc[:400].to_csv(here / "rows.csv", index=False)
    frame.iloc[400:].to_csv(here / "new.csv", index=False)
    bare = frame.iloc[400:, ::-1].drop(columns="diagnosis")
    bare.to_csv(here / "bare.tsv", sep="\t", index=False)
    return here


def test_a_classifier_of_a_table_reads_other_tables_by_the_names_of_columns(tables: Path) -> None:
    assert main(["train", "rows.csv", "--label", "diagnosis", "--one-hot", "-o", "m.json"]) == 0
    assert main(["predict", "m.json", "new.csv", "-o", "new.txt"]) == 0
    assert main(["predict", "m.json", "bare.tsv", "-o", "bare.txt"]) == 0
    answers = (tables / "new.txt").read_text().split()
    assert answers == (tables / "bare.txt").read_text().split()
    # the judge: pandas reads the rows, and the weights are applied to its columns
    frame = pd.read_csv(tables / "new.csv")
    model = load_classifier(tables / "m.json")
    assert model.preparation.names is not None
    columns = [
        frame["site"] == name.removeprefix("site=") if name.startswith("site=") else frame[name]
        for name in model.preparation.names
    ]
    decisions = model.decision_function(np.column_stack(columns).astype(np.float64))
    assert answers == np.where(decisions > 0, "malignant", "benign").tolist()
    assert np.mean(np.array(answers) == frame["diagnosis"]) > 0.8


def test_columns_that_are_missing_are_named(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "rows.csv", "--label", "6", "--ignore", "site", "-o", "m.json"]) == 2
    assert main(["train", "rows.csv", "--label", "5", "--ignore", "site", "-o", "m.json"]) == 0
    frame = pd.read_csv(tables / "new.csv")
    frame.drop(columns=["mean texture"]).to_csv("less.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "m.json", "less.csv"]) != 0
    said = capsys.readouterr().err
    assert "mean texture" in said and said.count("\n") == 1


def test_a_qubo_of_a_table_is_verified_against_it(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--label", "diagnosis", "--ignore", "site", "--features", "3", "--bits", "2"]
    assert main(["compile", "rows.csv", *words, "--emit", "q.json"]) == 0
    assert "label column" in capsys.readouterr().out
    assert main(["verify", "q.json", "--data", "rows.csv"]) == 0
    pd.read_csv("rows.csv").iloc[::-1].head(300).to_csv("other.csv", index=False)
    assert main(["verify", "q.json", "--data", "other.csv"]) != 0


def test_files_in_parts_are_read_like_one(tables: Path) -> None:
    frame = pd.read_csv("rows.csv")
    frame.head(150).to_csv("part-1.csv.gz", index=False)
    frame.tail(250).to_csv("part-2.csv.gz", index=False)
    whole = read("rows.csv", label="diagnosis", one_hot=True)
    parts = read("part-*.csv.gz", label="diagnosis", one_hot=True)
    np.testing.assert_array_equal(whole.x, parts.x)
    np.testing.assert_array_equal(whole.y, parts.y)
    assert parts.source.parts == 2


def test_help_tells_that_data_may_be_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert ".csv" in capsys.readouterr().out
