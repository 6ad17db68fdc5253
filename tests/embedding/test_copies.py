from __future__ import annotations

import copy
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
    Pubo,
    Qubo,
    complete_chains,
    complete_copies,
    find_copies,
    load_machine,
    quadratize,
)
from qcompile.embedding import copies_known
from qcompile.embedding.complete import complete_qubo
from qcompile.embedding.copies_known import known_shapes
from qcompile.embedding.copies_shapes import oriented, places_of, shape_of
from qcompile.embedding.copies_tracks import chains_on_tracks
from qcompile.embedding.kernel_input import KernelInput
from tests.problems import polynomial


def complete_cubic(bits: int) -> Qubo:
    """The QUBO of a polynomial with every term of up to 3 of its bits."""
    sets = [c for size in (1, 2, 3) for c in combinations(range(bits), size)]
    return quadratize(Pubo.from_dict({c: 1.0 + 0.1 * i for i, c in enumerate(sets)}))


def _judge(found: tuple[Embedding, ...], qubo: Qubo, machine: Machine) -> None:
    """Raise unless the copies are disjoint, connected and linked, by networkx alone."""
    used = [q for one in found for chain in one.chains for q in chain]
    assert len(used) == len(set(used))
    for one in found:
        assert len(one.chains) == qubo.variables
        for chain in one.chains:
            assert nx.is_connected(machine.graph.subgraph(chain))
        for a, b in zip(qubo.first.tolist(), qubo.second.tolist(), strict=True):
            ends = ((p, q) for p in one.chains[a] for q in one.chains[b])
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
    used = [q for one in found for chain in one.chains for q in chain]
    assert len(used) == len(set(used))
    for one in found:
        for chain in one.chains:
            assert nx.is_connected(machine.graph.subgraph(chain))
        for a, b in combinations(one.chains, 2):
            assert any(machine.graph.has_edge(p, q) for p in a for q in b)
    assert complete_copies(machine, 8) == found
    with pytest.raises(InputError, match="copies=400"):
        complete_copies(machine, 8, copies=400)


@pytest.mark.slow
def test_the_largest_pegasus_takes_25_copies_of_a_complete_graph_of_31_by_oceans_judge() -> None:
    machine = load_machine("advantage")
    found = complete_copies(machine, 31)
    assert len(found) >= 25
    used = [q for one in found for chain in one.chains for q in chain]
    assert len(used) == len(set(used))
    complete = nx.complete_graph(31)
    for one in found:
        assert not list(diagnose_embedding(one.to_ocean(), complete, machine.graph))


@pytest.mark.slow
def test_the_largest_zephyr_takes_130_copies_of_a_cubic_of_8_bits_by_oceans_judge() -> None:
    machine, qubo = load_machine("advantage2"), complete_cubic(8)
    found = find_copies(qubo, machine, seed=3)
    assert len(found) >= 130
    used = [q for one in found for chain in one.chains for q in chain]
    assert len(used) == len(set(used))
    wanted = nx.Graph(zip(qubo.first.tolist(), qubo.second.tolist(), strict=True))
    for one in found:
        assert not list(diagnose_embedding(one.to_ocean(), wanted, machine.graph))


def test_known_shapes_fill_whole_cells_and_are_for_one_structure_on_one_kind_of_graph() -> None:
    qubo, machine = complete_cubic(8), load_machine("zephyr15")
    shapes = known_shapes(qubo, machine)
    assert len(shapes) == 7 and all(len(shape.cells) == 8 for shape in shapes)
    assert len({shape.cells for shape in shapes}) == 7
    assert not known_shapes(complete_cubic(7), machine)
    assert not known_shapes(qubo, load_machine("pegasus4"))


def test_damaged_known_shapes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = copy.deepcopy(copies_known._table())
    (problem,) = table["problems"].values()
    problem["chains"][0][0] = [0]
    monkeypatch.setattr(copies_known, "_table", lambda: table)
    with pytest.raises(InputError):
        known_shapes(complete_cubic(8), load_machine("zephyr3"))


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
