from __future__ import annotations

import dimod
import pytest
from dwave.preprocessing import SpinReversalTransformComposite
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system import EmbeddingComposite
from dwave.system.testing import MockDWaveSampler

from qcompile import (
    SOLVERS,
    InputError,
    compile,
    complete_chains,
    embed,
    load_machine,
    quadratize,
    solve,
    with_chains,
)
from qcompile.files.machines import machine_from_sampler, machine_sampler
from tests.by_brute_force import brute_force
from tests.problems import polynomial


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


@pytest.mark.parametrize("solver", ["path-integral", "rotor"])
def test_simulated_quantum_annealing_repeats_and_takes_parameters(solver: str) -> None:
    pubo = polynomial(8, 2)
    qubo = quadratize(pubo)
    best = brute_force(pubo).min()
    # the samplers themselves refuse seeds from 2^31, and one of them takes 0 for no seed
    for seed in (0, 2**32 - 1):
        found, again = (solve(qubo, solver=solver, reads=20, seed=seed) for _ in range(2))
        assert found.energies[0] == pytest.approx(best)
        assert found.bits.tobytes() == again.bits.tobytes()
        assert found.occurrences.tobytes() == again.occurrences.tobytes()
    assert solve(pubo, solver=solver, reads=20).energies[0] == pytest.approx(best)
    # one sweep at no field and a high temperature is nearly a random draw
    hot = {"beta_schedule_type": "custom", "Hp_field": [1e-6], "Hd_field": [0.0]}
    drawn = solve(qubo, solver=solver, reads=200, keep=200, parameters=hot)
    short = solve(qubo, solver=solver, reads=200, keep=200, sweeps=300)
    assert len(drawn) > 100 > len(short)
    paired = {"num_sweeps": 50, "num_sweeps_per_beta": 2}
    assert solve(qubo, solver=solver, reads=5, parameters=paired).info["solver"] == solver


def test_sweeps_reach_the_mock_and_samplers_that_take_them() -> None:
    pubo = polynomial(8, 2)
    embedded = with_chains(quadratize(pubo), complete_chains(load_machine("chimera4"), 8))
    for solver in ("mock", SimulatedAnnealingSampler()):
        short, long = (
            solve(embedded, solver=solver, reads=50, sweeps=sweeps).energies.mean()
            for sweeps in (1, 500)
        )
        assert long < short


def test_composites_around_a_machine_get_the_embedded_problem() -> None:
    pubo = polynomial(5, 3)
    best = brute_force(pubo).min()
    machine = MockDWaveSampler(topology_type="zephyr", topology_shape=[2, 4])
    around = SpinReversalTransformComposite(machine)
    for sampler in (around, dimod.TruncateComposite(around, 50), EmbeddingComposite(machine)):
        assert solve(pubo, solver=sampler, reads=30).energies[0] == pytest.approx(best)


def test_a_composite_that_embeds_has_no_machine_to_see() -> None:
    machine = MockDWaveSampler(topology_type="chimera", topology_shape=[2, 2, 4])
    assert machine_sampler(SpinReversalTransformComposite(machine)) is machine
    assert machine_sampler(EmbeddingComposite(machine)) is None
    assert machine_sampler(SpinReversalTransformComposite(EmbeddingComposite(machine))) is None
    assert machine_sampler(dimod.ExactSolver()) is None
    assert machine_from_sampler(SpinReversalTransformComposite(machine)).topology == "chimera"
