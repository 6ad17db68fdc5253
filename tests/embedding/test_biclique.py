from __future__ import annotations

import itertools

import pytest

from qcompile import find_embedding, load_machine
from qcompile.embedding.biclique import lines_of, roles_of
from tests.by_brute_force import ocean_agrees
from tests.problems import SMALL, cubic


@pytest.mark.parametrize(("name", "bits"), [("advantage", 35), ("zephyr15", 44), ("2000q", 20)])
def test_strips_go_beyond_the_largest_biclique(name: str, bits: int) -> None:
    machine, qubo = load_machine(name), cubic(bits)
    found = find_embedding(qubo, machine, method="biclique", effort=0)
    ocean_agrees(found, qubo, machine)


def test_lines_cross_where_the_graph_says() -> None:
    for name in SMALL:
        machine = load_machine(name).without([9])
        lines = lines_of(machine)
        positions = sorted(q for q in lines.qubit.reshape(-1).tolist() if q >= 0)
        assert positions == list(range(len(machine.nodes)))
        edges = {frozenset(e) for e in machine.edges.tolist()}
        for line, other in itertools.product(range(lines.count), repeat=2):
            along, across = lines.crossing[0][line, other], lines.crossing[1][other, line]
            if along >= 0:
                pair = lines.qubit[0, line, along], lines.qubit[1, other, across]
                assert frozenset(map(int, pair)) in edges
        # neighbours on a line are coupled
        for row in lines.qubit.reshape(-1, lines.qubit.shape[2]):
            for a, b in itertools.pairwise(row.tolist()):
                assert a < 0 or b < 0 or frozenset((a, b)) in edges


def test_roles_are_the_two_halves_of_a_cubic() -> None:
    qubo = cubic(10)
    roles = roles_of(qubo)
    assert sorted(roles.spread) == list(range(10))
    assert sorted(roles.crossing) == list(range(10, qubo.variables))
    meets = set(zip(qubo.first.tolist(), qubo.second.tolist(), strict=True))
    crossing = sorted(roles.crossing)
    assert not any((a, b) in meets for a in crossing for b in crossing)
