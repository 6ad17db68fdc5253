"""The section of the page about the chip: the picture, and what its colours mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from qcompile.report import svg
from qcompile.report.chip_svg import WIDTH, draw_chip
from qcompile.report.elements import figure, key, lead, table
from qcompile.report.figures import HUES, Chain, Chip
from qcompile.report.markup import Markup, plain, tag
from qcompile.report.words import between, many

__all__ = ["chip_section"]


_MOST_OPEN = 12  # a table of more copies opens on a click
_LARGEST_DOT = 16.0


def chip_section(chip: Chip) -> Iterable[Markup]:
    """Show the chains of every copy on the chip, their colours and their lengths."""
    yield lead(" ".join(_introduction(chip)))
    name = plain(chip.machine)
    dot = min(0.4 * WIDTH * chip.spacing, _LARGEST_DOT)
    says = f"Longest chain {chip.longest}, mean {chip.mean:.2f}."
    whole = draw_chip(
        chip.free, chip.chains, chip.copies, title=f"Chains on {name}", says=says, dot=dot
    )
    yield figure("The chip", _scrolled(whole, f"The chip {name}"))
    yield key(*_key(chip))
    if chip.closer is not None:
        yield figure("Closer", _scrolled(_closer(chip, chip.closer, name, dot), "The used part"))
    yield tag("div", _colours(chip), _lengths(chip, says), class_="row")
    if len(chip.copies) > 1:
        yield _copies(chip)


def _introduction(chip: Chip) -> Iterable[str]:
    variables = many(max(chain.variable for chain in chip.chains) + 1, "variable")
    copies = len(chip.copies)
    share = f"{chip.used:,} of {many(chip.qubits, 'qubit')} of {plain(chip.machine)}"
    if copies > 1:
        yield f"{copies:,} copies of {variables} on {share}, {many(len(chip.chains), 'chain')}."
        yield (
            "Each copy lies on a ground of its own with its number; copies that touch have "
            "different grounds where possible."
        )
    else:
        yield f"{variables} on {share}."
    yield "The qubits of a chain have one colour; pale ones are free."
    if chip.every > 1:
        yield f"One in {chip.every} of the chains' is drawn."
    if chip.every_free > 1:
        yield f"One free one in {chip.every_free} is drawn."


def _scrolled(drawn: Markup, name: str) -> Markup:
    """Return a picture that keeps a readable size and scrolls on a narrow screen."""
    return tag("div", drawn, class_="pan", tabindex=0, role="region", aria_label=name)


def _key(chip: Chip) -> Iterable[tuple[str, str]]:
    for hue in range(len(chip.colours)):
        yield f"h{hue}", _variables(hue, chip)
    yield "free", f"free, {many(chip.qubits - chip.used, 'qubit')}"
    if len(chip.copies) > 1:
        yield "copy", "ground and number of a copy"


def _variables(hue: int, chip: Chip) -> str:
    """Return which variables have a colour, as words."""
    last = max(chain.variable for chain in chip.chains)
    own = range(hue, last + 1, HUES)
    if len(own) <= 3:
        return ", ".join(map(str, own))
    return f"{own[0]}, {own[1]} … {own[-1]}"


def _closer(chip: Chip, square: tuple[float, float, float], name: str, dot: float) -> Markup:
    """Draw the used part of the chip, stretched to the whole picture."""
    left, bottom, side = square

    def moved(point: svg.Point) -> svg.Point:
        return (point[0] - left) / side, (point[1] - bottom) / side

    def stretched(chain: Chain) -> Chain:
        links = tuple((moved(a), moved(b)) for a, b in chain.links)
        return replace(chain, dots=tuple(map(moved, chain.dots)), links=links)

    inside = [moved(p) for p in chip.free]
    return draw_chip(
        [p for p in inside if 0 <= p[0] <= 1 and 0 <= p[1] <= 1],
        [stretched(chain) for chain in chip.chains],
        [replace(copy, middle=moved(copy.middle)) for copy in chip.copies],
        title=f"Chains on {name}, closer",
        says="The part of the chip that is used.",
        dot=min(dot / side, _LARGEST_DOT),
    )


def _colours(chip: Chip) -> Markup:
    """Return the table of colours: variables, chains, lengths and qubits."""
    head = ("variables", "chains", "shortest", "longest", "qubits")
    rows = []
    for hue, (chains, qubits, shortest, longest) in enumerate(chip.colours):
        swatch = Markup(f'<i class="h{hue}" aria-hidden="true"></i>')
        cells = [f"{n:,}" for n in (chains, shortest, longest, qubits)]
        named = tag("th", swatch, _variables(hue, chip), scope="row")
        rows.append(tag("tr", named, *(tag("td", cell, class_="n") for cell in cells)))
    first = tag("th", head[0], scope="col")
    titles = tag("tr", first, *(tag("th", word, class_="n") for word in head[1:]))
    drawn = tag("table", tag("thead", titles), tag("tbody", *rows), class_="swatches")
    return figure("Colours of the chains", drawn)


def _lengths(chip: Chip, says: str) -> Markup:
    """Return the histogram of lengths, with all its numbers in a table."""
    drawn = svg.histogram(
        chip.lengths.edges,
        [(chip.lengths.counts[0], "a")],
        title="Chain lengths",
        says=says,
        axis="qubits in a chain",
        whole=True,
    )
    edges = zip(chip.lengths.edges[:-1], chip.lengths.edges[1:], strict=True)
    rows = [
        (between(low, high, whole=True), f"{count:,}", f"{qubits:,}")
        for (low, high), count, qubits in zip(
            edges, chip.lengths.counts[0], chip.qubits_by_length, strict=True
        )
        if count
    ]
    rows.append(("all", f"{len(chip.chains):,}", f"{chip.used:,}"))
    about = [("longest chain", f"{chip.longest:,}"), ("mean", f"{chip.mean:.2f}")]
    numbers = table(rows, ("length", "chains", "qubits"))
    return figure("Chain lengths", drawn, numbers, table([*about, *chip.precision]))


def _copies(chip: Chip) -> Markup:
    """Return the table of copies."""
    sizes = [copy.qubits for copy in chip.copies]
    about = [
        ("copies", f"{len(chip.copies):,}"),
        ("qubits of the smallest and the largest", f"{min(sizes):,} and {max(sizes):,}"),
        ("qubits of all copies", f"{sum(sizes):,}, {sum(sizes) / chip.qubits:.1%} of the machine"),
    ]
    rows = [
        (str(number), f"{copy.chains:,}", f"{copy.qubits:,}", f"{copy.longest:,}")
        for number, copy in enumerate(chip.copies, 1)
    ]
    each = table(rows, ("copy", "chains", "qubits", "longest chain"))
    if len(rows) > _MOST_OPEN:
        each = tag("details", tag("summary", "Each copy"), each)
    return figure("Copies", table(about), each)
