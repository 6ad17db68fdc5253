from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from qcompile import (
    Embedding,
    InputError,
    Machine,
    Qubo,
    check_embedding,
    find_embedding,
    load_machine,
)
from qcompile.embedding.biclique import layouts, lines_of, roles_of
from qcompile.embedding.chain_kernels import layout_of, settle, trim_all
from qcompile.embedding.kernel_input import _rows
from qcompile.embedding.reroute_kernels import improve
from tests.problems import cubic


def layouts_for(bits: int, name: str) -> Iterator[tuple[Qubo, Machine, np.ndarray]]:
    machine, qubo = load_machine(name), cubic(bits)
    roles = roles_of(qubo)
    for owner in itertools.chain(*layouts(lines_of(machine), roles, len(machine.nodes))):
        yield qubo, machine, owner


def test_kernels_keep_their_books() -> None:
    qubo, machine, owner = next(layouts_for(7, "pegasus4"))
    graph = _rows(len(machine.nodes), *machine.edges.T)
    layout = layout_of(graph, _rows(qubo.variables, qubo.first, qubo.second), owner)
    assert settle(layout, np.arange(qubo.variables, dtype=np.int32), 3, 1) == 0
    before = int(layout.size.sum())
    trim_all(layout, 1)
    trimmed = int(layout.size.sum())
    used = improve(layout, 2000, 3, 0.5, 0.1, 1)
    assert used <= trimmed <= before
    assert used == int(layout.size.sum()) == np.count_nonzero(layout.owner >= 0)
    links = np.zeros_like(layout.links)
    for a, b in machine.edges.tolist():
        u, v = layout.owner[a], layout.owner[b]
        if u >= 0 and v >= 0 and u != v:
            links[u, v] += 1
            links[v, u] += 1
    assert (links == layout.links).all()
    for v in range(qubo.variables):
        chain, q = [], int(layout.head[v])
        while q >= 0:
            chain.append(q)
            q = int(layout.following[q])
        assert sorted(chain) == np.flatnonzero(layout.owner == v).tolist()


def test_the_best_state_on_the_way_is_what_is_left() -> None:
    qubo, machine, owner = next(layouts_for(7, "pegasus4"))
    graph = _rows(len(machine.nodes), *machine.edges.T)
    layout = layout_of(graph, _rows(qubo.variables, qubo.first, qubo.second), owner)
    settle(layout, np.arange(qubo.variables, dtype=np.int32), 3, 1)
    trim_all(layout, 1)
    before = int(layout.size.sum())
    # so hot that it wanders off: it must come back
    assert improve(layout, 2000, 1, 50.0, 50.0, 1) <= before
    assert int(layout.size.sum()) <= before


@pytest.mark.slow
def test_nothing_is_left_to_trim() -> None:
    machine, qubo = load_machine("zephyr3"), cubic(8)
    found = find_embedding(qubo, machine)
    for variable, chain in enumerate(found.chains):
        for qubit in chain:
            if len(chain) == 1:
                continue
            shorter = tuple(q for q in chain if q != qubit)
            chains = (*found.chains[:variable], shorter, *found.chains[variable + 1 :])
            with pytest.raises(InputError, match=r"pieces|no working coupler"):
                check_embedding(Embedding(chains, machine, found.problem, "by hand"), qubo, machine)
