from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import qcompile
from qcompile import Loss, Pubo, Qubo, load_machine, quadratize
from qcompile.report.build import report_of
from qcompile.report.page import page
from qcompile.report.run import Run
from tests.report.reading import NEAR, numbers_of, parsed, picture, report_on, section, table, words


def test_the_budget_names_each_machine_and_its_qubits(folder: Path, qubo: Qubo) -> None:
    budget = report_on([folder]).budget
    assert budget is not None and budget.logical == qubo.variables and not budget.assumed
    has = {row.name: row.has for row in budget.machines}
    assert has == {"2000q": 2041, "advantage": 5612, "advantage2": 4577,
                   "advantage2-system2": 4514, "advantage2-system4": 1202,
                   "zephyr3": 336}  # fmt: skip
    for row in budget.machines:
        assert row.measured == (row.name == "zephyr3") and row.fits


def test_what_is_too_large_does_not_fit() -> None:
    """A complete cubic of 60 bits is known not to; of few terms nobody knows."""
    terms = {t: 1.0 for j in (1, 2, 3) for t in itertools.combinations(range(60), j)}
    report = report_of(Run("large", pubo=Pubo.from_dict(terms)))
    budget = report.budget
    assert budget is not None and budget.assumed and budget.complete
    assert budget.ancillas == math.comb(30, 2) * 2  # pairs inside of two halves
    assert [row.fits for row in budget.machines] == [False] * 5
    words = parsed(page(report)).words
    assert len(re.findall(r"about [\d,]+ of [\d,]+, too large", words)) == 5
    assert "at most about" not in words and "14%" not in words
    chain = Pubo.from_dict({(i, i + 1, i + 2): 1.0 for i in range(198)})
    budget = report_of(Run("chain", pubo=chain)).budget
    assert budget is not None and not budget.complete
    assert [row.fits for row in budget.machines] == [None] * 5


def test_the_curve_is_the_loss(text: str, made: SimpleNamespace) -> None:
    chart = picture(section(text, "loss"), "The loss against 0-1 loss")
    (curve,) = chart.points("curve a")
    coefficients = made.loss.coefficients
    left, right = chart.across(-1.0), chart.across(1.0)
    assert len(curve) > 100
    for x, y in curve:
        margin = 2 * (x - left) / (right - left) - 1
        value = sum(a * margin**p for p, a in enumerate(coefficients))
        slope = abs(sum(p * a * margin ** (p - 1) for p, a in enumerate(coefficients) if p))
        assert y == pytest.approx(chart.up(value), abs=NEAR + slope * NEAR * 100)
    (step,) = chart.points("curve step")
    assert [y for _, y in step] == pytest.approx([chart.up(v) for v in (1, 1, 0, 0)], abs=NEAR)
    assert [x for x, _ in step][1:3] == pytest.approx([chart.across(0)] * 2, abs=NEAR)
    assert step[0][0] < chart.across(0) < step[3][0]
    # a cubic turns where its slope is 0
    turn = math.sqrt(-coefficients[1] / (3 * coefficients[3]))
    ((top, foot),) = chart.points("turn")
    assert top[0] == foot[0] == pytest.approx(chart.across(-turn), abs=NEAR)


def test_the_table_of_the_loss(text: str, made: SimpleNamespace) -> None:
    rows = table(section(text, "loss"))
    named = {f"a{p}": [f"{a:.3g}"] for p, a in enumerate(made.loss.coefficients)}
    assert {k: v for k, v in rows.items() if re.fullmatch(r"a\d", k)} == named
    a = made.loss.coefficients
    turn = math.sqrt(-a[1] / (3 * a[3]))
    assert rows["turn: beyond -turn more wrong costs less"] == [f"{turn:.3g}"]


def test_the_margins_behind_it_are_those_of_the_rows(text: str, made: SimpleNamespace) -> None:
    chart = picture(section(text, "loss"), "The loss against 0-1 loss")
    margins = np.asarray(made.rows.x @ made.classifier.weights) * made.rows.y
    assert np.mean(margins > 0) > 0.7, "the case must not be even"
    bars = chart.rects("pale")
    left, right = chart.across(-1.0), chart.across(1.0)
    counts = []
    for bar in bars:
        low, high = (2 * (x - left) / (right - left) - 1 for x in (bar.x, bar.x + bar.width + 0.6))
        counts.append(int(np.count_nonzero((margins >= low) & (margins < high))))
    tall = max(bar.height for bar in bars)
    for bar, count in zip(bars, counts, strict=True):
        # a row may lie at the rim of a bar, whose place is rounded
        assert bar.height / tall == pytest.approx(count / max(counts), abs=4 / max(counts))
    assert sum(counts) == pytest.approx(569, abs=12)


