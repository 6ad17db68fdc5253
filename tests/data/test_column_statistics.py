from __future__ import annotations

from itertools import pairwise

import numpy as np

from qcompile.data.column_statistics import ColumnStatistics


def test_statistics_of_columns_add_up() -> None:
    """Against numpy's own, with means far from 0, where sums of squares would cancel."""
    rng = np.random.default_rng(1)
    x = 1e6 + rng.normal(size=(500, 4))
    y = np.where(rng.random(500) < 0.3, 1.0, -1.0)
    ends = [0, 3, 3, 200, 500]
    parts = [ColumnStatistics.of(x[a:b], y[a:b]) for a, b in pairwise(ends)]
    total = parts[0] + parts[1] + (parts[2] + parts[3])
    np.testing.assert_allclose(total.mean, x.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(total.squares, x.var(axis=0) * 500, rtol=1e-8)
    np.testing.assert_allclose(total.largest, np.abs(x).max(axis=0))
    expected = (x - x.mean(axis=0)).T @ (y - y.mean())
    np.testing.assert_allclose(total.together, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(total.flipped().together, -expected, rtol=1e-6, atol=1e-6)


def test_equal_columns_are_ranked_by_position() -> None:
    """Rounding must not decide between columns that say the same."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    x[:, 4] = 3 * x[:, 1]
    x[:, 5] = 0.1  # constant: its spread is rounding
    y = np.where(x[:, 1] > 0, 1.0, -1.0)
    whole = ColumnStatistics.of(x, y)
    parts = ColumnStatistics.of(x[:100], y[:100]) + ColumnStatistics.of(x[100:], y[100:])
    for columns in (whole, parts):
        assert columns._most_correlated(1).tolist() == [1]
        assert 5 not in columns._most_correlated(5).tolist()


def test_an_empty_side_counts_for_its_width() -> None:
    nothing, some = (
        ColumnStatistics.of(np.zeros((0, 3)), np.zeros(0)),
        ColumnStatistics.of(-np.ones((2, 1)), np.ones(2)),
    )
    for total in (nothing + some, some + nothing):
        assert (total.count, total.features) == (2, 3)
        assert total.largest.tolist() == [1.0, 0.0, 0.0]


def test_largest_sizes_of_sparse_columns() -> None:
    import scipy.sparse as sp

    x = sp.csr_array(np.array([[-3.0, 0.0], [1.0, -2.0]]))
    assert ColumnStatistics.of(x, np.array([1.0, -1.0])).largest.tolist() == [3.0, 2.0]
