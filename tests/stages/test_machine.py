from __future__ import annotations

import dwave.graphs as dg
import networkx as nx
import pytest

from qcompile import InputError, load_machine
from qcompile.stages.machine import Machine


def test_edges_are_the_couplers_by_position() -> None:
    machine = load_machine("chimera4").without([0, 5, 77], [(1, 4)])
    graph = nx.Graph(machine.nodes[machine.edges].tolist())
    expected = dg.chimera_graph(4)
    expected.remove_nodes_from([0, 5, 77])
    expected.remove_edge(1, 4)
    assert {frozenset(e) for e in graph.edges} == {frozenset(e) for e in expected.edges}
    assert (machine.edges[:, 0] < machine.edges[:, 1]).all()


def test_a_random_yield_is_seeded_and_of_the_asked_size() -> None:
    machine = load_machine("zephyr3")
    damaged = machine.with_yield(0.9, seed=5)
    assert len(damaged.nodes) == round(0.9 * len(machine.nodes))
    assert damaged.graph_id == machine.with_yield(0.9, seed=5).graph_id
    assert damaged.graph_id != machine.with_yield(0.9, seed=6).graph_id
    assert machine.with_yield(1.0).graph_id == machine.graph_id


def test_dead_parts_must_be_on_the_graph() -> None:
    with pytest.raises(InputError, match="dead qubit 9999"):
        _ = load_machine("chimera4").without([9999]).graph
    with pytest.raises(InputError, match="dead coupler 0-1 "):
        _ = load_machine("chimera4").without([], [(1, 0)]).graph
    machine = Machine("none", "chimera", (1, 1, 1))
    with pytest.raises(InputError, match="no working qubit"):
        _ = machine.without([0, 1]).graph
