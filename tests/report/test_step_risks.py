"""A round made by hand: the page says what is true of its files and rows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import orjson
import pytest

from qcompile import read
from qcompile.cli.app import main
from tests.report.reading import DATA, parsed, section, table, words


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of one round: compiled around a classifier, solved and decoded."""
    place = tmp_path_factory.mktemp("step")
    first, qubo, samples = (str(place / n) for n in ("first.json", "qubo.json", "samples.json"))
    assert main(["train", DATA, "--features", "3", "--rounds", "2", "-q", "-o", first]) == 0
    asked = ["--around", first, "--emit", f"qubo={qubo}", "--radius", "0.5", "-q"]
    assert main(["compile", DATA, *asked]) == 0
    assert main(["solve", qubo, "--solver", "exact", "-q", "-o", samples]) == 0
    model = str(place / "model.json")
    assert main(["decode", samples, "--problem", qubo, "-q", "-o", model]) == 0
    return place


def report(step: Path, data: str, place: Path) -> str:
    files = [str(step / name) for name in ("qubo.json", "samples.json", "model.json")]
    assert main(["report", *files, "--data", data, "-q", "-o", str(place)]) == 0
    return place.read_text()


def objective(model: Path, l2: float) -> float:
    """F by its definition, row by row."""
    content = orjson.loads(model.read_bytes())
    weights, how = content["weights"], content["preparation"]
    raw = read(DATA)
    total = 0.0
    for row, label in zip(np.asarray(raw.x).tolist(), raw.y.tolist(), strict=True):
        scaled = [
            (row[column] - middle) / scale
            for column, middle, scale in zip(
                how["columns"], how["center"], how["scale"], strict=True
            )
        ]
        scaled.append(1.0)
        length = math.sqrt(sum(x * x for x in scaled))
        margin = label * sum(w * x for w, x in zip(weights, scaled, strict=True)) / length
        total += math.erfc(margin / math.sqrt(2)) / 2
    return float(total / len(raw) + l2 / 2 * sum(w * w for w in weights))


def test_risks_of_a_step_are_those_of_its_rows(step: Path, tmp_path: Path) -> None:
    text = report(step, DATA, tmp_path / "x.html")
    found = table(section(text, "risks"))
    assert list(found)[1:] == [
        "before the step", "lowest state found", "returned", "descent (L-BFGS)",
    ]  # fmt: skip
    l2 = orjson.loads((step / "first.json").read_bytes())["source"]["l2"]
    for name, file in (("before the step", "first.json"), ("returned", "model.json")):
        assert found[name][0] == f"{objective(step / file, l2):.6g}"
    values = [float(row[0]) for row in list(found.values())[1:]]
    assert values[1] == values[2] <= values[0] and values[3] <= min(values) + 1e-6
    assert "training rows: " in words(section(text, "confusion"))
    assert "best with continuous weights" not in parsed(text).words
    absent = parsed(text).words.partition("Not shown:")[2]
    assert "rounds of the training" not in absent and "no one loss" in absent


def test_other_rows_have_no_risks(step: Path, tmp_path: Path) -> None:
    raw = tmp_path / "other.svm"
    assert main(["data", DATA, "-q", "-o", str(raw)]) == 0
    lines = raw.read_text().splitlines()
    turned = [("0" if y == "1" else "1") + rest for y, rest in ((s[0], s[1:]) for s in lines[:9])]
    raw.write_text("\n".join([*turned, *lines[9:]]) + "\n")
    text = report(step, str(raw), tmp_path / "x.html")
    shown = parsed(text).words
    assert "where accuracy is lost (needs the very rows it was compiled from" in shown
    assert "the data given: " in shown and 'id="risks"' not in text


def test_a_step_in_a_folder_is_shown_without_rows(step: Path, tmp_path: Path) -> None:
    place = tmp_path / "x.html"
    assert main(["report", str(step / "qubo.json"), "-q", "-o", str(place)]) == 0
    shown = parsed(place.read_text()).words
    assert "of one step" in shown and "A step couples every bit to every other" in shown
