from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest

from qcompile import Pubo, Qubo, prepare, read
from qcompile.objective.decode import decode
from qcompile.report.build import report_of
from qcompile.report.figures import Weights
from qcompile.report.page import page
from qcompile.report.run import Run
from qcompile.stages.arrays import frozen
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.samples import Samples, samples_of
from tests.report.reading import DATA, NEAR, parsed, picture, report_on, section, table, words


def test_the_confusion_matrix_is_counted_by_hand(folder: Path, whole: str) -> None:
    model = orjson.loads((folder / "clf.json").read_bytes())
    weights, how = model["weights"], model["preparation"]
    raw = read(DATA)
    counts = dict.fromkeys([(a, b) for a in (False, True) for b in (False, True)], 0)
    for row, label in zip(np.asarray(raw.x).tolist(), raw.y.tolist(), strict=True):
        decision = 0.0
        for w, column, mean, scale in zip(
            weights, how["columns"], how["center"], how["scale"], strict=True
        ):
            decision += w * (row[column] - mean) / scale
        counts[label > 0, decision > 0] += 1
    words = parsed(whole).words
    expected = (
        f"1 {counts[True, True]} right, .* {counts[True, False]} missed, .* "
        f"0 {counts[False, True]} false alarm, .* {counts[False, False]} right"
    )
    assert re.search(expected, words)
    wrong = counts[True, False] + counts[False, True]
    assert f"{wrong} of 569 wrong" in words
    assert f"error, training rows {wrong / 569:.2%}" in words


def test_where_accuracy_is_lost_is_that_of_the_weights(
    folder: Path, rows: Dataset, samples: Samples, qubo: Qubo
) -> None:
    report = report_on([folder], rows)
    named = {risk.classifier: (risk.objective, risk.error) for risk in report.risks}
    assert list(named) == [
        "best continuous",
        "rounded to the grid",
        "lowest state found",
        "returned",
    ]
    weights = decode(qubo, samples).weights
    # a decision of 0 is a negative answer, as `predict` gives it
    assert named["returned"][1] == np.mean((np.asarray(rows.x @ weights) > 0) != (rows.y > 0))
    # the energy of the state is the mean loss of the rows
    assert named["returned"][0] == pytest.approx(samples.energies.min())
    assert named["best continuous"][0] <= named["returned"][0] + 1e-12


def test_histograms_count_every_read_once(folder: Path, qubo: Qubo, samples: Samples) -> None:
    report = report_on([folder])
    found = report.energies
    assert found is not None and found.reads == samples.occurrences.sum() == 200
    broken = sum(
        int(n) for n, share in zip(samples.occurrences, samples.chain_breaks, strict=True) if share
    )
    assert 0 < broken < 200, "the case must have both"
    assert [sum(series) for series in found.histogram.counts] == [200 - broken, broken]
    assert found.broken_reads == broken
    assert found.breaks is not None and sum(found.breaks.counts[0]) == 200
    lowest = min(float(qubo.score(np.array([bits]))[0]) for bits in np.ndindex(*(2,) * 6))
    assert found.ground == pytest.approx(lowest, abs=1e-12)
    assert report.ancillas is not None and report.chip is not None
    assert sum(report.ancillas.terms.counts[0]) == len(qubo.ancillas)
    assert report.ancillas.strengths is not None
    assert [sum(s) for s in report.ancillas.strengths.counts] == [len(qubo.ancillas)] * 2
    assert sum(report.chip.lengths.counts[0]) == qubo.variables


def test_the_table_of_energies(text: str, made: SimpleNamespace) -> None:
    samples = made.samples
    total = int(samples.occurrences.sum())
    at_lowest = int(samples.occurrences[np.argmin(samples.energies)])
    broken, wrong = int(samples.broken.sum()), int(samples.wrong.sum())
    assert broken < samples.occurrences[samples.chain_breaks > 0].sum(), "not all reads of a state"
    share = float((samples.chain_breaks * samples.occurrences).sum() / total)
    rows = {k: v for k, v in table(section(text, "energies")).items() if " to " not in k}
    rows.pop("value")
    assert rows == {
        "lowest energy": [f"{samples.energies.min():.6g}"],
        "reads with it": [f"{at_lowest} ({at_lowest / total:.1%})"],
        "ground state": [f"{made.ground:.6g} (of all 2^8 states)"],
        "reads with a wrong ancilla, repaired": [f"{wrong} ({wrong / total:.1%})"],
        "reads with a broken chain": [f"{broken} ({broken / total:.1%})"],
        "chains broken, of all": [f"{share:.3%}"],
        "reads discarded for a broken chain": ["7"],
    }


