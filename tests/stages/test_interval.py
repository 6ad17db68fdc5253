"""Exact intervals of errors agree with scipy's own test, and cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from qcompile.errors import InputError
from qcompile.stages.interval import ErrorInterval, exact_interval, with_interval


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("rows", [1, 2, 7, 114, 5000])
def test_the_interval_is_that_of_the_exact_binomial_test(rows: int, level: float) -> None:
    for wrong in sorted({0, 1, rows // 3, rows - 1, rows}):
        judge = binomtest(wrong, rows).proportion_ci(level, method="exact")
        assert exact_interval(wrong, rows, level=level) == pytest.approx(tuple(judge), rel=1e-6)


def test_the_interval_holds_the_true_share_at_least_so_often() -> None:
    rows = 40
    ends = np.array([exact_interval(wrong, rows) for wrong in range(rows + 1)])
    for share in np.linspace(0.01, 0.99, 37):
        inside = (ends[:, 0] <= share) & (share <= ends[:, 1])
        assert binom.pmf(np.arange(rows + 1), rows, share)[inside].sum() >= 0.95


@pytest.mark.parametrize(("wrong", "rows"), [(-1, 5), (6, 5), (0, 0)])
def test_counts_that_cannot_be_are_refused(wrong: int, rows: int) -> None:
    with pytest.raises(InputError, match="expected 0 to all"):
        exact_interval(wrong, rows)
    with pytest.raises(InputError, match="between 0 and 1"):
        exact_interval(1, 5, level=1.0)


def test_a_share_gives_back_its_count_of_wrong_rows() -> None:
    assert ErrorInterval.of(7 / 49, 49) == ErrorInterval(49, *exact_interval(7, 49))
    assert with_interval(0.0, 10).startswith("0.0000 of 10 rows, 95% interval 0.0000 to 0.3085")
