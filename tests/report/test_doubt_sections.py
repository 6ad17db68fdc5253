"""Calibration, suspicious rows, and weights by name, on the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qcompile import Calibration, Classifier, Dataset, add_noise, explain, from_arrays, prepare
from qcompile.report.build import report_of
from qcompile.report.page import page
from qcompile.report.run import Run
from qcompile.stages.interval import exact_interval
from tests.report.reading import NEAR, parsed, picture, section, table, words

NAMES = ("dose", "a column with a name that is far too long", "<u>")


@pytest.fixture(scope="module")
def run() -> Run:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    labels = np.where(x @ [1.0, 0.2, 0.0] > 0.1, "sick", "well")
    rows = prepare(add_noise(from_arrays(x, labels, names=NAMES), 0.1), scale="robust", bias=True)
    weights = np.array([2.0, 3.0, -0.5, 0.1])
    model = Classifier(weights, rows.preparation, calibration=Calibration(-0.8, -0.1))
    model = replace(model, calibration=Calibration(0.8, 0.1))
    return Run("x", classifier=model, parts=(("the data given", rows),))


def _rows(run: Run) -> Dataset:
    return run.parts[0][1]


def test_calibration_is_counted_by_hand(run: Run) -> None:
    element = section(page(report_of(run)), "calibration")
    rows = _rows(run)
    wanted: dict[int, list[tuple[float, bool]]] = {}
    for row, y in zip(np.asarray(rows.x).tolist(), rows.y.tolist(), strict=True):
        d = sum(w * v for w, v in zip([2.0, 3.0, -0.5, 0.1], row, strict=True))
        p = 1 / (1 + np.exp(-(0.8 * d + 0.1)))
        wanted.setdefault(min(9, int(10 * p)), []).append((p, y > 0))
    points = []
    shown = table(element)
    for own in wanted.values():
        predicted = float(np.mean([p for p, _ in own]))
        positive = sum(flag for _, flag in own)
        low, high = exact_interval(positive, len(own))
        points.append((predicted, positive / len(own)))
        assert shown[f"{predicted:.3f}"] == [
            f"{positive / len(own):.3f}", f"{low:.3f} to {high:.3f}", f"{len(own):,}"
        ]  # fmt: skip
    chart = picture(element, "Calibration, the data given")
    (diagonal,) = chart.points("curve step")
    (left, bottom), (right, top) = diagonal
    drawn = {(a, b) for line in chart.points("dots round h0") for a, b in line}
    for predicted, share in points:
        x, y = left + predicted * (right - left), bottom + share * (top - bottom)
        assert any(abs(a - x) <= NEAR and abs(b - y) <= NEAR for a, b in drawn)


def test_suspects_are_those_of_explain(run: Run) -> None:
    text = page(report_of(run))
    element = section(text, "suspects")
    model = run.classifier
    assert model is not None
    wanted = explain(model, _rows(run)).suspects
    assert wanted is not None and len(wanted) >= 20
    shown = table(element)
    assert shown["rows contradicted"] == [f"{len(wanted)} of 200"]
    assert shown["likely mislabelled"] == [f"{len(wanted.likely)}"]
    for own in wanted.records(20):
        cells = [own["label"], f"{own['margin']:.3g}", f"{own['chance']:.2f}"]
        assert shown[f"row {own['row']}"] == cells


def test_rows_in_another_order_than_their_file_name_no_suspects(run: Run) -> None:
    model = run.classifier
    assert model is not None
    source = replace(model.source, shuffle_seed=3)
    shuffled = replace(run, classifier=replace(model, source=source))
    assert report_of(shuffled).suspects is None
    test_only = replace(run, parts=(("test rows", _rows(run)),))
    found = report_of(test_only)
    assert found.suspects is None and found.calibration


def test_weights_have_names_and_units(run: Run) -> None:
    text = page(report_of(run))
    element = section(text, "weights")
    assert "is the first column" not in words(element)
    assert "&lt;u&gt;" in text and "<u>" not in text
    model = run.classifier
    assert model is not None
    raw, intercept = model.raw_weights()
    shown = table(element)
    assert shown["dose"] == [f"{raw[0]:.6g}"]
    assert shown["a column with a name th…"] == [f"{raw[1]:.6g}"]
    assert shown["intercept"] == [f"{intercept:.6g}"]
    assert "dose" in parsed(text).words
