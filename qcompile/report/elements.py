"""Elements that the sections of a page share: leads, keys, tables, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qcompile.report.figures import Histogram
from qcompile.report.markup import Markup, tag
from qcompile.report.words import between

__all__ = ["bins", "figure", "key", "lead", "table"]


def figure(name: str, *content: Markup) -> Markup:
    """Return a picture below its name, with its key and table."""
    return tag("div", tag("h3", name), *content, class_="figure")


def lead(*text: object) -> Markup:
    """Return the paragraph that introduces a section."""
    return tag("p", *text, class_="lead")


def key(*entries: tuple[str, str]) -> Markup:
    """Return the key of a picture: a class of the stylesheet and words for each colour."""
    shown = [
        tag("span", Markup(f'<i class="{kind}" aria-hidden="true"></i>'), words)
        for kind, words in entries
    ]
    return tag("p", *shown, class_="key")


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), caption: str = "") -> Markup:
    """Return a table: names to the left, numbers to the right."""

    def line(cells: Sequence[str], kind: str) -> Markup:
        first = tag("th", cells[0], scope="row" if kind == "td" else "col")
        return tag("tr", first, *(tag(kind, cell, class_="n") for cell in cells[1:]))

    parts = [tag("caption", caption)] if caption else []
    parts += [tag("thead", line(head, "th"))] if head else []
    return tag("table", *parts, tag("tbody", *(line(row, "td") for row in rows)))


def bins(histogram: Histogram, names: Sequence[str]) -> Markup:
    """Return the numbers of a histogram as a table that opens on a click."""
    rows = [
        (
            between(low, high, whole=histogram.whole),
            *(f"{series[i]:,}" for series in histogram.counts),
        )
        for i, (low, high) in enumerate(zip(histogram.edges[:-1], histogram.edges[1:], strict=True))
        if any(series[i] for series in histogram.counts)
    ]
    return tag("details", tag("summary", "The numbers"), table(rows, ("value", *names)))
