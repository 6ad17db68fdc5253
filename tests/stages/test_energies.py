from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile.stages import energies
from qcompile.stages.energy_kernel import add_energies as add_compiled


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 3), st.integers(0, 60), st.sampled_from([1, 2, 3, 64]), st.integers(0, 2**32 - 1)
)
def test_arrays_and_the_kernel_give_the_same_bits(
    degree: int, terms: int, lanes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(9, lanes)) * (rng.random((9, lanes)) < 0.7)
    indices = rng.integers(0, 9, (terms, degree)).astype(np.int32)
    values = rng.normal(size=terms) * 10.0 ** rng.integers(-12, 13, terms)
    start = rng.normal(size=lanes)
    ours, theirs = start.copy(), start.copy()
    energies.add_energies(columns, indices, values, ours)
    add_compiled(columns, indices, values, theirs)
    assert ours.tobytes() == theirs.tobytes()


def test_many_products_are_left_to_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energies, "_FEW_PRODUCTS", 0)
    total = np.ones(1)
    energies.add_energies(np.array([[2.0]]), np.zeros((1, 1), np.int32), np.array([3.0]), total)
    assert total.tolist() == [7.0]
