"""The rounds of a training on the page: against the records, and in words that are true."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from qcompile import fit_around, from_arrays, read
from qcompile.cli.app import main
from qcompile.data.prepare import prepare
from qcompile.objective.step import discretize_step
from qcompile.report.build import report_of
from qcompile.report.figures import TITLES, Trace
from qcompile.report.gather import trained_run
from qcompile.report.page import page
from qcompile.report.run import Run
from qcompile.solvers.options import SolveOptions
from qcompile.training.l2_path import L2Trial
from qcompile.training.rounds import Round, RoundOptions
from qcompile.training.train import Trained, train
from tests.report.reading import DATA, NEAR, Chart, parsed, picture, section, table, words

SETTINGS = {"seed": 3, "preparation": {"scale": "robust", "features": 4, "bias": True}}


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train(read(DATA), rounds=RoundOptions(starts=2), test=0.3, **SETTINGS)  # type: ignore[arg-type]


def shown(trained: Trained) -> str:
    return page(report_of(trained_run(trained, {})))


def timeless(trained: Trained) -> Trained:
    return replace(trained, rounds=tuple(replace(own, seconds=0.0) for own in trained.rounds))


def rounds_of(trace: Trace) -> str:
    return page(report_of(Run("x", trace=trace)))


def some_round(start: int, number: int, **known: float | None) -> Round:
    values = {"objective": 0.2, "radius": 0.5, "width": 0.25, "weights": 7, "expected": -0.25,
              "reached": -0.125, "rank": 0, "broken": 0.0, "seconds": 1.5}  # fmt: skip
    return Round(start=start, number=number, **{**values, **known})  # type: ignore[arg-type]


def test_every_round_is_in_the_table(trained: Trained) -> None:
    element = section(shown(trained), "rounds")
    found = table(element)
    starts = {own.start for own in trained.rounds}
    assert starts == {0, 1}
    for own in trained.rounds:
        rank = "none was better" if own.rank is None else str(own.rank + 1)
        assert found[f"{own.start + 1}, {own.number + 1}"] == [
            f"{own.objective:.6f}", f"{own.radius:.4g}", f"{own.width:.4g}", "5",
            f"{own.expected:+.3g}", f"{own.reached:+.3g}", rank, f"{own.seconds:.3f}",
        ]  # fmt: skip
    assert found["price of the weights (l2)"] == [f"{trained.l2:.6g}"]
    assert found["objective F of the classifier"] == [f"{trained.risks[0].objective:.6g}"]
    told = found["F that descent (L-BFGS) reaches"]
    assert told == [f"{trained.risks[1].objective:.6g}"]
    taken = sum(own.rank is not None for own in trained.rounds)
    assert found["steps taken"] == [f"{taken} of {len(trained.rounds)} rounds"]


def test_the_curves_are_those_of_the_records(trained: Trained) -> None:
    chart = picture(section(shown(trained), "rounds"), "Objective F after each round")
    for start in (0, 1):
        own = [one for one in trained.rounds if one.start == start]
        (line,) = chart.points(f"curve h{start}")
        assert len(line) == len(own) + 1
        for place, one in zip(line[1:], own, strict=True):
            assert place == pytest.approx(at(chart, one.number + 1, one.objective), abs=2 * NEAR)
        first = own[0].objective - (own[0].reached if own[0].rank is not None else 0)
        assert line[0] == pytest.approx(at(chart, 0, first), abs=2 * NEAR)
        (dots,) = chart.points(f"dots round h{start}")
        assert dots == line[1:]
    rings = [place for line in chart.points("dots round hole") for place in line]
    assert len(rings) == sum(own.rank is None for own in trained.rounds)
    ((left, right),) = chart.points("curve step")
    assert left[1] == right[1] == pytest.approx(chart.up(trained.risks[1].objective), abs=2 * NEAR)


def at(chart: Chart, across: float, up: float) -> tuple[float, float]:
    return chart.across(across), chart.up(up)


def test_radius_and_width_are_on_a_logarithmic_axis() -> None:
    trace = Trace(
        tuple(some_round(0, i, radius=10.0**-i, width=2 * 10.0**-i) for i in range(3)),
        0.2, None, 0.001, (), chained=False,
    )  # fmt: skip
    chart = picture(section(rounds_of(trace), "rounds"), "Radius and width of each round")
    (radius,), (width,) = chart.points("curve h0"), chart.points("curve dash h0")
    drops = [b[1] - a[1] for a, b in pairwise(radius)]
    assert drops[0] == pytest.approx(drops[1], abs=2 * NEAR) and drops[0] > 20
    assert width[0][1] - radius[0][1] == pytest.approx(-0.30103 * drops[0], abs=2 * NEAR)


def test_chains_and_machine_time_are_shown_if_known() -> None:
    own = (some_round(0, 0, broken=0.125, machine_seconds=0.25), some_round(0, 1, rank=None))
    text = rounds_of(Trace(own, 0.2, 0.1, 0.001, (), chained=True))
    found = table(section(text, "rounds"))
    assert found["round"][-3:] == ["broken chains", "seconds", "machine seconds"]
    assert found["1"][-3:] == ["12.50%", "1.500", "0.2500"]
    assert found["2"][-4:] == ["none was better", "0.00%", "1.500", "not known"]
    assert found["seconds of the machine"] == ["0.250"]


def test_a_long_table_is_folded_and_a_short_one_is_not() -> None:
    for count, folded in ((12, False), (13, True)):
        rounds = tuple(some_round(0, i) for i in range(count))
        text = rounds_of(Trace(rounds, 0.2, None, None, (), chained=False))
        assert ("All 13 rounds" in text) == folded
        assert text.count("<details>") == folded
        assert len(table(section(text, "rounds"))) == count + 4


def test_the_choice_of_the_price_is_drawn() -> None:
    trials = (
        L2Trial(0.001, 0.05, 0.01, 4),
        L2Trial(0.1, 0.25, 0.02, 4),
        L2Trial(0.01, 0.125, 0.03, 4),
    )
    text = rounds_of(Trace((some_round(0, 0),), 0.2, None, 0.001, trials, chained=False))
    element = section(text, "rounds")
    found = table(element)
    assert found["0.01"] == ["12.50%", "3.00%", "6.00%"]
    assert found["0.1"] == ["25.00%", "2.00%", "4.00%"]
    assert "0.001, the best of 3 by cross-validation" in words(element)
    chart = picture(element, "Validation error for each price of the weights")
    (line,) = chart.points("curve a")
    for place, trial in zip(line, sorted(trials, key=lambda t: t.l2), strict=True):
        expected = chart.across(trial.l2, log=True), chart.up(trial.error)
        assert place == pytest.approx(expected, abs=2 * NEAR)
    ((mark, _),) = chart.points("mark")
    assert mark[0] == pytest.approx(line[0][0], abs=NEAR)
    bars = chart.points("curve thin")
    assert len(bars) == 3 and all(low[0] == high[0] for low, high in bars)


def test_a_page_of_rounds_is_whole_and_says_nothing_of_one_polynomial(trained: Trained) -> None:
    text = shown(trained)
    reader = parsed(text)
    assert "://" not in text
    assert not {name for name, _ in reader.tags} & {"script", "link", "img", "a", "use"}
    for attrs in (attrs for name, attrs in reader.tags if name == "svg"):
        if attrs.get("aria-hidden") != "true":
            assert attrs["role"] == "img" and re.search(r"\w+\. \w+", attrs["aria-label"] or "")
    style = text.partition("<style>")[2].partition("</style>")[0]
    used = {c for _, attrs in reader.tags for c in (attrs.get("class") or "").split()}
    assert not {c for c in used - {"stage", "figure"} if not re.search(rf"\.{c}\b", style)}
    assert "best with continuous weights" not in reader.words
    assert "Of the last step that was taken by the start that was kept." in reader.words
    absent = reader.words.partition("Not shown:")[2]
    assert "the loss against 0-1 (nothing: rounds fit a polynomial" in absent
    assert "ancillas and penalties (nothing: a polynomial of degree 2 needs none)" in absent
    boxes = words(section(text, "pipeline"))
    assert "of the last step taken" in boxes and "2 starts choose classifier" in boxes


def test_the_same_training_gives_the_same_page(trained: Trained) -> None:
    again = train(read(DATA), rounds=RoundOptions(starts=2), test=0.3, **SETTINGS)  # type: ignore[arg-type]
    assert shown(timeless(again)) == shown(timeless(trained))


@pytest.mark.parametrize(("bits", "takes"), [(31, (279, 150, 124)), (190, (None,) * 3)])
def test_qubits_of_a_step_are_those_of_a_complete_graph(
    bits: int, takes: tuple[int | None, ...]
) -> None:
    rng = np.random.default_rng(0)
    rows = from_arrays(rng.normal(size=(20, bits)), [0, 1] * 10)
    step = discretize_step(fit_around(rows, np.ones(bits), 0.5), 0.1)
    budget = report_of(Run("x", pubo=step)).budget
    assert budget is not None
    found = {row.name: (row.takes, row.fits) for row in budget.machines}
    fits = takes[0] is not None
    names = ("2000q", "advantage", "advantage2")
    same = ("advantage2-system2", "advantage2-system4")  # of the same topology
    expected = dict(zip((*names, *same), (*takes, *takes[2:], *takes[2:]), strict=True))
    assert found == {name: (own, fits) for name, own in expected.items()}


def test_descent_has_no_rounds() -> None:
    found = train(read(DATA), options=SolveOptions("descent", 1), **SETTINGS)  # type: ignore[arg-type]
    reader = parsed(shown(found))
    told = "the rounds of the training (nothing: it was trained by descent, without rounds)"
    assert told in reader.words and "descent classifier 5 weights" in reader.words
    chosen = train(read(DATA), l2=[0.01, 0.001], folds=2, options=SolveOptions("descent", 1),
                   **SETTINGS)  # type: ignore[arg-type]  # fmt: skip
    element = section(shown(chosen), "rounds")
    assert "Trained by descent (L-BFGS), without rounds." in words(element)
    assert "the best of 2 by cross-validation" in words(element)


def test_the_command_writes_the_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, place = str(tmp_path / "model.json"), tmp_path / "page.html"
    run = ["train", DATA, "--features", "3", "--validation", "0.2", "--rounds", "4", "-q"]
    assert main([*run, "-o", model, "--report", str(place)]) == 0
    text = place.read_text()
    assert {a["id"] for n, a in parsed(text).tags if n == "section"} == {
        "pipeline", "rounds", "budget", "energies", "weights", "confusion",
        "calibration", "risks",
    }  # fmt: skip
    assert "the limit of --rounds was reached" in parsed(text).words
    capsys.readouterr()
    assert main(["report", model, "--data", DATA, "-o", str(place)]) == 0
    assert TITLES["rounds"] in capsys.readouterr().out.partition("not shown")[2]
    found = parsed(place.read_text()).words
    assert (
        "(needs the records of a training in rounds: the page that train writes has them)" in found
    )
    assert "rounds classifier 4 weights" in found


def test_prepared_rows_are_those_of_the_model(trained: Trained) -> None:
    rows = prepare(read(DATA), scale="robust", features=4, bias=True)
    report = report_of(trained_run(trained, {"train": rows, "test": None}))
    (part,) = report.confusion
    assert part.wrong == round(rows.error(trained.classifier.weights) * len(rows))
