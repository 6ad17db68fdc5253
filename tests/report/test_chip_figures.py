"""The picture of the chip, counted again by hand from the chains."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import qcompile
from qcompile import InputError, load_machine
from qcompile.report.build import report_of
from qcompile.report.chip_figures import shades_of
from qcompile.report.consistency import checked
from qcompile.report.page import page
from qcompile.report.plot import layout, plot_embedding
from qcompile.report.run import Run
from qcompile.stages.embedded import Embedding
from tests.report.reading import Chart, parsed, picture, report_on, section, table, words

SIZE, RIM = 1056.0, 12.0  # of a chip


def numbers_in(element: ET.Element, name: str, first: str) -> dict[str, list[str]]:
    """Return the table below a name whose first column has the title `first`."""
    figure = next(e for e in element.iter("div") if e.findtext("h3") == name)
    found = next(e for e in figure.iter("table") if e.findtext("thead/tr/th") == first)
    return {k: v for k, v in table(found).items() if k != first}


@pytest.fixture(scope="module")
def copies(made: SimpleNamespace) -> tuple[Embedding, ...]:
    """Four copies by hand: chains on the parts of a machine that the ones before left free."""
    machine = load_machine("zephyr3")
    found: list[Embedding] = []
    for seed in range(4):
        taken = [q for copy in found for chain in copy.chains for q in chain]
        free = ~np.isin(machine.nodes, taken)
        between = ~np.isin(machine.edges, np.flatnonzero(~free)).any(axis=1)
        renumbered = (np.cumsum(free) - 1)[machine.edges[between]]
        rest = replace(machine, nodes=machine.nodes[free], edges=renumbered)
        own = qcompile.embed(made.qubo, rest, seed=seed).embedding
        found.append(replace(own, machine=machine))
    return tuple(found)


def spots(embedding: Embedding) -> dict[int, tuple[float, float]]:
    """Return the place of each qubit in the picture."""
    places = layout(embedding.machine)
    places = (places - places.min(axis=0)) / np.ptp(places, axis=0).max()
    return {
        q: (RIM + SIZE * x, RIM + SIZE * (1 - y))
        for q, (x, y) in zip(embedding.machine.nodes.tolist(), places.tolist(), strict=True)
    }


def assert_drawn(chart: Chart, kind: str, wanted: list[tuple[float, float]]) -> None:
    (drawn,) = chart.points(kind)
    assert len(drawn) == len(wanted) == len(set(drawn))
    assert np.array(sorted(drawn)) == pytest.approx(np.array(sorted(wanted)), abs=0.2)


def test_the_chip_shows_every_qubit_once(folder: Path, embedding: Embedding) -> None:
    chip = report_on([folder]).chip
    assert chip is not None
    dots = [point for chain in chip.chains for point in chain.dots]
    assert len(dots) == sum(map(len, embedding.chains))
    assert len(set(dots) | set(chip.free)) == len(dots) + len(chip.free) == chip.qubits
    assert all(0 <= v <= 1 for point in (*dots, *chip.free) for v in point)
    machine = load_machine("zephyr3").graph
    links = sum(machine.subgraph(chain).number_of_edges() for chain in embedding.chains)
    assert sum(len(chain.links) for chain in chip.chains) == links


def test_a_crowded_chip_is_thinned_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = report_on([folder / "chains.json"]).chip
    monkeypatch.setattr("qcompile.report.chip_figures._MOST_FREE", 100)
    thin = report_on([folder / "chains.json"])
    assert whole is not None and thin.chip is not None
    assert whole.every == whole.every_free == thin.chip.every == 1
    assert thin.chip.every_free == -(-len(whole.free) // 100)
    assert thin.chip.chains == whole.chains, "chains do not vanish where many are free"
    assert len(thin.chip.free) <= 100 and set(thin.chip.free) < set(whole.free)
    assert thin.chip.lengths == whole.lengths and thin.chip.used == whole.used
    assert f"One free one in {thin.chip.every_free} is drawn" in parsed(page(thin)).words


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
            (RIM + SIZE * places[row[q]][0], RIM + SIZE * (1 - places[row[q]][1]))
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
    assert closer.min() >= 0 and closer.max() <= 1080
    assert np.ptp(closer, axis=0).max() > 900 > 6 * np.ptp(whole, axis=0).max()
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
    counted = {str(n): [str(lengths.count(n)), str(n * lengths.count(n))] for n in set(lengths)}
    total = {"all": [str(len(lengths)), str(sum(lengths))]}
    assert numbers_in(element, "Chain lengths", "length") == counted | total


def test_every_qubit_of_every_copy_is_drawn_once_in_the_colour_of_its_chain(
    made: SimpleNamespace, copies: tuple[Embedding, ...]
) -> None:
    run = Run("x", qubo=made.qubo, embedding=copies[0], copies=copies)
    chart = picture(section(page(report_of(run)), "chip"), "Chains on zephyr3")
    spot = spots(copies[0])
    for hue in range(10):
        chains = [chain for copy in copies for chain in copy.chains[hue::10]]
        assert_drawn(chart, f"dots h{hue}", [spot[q] for chain in chains for q in chain])
    used = {q for copy in copies for chain in copy.chains for q in chain}
    assert_drawn(chart, "dots free", [place for q, place in spot.items() if q not in used])
    # every used qubit has one ground and one rim, and one element draws all of a shade
    for kind in ("rim", "ground"):
        found = [chart.points(f"dots {kind} s{shade}") for shade in range(10)]
        assert sum(len(points) for paths in found for points in paths) == len(used)
        assert all(len(paths) <= 1 for paths in found)
    assert len(list(chart.svg.iter("path"))) <= 1 + 20 + 20


def test_a_copy_has_one_ground_and_its_number_lies_on_it(
    made: SimpleNamespace, copies: tuple[Embedding, ...]
) -> None:
    run = Run("x", qubo=made.qubo, embedding=copies[0], copies=copies)
    chart = picture(section(page(report_of(run)), "chip"), "Chains on zephyr3")
    grounds = {s: chart.points(f"dots ground s{s}") for s in range(10)}
    spot, shades = spots(copies[0]), []
    for copy in copies:
        own = [spot[q] for chain in copy.chains for q in chain]
        near = {
            s
            for s, paths in grounds.items()
            for p in (paths[0] if paths else ())
            if any(abs(p[0] - x) < 0.2 and abs(p[1] - y) < 0.2 for x, y in own)
        }
        assert len(near) == 1
        shades += near
    owner = {q: n for n, copy in enumerate(copies) for chain in copy.chains for q in chain}
    for a, b in copies[0].machine.graph.edges:
        if a in owner and b in owner and owner[a] != owner[b]:
            assert shades[owner[a]] != shades[owner[b]], "copies that touch are told apart"
    names = [e for e in chart.svg.iter("text") if e.get("class") == "copy"]
    assert [e.text for e in names] == ["1", "2", "3", "4"]
    for copy, e in zip(copies, names, strict=True):
        at = float(e.get("x") or 0), float(e.get("y") or 0)
        assert any(np.allclose(at, spot[q], atol=0.2) for chain in copy.chains for q in chain)


def test_the_tables_count_chains_and_qubits_of_all_copies(
    made: SimpleNamespace, copies: tuple[Embedding, ...]
) -> None:
    report = report_of(Run("x", qubo=made.qubo, embedding=copies[0], copies=copies))
    element = section(page(report), "chip")
    lengths = [len(chain) for copy in copies for chain in copy.chains]
    counted = {str(n): [str(lengths.count(n)), str(n * lengths.count(n))] for n in set(lengths)}
    shown = numbers_in(element, "Chain lengths", "length")
    assert shown == counted | {"all": [str(len(lengths)), str(sum(lengths))]}
    each = numbers_in(element, "Copies", "copy")
    assert each == {
        str(i): [str(len(c.chains)), str(sum(map(len, c.chains))), str(max(map(len, c.chains)))]
        for i, c in enumerate(copies, 1)
    }
    assert table(element)["copies"] == ["4"]
    assert f"4 copies of 20 variables on {sum(lengths)} of 336 qubits" in words(element)
    facts = dict(report.facts)
    assert facts["copies"] == "4" and facts["physical qubits"] == str(sum(lengths))
    colours = numbers_in(element, "Colours of the chains", "variables")
    for hue, row in enumerate(colours.values()):
        own = [len(chain) for copy in copies for chain in copy.chains[hue::10]]
        assert row == [str(n) for n in (len(own), min(own), max(own), sum(own))]
    assert list(colours) == [f"{hue}, {hue + 10}" for hue in range(10)]


def test_one_copy_has_no_ground_and_no_number(text: str) -> None:
    element = section(text, "chip")
    assert "ground" not in ET.tostring(element, "unicode") and "copies" not in words(element)


def test_the_picture_is_as_wide_as_the_page_and_scrolls_on_a_phone(text: str) -> None:
    element = section(text, "chip")
    boxes = [e for e in element.iter("div") if e.get("class") == "pan"]
    assert boxes and all(e.find("svg") is not None for e in boxes)
    chart = picture(element, "Chains on zephyr3")
    assert chart.svg.get("viewBox") == "0 0 1080 1080" and chart.svg.get("class") == "chip"
    style = re.sub(r"\s", "", text[: text.index("</style>")])
    assert "svg.chip{max-width:none}" in style and ".pan{overflow-x:auto" in style


def test_shades_differ_where_copies_touch_while_there_are_enough() -> None:
    rng = np.random.default_rng(3)
    pairs = rng.integers(-1, 30, (60, 2))
    shades = shades_of(pairs, 30)
    assert all(shades[a] != shades[b] for a, b in pairs.tolist() if min(a, b) >= 0 and a != b)
    every = np.array([(a, b) for a in range(12) for b in range(a)])
    assert sorted(shades_of(every, 12)) == [0, 0, 1, 1, *range(2, 10)]


def test_copies_that_share_a_qubit_are_refused(
    made: SimpleNamespace, copies: tuple[Embedding, ...]
) -> None:
    run = Run("x", qubo=made.qubo, embedding=copies[0], copies=(copies[0], copies[0]))
    with pytest.raises(InputError, match=r"qubit \d+ is in two copies; expected disjoint"):
        checked(run, {})


def test_a_full_machine_takes_less_than_one_and_a_half_megabytes() -> None:
    machine = load_machine("advantage")
    pairs = [(a, b) for a, b in machine.graph.edges]
    taken: set[int] = set()
    chains = []
    for a, b in pairs:
        if a not in taken and b not in taken:
            chains.append((a, b))
            taken |= {a, b}
    every = [Embedding(tuple(chains[i : i + 20]), machine, "", "hand") for i in
             range(0, len(chains), 20)]  # fmt: skip
    assert len(taken) > 5_000 and len(every) > 100
    text = page(report_of(Run("x", embedding=every[0], copies=tuple(every))))
    assert len(text.encode()) < 1_500_000


def test_a_picture_of_copies_is_large(copies: tuple[Embedding, ...], tmp_path: Path) -> None:
    plot_embedding(copies[0], tmp_path / "x.svg", copies=copies)
    drawn = (tmp_path / "x.svg").read_text()
    width = re.search(r'width="([\d.]+)pt"', drawn)
    assert width is not None and float(width[1]) >= 1000
    lengths = [len(chain) for copy in copies for chain in copy.chains]
    counts = ", ".join(f"{n}: {lengths.count(n)}" for n in sorted(set(lengths)))
    assert f"chains by length: {counts}" in drawn
    assert f"4 copies of 20 variables on {sum(lengths)} of 336 qubits" in drawn
