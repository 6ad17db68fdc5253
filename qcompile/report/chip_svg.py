"""Draw a chip as inline SVG: qubits, the chains of each colour, and a ground below each copy.

There is one path for each colour and not one element for each qubit. A dot is a line of length 0
with round ends, which takes few bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qcompile.report.figures import HUES, Chain, Copy
from qcompile.report.markup import Markup, tag

__all__ = ["WIDTH", "draw_chip"]


WIDTH = 1080.0  # as wide as the page
_RIM = 12.0

Point = tuple[float, float]


def draw_chip(
    free: Sequence[Point],
    chains: Sequence[Chain],
    copies: Sequence[Copy] = (),
    *,
    title: str,
    says: str,
    dot: float,
) -> Markup:
    """Draw free qubits as pale dots, chains as coloured dots and lines, copies on their grounds.

    Places are from 0 to 1. With fewer than two `copies` there are no grounds and no numbers.
    """
    shown = copies if len(copies) > 1 else ()
    content = [
        *_grounds(chains, shown, dot),
        _dots((p for p in free), "dots free", dot * 0.6),
        *_chains(chains, dot),
        *_names(shown, dot),
    ]
    side = _number(WIDTH)
    return tag(
        "svg",
        tag("title", title),
        *content,
        viewBox=f"0 0 {side} {side}",
        role="img",
        class_="chip",
        aria_label=f"{title}. {says}",
    )


def _chains(chains: Sequence[Chain], dot: float) -> Iterable[Markup]:
    for hue in range(HUES):
        mine = [chain for chain in chains if chain.variable % HUES == hue]
        lines = "".join(f"M{_at(a)}L{_at(b)}" for chain in mine for a, b in chain.links)
        if lines:
            width = _number(max(dot * 0.4, 0.5))
            yield tag("path", d=lines, class_=f"links h{hue}", stroke_width=width)
        if mine:
            yield _dots((p for chain in mine for p in chain.dots), f"dots h{hue}", dot)


def _grounds(chains: Sequence[Chain], copies: Sequence[Copy], dot: float) -> Iterable[Markup]:
    """Yield for each shade a wide rim around the qubits of its copies, and the ground on it."""
    for shade in sorted({copy.shade for copy in copies}):
        mine = [chain for chain in chains if copies[chain.copy].shade == shade]
        for kind, wider in (("rim", 2.7), ("ground", 2.1)):
            points = (p for chain in mine for p in chain.dots)
            yield _dots(points, f"dots {kind} s{shade}", dot * wider)


def _names(copies: Sequence[Copy], dot: float) -> Iterable[Markup]:
    """Yield the number of each copy in its middle."""
    for number, copy in enumerate(copies, 1):
        x, y = _at(copy.middle).split()
        size = _number(max(11.0, dot * 2))
        yield tag("text", number, x=x, y=y, class_="copy", style=f"font-size:{size}px")


def _dots(points: Iterable[Point], kind: str, width: float) -> Markup:
    drawn = "".join(f"M{_at(point)}h0" for point in points)
    return tag("path", d=drawn, class_=kind, stroke_width=_number(max(width, 0.8)))


def _at(point: Point) -> str:
    size = WIDTH - 2 * _RIM
    return f"{_number(_RIM + size * point[0])} {_number(_RIM + size * (1 - point[1]))}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
