from __future__ import annotations

import numpy as np
import pytest

from qcompile.stages import multisets


@pytest.mark.parametrize(("features", "degree"), [(1, 1), (1, 4), (3, 3), (5, 4), (4, 6)])
def test_inner_products_weight_multisets_by_their_orderings(features: int, degree: int) -> None:
    rng = np.random.default_rng(0)
    members = multisets.enumerate_multisets(features, degree)
    a, b = rng.normal(size=(2, len(members)))
    full = {tuple(m): (p, q) for m, p, q in zip(members.tolist(), a, b, strict=True)}
    total = 0.0
    for index in np.ndindex(*[features] * degree):
        p, q = full[tuple(sorted(index))]
        total += p * q
    assert multisets.inner(a, b, features=features, degree=degree) == pytest.approx(total)
