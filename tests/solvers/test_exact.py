from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Pubo, solve
from qcompile.solvers.exact import enumerate_lowest
from tests.by_brute_force import brute_force
from tests.problems import polynomial


@settings(max_examples=30, deadline=None)
@given(
    bits=st.integers(0, 11),
    degree=st.integers(1, 5),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
    keep=st.integers(1, 40),
)
def test_enumeration_finds_the_lowest_of_all(
    bits: int, degree: int, share: float, seed: int, keep: int
) -> None:
    pubo = polynomial(bits, degree, share=share, seed=seed)
    expected = np.sort(brute_force(pubo))[:keep]
    found = solve(pubo, solver="exact", keep=keep)
    assert found.energies == pytest.approx(expected)
    assert len(np.unique(found.bits, axis=0)) == len(found)


def test_enumeration_goes_beyond_one_block() -> None:
    pubo = polynomial(17, 3, seed=4)  # high bits follow a Gray code
    found = enumerate_lowest(pubo, 20)
    assert pubo.energies(found) == pytest.approx(np.sort(brute_force(pubo))[:20])


def test_enumeration_refuses_what_would_take_for_ever() -> None:
    with pytest.raises(InputError, match=r'40 bits .* solver="anneal"'):
        solve(Pubo.from_dict({(39,): 1.0}), solver="exact")