def test_marks_of_ground_state_and_lowest(text: str, made: SimpleNamespace) -> None:
    chart = picture(section(text, "energies"), "Energies of the samples")
    ((ground, _),) = chart.points("mark")
    ((lowest, _),) = chart.points("turn")
    assert ground[0] == pytest.approx(chart.across(made.ground), abs=NEAR)
    assert lowest[0] == pytest.approx(chart.across(made.samples.energies.min()), abs=NEAR)
    beside = {e.text: float(e.get("x") or 0) for e in chart.svg.iter("text")}
    assert beside["ground state"] == pytest.approx(ground[0] + 4, abs=NEAR)
    assert beside["lowest found"] == pytest.approx(lowest[0] + 4, abs=NEAR)
    kinds = {kind: sum(int(bar.words.rpartition(": ")[2]) for bar in chart.rects(kind))
             for kind in "ab"}  # fmt: skip
    broken = int(made.samples.broken.sum())
    assert kinds == {"a": int(made.samples.occurrences.sum()) - broken, "b": broken}


def test_samples_that_counted_nothing_say_at_most(made: SimpleNamespace) -> None:
    old = replace(made.samples, broken=None, wrong=None)
    rows = table(section(page(report_of(Run("x", qubo=made.qubo, samples=old))), "energies"))
    most = int(old.occurrences[old.chain_breaks > 0].sum())
    assert rows["reads with a broken chain, at most"][0].startswith(f"{most} (")
    assert "reads with a wrong ancilla, repaired, about" in rows


def test_small_energies_are_not_all_the_same() -> None:
    pubo = Pubo.from_dict({(0,): 1e-12, (1,): 3e-12})
    bits = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.int8)
    text = page(report_of(Run("x", pubo=pubo, samples=samples_of(pubo, bits))))
    element = section(text, "energies")
    assert table(element)["samples with it"] == ["1"]
    chart = picture(element, "Energies of the samples")
    assert len(chart.rects("a")) == 3, "three energies, three bars"
    assert chart.texts().count("lowest found") == 1, "0 is lower"
    far = Pubo.from_dict({(): 1e6, (0,): 1e-4, (1,): 3e-4})
    found = report_of(Run("x", pubo=far, samples=samples_of(far, bits))).energies
    assert found is not None and found.at_lowest == 1 and not found.ground_found


def test_equal_rows_are_one_state() -> None:
    pubo = Pubo.from_dict({(0,): 1.0})
    found = samples_of(pubo, np.array([[1], [1], [1]], dtype=np.int8))
    text = words(section(page(report_of(Run("x", pubo=pubo, samples=found))), "energies"))
    assert "3 samples, 1 distinct state;" in text


def test_weights_with_names_signs_and_places(text: str, made: SimpleNamespace) -> None:
    element = section(text, "weights")
    chart = picture(element, "Weights")
    columns = made.classifier.preparation.columns.tolist()
    base = made.qubo.source.get("index_base", 0)
    named = [(f"x{c + base}", w) for c, w in zip(columns, made.classifier.weights, strict=False)]
    named.append(("bias", made.classifier.weights[-1]))
    named.sort(key=lambda pair: -abs(pair[1]))
    ends = chart.texts("end")
    assert list(zip(ends[::2], ends[1::2], strict=True)) == [(n, f"{w:.3g}") for n, w in named]
    assert {w > 0 for _, w in named} == {True, False}, "the case must have both signs"
    ((middle, _),) = [line for line in chart.points("axis") if line[0][0] == line[1][0]]
    drawn = [bar for bar in chart.rects() if bar.width]
    for bar, (_, w) in zip(drawn, [p for p in named if p[1]], strict=True):
        assert bar.kind == ("a" if w > 0 else "b")
        assert (bar.x if w > 0 else bar.x + bar.width) == pytest.approx(middle[0], abs=2 * NEAR)
    zeta = made.loss.zeta
    assert table(element)["a weight can be"] == [f"from {-zeta / 2:.3g} to {zeta:.3g}"]
    key = [(e[0].get("class"), words(e)) for e in element.iter("span")]
    assert key == [("a", "speaks for the positive label"), ("b", "against it")]


