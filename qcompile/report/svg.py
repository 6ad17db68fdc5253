"""Small charts as inline SVG: bars, histograms and curves.

A chart is 360 units wide, about as wide as a phone, so that its text is readable on every screen.
Colours are classes; the page's stylesheet defines them for light and dark mode. Every chart has a
title and a sentence that describes it for screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from qcompile.report.markup import Markup, tag
from qcompile.report.words import between, numbers

__all__ = [
    "WIDTH",
    "Bar",
    "Mark",
    "Point",
    "Scale",
    "bars",
    "curves",
    "diverging",
    "histogram",
]


WIDTH = 360.0
_LETTER = 6.8  # width of a letter on a phone, where letters are widest
_FEWEST_BARS = 9

Point = tuple[float, float]


@dataclass(frozen=True)
class Bar:
    """A bar of a bar chart: parts side by side, each with its class, and words after the name.

    `limit` is drawn as a line across the bar.
    """

    name: str
    parts: tuple[tuple[float, str], ...]
    words: str
    limit: float | None = None


@dataclass(frozen=True)
class Mark:
    """A vertical line with a word, at a value of the horizontal axis."""

    at: float
    word: str
    kind: str = "mark"


@dataclass(frozen=True)
class Scale:
    """A map from values to places in the picture, linear or logarithmic."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value; values outside are placed at the edge."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Return round values along the scale."""
        if not self.high > self.low:
            return [self.low]
        if self.log:
            first = math.ceil(math.log10(self.low) - 1e-9)
            last = math.floor(math.log10(self.high) + 1e-9)
            step = max(1, math.ceil((last - first + 1) / wanted))
            powers = [10.0**p for p in range(first, last + 1, step)]
            return powers if len(powers) > 1 else [self.low, self.high]
        size = _round_step((self.high - self.low) / wanted)
        start = math.ceil(self.low / size - 1e-9)
        stop = math.floor(self.high / size + 1e-9)
        return [i * size for i in range(start, stop + 1)]


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))


def _place(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _picture(height: float, title: str, says: str, content: Iterable[object]) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        *content,
        viewBox=f"0 0 {_place(WIDTH)} {_place(height)}",
        role="img",
        aria_label=f"{title}. {says}",
    )


def _word(x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> Markup:
    return tag(
        "text",
        text,
        x=_place(x),
        y=_place(y),
        class_=kind or None,
        text_anchor=None if anchor == "start" else anchor,
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("path", d=f"M{_place(x1)} {_place(y1)}L{_place(x2)} {_place(y2)}", class_=kind)


def _block(x: float, y: float, width: float, height: float, kind: str, hint: str = "") -> Markup:
    places = {"x": _place(x), "y": _place(y), "width": _place(width), "height": _place(height)}
    return tag("rect", *([tag("title", hint)] if hint else []), **places, class_=kind)


def bars(rows: Sequence[Bar], *, title: str, says: str, log: bool = False) -> Markup:
    """Draw horizontal bars with their names above them; negative bars go to the left.

    Names are above the bars because narrow screens have no space beside them.
    """
    ends = [sum(value for value, _ in row.parts) for row in rows]
    limits = [row.limit for row in rows if row.limit is not None]
    least = min([v for v in (*ends, *limits) if v > 0], default=1.0) if log else 0.0
    low = 10.0 ** math.floor(math.log10(least) - 1e-9) if log else min(0.0, *ends)
    high = max([*ends, *limits, 0.0])
    scale = Scale(low, high if high > low else low + 1, 1.0, WIDTH - 1, log)
    content: list[object] = []
    height = 0.0
    for row in rows:
        room = int((WIDTH - 12) / _LETTER) - len(row.words)
        content.append(_word(0, height + 12, _cut_to(row.name, max(room, 8))))
        content.append(_word(WIDTH, height + 12, row.words, kind="soft", anchor="end"))
        top, total = height + 19, 0.0
        for value, kind in row.parts:
            start, stop = sorted(
                (scale(total if not log else max(total, low)), scale(total + value))
            )
            total += value
            content.append(_block(start, top, max(stop - start, 0.6), 9, kind))
        if row.limit is not None:
            place = scale(row.limit)
            content.append(_line(place, top - 1, place, top + 10, "halo"))
            content.append(_line(place, top - 2, place, top + 11, "limit"))
        height = top + 9 + 10
    if low < 0:
        content.append(_line(scale(0), 0, scale(0), height - 8, "axis"))
    return _picture(height, title, says, content)


def _cut_to(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def diverging(rows: Sequence[Bar], *, title: str, says: str, reach: float) -> Markup:
    """Draw bars from the middle to either side, one a line, with names at the left edge."""
    left = 8 + _LETTER * max((len(row.name) for row in rows), default=1)
    right = WIDTH - 8 - _LETTER * max((len(row.words) for row in rows), default=1)
    scale = Scale(-reach, reach, left, right)
    content: list[object] = []
    step = 15.0
    for i, row in enumerate(rows):
        y = i * step
        content.append(_word(left - 6, y + 11, row.name, anchor="end"))
        content.append(_word(WIDTH, y + 11, row.words, kind="soft", anchor="end"))
        for value, kind in row.parts:
            start, stop = sorted((scale(0), scale(value)))
            content.append(_block(start, y + 2.5, stop - start, 10, kind))
    height = len(rows) * step
    content.append(_line(scale(0), 0, scale(0), height, "axis"))
    return _picture(height + 2, title, says, content)


def histogram(
    edges: Sequence[float],
    series: Sequence[tuple[Sequence[int], str]],
    *,
    title: str,
    says: str,
    axis: str,
    marks: Sequence[Mark] = (),
    log: bool = False,
    whole: bool = False,
) -> Markup:
    """Draw counts between edges, one series on top of the other.

    `whole` numbers are in the middle of their bars, which have a largest width.
    """
    top, bottom, left = 12.0 + 13 * len(marks), 152.0 + 13 * len(marks), 34.0
    totals = [sum(column) for column in zip(*(counts for counts, _ in series), strict=True)]
    spare = max(0.0, _FEWEST_BARS * (edges[1] - edges[0]) - (edges[-1] - edges[0])) / 2
    spare = spare if whole else 0.0
    across = Scale(edges[0] - spare, edges[-1] + spare, left, WIDTH - 8, log)
    up = Scale(0.0, max([*totals, 1]), bottom, top)
    content: list[object] = list(_grid(up, left))
    base = [0] * len(totals)
    for counts, kind in series:
        for i, count in enumerate(counts):
            if count:
                x, right = across(edges[i]), across(edges[i + 1])
                y, foot = up(base[i] + count), up(base[i])
                hint = f"{between(edges[i], edges[i + 1], whole=whole)}: {count:,}"
                room = max(right - x - 1, 0.8)
                content.append(_block(x + 0.5, y, room, foot - y, kind, hint))
                base[i] += count
    content += _foot(across, bottom, axis, whole=whole)
    content += _marks(marks, across, bottom)
    return _picture(bottom + 32, title, says, content)


def _grid(up: Scale, left: float) -> Iterable[Markup]:
    whole = [t for t in up.ticks(4) if t == int(t)]
    for value in whole:
        yield _line(left, up(value), WIDTH - 8, up(value), "grid")
        yield _word(left - 5, up(value) + 4, _short(value), kind="soft", anchor="end")


def _short(value: float) -> str:
    """Return a count as short text."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:g}"


