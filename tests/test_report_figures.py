"""Figures and drawings of a page about a run, each made again by hand from the artifacts."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest

import qcompile
from qcompile import Loss, Pubo, load_machine, prepare, quadratize, read
from qcompile.cli.app import main
from qcompile.errors import InputError
from qcompile.files.classifier import save_classifier
from qcompile.files.embedding import save_embedding
from qcompile.files.loss import save_loss
from qcompile.files.moments import save_moments
from qcompile.files.pubo import save_pubo
from qcompile.files.qubo import save_qubo
from qcompile.files.samples import save_samples
from qcompile.moments.accumulate import moments_of
from qcompile.objective.decode import decode
from qcompile.report.build import report_of
from qcompile.report.figures import Weights
from qcompile.report.gather import gather, with_data, with_test
from qcompile.report.page import page
from qcompile.report.plot import layout
from qcompile.report.run import Run
from qcompile.report.svg import Bar, Scale, _clipped, _short, bars, histogram
from qcompile.report.words import number
from qcompile.stages.arrays import frozen
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import to_embedded
from qcompile.stages.samples import samples_of

DATA = "breast-cancer"
NEAR = 0.15  # places are written with one digit
SIZE = 352.0  # of a chip, whose rim is 4


# --- reading a page ------------------------------------------------------------------------------


def section(text: str, name: str) -> ET.Element:
    """Return a section of the page as a tree."""
    found = re.search(rf'<section class="[^"]*" id="{name}">.*?</section>', text, re.DOTALL)
    assert found is not None, name
    return ET.fromstring(found[0])


def words(element: ET.Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def table(element: ET.Element) -> dict[str, list[str]]:
    """Return the rows of all tables by their first cell."""
    return {words(row[0]): [words(cell) for cell in row[1:]] for row in element.iter("tr")}


def numbers_of(element: ET.Element, name: str) -> dict[str, list[str]]:
    """Return the table behind the picture of that name."""
    figure = next(e for e in element.iter("div") if e.find("h3") is not None
                  and e.findtext("h3") == name)  # fmt: skip
    inside = figure.find("details")
    assert inside is not None
    return {k: v for k, v in table(inside).items() if k != "value"}


def picture(element: ET.Element, title: str) -> Chart:
    return Chart(next(e for e in element.iter("svg") if e.findtext("title") == title))


@dataclass
class Chart:
    """A drawing: its pieces by class, and its axes as the letters beside them say."""

    svg: ET.Element

    def rects(self, kind: str = "") -> list[SimpleNamespace]:
        return [
            SimpleNamespace(
                kind=e.get("class"),
                words=e.findtext("title"),
                **{k: float(e.get(k) or 0) for k in ("x", "y", "width", "height")},
            )
            for e in self.svg.iter("rect")
            if kind in ("", e.get("class"))
        ]

    def points(self, kind: str) -> list[list[tuple[float, float]]]:
        """Return the corners of each line of a class."""
        lines = [e.get("d") or "" for e in self.svg.iter("path") if e.get("class") == kind]
        return [
            [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", line)]
            for line in lines
        ]

    def texts(self, anchor: str | None = None) -> list[str]:
        return [e.text or "" for e in self.svg.iter("text") if e.get("text-anchor") == anchor]

    def across(self, value: float, *, log: bool = False) -> float:
        """Return the place of a value by the ticks of the horizontal axis."""
        ticks = [line[0][0] for line in self.points("axis") if line[0][0] == line[1][0]]
        values = [float(text.replace(",", "")) for text in self.texts("middle")[: len(ticks)]]
        return _between(value, values, ticks, log=log)

    def up(self, value: float) -> float:
        lines = [line[0][1] for line in self.points("grid")]
        values = [float(text.replace(",", "")) for text in self.texts("end")[: len(lines)]]
        return _between(value, values, lines)


def _between(value: float, values: list[float], places: list[float], log: bool = False) -> float:
    if log:
        value, values = math.log10(value), [math.log10(v) for v in values]
    slope = (places[-1] - places[0]) / (values[-1] - values[0])
    return places[0] + slope * (value - values[0])


# --- a run ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made() -> SimpleNamespace:
    """A run of four weights, one of them for the bias, with samples that are counted by hand."""
    compiled = qcompile.compile(DATA, bits=2, scale="standard", features=3, bias=True)
    qubo = compiled.qubo
    rng = np.random.default_rng(5)
    bits = np.unique(rng.integers(0, 2, (40, 8), dtype=np.int8), axis=0)
    every = np.array(list(np.ndindex(*(2,) * 8)), dtype=np.int8)
    ground, best = min(zip(compiled.pubo.energies(every).tolist(), every.tolist(), strict=True))
    bits = bits[qubo.score(bits) > ground + 1e-9]  # the best is not among them
    times = 1 + rng.integers(0, 9, len(bits))
    breaks = rng.choice([0, 0.125, 0.5], len(bits))
    broken = np.where(breaks > 0, 1 + times // 2, 0)
    wrong = rng.integers(0, times)
    info = {"solver": "dice", "reads": int(times.sum()) + 7, "repair": "discard", "discarded": 7}
    samples = replace(
        samples_of(qubo, bits, occurrences=times, info=info),
        chain_breaks=frozen(breaks),
        broken=frozen(broken, np.int64),
        wrong=frozen(wrong, np.int64),
    )
    rows = prepare(read(DATA), scale="standard", features=3, bias=True)
    return SimpleNamespace(
        compiled=compiled,
        moments=compiled.moments,
        loss=compiled.loss,
        pubo=compiled.pubo,
        qubo=qubo,
        embedding=qcompile.embed(qubo, load_machine("zephyr3")).embedding,
        samples=samples,
        rows=rows,
        # chosen by other rows, say, and not the lowest: it has weights of both signs
        classifier=replace(decode(qubo, samples), weights=frozen(qubo.decode(best))),
        ground=ground,
    )


@pytest.fixture(scope="module")
def folder(made: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures")
    save_qubo(made.qubo, place / "qubo.json")
    (place / "qubo.json").rename(place / "QUBO.JSON")
    save_pubo(made.pubo, place / "pubo.json")
    save_loss(made.loss, place / "loss.json")
    save_moments(made.moments, place / "moments.npz")
    save_embedding(made.embedding, place / "chains.json")
    save_samples(made.samples, place / "answers.json")
    save_classifier(made.classifier, place / "model.json")
    return place


@pytest.fixture(scope="module")
def text(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", str(folder), "--data", DATA, "-q", "-o", str(place)]) == 0
    return place.read_text()


# --- head and pipeline ---------------------------------------------------------------------------


def test_the_facts(text: str, made: SimpleNamespace) -> None:
    facts = [
        (unescape(a), unescape(b)) for a, b in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text)
    ]
    decisions = np.asarray(made.rows.x @ made.classifier.weights)
    wrong = float(np.mean((decisions > 0) != (made.rows.y > 0)))
    assert facts == [
        ("logical qubits", str(8 + len(made.qubo.ancillas))),
        ("physical qubits", str(sum(map(len, made.embedding.chains)))),
        ("lowest energy", f"{made.samples.energies.min():.3g}"),
        ("bits a weight", "2"),
        ("error, training rows", f"{wrong:.2%}"),
    ]


def test_every_stage_and_what_made_it(text: str, made: SimpleNamespace) -> None:
    boxes, arrows = stages(text)
    sums = sum(len(tensor) for tensor in made.moments.tensors.values())
    total, distinct = int(made.samples.occurrences.sum()), len(made.samples)
    assert boxes == [
        f"data 569 rows × 30 columns {DATA} 3 chosen + bias",
        f"moments {sums} sums order 3",
        f"loss order 3 fit: risk weights up to {made.loss.zeta:.3g}",
        "polynomial 8 bits 92 terms: 8 of degree 1 28 of degree 2 56 of degree 3",
        f"QUBO 20 qubits 8 bits + 12 ancillas {len(made.qubo.quadratic)} pairs",
        f"embedding {sum(map(len, made.embedding.chains))} physical qubits zephyr3 "
        f"longest chain {max(map(len, made.embedding.chains))}",
        f"samples {total} reads {distinct} distinct dice",
        f"classifier 4 weights {np.count_nonzero(made.classifier.weights)} not 0",
    ]
    assert arrows == ["sum", "fit", "discretize", "quadratize", "embed", "sample", "decode"]


def stages(text: str) -> tuple[list[str], list[str]]:
    items = list(section(text, "pipeline").iter("div"))
    boxes = [words(e) for e in items if e.get("class") == "stage"]
    return boxes, [words(e) for e in items if e.get("class") == "pass"]


def test_samples_that_used_no_chains_stand_beside_them(made: SimpleNamespace) -> None:
    """An embedding that lies in the folder says nothing about how the samples came about."""
    plain = samples_of(made.qubo, made.samples.bits, info={"solver": "anneal", "reads": 1000})
    run = Run("x", qubo=made.qubo, embedding=made.embedding, samples=plain)
    text = page(report_of(run))
    boxes, arrows = stages(text)
    assert [box.split()[0] for box in boxes][-2:] == ["samples", "embedding"]
    assert "these samples did not use it" in boxes[-1]
    assert f"samples {len(plain)} states lowest of 1,000 reads anneal" in boxes
    assert "embed" not in arrows and arrows[-1] == "sample"
    energies = section(text, "energies")
    assert table(energies)["chains"] == ["none: not solved on a chip"]
    assert f"The {len(plain)} lowest distinct states of 1,000 reads" in words(energies)
    assert table(energies)["states with it"] == ["1"], "no share of states"


@pytest.mark.parametrize("same", [True, False])
def test_samples_know_their_chains(made: SimpleNamespace, same: bool) -> None:
    other = qcompile.embed(made.qubo, load_machine("pegasus4"))
    here = to_embedded(made.qubo, made.embedding, 1.0)
    found = qcompile.solve(here if same else other, solver="neal", reads=3)
    run = Run("x", qubo=made.qubo, embedding=made.embedding, samples=found)
    boxes, arrows = stages(page(report_of(run)))
    assert ("embed" in arrows) == same and (boxes[-1].startswith("embedding")) != same


@pytest.mark.parametrize(
    ("info", "about", "share"),
    [
        ({"solver": "exact", "reads": 100}, "The 2 lowest of all 2^3 states", False),
        ({"solver": "neal", "reads": 5}, "5 reads, 2 distinct states", True),
        ({"solver": "neal", "reads": 9}, "The 2 lowest distinct states, 5 of 9 reads", False),
        ({"solver": "neal"}, "5 samples, 2 distinct states", True),
        ({"solver": "mock", "repair": "discard", "discarded": 4, "reads": 9}, "5 reads, 2", True),
    ],
)
def test_reads_and_states_are_told_apart(info: dict[str, Any], about: str, share: bool) -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 1.0, (0,): -0.5})
    bits = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 0]], dtype=np.int8)
    found = samples_of(pubo, bits, occurrences=np.array([1, 3, 1]), info=info)
    element = section(page(report_of(Run("x", pubo=pubo, samples=found))), "energies")
    assert words(element).startswith(f"Energies of the samples {about}")
    shown = next(v for k, v in table(element).items() if k.endswith(" with it"))
    assert shown == ["2 (40.0%)" if share else "2"]
    discarded = table(element).get("reads discarded for a broken chain")
    assert discarded == (["4"] if "repair" in info else None)


# --- the loss ------------------------------------------------------------------------------------


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


# --- qubits --------------------------------------------------------------------------------------


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
    assert {bar.kind for bar in machines} == {"good"} and len(machines) == 4
    assert machines[3].width == pytest.approx(used * wide, abs=NEAR)
    places = [line[0][0] for line in chart.points("limit")]
    has = [2041, 5612, 4589, len(load_machine("zephyr3").nodes)]
    assert places == pytest.approx([1 + n * wide for n in has], abs=NEAR)
    ends = chart.texts("end")
    assert ends[0] == "20 logical" and ends[4] == f"{used} of {has[3]}, fits"
    assert all(re.fullmatch(r"about \d+ of [\d,]+, fits", e) for e in ends[1:4])
    assert "20 logical qubits: 8 bits and 12 ancillas." in words(element)
    key = [(e[0].get("class"), words(e)) for e in element.iter("span")]
    assert key == [("a", "bits"), ("b", "ancillas"), ("good", "fits"),
                   ("limit", "the machine's qubits")]  # fmt: skip
    assert "within some 14% where it fits" in words(element)


def test_colours_of_what_fits_and_what_does_not() -> None:
    every = {t: 1.0 for n in (1, 2, 3) for t in _combinations(50, n)}
    element = section(page(report_of(Run("x", pubo=Pubo.from_dict(every)))), "budget")
    kinds = [bar.kind for bar in picture(element, "Qubits against machines").rects()]
    assert kinds == ["a", "b", "bad", "bad", "bad"]
    assert ("bad", "too large") in [(e[0].get("class"), words(e)) for e in element.iter("span")]
    few = {t: 1.0 for t in every if len(t) < 3 or t[0] == 0}
    element = section(page(report_of(Run("x", pubo=Pubo.from_dict(few)))), "budget")
    kinds = [bar.kind for bar in picture(element, "Qubits against machines").rects()]
    assert kinds == ["a", "b", "pale", "pale", "pale"]
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
            assert int(count) <= np.count_nonzero((values > low - room) & (values < high + room))
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


# --- the chip ------------------------------------------------------------------------------------


def test_chains_are_drawn_where_the_qubits_are(text: str, made: SimpleNamespace) -> None:
    element = section(text, "chip")
    machine, chains = made.embedding.machine, made.embedding.chains
    chart = picture(element, "Chains on zephyr3")
    places = layout(machine)
    places = (places - places.min(axis=0)) / (places.max(axis=0) - places.min(axis=0)).max()
    assert np.ptp(places[:, 0]) == pytest.approx(np.ptp(places[:, 1])), "a square"
    row = {qubit: i for i, qubit in enumerate(machine.nodes.tolist())}
    for hue in range(10):
        wanted = sorted(
            (4 + SIZE * places[row[q]][0], 4 + SIZE * (1 - places[row[q]][1]))
            for chain in chains[hue::10]
            for q in chain
        )
        (drawn,) = chart.points(f"dots h{hue}")
        assert np.array(sorted(drawn)) == pytest.approx(np.array(wanted), abs=0.2)
    (free,) = chart.points("dots free")
    assert len(free) == len(machine.nodes) - sum(map(len, chains))


def test_closer_is_what_is_used_and_all_of_it(made: SimpleNamespace) -> None:
    chains = qcompile.embed(made.qubo, load_machine("advantage")).embedding
    element = section(page(report_of(Run("x", embedding=chains))), "chip")
    pictures = [picture(element, f"Chains on advantage{more}") for more in ("", ", closer")]
    whole, closer = (
        np.array([p for hue in range(10) for line in c.points(f"dots h{hue}") for p in line])
        for c in pictures
    )
    assert len(closer) == len(whole) == chains.qubits
    assert closer.min() >= 0 and closer.max() <= 360
    assert np.ptp(closer, axis=0).max() > 300 > 6 * np.ptp(whole, axis=0).max()
    # the same places, only larger: nothing is turned or mirrored
    grown = np.ptp(closer, axis=0).max() / np.ptp(whole, axis=0).max()
    moved = closer - grown * whole
    assert np.ptp(moved, axis=0) == pytest.approx([0, 0], abs=0.2 * grown)


def test_lengths_of_chains(text: str, made: SimpleNamespace) -> None:
    element = section(text, "chip")
    lengths = [len(chain) for chain in made.embedding.chains]
    rows = table(element)
    assert rows["longest chain"] == [str(max(lengths))]
    assert rows["mean"] == [f"{sum(lengths) / len(lengths):.2f}"]
    counts = {str(n): [str(lengths.count(n))] for n in set(lengths)}
    assert numbers_of(element, "Chain lengths") == counts


# --- energies ------------------------------------------------------------------------------------


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


# --- weights and answers -------------------------------------------------------------------------


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


# --- what belongs together -----------------------------------------------------------------------


def _other(made: SimpleNamespace, kind: str, place: Path) -> Path:
    """Write a file of another run that looks like one of this."""
    path = place / f"other-{kind}{'.npz' if kind == 'moments' else '.json'}"
    rows = made.rows
    turned = replace(rows, y=frozen(np.where(np.arange(len(rows)) % 3, rows.y, -rows.y)))
    if kind == "loss":
        save_loss(replace(made.loss, range_=made.loss.range_ * 0.9), path)
    elif kind == "moments":
        save_moments(moments_of(turned, 3), path)
    elif kind == "pubo":
        values = [c.copy() for c in made.pubo.coefficients]
        values[2][5] *= 1.1
        save_pubo(replace(made.pubo, coefficients=tuple(map(frozen, values))), path)
    elif kind == "model":
        save_classifier(replace(made.classifier, weights=made.classifier.weights * 0.9), path)
    else:
        prepared = made.classifier.preparation
        shifted = replace(prepared, center=frozen(prepared.center + 1))
        save_classifier(replace(made.classifier, preparation=shifted), path)
    return path


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("loss", "other coefficients or another range"),
        ("moments", "moments of other rows"),
        ("pubo", "other energies"),
        ("model", "weights that the problem cannot say"),
        ("prepared", "prepared differently"),
    ],
)
def test_a_file_of_another_run_is_refused_by_name(
    kind: str, why: str, made: SimpleNamespace, folder: Path, tmp_path: Path
) -> None:
    other = _other(made, kind, tmp_path)
    with pytest.raises(InputError, match=why) as told:
        gather([str(folder / "QUBO.JSON"), str(other)])
    assert str(told.value).startswith(str(other)) and "\n" not in str(told.value)
    assert "name the files that belong together" in str(told.value)


def test_only_the_very_rows_are_training_rows(made: SimpleNamespace) -> None:
    run = Run("x", qubo=made.qubo, samples=made.samples, loss=made.loss,
              classifier=made.classifier)  # fmt: skip
    rows = made.rows
    assert with_data(run, rows, lambda: rows).risks
    turned = replace(rows, y=frozen(np.roll(rows.y, 1)))
    twice = rows.take(np.tile(np.arange(len(rows)), 2))
    for other in (turned, twice, rows.take(slice(568))):
        found = with_data(run, other, lambda: rows)
        assert not found.risks and found.parts[0][0] == "the data given"
    # the zero state has the same energy on all data
    zero = samples_of(made.qubo, np.zeros((1, 8), dtype=np.int8))
    still = replace(run, samples=zero, classifier=decode(made.qubo, zero))
    assert not with_data(still, turned, lambda: rows).risks
    assert with_data(still, rows, lambda: rows).risks
    much = replace(still, qubo=replace(made.qubo, dropped=1e3))
    told = with_data(much, rows, lambda: rows)
    assert not told.risks and "smaller --threshold" in told.reasons["risks"]


def test_the_zero_state_alone_tells_nothing_about_rows(made: SimpleNamespace) -> None:
    """A problem that was never written out has only its samples to be known by."""
    empty = replace(made.pubo, constant=0.0, indices=(), coefficients=())
    zero = samples_of(empty, np.zeros((1, 8), dtype=np.int8))
    zero = replace(zero, energies=frozen([made.loss.coefficients[0]]))
    run = Run("x", pubo=empty, samples=zero, loss=made.loss, classifier=decode(empty, zero))
    assert not with_data(run, made.rows, lambda: made.rows).risks


@pytest.mark.parametrize("asked", [["--l0", "0.01"], ["--threshold", "0.002"]])
def test_own_data_are_known_for_every_kind_of_problem(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, samples = str(tmp_path / "qubo.json"), str(tmp_path / "samples.json")
    prepared = ["--scale", "standard", "--features", "3", "--bits", "2"]
    assert main(["compile", DATA, *prepared, *asked, "-q", "--emit", f"qubo={problem}"]) == 0
    assert main(["solve", problem, "--solver", "exact", "-q", "-o", samples]) == 0
    page_ = str(tmp_path / "x.html")
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--data", DATA, "-o", page_]) == 0
    assert "where accuracy is lost" in capsys.readouterr().out.splitlines()[0]
    assert "lowest of all 2^" in Path(page_).read_text()


def test_chains_that_share_a_qubit_are_refused(folder: Path, tmp_path: Path) -> None:
    content = orjson.loads((folder / "chains.json").read_bytes())
    content["chains"][3][1] = content["chains"][2][1]
    place = tmp_path / "chains.json"
    place.write_bytes(orjson.dumps(content))
    with pytest.raises(InputError, match="is used twice"):
        gather([str(place)])


def test_numbers_that_cannot_be_drawn_are_refused(
    made: SimpleNamespace, folder: Path, tmp_path: Path
) -> None:
    huge = replace(made.classifier, weights=frozen([1e308] * 4))
    save_classifier(huge, tmp_path / "model.json")
    with pytest.raises(InputError, match=r"model\.json: weights beyond 1e\+150"):
        gather([str(tmp_path / "model.json")])
    pubo = Pubo.from_dict({(0,): 1e308, (1,): -1e308})
    save_pubo(pubo, tmp_path / "pubo.json")
    save_samples(samples_of(pubo, np.eye(2, dtype=np.int8)), tmp_path / "samples.json")
    with pytest.raises(InputError, match=r"samples\.json: energies beyond"):
        gather([str(tmp_path / "pubo.json"), str(tmp_path / "samples.json")])


# --- the command ---------------------------------------------------------------------------------


def test_an_empty_name_is_not_this_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    assert main(["report", "", "-o", str(tmp_path / "x.html")]) == 2
    assert "an empty name" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_test_rows_are_those_of_their_own_file(
    folder: Path, made: SimpleNamespace, tmp_path: Path
) -> None:
    other, place = str(tmp_path / "other.svm"), tmp_path / "x.html"
    assert main(["data", DATA, "--shuffle", "--rows", "101", "-q", "-o", other]) == 0
    asked = ["--data", DATA, "--test", other, "-q", "-o", str(place)]
    assert main(["report", str(folder), *asked]) == 0
    shown = words(section(place.read_text(), "confusion"))
    found = re.findall(r"(training rows|test rows): (\d+) of (\d+) wrong", shown)
    assert [(name, rows) for name, _, rows in found] == [
        ("training rows", "569"),
        ("test rows", "101"),
    ]
    raw = read(other)
    decisions = made.classifier.decision_function(raw.x)
    wrong = int(np.count_nonzero((decisions > 0) != (raw.y > 0)))
    assert int(found[1][1]) == wrong


def test_the_page_goes_to_standard_output(
    folder: Path, text: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["report", str(folder), "--data", DATA, "-q", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.decode() == text


def test_a_place_that_cannot_be_written_is_said_first(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def no_work(*names: object, **more: object) -> None:
        raise AssertionError("work was done")

    monkeypatch.setattr("qcompile.report.gather.gather", no_work)
    assert main(["report", str(folder), "-o", str(tmp_path / "no" / "x.html")]) == 2
    assert "no/x.html" in capsys.readouterr().err


def test_training_writes_risks_and_its_parts_in_order(tmp_path: Path) -> None:
    place = tmp_path / "x.html"
    asked = ["--scale", "standard", "--features", "3", "--bits", "2", "-n", "5", "--test", "0.3"]
    asked += ["--validation", "0.2", "-q", "--report", str(place)]
    assert main(["train", DATA, *asked]) == 0
    text = place.read_text()
    parts = re.findall(r"(\w+): \d+ of \d+ wrong", words(section(text, "confusion")))
    assert parts == ["train", "validation", "test"]
    assert list(table(section(text, "risks"))) == [
        "classifier", "best continuous", "rounded to the grid", "lowest state found", "returned",
    ]  # fmt: skip


def test_notes_are_shown(made: SimpleNamespace) -> None:
    text = page(report_of(Run("x", qubo=made.qubo, notes=("mind <the> gap",))))
    assert '<p class="note">Note: mind &lt;the&gt; gap</p>' in text


def test_what_to_add_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        report_of(Run("x"))
    assert "needs needs" not in str(told.value) and "needs a loss" in str(told.value)


def test_more_parts_follow_the_first(made: SimpleNamespace) -> None:
    run = Run("x", classifier=made.classifier, parts=(("train", made.rows),))
    found = report_of(with_test(run, made.rows.take(slice(10)))).confusion
    assert [(part.part, part.rows) for part in found] == [("train", 569), ("test rows", 10)]


# --- drawing -------------------------------------------------------------------------------------


def test_series_stand_on_each_other() -> None:
    drawn = histogram([0, 1, 2], [((3, 0), "a"), ((1, 2), "b")], title="t", says="s", axis="x")
    chart = Chart(ET.fromstring(drawn))
    (below,), (above, alone) = chart.rects("a"), chart.rects("b")
    foot = chart.up(0)
    assert below.y + below.height == pytest.approx(foot, abs=NEAR)
    assert above.y + above.height == pytest.approx(below.y, abs=NEAR)
    assert below.height == pytest.approx(3 * above.height, abs=2 * NEAR)
    assert alone.y + alone.height == pytest.approx(foot, abs=NEAR) and alone.x > above.x


def test_a_logarithmic_axis() -> None:
    scale = Scale(1, 1e4, 0, 100, log=True)
    assert [scale(v) for v in (1, 10, 100, 1e5)] == pytest.approx([0, 25, 50, 100])
    assert scale.ticks() == [1, 10, 100, 1000, 10000]
    edges = [0.1, 1, 10, 100]
    drawn = histogram(edges, [((1, 2, 3), "a")], title="t", says="s", axis="x", log=True)
    chart = Chart(ET.fromstring(drawn))
    starts = [bar.x - 0.5 for bar in chart.rects("a")]
    assert starts == pytest.approx([chart.across(v, log=True) for v in edges[:3]], abs=NEAR)
    gaps = [b - a for a, b in pairwise(starts)]
    assert gaps[0] == pytest.approx(gaps[1], abs=NEAR)


def test_bars_far_beyond_the_machines_are_logarithmic() -> None:
    drawn = [Bar("a", ((10.0, "good"),), "", 100.0), Bar("b", ((1e5, "bad"),), "", 100.0)]
    chart = Chart(ET.fromstring(bars(drawn, title="t", says="s", log=True)))
    short, long = chart.rects()
    assert long.x + long.width == pytest.approx(359, abs=NEAR)
    # the scale begins below 10, the least, at 1
    assert short.width / long.width == pytest.approx(1 / 5, abs=0.01)
    assert chart.points("limit")[0][0][0] == pytest.approx(1 + 358 * 2 / 5, abs=NEAR)


def test_a_curve_ends_where_it_leaves_the_picture() -> None:
    points = [(0.0, 0.0), (1.0, 4.0), (2.0, 4.0), (3.0, 0.0)]
    pieces = [list(piece) for piece in _clipped(points, 0.0, 2.0)]
    assert pieces == [[(0.0, 0.0), (0.5, 2.0)], [(2.5, 2.0), (3.0, 0.0)]]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(20000, "20k"), (9999, "9999"), (1.5e6, "1.5M"), (3e9, "3G"), (0, "0")],
)
def test_counts_in_few_letters(value: float, shown: str) -> None:
    assert _short(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234.5, "1,234.5"), (9999.6, "9,999.6"), (12345.6, "12,345.6"), (999.96, "1,000"),
        (-1234.56, "-1,234.6"), (123.456, "123"), (0.5, "0.5"), (1e20, "1e+20"), (7, "7"),
    ],
)  # fmt: skip
def test_numbers_for_people(value: float, shown: str) -> None:
    assert number(value) == shown


def test_one_is_no_plural() -> None:
    pubo = Pubo.from_dict({(0,): -1.0})
    found = samples_of(pubo, np.array([[1]], dtype=np.int8), info={"reads": 1})
    text = page(report_of(Run("x", pubo=pubo, samples=found)))
    shown = words(section(text, "pipeline")) + words(section(text, "energies"))
    assert "polynomial 1 bit 1 term:" in shown and "samples 1 read 1 distinct" in shown
    assert "1 read, 1 distinct state;" in shown
