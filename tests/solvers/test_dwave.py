from __future__ import annotations

import dimod
import pytest
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system.testing import MockDWaveSampler

from qcompile import SOLVERS, InputError, compile, embed, load_machine, solve
from tests.by_brute_force import brute_force


@pytest.mark.slow
def test_samplers_of_others_may_be_given() -> None:
    compiled = compile("breast-cancer", bits=1, features=4, scale="standard", bias=False)
    best = brute_force(compiled.pubo).min()
    machine = MockDWaveSampler(topology_type="zephyr", topology_shape=[2, 4])
    for sampler in (dimod.ExactSolver(), SimulatedAnnealingSampler(), machine):
        found = solve(compiled.pubo, solver=sampler, reads=30)
        assert found.energies[0] == pytest.approx(best)
        assert found.info["solver"] == type(sampler).__name__
    with pytest.raises(InputError, match="not a dimod sampler"):
        solve(compiled.pubo, solver=3)


def test_embedded_problems_are_solved_on_their_chains() -> None:
    compiled = compile("breast-cancer", bits=1, features=4, scale="standard", bias=False)
    embedded = embed(
        compiled.quadratize(), load_machine("chimera4").without([3]), method="biclique"
    )
    for solver in SOLVERS:
        found = solve(embedded, solver=solver, reads=50)
        assert found.energies[0] == pytest.approx(brute_force(compiled.pubo).min())
