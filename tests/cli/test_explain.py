from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from qcompile import explain
from qcompile.cli.app import main
from tests.report import reading


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """A table, a classifier that was trained on it, and the rows (from 1) with wrong labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 2))
    sick = x @ [2.0, -1.0] > 0.2
    wrong = set(rng.choice(120, 12, replace=False).tolist())
    lines = [
        f"{row[0]!r},{row[1]!r},{'sick' if flag ^ (i in wrong) else 'well'}"
        for i, (row, flag) in enumerate(zip(x.tolist(), sick.tolist(), strict=True))
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["dose,age,state", *lines]) + "\n")
    train = ["train", "rows.csv", "--label", "state", "--solver", "descent", "-o", "model.json"]
    assert main([*train, "-q"]) == 0
    return {i + 1 for i in wrong}


def test_weights_and_suspects_are_shown_and_written(
    table: set[int], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["explain", "model.json"]) == 0
    told = capsys.readouterr().out
    assert "weight: dose" in told and "rows" not in told
    run = ["explain", "model.json", "--data", "rows.csv", "--suspects", "suspects.csv"]
    assert main(run) == 0
    told = capsys.readouterr().out
    assert "rows contradicted" in told and "wrong with probability" in told
    assert told.rstrip().endswith("suspects.csv")
    with Path("suspects.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    wanted = explain("model.json", "rows.csv").suspects
    assert wanted is not None
    assert [int(line["row"]) for line in lines] == (wanted.rows + 1).tolist()
    assert [float(line["chance"]) for line in lines] == wanted.chances.tolist()
    assert [line["given_up"] for line in lines] == [
        "yes" if own else "no" for own in wanted.given_up.tolist()
    ]
    found = {int(line["row"]) for line in lines if float(line["chance"]) > 0.5}
    assert len(found & table) >= 10 and len(found) <= 15
    first = Path("rows.csv").read_text().splitlines()[int(lines[0]["row"])]
    assert first.endswith(lines[0]["label"])
    assert main([*run, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["suspects"] == json.loads(
        json.dumps([{k.replace(" ", "_"): v for k, v in r.items()} for r in wanted.records()])
    )


def test_errors_name_what_is_missing(
    table: set[int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    capsys.readouterr()
    assert main(["explain", "model.json", "--suspects", "s.csv"]) == 2
    assert "--suspects needs rows with labels; add: --data DATA" in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("dose,state\n1,sick\n")
    assert main(["explain", "model.json", "--data", "other.csv"]) == 2
    assert "lacks 1 of the 2 columns" in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("dose\n1\n")
    assert main(["explain", "model.json", "--data", "other.csv"]) == 2
    told = capsys.readouterr().err
    assert "lacks 1 of the 2 columns" in told and "'age', and the label column 'state'" in told
    assert main(["explain", "model.json", "--data", "rows.csv", "--label", "age"]) == 2
    assert "label 'age' is a column that the features are made of" in capsys.readouterr().err
    assert main(["explain", "model.json", "--data", "breast-cancer", "--label", "x"]) == 2
    assert "is for tables" in capsys.readouterr().err
    assert main(["explain", "model.json", "--data", "rows.csv", "--folds", "99"]) == 2
    assert "99 folds with" in capsys.readouterr().err


def test_the_page_of_report_has_the_suspects_of_explain(here: Path) -> None:
    rng = np.random.default_rng(7)  # columns whose scale differs from fold to fold
    x = rng.lognormal(sigma=2.0, size=(60, 3))
    sick = (np.log(x) @ [1.0, -1.0, 0.5] > 0) ^ (rng.random(60) < 0.15)
    lines = [",".join(map(repr, [*row, int(y)])) for row, y in zip(x.tolist(), sick, strict=True)]
    Path("rows.csv").write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    assert main(["train", "rows.csv", "--solver", "descent", "-o", "model.json", "-q"]) == 0
    assert main(["report", "model.json", "--data", "rows.csv", "-o", "page.html", "-q"]) == 0
    shown = reading.table(reading.section(Path("page.html").read_text(), "suspects"))
    wanted = explain("model.json", "rows.csv").suspects
    assert wanted is not None and len(wanted) > 5
    for own in wanted.records(20):
        assert shown[f"row {own['row']}"][-1] == f"{own['chance']:.2f}"
