from __future__ import annotations

from itertools import combinations
from math import comb

import pytest

from qcompile import Pubo, estimate, to_nonlinear
from qcompile.files.hybrid import hybrid_limits
from qcompile.stages.hybrid import nonlinear_size


def test_a_complete_cubic_ends_near_1060_bits_by_its_biases() -> None:
    limits = hybrid_limits()
    assert (limits.bqm_variables, limits.bqm_biases) == (10**6, 2 * 10**8)
    assert limits.nl_nodes == 2 * 10**6 and limits.source and limits.date
    for bits in (1061, 1062):
        half = bits // 2
        ancillas = comb(half, 2) + comb(bits - half, 2)  # pairs inside two halves
        pairs = comb(bits, 2) + comb(bits, 3) + 2 * ancillas
        found = estimate(3, bits, 1)
        assert (found.ancillas, found.qubo_pairs) == (ancillas, pairs)
        words = limits.exceeded_by_bqm(bits + ancillas, pairs)
        assert bool(words) == (bits + ancillas + pairs > 2 * 10**8) == (bits == 1062)
    assert "1000001 variables" in limits.exceeded_by_bqm(10**6 + 1, 0)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_size_of_a_nonlinear_model_is_that_of_the_library(degree: int) -> None:
    rows = [c for d in range(1, degree + 1) for c in combinations(range(7), d)]
    # equal constants would share a node
    terms = {row: 1.0 + number for number, row in enumerate(rows)}
    pubo = Pubo.from_dict(terms)
    model = to_nonlinear(pubo).model
    assert nonlinear_size(7, pubo.terms) == (model.num_nodes(), model.state_size())
