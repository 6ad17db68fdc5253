from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from dwave.embedding import diagnose_embedding

from qcompile import (
    Embedding,
    InputError,
    Machine,
    Qubo,
    complete_chains,
    complete_copies,
    find_copies,
    load_machine,
    quadratize,
)
from qcompile.embedding.complete import complete_qubo
from qcompile.embedding.copies_shapes import oriented, places_of, shape_of
from qcompile.embedding.copies_tracks import chains_on_tracks
from qcompile.embedding.kernel_input import KernelInput
from tests.problems import polynomial


def _judge(found: tuple[Embedding, ...], qubo: Qubo, machine: Machine) -> None:
    """Raise unless the copies are disjoint, connected and linked, by networkx alone."""
    used = [q for copy in found for chain in copy.chains for q in chain]
    assert len(used) == len(set(used))
    for copy in found:
        assert len(copy.chains) == qubo.variables
        for chain in copy.chains:
            assert nx.is_connected(machine.graph.subgraph(chain))
        for a, b in zip(qubo.first.tolist(), qubo.second.tolist(), strict=True):
            ends = ((p, q) for p in copy.chains[a] for q in copy.chains[b])
            assert any(machine.graph.has_edge(p, q) for p, q in ends)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("chimera4", 4), ("pegasus4", 6), ("zephyr3", 12)])
def test_copies_are_disjoint_and_whole_also_on_a_damaged_machine(name: str, least: int) -> None:
    qubo = quadratize(polynomial(5, 3))
    whole = load_machine(name)
    couplers = whole.nodes[whole.edges[::40]].tolist()
    damaged = whole.without(whole.nodes[::30].tolist(), [(a, b) for a, b in couplers])
    for machine, expected in ((whole, least), (damaged, 2)):
        found = find_copies(qubo, machine)
        _judge(found, qubo, machine)
        assert len(found) >= expected
        assert find_copies(qubo, machine) == found


def test_a_number_of_copies_is_kept_and_too_many_are_refused() -> None:
    machine = load_machine("chimera4")
    qubo = quadratize(polynomial(3, 2))
    found = find_copies(qubo, machine, copies=5)
    assert len(found) == 5
    _judge(found, qubo, machine)
    with pytest.raises(InputError, match=r"copies=99: \d+ copies of this problem were found"):
        find_copies(qubo, machine, copies=99)
    wrongs: tuple[Any, ...] = (0, -1, True, "many")
    for wrong in wrongs:
        with pytest.raises(InputError, match="expected a number of 1 or more"):
            find_copies(qubo, machine, copies=wrong)


def test_the_best_so_far_is_returned_when_time_is_up() -> None:
    machine = load_machine("chimera4")
    qubo = quadratize(polynomial(4, 2))
    found = find_copies(qubo, machine, time_limit=0.05)
    _judge(found, qubo, machine)
    assert found


def test_copies_of_complete_graphs_are_whole_and_the_same_every_time() -> None:
    machine = load_machine("pegasus4").without([20, 47])
    found = complete_copies(machine, 8)
    assert len(found) >= 4
    used = [q for copy in found for chain in copy.chains for q in chain]
    assert len(used) == len(set(used))
    for copy in found:
        for chain in copy.chains:
            assert nx.is_connected(machine.graph.subgraph(chain))
        for a, b in combinations(copy.chains, 2):
            assert any(machine.graph.has_edge(p, q) for p in a for q in b)
    assert complete_copies(machine, 8) == found
    with pytest.raises(InputError, match="copies=400"):
        complete_copies(machine, 8, copies=400)


@pytest.mark.slow
def test_the_largest_pegasus_takes_25_copies_of_a_complete_graph_of_31_by_oceans_judge() -> None:
    machine = load_machine("advantage")
    found = complete_copies(machine, 31)
    assert len(found) >= 25
    used = [q for copy in found for chain in copy.chains for q in chain]
    assert len(used) == len(set(used))
    complete = nx.complete_graph(31)
    for copy in found:
        assert not list(diagnose_embedding(copy.to_ocean(), complete, machine.graph))


def test_a_shape_on_pegasus_stays_whole_when_it_is_reflected() -> None:
    machine, qubo = load_machine("pegasus4"), complete_qubo(6)
    inputs, places = KernelInput(qubo, machine), places_of(machine)
    chains = complete_chains(machine, 6).chains
    owner = np.full(inputs.qubits, -1, dtype=np.int32)
    for variable, chain in enumerate(chains):
        owner[np.searchsorted(machine.nodes, chain)] = variable
    for way in oriented(shape_of(owner, inputs, places), places):
        corner = np.zeros((1, 2), dtype=np.int32)
        (laid,) = chains_on_tracks([way], corner, places)
        assert laid is not None
        for a, b in combinations([machine.nodes[chain].tolist() for chain in laid], 2):
            assert any(machine.graph.has_edge(p, q) for p in a for q in b)
