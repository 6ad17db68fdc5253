from __future__ import annotations

import dimod
import numpy as np

from qcompile import quadratize
from qcompile.stages.qubo import to_ising
from tests.problems import complete


def test_the_bqm_is_what_the_arrays_say() -> None:
    qubo = quadratize(complete(7, 3))
    bqm = qubo.to_bqm()
    assert bqm.vartype is dimod.BINARY
    assert list(bqm.variables) == list(range(qubo.variables))
    assert bqm.num_interactions == len(qubo.first)
    states = np.random.default_rng(0).integers(0, 2, (20, qubo.variables))
    np.testing.assert_allclose(
        bqm.energies((states, list(range(qubo.variables)))), qubo.energies(states)
    )
    h, j, _ = bqm.to_ising()
    ours_h, ours_j = to_ising(qubo)
    np.testing.assert_allclose(ours_h, [h[i] for i in range(qubo.variables)], atol=1e-12)
    pairs = zip(qubo.first.tolist(), qubo.second.tolist(), strict=True)
    found = [j.get((a, b), j.get((b, a))) for a, b in pairs]
    np.testing.assert_allclose(ours_j, found, atol=1e-12)


def test_coming_back_drops_ancillas_and_counts_wrong_ones() -> None:
    qubo = quadratize(complete(5, 3))
    full = qubo.complete([[1, 1, 1, 0, 1]])
    full[0, qubo.logical] ^= 1
    bits, wrong = qubo.restrict(full)
    assert bits.tolist() == [[1, 1, 1, 0, 1]]
    assert wrong.tolist() == [1]
