"""Compiled kernels that improve an embedding by laying single chains anew."""

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.chain_kernels import (
    FREE,
    Board,
    add_qubit,
    drop_qubit,
    grow_chain,
    lacking_links,
    lay_chain,
    members_of,
    trim_chain,
)
from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = ["improve"]


@jit
def _cost(size: int, power: int) -> int:
    return size if power == 1 else size * size


@jit
def improve(board: Board, moves: int, seed: int, hot: float, cold: float, power: int) -> int:
    """Anneal the embedding: take up a chain, lay it anew elsewhere, trim what became needless.

    The sum of chain lengths, to the given power (1 or 2), is made small; the best state seen is
    left on the board. Gives its number of qubits. Chains must be whole and all links there.
    """
    state = generator(seed)
    qubits, variables = len(board.owner), len(board.head)
    buffer = np.empty(qubits, dtype=np.int32)
    old = np.empty(qubits, dtype=np.int32)
    log = np.empty(2 * qubits, dtype=np.int32)
    best_owner = board.owner.copy()
    cost = 0
    for v in range(variables):
        cost += _cost(board.size[v], power)
    best = cost
    cooling = (cold / hot) ** (1.0 / max(1, moves))
    temperature = hot
    for _ in range(moves):
        temperature *= cooling
        v = int(uniform(state) * variables)
        if board.size[v] == 1 and uniform(state) < 0.5:
            continue
        change, logged, count = _relay(board, v, state, buffer, old, log, power)
        if change > 0 and uniform(state) >= np.exp(-change / temperature):
            _restore(board, v, old, count, log, logged)
            continue
        cost += change
        if cost < best:
            best = cost
            best_owner[:] = board.owner
    lay_chain(board, best_owner)
    used = 0
    for v in range(variables):
        used += board.size[v]
    return used


@jit
def _relay(
    board: Board,
    v: int,
    state: NDArray[np.uint64],
    buffer: NDArray[np.int32],
    old: NDArray[np.int32],
    log: NDArray[np.int32],
    power: int,
) -> tuple[int, int, int]:
    """Lay one chain anew; gives the change of the cost, the log's end and the old length."""
    count = members_of(board, v, old)
    for i in range(count):
        drop_qubit(board, old[i])
    root = old[int(uniform(state) * count)]
    if uniform(state) < 0.5:  # start a step aside
        t = board.starts[root]
        degree = board.starts[root + 1] - t
        beside = board.neighbours[t + int(uniform(state) * degree)] if degree else root
        if board.owner[beside] == FREE:
            root = beside
    add_qubit(board, root, v)
    whole = True
    while whole and lacking_links(board, v):
        whole = grow_chain(board, v)
    if not whole:
        return 1 << 30, 0, count
    trim_chain(board, v, state, buffer, log, 0)
    change = _cost(board.size[v], power) - _cost(count, power)
    logged = 0
    for t in range(board.problem_starts[v], board.problem_starts[v + 1]):
        u = board.problem_neighbours[t]
        before = board.size[u]
        logged = trim_chain(board, u, state, buffer, log, logged)
        change += _cost(board.size[u], power) - _cost(before, power)
    return change, logged, count


@jit
def _restore(
    board: Board, v: int, old: NDArray[np.int32], count: int, log: NDArray[np.int32], logged: int
) -> None:
    while board.head[v] >= 0:
        drop_qubit(board, board.head[v])
    for i in range(logged):
        add_qubit(board, log[2 * i], log[2 * i + 1])
    for i in range(count):
        add_qubit(board, old[i], v)
