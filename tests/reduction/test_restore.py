from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import quadratize, restore
from tests.by_brute_force import brute_force
from tests.judge import all_assignments
from tests.problems import polynomial


@settings(max_examples=25, deadline=None)
@given(
    bits=st.integers(1, 8),
    degree=st.integers(1, 6),
    share=st.floats(0.1, 1),
    seed=st.integers(0, 99),
)
def test_restoring_undoes_the_reduction(bits: int, degree: int, share: float, seed: int) -> None:
    pubo = polynomial(bits, degree, share=share, seed=seed)
    back = restore(quadratize(pubo))
    assert back.energies(all_assignments(bits)) == pytest.approx(brute_force(pubo), abs=1e-9)
    assert back.num_terms <= pubo.num_terms


def test_restoring_brings_back_what_a_budget_left_out() -> None:
    pubo = polynomial(9, 3)
    reduced = quadratize(pubo, max_ancillas=5)
    assert reduced.truncated is not None
    states = all_assignments(9)
    assert restore(reduced).energies(states) == pytest.approx(brute_force(pubo))
    assert restore(reduced).energies(states) == pytest.approx(reduced.score(states))
