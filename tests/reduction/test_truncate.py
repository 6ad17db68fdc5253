from __future__ import annotations

import numpy as np
import pytest

from qcompile import quadratize
from tests import judge
from tests.by_brute_force import minimum_over_ancillas
from tests.problems import complete


@pytest.mark.slow
@pytest.mark.parametrize("degree", [3, 4, 5])
@pytest.mark.parametrize("budget", [0, 1, 3, 8, 100])
def test_truncation_keeps_its_budget_and_its_bound(degree: int, budget: int) -> None:
    for seed in range(4):
        pubo = complete(7, degree, seed)
        qubo = quadratize(pubo, max_ancillas=budget)
        assert len(qubo.ancillas) <= budget
        bits = judge.all_assignments(7)
        true = pubo.energies(bits)
        change = np.abs(qubo.energies(qubo.complete(bits)) - true).max()
        assert change <= qubo.error + 1e-9
        np.testing.assert_allclose(qubo.score(bits), true, atol=1e-9)
        if budget == 100:
            assert (qubo.error, qubo.truncated) == (0.0, None)


def test_a_truncated_cubic_is_still_reduced_exactly() -> None:
    pubo = complete(6, 3)
    qubo = quadratize(pubo, max_ancillas=3)
    assert qubo.truncated is not None
    bits = judge.all_assignments(6)
    kept = pubo.energies(bits) - qubo.truncated.energies(bits)
    np.testing.assert_allclose(minimum_over_ancillas(qubo), kept, atol=1e-9)
