"""Robust scaling against plain numpy, column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from qcompile.data.robust import robust_scaling

Floats = NDArray[np.float64]


def judged(column: Floats) -> tuple[float, float]:
    first, median, third = np.quantile(column, [0.25, 0.5, 0.75])
    if third == first or set(column.tolist()) <= {0.0, 1.0}:
        return 0.0, 1.0
    reach = 5 * (third - first) / 1.349
    clipped = np.clip(column, median - reach, median + reach)
    center = 0.0 if np.mean(column == 0) > 0.5 else float(clipped.mean())
    return center, float(clipped.std())


def mixed(rows: int, seed: int = 0) -> Floats:
    """Return columns of many kinds: far from 0, wild, mostly 0, half 0, constant, 0 and 1."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(rows, 9))
    share = rng.random((rows, 9))
    x = normal.copy()
    x[:, 0] = 1e6 + normal[:, 0]
    x[:, 1] = np.where(share[:, 1] < 0.05, 1e9 * normal[:, 1], normal[:, 1])
    x[:, 2] = np.where(share[:, 2] < 0.6, 0.0, np.abs(normal[:, 2]))
    x[:, 3] = np.where(share[:, 3] < 0.4, 0.0, 3 + normal[:, 3])
    x[:, 4] = 7.0
    x[:, 5] = share[:, 5] < 0.5
    x[:, 6] = np.where(share[:, 6] < 0.9, 0.0, normal[:, 6])
    x[:, 7] = np.where(share[:, 7] < 0.02, 0.0, 100 + normal[:, 7])  # zeros are the outliers
    return x


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 101, 2000])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_each_column_is_scaled_as_numpy_says(rows: int, kind: Callable[[Floats], Any]) -> None:
    x = mixed(rows, seed=rows)
    center, scale = robust_scaling(kind(x))
    expected = np.array([judged(x[:, j]) for j in range(x.shape[1])])
    np.testing.assert_allclose(center, expected[:, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scale, expected[:, 1], rtol=1e-7)


def test_only_the_values_of_a_column_matter() -> None:
    """Sparse and dense, in any order of the rows: the same bits."""
    x = mixed(500)
    expected = np.stack(robust_scaling(x))
    order = np.random.default_rng(1).permutation(500)
    for rows in (sp.csr_array(x), np.asfortranarray(x), x[order], sp.csr_array(x[order])):
        assert np.array_equal(np.stack(robust_scaling(rows)), expected)
    stored = sp.csr_array(x)
    stored.data[stored.data == 7.0] = 0.0  # zeros may be stored
    without = x.copy()
    without[:, 4] = 0.0
    assert np.array_equal(np.stack(robust_scaling(stored)), np.stack(robust_scaling(without)))


def test_outliers_hardly_move_it() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2000, 3))
    spoilt = x.copy()
    spoilt[rng.choice(2000, 100, replace=False)] *= 1e6
    center, scale = robust_scaling(spoilt)
    assert np.abs(center).max() < 0.1 and np.all((scale > 0.9) & (scale < 1.6))


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_say_nothing(rows: int) -> None:
    center, scale = robust_scaling(np.full((rows, 2), 3.0))
    assert center.tolist() == [0.0, 0.0] and scale.tolist() == [1.0, 1.0]


def test_wide_sparse_rows_take_little_memory() -> None:
    """Columns whose quartiles must be 0 are not looked at."""
    x = sp.random_array((50, 2_000_000), density=1e-6, format="csr", rng=np.random.default_rng(3))
    center, scale = robust_scaling(x)
    assert not center.any() and np.all(scale == 1)