def _foot(across: Scale, bottom: float, axis: str, *, whole: bool = False) -> Iterable[Markup]:
    yield _line(across.start, bottom, across.stop, bottom, "axis")
    last = -math.inf
    ticks = across.ticks(9 if whole else 5)
    ticks = [value for value in ticks if not whole or (value == int(value) and value >= 0)]
    for value, text in zip(ticks, numbers(ticks), strict=True):
        x = across(value)
        half = _LETTER * len(text) / 2
        if x - half < last + 4:
            continue
        last = x + half
        yield _line(x, bottom, x, bottom + 3, "axis")
        yield _word(
            min(max(x, half), WIDTH - half), bottom + 14, text, kind="soft", anchor="middle"
        )
    middle = (across.start + across.stop) / 2
    yield _word(middle, bottom + 28, axis, kind="soft", anchor="middle")


def _marks(marks: Sequence[Mark], across: Scale, bottom: float) -> Iterable[Markup]:
    for i, mark in enumerate(marks):
        x, y = across(mark.at), 10.0 + 13 * i
        left = x + 4 + _LETTER * len(mark.word) < WIDTH
        yield _line(x, y - 8, x, bottom, mark.kind)
        yield _word(x + (4 if left else -4), y, mark.word, anchor="start" if left else "end")


