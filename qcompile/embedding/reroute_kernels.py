"""Compiled kernels that improve an embedding by replacing single chains.

A move that is not accepted is undone from a log of the qubits that were removed.
"""

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.chain_kernels import (
    FREE,
    Layout,
    add_qubit,
    drop_qubit,
    grow_chain,
    lacking_links,
    members_of,
    place_chains,
    trim_chain,
)
from qcompile.embedding.kernel_input import LONG_CHAIN
from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = ["improve", "relay_chain", "restore_chain"]


@jit
def _cost(size: int, power: int) -> int:
    """Return a length, its square, or (3) the length and the square of what exceeds a long one."""
    if power == 1:
        return size
    if power == 2:
        return size * size
    excess = max(0, size - LONG_CHAIN)
    return size + excess * excess


@jit
def improve(layout: Layout, moves: int, seed: int, hot: float, cold: float, power: int) -> int:
    """Anneal the embedding: remove a chain, make it again elsewhere, trim its neighbours.

    The sum of chain lengths (power 1), of their squares (2), or of lengths and the squares of what
    exceeds `LONG_CHAIN` (3) is made small. The best state is left in
    the layout; return its number of qubits. Chains must be connected and have all links.
    """
    state = generator(seed)
    qubits, variables = len(layout.owner), len(layout.head)
    buffer = np.empty(qubits, dtype=np.int32)
    old = np.empty(qubits, dtype=np.int32)
    log = np.empty(2 * qubits, dtype=np.int32)
    best_owner = layout.owner.copy()
    cost = 0
    for v in range(variables):
        cost += _cost(int(layout.size[v]), power)
    best = cost
    cooling = (cold / hot) ** (1.0 / max(1, moves))
    temperature = hot
    for _ in range(moves):
        temperature *= cooling
        v = int(uniform(state) * variables)
        if layout.size[v] == 1 and uniform(state) < 0.5:
            continue
        change, logged, count = relay_chain(layout, v, state, buffer, old, log, power)
        if change > 0 and uniform(state) >= np.exp(-change / temperature):
            restore_chain(layout, v, old, count, log, logged)
            continue
        cost += change
        if cost < best:
            best = cost
            for q in range(qubits):  # `a[:] = b` takes seconds to compile
                best_owner[q] = layout.owner[q]
    place_chains(layout, best_owner)
    used = 0
    for v in range(variables):
        used += layout.size[v]
    return used


@jit
def relay_chain(
    layout: Layout,
    v: int,
    state: NDArray[np.uint64],
    buffer: NDArray[np.int32],
    old: NDArray[np.int32],
    log: NDArray[np.int32],
    power: int,
) -> tuple[int, int, int]:
    """Make one chain again; return the change of the cost, the log's end and the old length."""
    count = members_of(layout, v, old)
    for i in range(count):
        drop_qubit(layout, int(old[i]))
    root = int(old[int(uniform(state) * count)])
    if uniform(state) < 0.5:  # start at a neighbour instead
        t = layout.starts[root]
        degree = layout.starts[root + 1] - t
        beside = int(layout.neighbours[t + int(uniform(state) * degree)]) if degree else root
        if layout.owner[beside] == FREE:
            root = beside
    add_qubit(layout, root, v)
    whole = True
    while whole and lacking_links(layout, v):
        whole = grow_chain(layout, v)
    if not whole:
        return 1 << 30, 0, count
    trim_chain(layout, v, state, buffer, log, 0)
    change = _cost(int(layout.size[v]), power) - _cost(count, power)
    logged = 0
    for t in range(layout.problem_starts[v], layout.problem_starts[v + 1]):
        u = int(layout.problem_neighbours[t])
        before = int(layout.size[u])
        logged = trim_chain(layout, u, state, buffer, log, logged)
        change += _cost(int(layout.size[u]), power) - _cost(before, power)
    return change, logged, count


@jit
def restore_chain(
    layout: Layout, v: int, old: NDArray[np.int32], count: int, log: NDArray[np.int32], logged: int
) -> None:
    """Undo `relay_chain` from its log."""
    while layout.head[v] >= 0:
        drop_qubit(layout, int(layout.head[v]))
    for i in range(logged):
        add_qubit(layout, int(log[2 * i]), int(log[2 * i + 1]))
    for i in range(count):
        add_qubit(layout, int(old[i]), v)
