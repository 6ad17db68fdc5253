from __future__ import annotations

import numpy as np
import pytest

from qcompile import compile
from qcompile.objective.weight_space import weight_cubic


@pytest.mark.parametrize("bits", [2, 3, 4])
@pytest.mark.parametrize("shrink", [False, True])
def test_weight_space_is_the_polynomial(bits: int, shrink: bool) -> None:
    pubo = compile(
        "mease-wyner", scale="none", bias=False, bits=bits, features=5, prune=shrink
    ).pubo
    cubic = weight_cubic(pubo)
    assert cubic is not None and pubo.encoding is not None
    states = np.random.default_rng(0).integers(0, 2, (200, pubo.variables))
    assert cubic.energies(pubo.encoding.decode(states)) == pytest.approx(pubo.energies(states))
    assert np.allclose(cubic.third, cubic.third.transpose(1, 0, 2))
    assert np.allclose(cubic.third, cubic.third.transpose(0, 2, 1))
