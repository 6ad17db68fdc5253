from __future__ import annotations

from qcompile.reduction.accounting import counting_bound


def test_the_counting_bounds_of_the_literature() -> None:
    assert [counting_bound(n, 6) for n in (8, 10, 12, 14, 16, 18)] == [14, 31, 59, 100, 157, 232]
    assert (counting_bound(100, 3), counting_bound(400, 3)) == (477, 4219)