def test_of_many_weights_the_largest_are_shown() -> None:
    values = np.linspace(-1, 2, 100)
    prepared = prepare(Dataset(np.eye(100), np.ones(100), _plain(100))).preparation
    found = report_of(Run("x", classifier=Classifier(frozen(values), prepared))).weights
    assert found is not None and len(found.rows) == 40 and found.total == 100
    assert [w for _, w in found.rows] == sorted(values.tolist(), key=lambda w: -abs(w))[:40]
    assert found.rows[0] == ("x99", 2.0)
    text = words(section(page(report_of(Run("x", classifier=Classifier(frozen(values), prepared)))),
                         "weights"))  # fmt: skip
    assert "100 weights, 1 of them 0. The 40 largest of them." in text


def _plain(features: int) -> Any:
    from qcompile.stages.preparation import Preparation

    return Preparation(features)


def test_pruned_weights_have_the_range_of_their_levels(made: SimpleNamespace) -> None:
    encoding = replace(made.qubo.encoding, bounds=((0, 1), (-1, 1), (0, 2), (0, 0)))
    run = Run("x", qubo=replace(made.qubo, encoding=encoding), classifier=made.classifier)
    found = report_of(run).weights
    assert isinstance(found, Weights)
    assert found.limits == pytest.approx((-encoding.step, 2 * encoding.step))


def test_the_matrix_has_answers_across_and_truth_down(text: str, made: SimpleNamespace) -> None:
    element = section(text, "confusion")
    head = [words(cell) for cell in next(element.iter("thead")).iter("th")]
    assert head == ["truth", "answer 1", "answer 0"]
    said = np.asarray(made.rows.x @ made.classifier.weights) > 0
    true = made.rows.y > 0
    body = [[(cell.get("class"), words(cell)) for cell in row.iter("td")]
            for row in next(element.iter("tbody")).iter("tr")]  # fmt: skip
    expected = [
        [(said & true, "right", "right"), (~said & true, "wrong", "missed")],
        [(said & ~true, "wrong", "false alarm"), (~said & ~true, "right", "right")],
    ]
    assert body == [
        [(kind, f"{m.sum()} {name}, {m.mean():.1%}") for m, kind, name in row] for row in expected
    ]
    assert [words(row[0]) for row in next(element.iter("tbody")).iter("tr")] == ["1", "0"]


def test_where_accuracy_is_lost_in_bars_and_numbers(text: str, made: SimpleNamespace) -> None:
    element = section(text, "risks")
    rows = table(element)
    names = ["best continuous", "rounded to the grid", "lowest state found", "returned"]
    assert list(rows) == ["classifier", *names]
    decisions = np.asarray(made.rows.x @ made.classifier.weights)
    risk = float(np.mean((decisions > 0) != (made.rows.y > 0)))
    assert rows["returned"] == [f"{made.ground:.6g}", f"{risk:.2%}"]
    assert rows["lowest state found"][0] == f"{made.samples.energies.min():.6g}"
    chart = picture(element, "Where accuracy is lost")
    shares = [float(rows[name][1].rstrip("%")) for name in names]
    wide = [bar.width for bar in chart.rects("a")]
    assert wide == pytest.approx([358 * s / max(shares) for s in shares], abs=0.6)
    ends = chart.texts("end")
    assert ends == [rows[name][1] for name in names]


def test_risks_and_matrix_agree_where_a_decision_is_0(made: SimpleNamespace) -> None:
    """Of weights that are all 0, every answer is negative."""
    zero = Classifier(frozen(np.zeros(4)), made.classifier.preparation)
    run = Run("x", classifier=zero, parts=(("training rows", made.rows),))
    (matrix,) = report_of(run).confusion
    assert matrix.wrong == np.count_nonzero(made.rows.y > 0)
    assert matrix.true_positive == matrix.false_positive == 0
