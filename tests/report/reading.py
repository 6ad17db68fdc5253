"""Read a page about a run: its elements, tables and charts."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

from qcompile import Pubo
from qcompile.report.build import report_of
from qcompile.report.figures import Report
from qcompile.report.gather import gather
from qcompile.report.run import Run
from qcompile.stages.dataset import Dataset

DATA = "breast-cancer"


VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Reads a page and insists that every element is closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style",):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def parsed(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


def report_on(paths: list[Path], rows: Dataset | None = None) -> Report:
    from qcompile.report.gather import with_data

    run = gather([str(path) for path in paths])
    return report_of(run if rows is None else with_data(run, rows, lambda: rows))


def small_run() -> Run:
    return Run("small", pubo=Pubo.from_dict({(0, 1): 1.0}))


NEAR = 0.15  # places are written with one digit


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
