from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qcompile.data.prepare import from_arrays
from qcompile.moments.accumulate import tensor_keys
from qcompile.moments.products import Rows, count_subsets, dense_route, sparse_route, spread_subsets
from qcompile.stages.arrays import row_norms


@pytest.mark.parametrize("order", range(1, 9))
def test_all_routes_give_the_same_sums(order: int) -> None:
    rng = np.random.default_rng(order)
    x = (rng.random((60, 7)) < 0.5).astype(float)
    x[:, 0] = 1  # no zero rows
    data = from_arrays(sp.csr_array(x), np.tile([1, -1], 30))
    rows = Rows(data.x, data.y, row_norms(data.x))
    keys = tensor_keys(order, fit=True)
    dense_sums, sparse = (dict(route(rows, keys)) for route in (dense_route, sparse_route))
    counted = spread_subsets(dict(count_subsets(rows, keys)), 7, keys)
    for key in keys:
        np.testing.assert_allclose(dense_sums[key], sparse[key], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(counted[key], sparse[key], rtol=1e-10, atol=1e-10)