def curves(
    lines: Sequence[tuple[Sequence[Point], str]],
    *,
    title: str,
    says: str,
    axis: str,
    across: tuple[float, float],
    up: tuple[float, float],
    behind: Sequence[tuple[float, float, float]] = (),
    marks: Sequence[Mark] = (),
    dots: Sequence[tuple[Sequence[Point], str]] = (),
    log: tuple[bool, bool] = (False, False),
    whole: bool = False,
) -> Markup:
    """Draw curves; `behind` are bars (from, to, share of the height) at the bottom.

    `dots` are points on the curves. `log` says which axes are logarithmic, the horizontal one
    first. With `whole` the horizontal axis has ticks at whole numbers only.
    """
    steps = Scale(*up, 1.0, 0.0, log[1]).ticks(5)
    left = max(34.0, 5 + _LETTER * max(map(len, numbers(steps))))
    top, bottom = 8.0 + 13 * len(marks), 190.0 + 13 * len(marks)
    x, y = Scale(*across, left, WIDTH - 8, log[0]), Scale(*up, bottom, top, log[1])
    content: list[object] = []
    for low, high, share in behind:
        tall = share * (bottom - top)
        content.append(
            _block(x(low), bottom - tall, max(x(high) - x(low) - 0.6, 0.4), tall, "pale")
        )
    for value, text in zip(y.ticks(5), numbers(y.ticks(5)), strict=True):
        content.append(_line(left, y(value), WIDTH - 8, y(value), "grid"))
        content.append(_word(left - 5, y(value) + 4, text, kind="soft", anchor="end"))
    content += _foot(x, bottom, axis, whole=whole)
    for points, kind in lines:
        content.append(tag("path", d=_path(_clipped(points, *up), x, y), class_=f"curve {kind}"))
    for points, kind in dots:
        places = "".join(f"M{_place(x(a))} {_place(y(b))}h0" for a, b in points)
        content.append(tag("path", d=places, class_=f"dots {kind}"))
    content += _marks(marks, x, bottom)
    return _picture(bottom + 32, title, says, content)


def _path(pieces: Iterable[Sequence[Point]], x: Scale, y: Scale) -> str:
    return "".join(
        "M" + "L".join(f"{_place(x(a))} {_place(y(b))}" for a, b in piece) for piece in pieces
    )


def _clipped(points: Sequence[Point], low: float, high: float) -> Iterable[Sequence[Point]]:
    """Yield the pieces of a curve that are inside a range, up to where it leaves the range."""
    piece: list[Point] = []
    for one, two in pairwise(points):
        inside = [low <= b <= high for _, b in (one, two)]
        if not any(inside):
            continue
        start, stop = (
            p if ok else _crossing(one, two, high if p[1] > high else low)
            for p, ok in zip((one, two), inside, strict=True)
        )
        piece = piece or [start]
        piece.append(stop)
        if not inside[1]:
            yield piece
            piece = []
    if piece:
        yield piece


def _crossing(one: Point, two: Point, level: float) -> Point:
    share = (level - one[1]) / (two[1] - one[1])
    return one[0] + share * (two[0] - one[0]), level
