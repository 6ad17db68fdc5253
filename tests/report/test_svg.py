from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from qcompile.report.svg import Bar, Scale, _clipped, _short, bars, histogram
from qcompile.report.words import number
from tests.report.reading import NEAR, Chart


@pytest.mark.parametrize("log", [False, True])
def test_ticks_are_round_and_inside(log: bool) -> None:
    for low, high in [(0.001, 0.0123), (1, 7), (3, 3e6), (0.2, 0.21)]:
        ticks = Scale(low, high, 0, 100, log).ticks()
        assert 2 <= len(ticks) <= 11 and ticks == sorted(ticks)
        assert all(low * (1 - 1e-9) <= t <= high * (1 + 1e-9) for t in ticks)
        assert all(len(number(t)) <= 9 for t in ticks)


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
