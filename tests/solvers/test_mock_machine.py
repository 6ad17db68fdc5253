from __future__ import annotations

from typing import Any

import dimod
import numpy as np
import pytest
from dwave import samplers

from qcompile import (
    InputError,
    MockMachine,
    Pubo,
    complete_chains,
    load_machine,
    machine_from_sampler,
    quadratize,
    solve,
    with_chains,
)
from tests.by_brute_force import brute_force
from tests.problems import polynomial


def _seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """Record what the simulated annealer is given."""
    calls: list[tuple[Any, dict[str, Any]]] = []
    annealer = samplers.SimulatedAnnealingSampler

    class Recorder(annealer):  # type: ignore[misc, valid-type]
        def sample(self, bqm: Any, **options: Any) -> Any:
            calls.append((bqm, options))
            return super().sample(bqm, **options)

    monkeypatch.setattr(samplers, "SimulatedAnnealingSampler", Recorder)
    return calls


def test_it_finds_the_optimum_of_small_problems_and_repeats() -> None:
    pubo = polynomial(8, 2)
    mock = MockMachine("pegasus4", errors=0.01, beta=20.0)
    assert machine_from_sampler(mock) is mock.machine
    embedded = with_chains(quadratize(pubo), complete_chains(mock.machine, 8))
    found, again = (solve(embedded, solver=mock, reads=50, seed=3) for _ in range(2))
    assert found.energies[0] == pytest.approx(brute_force(pubo).min())
    assert found.energies == pytest.approx(pubo.energies(found.bits))
    assert found.bits.tobytes() == again.bits.tobytes()
    assert found.info["solver"] == "MockMachine" and found.info["scale_factor"] > 0
    # a QUBO is embedded on the sampler's machine first
    alone = solve(Pubo.from_dict({(0, 1): -1.0}), solver=mock, reads=5)
    assert alone.energies[0] == -1.0


@pytest.mark.parametrize("name", ["pegasus4", "zephyr3"])
def test_errors_are_a_share_of_the_ranges(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine(name)
    calls = _seen(monkeypatch)
    rng = np.random.default_rng(0)
    h = {q: 7.0 * rng.uniform(-1, 1) for q in machine.nodes.tolist()}
    j = {edge: rng.uniform(-1, 1) for edge in MockMachine(machine).edgelist}
    for seed, errors in ((0, 0.0), (0, 0.05), (1, 0.05)):
        mock = MockMachine(machine, errors=errors, beta=2.0, seed=seed)
        answer = mock.sample_ising(h, j, num_reads=2, num_sweeps=3)
        truth = dimod.BinaryQuadraticModel.from_ising(h, j)
        assert answer.record.energy == pytest.approx(truth.energies(answer))
    (exact, options), (noisy, _), (other, _) = calls
    assert options["beta_range"][1] == 2.0 and options["num_sweeps"] == 3
    fields, (_, _, couplings), _ = exact.to_numpy_vectors(sort_indices=True)
    assert np.abs(fields).max() <= 4.0 + 1e-12 and np.abs(couplings).max() <= 2.0 + 1e-12
    moved, (_, _, shifted), _ = noisy.to_numpy_vectors(sort_indices=True)
    assert (moved - fields).std() == pytest.approx(0.05 * 4.0, rel=0.15)
    assert (shifted - couplings).std() == pytest.approx(0.05 * 1.0, rel=0.1)
    assert (other.to_numpy_vectors(sort_indices=True)[0] != moved).all()


def test_each_problem_gets_errors_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _seen(monkeypatch)
    mock = MockMachine("chimera4", errors=0.1)
    for value in (1.0, 1.0, 0.5):
        mock.sample_ising({0: 0.0, 4: 1.0}, {(0, 4): value})
    one, same, other = (bqm.linear[0] for bqm, _ in calls)
    assert one == same != other


def test_what_is_not_on_the_graph_or_out_of_range_is_refused() -> None:
    mock = MockMachine(load_machine("chimera4").without([3]))
    assert 3 not in mock.nodelist and 3 not in mock.adjacency
    with pytest.raises(dimod.exceptions.BinaryQuadraticModelStructureError):
        mock.sample_ising({3: 1.0}, {})
    for options in ({"errors": -0.1}, {"beta": 0.0}, {"seed": -1}, {"errors": float("nan")}):
        with pytest.raises(InputError, match="expected"):
            MockMachine("chimera4", **options)
    with pytest.raises(InputError, match="not found"):
        MockMachine("no-such-machine")
