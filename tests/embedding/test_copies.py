from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx as nx
import pytest

from qcompile import (
    Embedding,
    InputError,
    Machine,
    Qubo,
    complete_copies,
    find_copies,
    load_machine,
    quadratize,
)
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