@pytest.mark.parametrize(
    ("coefficients", "turn", "said"),
    [
        ((0.5, -1.0, 1.0, 1.0), 1.0, "beyond"),  # the nearer root of the slope is at +1/3
        ((0.5, -0.1, -1.0, 0.0, 1.0), 0.0502538, "just beyond"),  # it rises again
        ((0.5, -1.0), None, ""),
        ((0.5, 3.0, 0.0, -1.0), None, ""),
    ],
)
def test_the_turn_is_to_the_left(
    coefficients: tuple[float, ...], turn: float | None, said: str
) -> None:
    loss = Loss(coefficients)
    curve = report_of(Run("x", loss=loss)).loss
    assert curve is not None and (curve.turn is None) == (turn is None)
    if turn is not None and curve.turn is not None:
        assert curve.turn == pytest.approx(turn, rel=1e-5)
        at, before, past = loss([-turn, -turn * 0.99, -turn * 1.01])
        assert at > before and at > past
    shown = table(section(page(report_of(Run("x", loss=loss))), "loss"))
    expected = [f"turn: {said} -turn more wrong costs less"] if said else []
    assert [name for name in shown if "turn" in name] == expected


@pytest.mark.parametrize(
    ("coefficients", "said"),
    [
        ((0.5, -1.0), "stands in for 0-1 loss"),
        ((0.5, 3.0, 0.0, -1.0), "is upside down: around margin 0 right answers cost more"),
        ((0.0, 0.0, 1.0), "charges right answers as much as wrong ones"),
        ((0.5, 0.0, 0.0, -1.0), "stands in for 0-1 loss"),
    ],
)
def test_a_loss_that_is_none_is_called_so(coefficients: tuple[float, ...], said: str) -> None:
    element = section(page(report_of(Run("x", loss=Loss(coefficients)))), "loss")
    assert said in words(element)


def test_bars_of_qubits(text: str, made: SimpleNamespace) -> None:
    element = section(text, "budget")
    chart = picture(element, "Qubits against machines")
    bits, ancillas, *machines = chart.rects()
    used = sum(map(len, made.embedding.chains))
    largest = 5612.0  # of the limits and the bars
    wide = 358 / largest
    assert (bits.kind, ancillas.kind) == ("a", "b")
    assert bits.width == pytest.approx(max(8 * wide, 0.6), abs=NEAR)
    assert ancillas.x == pytest.approx(1 + 8 * wide, abs=NEAR)
    assert {bar.kind for bar in machines} == {"good"} and len(machines) == 6
    assert machines[5].width == pytest.approx(used * wide, abs=NEAR)
    places = [line[0][0] for line in chart.points("limit")]
    has = [2041, 5612, 4577, 4514, 1202, len(load_machine("zephyr3").nodes)]
    assert places == pytest.approx([1 + n * wide for n in has], abs=NEAR)
    ends = chart.texts("end")
    assert ends[0] == "20 logical" and ends[6] == f"{used} of {has[5]}, fits"
    assert all(re.fullmatch(r"about \d+ of [\d,]+, fits", e) for e in ends[1:6])
    assert "20 logical qubits: 8 bits and 12 ancillas." in words(element)
    key = [(e[0].get("class"), words(e)) for e in element.iter("span")]
    assert key == [("a", "bits"), ("b", "ancillas"), ("good", "fits"),
                   ("limit", "the machine's qubits")]  # fmt: skip
    assert "within some 14% where it fits" in words(element)


