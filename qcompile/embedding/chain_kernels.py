"""Compiled kernels that place, connect and trim chains of qubits.

A `Layout` is a machine's graph with chains on it. Kernels change it in place. Qubits and variables
that are read from its arrays become `int` before they are handed on: a kernel is compiled once more
for every other type of its arguments.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = [
    "FREE",
    "Layout",
    "add_qubit",
    "drop_qubit",
    "grow_chain",
    "lacking_links",
    "layout_of",
    "members_of",
    "place_chains",
    "settle",
    "trim_all",
    "trim_chain",
]


FREE, _NOBODY = -1, -1


class Layout(NamedTuple):
    """A graph of qubits and the chain of each variable of the problem.

    Both graphs are in compressed rows. `links[u, v]` counts couplers between two chains;
    `wanted[u, v]` says whether the problem needs one. Chains are linked lists of qubits: `head` is
    the first of each chain, `following` and `previous` are the neighbours in the list. `mark`,
    `queue` and `parent` are scratch memory of the searches.
    """

    starts: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    problem_starts: NDArray[np.int32]
    problem_neighbours: NDArray[np.int32]
    wanted: NDArray[np.bool_]
    links: NDArray[np.int16]
    owner: NDArray[np.int32]
    head: NDArray[np.int32]
    following: NDArray[np.int32]
    previous: NDArray[np.int32]
    size: NDArray[np.int32]
    mark: NDArray[np.int32]
    queue: NDArray[np.int32]
    parent: NDArray[np.int32]


def layout_of(
    graph: tuple[NDArray[np.int32], NDArray[np.int32]],
    problem: tuple[NDArray[np.int32], NDArray[np.int32]],
    owner: NDArray[np.int32],
) -> Layout:
    """Return a layout with the chains that the owner of each qubit (-1: free) describes."""
    qubits, variables = len(graph[0]) - 1, len(problem[0]) - 1
    wanted = np.zeros((variables, variables), dtype=np.bool_)
    rows = np.repeat(np.arange(variables), np.diff(problem[0]))
    wanted[rows, problem[1]] = True
    layout = Layout(
        starts=graph[0],
        neighbours=graph[1],
        problem_starts=problem[0],
        problem_neighbours=problem[1],
        wanted=wanted,
        links=np.zeros((variables, variables), dtype=np.int16),
        owner=np.full(qubits, FREE, dtype=np.int32),
        head=np.full(variables, _NOBODY, dtype=np.int32),
        following=np.full(qubits, _NOBODY, dtype=np.int32),
        previous=np.full(qubits, _NOBODY, dtype=np.int32),
        size=np.zeros(variables, dtype=np.int32),
        mark=np.zeros(qubits + 1, dtype=np.int32),
        queue=np.zeros(qubits + 1, dtype=np.int32),
        parent=np.zeros(qubits, dtype=np.int32),
    )
    place_chains(layout, owner)
    return layout


@jit
def place_chains(layout: Layout, owner: NDArray[np.int32]) -> None:
    """Replace all chains."""
    for q in range(len(owner)):
        if layout.owner[q] >= 0:
            drop_qubit(layout, q)
    for q in range(len(owner)):
        if owner[q] >= 0:
            add_qubit(layout, q, int(owner[q]))


@jit
def add_qubit(layout: Layout, q: int, v: int) -> None:
    """Add a free qubit to the chain of a variable."""
    layout.owner[q] = v
    first = layout.head[v]
    layout.following[q] = first
    layout.previous[q] = _NOBODY
    if first >= 0:
        layout.previous[first] = q
    layout.head[v] = q
    layout.size[v] += 1
    for t in range(layout.starts[q], layout.starts[q + 1]):
        u = layout.owner[layout.neighbours[t]]
        if u >= 0 and u != v:
            layout.links[v, u] += 1
            layout.links[u, v] += 1


@jit
def drop_qubit(layout: Layout, q: int) -> None:
    """Remove a qubit from its chain."""
    v = layout.owner[q]
    before, after = layout.previous[q], layout.following[q]
    if before >= 0:
        layout.following[before] = after
    else:
        layout.head[v] = after
    if after >= 0:
        layout.previous[after] = before
    layout.owner[q] = FREE
    layout.size[v] -= 1
    for t in range(layout.starts[q], layout.starts[q + 1]):
        u = layout.owner[layout.neighbours[t]]
        if u >= 0 and u != v:
            layout.links[v, u] -= 1
            layout.links[u, v] -= 1


@jit
def _fresh(layout: Layout) -> int:
    """Return a mark that no qubit has yet."""
    layout.mark[-1] += 1
    return int(layout.mark[-1])


@jit
def _component(layout: Layout, v: int) -> int:
    """Mark the connected part of a chain that holds its head; return its number of qubits."""
    stamp = _fresh(layout)
    queue = layout.queue
    queue[0] = layout.head[v]
    layout.mark[queue[0]] = stamp
    taken, filled = 0, 1
    while taken < filled:
        q = queue[taken]
        taken += 1
        for t in range(layout.starts[q], layout.starts[q + 1]):
            p = layout.neighbours[t]
            if layout.owner[p] == v and layout.mark[p] != stamp:
                layout.mark[p] = stamp
                queue[filled] = p
                filled += 1
    return filled


@jit
def _try_drop(layout: Layout, q: int) -> bool:
    """Remove a qubit if its chain stays connected and keeps all links that it needs."""
    v = int(layout.owner[q])
    if layout.size[v] == 1:
        return False
    inside = 0
    drop_qubit(layout, q)
    keeps = True
    for t in range(layout.starts[q], layout.starts[q + 1]):
        u = layout.owner[layout.neighbours[t]]
        if u == v:
            inside += 1
        elif u >= 0 and layout.wanted[v, u] and layout.links[v, u] == 0:
            keeps = False
            break
    if keeps and inside > 1 and _component(layout, v) != layout.size[v]:
        keeps = False
    if not keeps:
        add_qubit(layout, q, v)
    return keeps


@jit
def members_of(layout: Layout, v: int, out: NDArray[np.int32]) -> int:
    """Copy a chain to `out`; return its length."""
    q, count = layout.head[v], 0
    while q >= 0:
        out[count] = q
        count += 1
        q = layout.following[q]
    return count


@jit
def trim_chain(
    layout: Layout,
    v: int,
    state: NDArray[np.uint64],
    buffer: NDArray[np.int32],
    log: NDArray[np.int32],
    logged: int,
) -> int:
    """Remove needless qubits of a chain in random order; log them and return the log's end.

    Rounds are repeated: a qubit in the middle may become needless once those beyond it are gone.
    """
    changed = True
    while changed:
        changed = False
        count = members_of(layout, v, buffer)
        for i in range(count - 1, 0, -1):
            j = int(uniform(state) * (i + 1))
            buffer[i], buffer[j] = buffer[j], buffer[i]
        for i in range(count):
            q = int(buffer[i])
            if _try_drop(layout, q):
                log[2 * logged], log[2 * logged + 1] = q, v
                logged += 1
                changed = True
    return logged


@jit
def trim_all(layout: Layout, seed: int) -> int:
    """Trim every chain until no qubit is needless; return how many were removed."""
    state = generator(seed)
    qubits = len(layout.owner)
    buffer = np.empty(qubits, dtype=np.int32)
    log = np.empty(2 * qubits, dtype=np.int32)
    total = 0
    while True:
        dropped = 0
        for v in range(len(layout.head)):
            dropped += trim_chain(layout, v, state, buffer, log, 0)
        total += dropped
        if dropped == 0:
            return total


@jit
def _reaches(layout: Layout, p: int, v: int) -> int:
    """Return the number of chains beside a free qubit to which v still needs a link."""
    found = 0
    for t in range(layout.starts[p], layout.starts[p + 1]):
        u = layout.owner[layout.neighbours[t]]
        if u >= 0 and u != v and layout.wanted[v, u] and layout.links[v, u] == 0:
            found += 1
    return found


@jit
def grow_chain(layout: Layout, v: int) -> bool:
    """Extend a chain by a shortest path to a chain that it needs; return False if there is none.

    Of the ends at the same distance, the one that reaches the most chains is taken.
    """
    stamp = _fresh(layout)
    queue, mark, parent = layout.queue, layout.mark, layout.parent
    filled = 0
    q = layout.head[v]
    while q >= 0:
        queue[filled] = q
        mark[q] = stamp
        filled += 1
        q = layout.following[q]
    taken, best, most = 0, -1, 0
    while taken < filled and best < 0:
        level_end = filled
        while taken < level_end:
            q = queue[taken]
            taken += 1
            for t in range(layout.starts[q], layout.starts[q + 1]):
                p = int(layout.neighbours[t])
                if layout.owner[p] != FREE or mark[p] == stamp:
                    continue
                mark[p] = stamp
                parent[p] = q
                queue[filled] = p
                filled += 1
                found = _reaches(layout, p, v)
                if found > most:
                    best, most = p, found
    if best < 0:
        return False
    while layout.owner[best] != v:
        step = int(parent[best])
        add_qubit(layout, best, v)
        best = step
    return True


@jit
def lacking_links(layout: Layout, v: int) -> bool:
    """Whether a chain lacks a link that it needs, to a chain that is not empty."""
    for t in range(layout.problem_starts[v], layout.problem_starts[v + 1]):
        u = layout.problem_neighbours[t]
        if layout.size[u] > 0 and layout.links[v, u] == 0:
            return True
    return False


@jit
def _join_pieces(layout: Layout, v: int) -> bool:
    """Connect the pieces of a chain through free qubits; return False if that is impossible."""
    queue, mark, parent = layout.queue, layout.mark, layout.parent
    while True:
        filled = _component(layout, v)
        if filled == layout.size[v]:
            return True
        stamp = mark[queue[0]]
        taken, end = 0, -1
        while taken < filled and end < 0:
            q = int(queue[taken])
            taken += 1
            for t in range(layout.starts[q], layout.starts[q + 1]):
                p = layout.neighbours[t]
                if mark[p] == stamp:
                    continue
                if layout.owner[p] == v:
                    end = q
                    break
                if layout.owner[p] == FREE:
                    mark[p] = stamp
                    parent[p] = q
                    queue[filled] = p
                    filled += 1
        if end < 0:
            return False
        while layout.owner[end] != v:
            step = int(parent[end])
            add_qubit(layout, end, v)
            end = step


@jit
def _connect(layout: Layout, lacking: NDArray[np.bool_]) -> int:
    """Connect all chains and add missing links; mark the failures and return their number."""
    failures = 0
    for v in range(len(layout.head)):
        lacking[v] = layout.size[v] == 0
        if not lacking[v]:
            whole = _join_pieces(layout, v)
            while whole and lacking_links(layout, v):
                whole = grow_chain(layout, v)
            lacking[v] = not whole
        failures += lacking[v]
    return failures


@jit
def settle(layout: Layout, order: NDArray[np.int32], rounds: int, seed: int) -> int:
    """Place, connect and link all chains; return the number of variables for which that failed.

    Between rounds all chains are trimmed, which frees qubits, and those that failed are removed to
    be placed again. Variables are placed in the given `order`.
    """
    lacking = np.zeros(len(layout.head), dtype=np.bool_)
    failures = 0
    for turn in range(rounds):
        _place_missing(layout, order)
        failures = _connect(layout, lacking)
        if failures == 0 or turn == rounds - 1:
            break
        trim_all(layout, seed + turn)
        for v in range(len(layout.head)):
            if lacking[v]:
                while layout.head[v] >= 0:
                    drop_qubit(layout, int(layout.head[v]))
    return failures


@jit
def _flood(
    layout: Layout,
    u: int,
    total: NDArray[np.int64],
    seen: NDArray[np.int32],
    depth: NDArray[np.int32],
) -> None:
    """Add to each free qubit its distance from a chain."""
    stamp = _fresh(layout)
    queue, mark = layout.queue, layout.mark
    filled = 0
    q = layout.head[u]
    while q >= 0:
        queue[filled] = q
        mark[q] = stamp
        depth[q] = 0
        filled += 1
        q = layout.following[q]
    taken = 0
    while taken < filled:
        q = queue[taken]
        taken += 1
        for t in range(layout.starts[q], layout.starts[q + 1]):
            p = layout.neighbours[t]
            if layout.owner[p] == FREE and mark[p] != stamp:
                mark[p] = stamp
                depth[p] = depth[q] + 1
                total[p] += depth[p]
                seen[p] += 1
                queue[filled] = p
                filled += 1


@jit
def _best_root(layout: Layout, v: int) -> int:
    """Return the free qubit with the least sum of distances to all placed neighbours, or -1."""
    qubits = len(layout.owner)
    total = np.zeros(qubits, dtype=np.int64)
    seen = np.zeros(qubits, dtype=np.int32)
    depth = np.zeros(qubits, dtype=np.int32)
    placed = 0
    for t in range(layout.problem_starts[v], layout.problem_starts[v + 1]):
        u = int(layout.problem_neighbours[t])
        if layout.size[u] > 0:
            placed += 1
            _flood(layout, u, total, seen, depth)
    best = -1
    for q in range(qubits):
        if layout.owner[q] == FREE and seen[q] == placed and (best < 0 or total[q] < total[best]):
            best = q
    return best


@jit
def _place_missing(layout: Layout, order: NDArray[np.int32]) -> None:
    """Make chains for variables that have none, in this order, if there is a path."""
    for i in range(len(order)):
        v = int(order[i])
        if layout.size[v] > 0:
            continue
        root = _best_root(layout, v)
        if root < 0:
            continue
        add_qubit(layout, root, v)
        whole = True
        while whole and lacking_links(layout, v):
            whole = grow_chain(layout, v)
        if not whole:
            while layout.head[v] >= 0:
                drop_qubit(layout, int(layout.head[v]))