def test_colours_of_what_fits_and_what_does_not() -> None:
    every = {t: 1.0 for n in (1, 2, 3) for t in _combinations(50, n)}
    element = section(page(report_of(Run("x", pubo=Pubo.from_dict(every)))), "budget")
    kinds = [bar.kind for bar in picture(element, "Qubits against machines").rects()]
    assert kinds == ["a", "b", *["bad"] * 5]
    assert ("bad", "too large") in [(e[0].get("class"), words(e)) for e in element.iter("span")]
    few = {t: 1.0 for t in every if len(t) < 3 or t[0] == 0}
    element = section(page(report_of(Run("x", pubo=Pubo.from_dict(few)))), "budget")
    kinds = [bar.kind for bar in picture(element, "Qubits against machines").rects()]
    assert kinds == ["a", "b", *["pale"] * 5]
    assert "at most about" in words(element) and "too large" not in words(element)
    assert "14%" not in words(element)


def _combinations(size: int, count: int) -> Iterator[tuple[int, ...]]:
    from itertools import combinations

    return combinations(range(size), count)


def test_a_quadratic_needs_no_formula_for_cubics() -> None:
    pairs = Pubo.from_dict({(i, i + 1): 1.0 for i in range(20)})
    loss = Loss((0.5, -1.0, 0.0, 0.0, 0.0, 0.1))
    budget = report_of(Run("x", loss=loss, qubo=quadratize(pairs))).budget
    assert budget is not None and (budget.order, budget.ancillas) == (2, 0)
    assert not budget.complete and all(row.fits for row in budget.machines)
    nested = quadratize(Pubo.from_dict({tuple(range(5)): 1.0, (0, 1, 5): 2.0}))
    element = section(page(report_of(Run("x", qubo=nested))), "budget")
    assert "Beyond order 3 there is no formula" in words(element)
    assert f"at least {nested.variables} of 5,612, not known" in words(element)


def test_no_estimate_beyond_order_8() -> None:
    high = Pubo.from_dict({tuple(range(10)): 1.0})
    text = page(report_of(Run("x", pubo=high)))
    assert "10 bits and ancillas that nobody has counted" in words(section(text, "budget"))


def test_the_ideal_graph_is_called_so(made: SimpleNamespace) -> None:
    chains = qcompile.embed(made.qubo, load_machine("advantage")).embedding
    element = section(page(report_of(Run("x", qubo=made.qubo, embedding=chains))), "budget")
    assert f"{chains.qubits} of 5,612, fits, on the ideal graph" in words(element)
    assert "embedded on the ideal graph" in words(element)


def test_ancillas_and_their_gates(text: str, made: SimpleNamespace) -> None:
    element = section(text, "ancillas")
    ancillas = made.qubo.ancillas
    assert "12 ancillas" in words(element) and "costs at least" not in words(element)
    terms = {str(n): [str(int((ancillas.terms == n).sum()))] for n in set(ancillas.terms.tolist())}
    assert numbers_of(element, "Terms through an ancilla") == terms
    shown = numbers_of(element, "Gate strengths")
    for name, (on, off) in shown.items():
        low, high = (float(v) for v in name.split(" to "))
        room = 2e-2 * low  # the edges are written with three digits
        for count, values in ((on, ancillas.on), (off, ancillas.off)):
            assert int(count) <= np.count_nonzero((values >= low - room) & (values < high + room))
    assert [sum(int(row[i]) for row in shown.values()) for i in (0, 1)] == [12, 12]
    chart = picture(element, "Strengths of the gates")
    for kind, column in (("a", 0), ("b", 1)):
        drawn = {bar.words.rpartition(": ")[0]: bar.words.rpartition(": ")[2]
                 for bar in chart.rects(kind)}  # fmt: skip
        assert drawn == {k: v[column] for k, v in shown.items() if v[column] != "0"}
    key = [(e[0].get("class"), words(e)) for e in element.iter("span")]
    assert key == [("a", "ancilla 0, factors 1"), ("b", "ancilla 1, a factor 0")]
    rows = table(element)
    for name, values in (("0 where both factors are 1", ancillas.on),
                         ("1 where a factor is 0", ancillas.off)):  # fmt: skip
        ends = f"{values.min():.3g} to {values.max():.3g}, median"
        assert rows[f"gate strength against {name}"][0].startswith(ends)
    largest = max(np.abs(made.qubo.linear).max(), np.abs(made.qubo.quadratic).max())
    assert rows["largest coefficient of the QUBO"] == [f"{largest:.3g}"]
