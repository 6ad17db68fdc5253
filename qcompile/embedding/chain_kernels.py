"""Compiled kernels that shape chains of qubits: connect, place and trim them.

A `Board` is a machine's graph with the chains that lie on it. Kernels change it in place.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = [
    "FREE",
    "Board",
    "add_qubit",
    "board_of",
    "drop_qubit",
    "grow_chain",
    "lacking_links",
    "lay_chain",
    "members_of",
    "settle",
    "trim_all",
    "trim_chain",
]


FREE, _NOBODY = -1, -1


class Board(NamedTuple):
    """A graph of qubits and, for each problem variable, the chain of qubits it owns.

    Both graphs are in compressed rows. `links[u, v]` counts couplers between two chains;
    `wanted[u, v]` says whether the problem needs one. Chains are linked lists over the qubits.
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


def board_of(
    graph: tuple[NDArray[np.int32], NDArray[np.int32]],
    problem: tuple[NDArray[np.int32], NDArray[np.int32]],
    owner: NDArray[np.int32],
) -> Board:
    """Lay chains, given by the owner of each qubit (-1: free), on a graph."""
    qubits, variables = len(graph[0]) - 1, len(problem[0]) - 1
    wanted = np.zeros((variables, variables), dtype=np.bool_)
    rows = np.repeat(np.arange(variables), np.diff(problem[0]))
    wanted[rows, problem[1]] = True
    board = Board(
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
    lay_chain(board, owner)
    return board


@jit
def lay_chain(board: Board, owner: NDArray[np.int32]) -> None:
    """Replace whatever lies on the board."""
    for q in range(len(owner)):
        if board.owner[q] >= 0:
            drop_qubit(board, q)
    for q in range(len(owner)):
        if owner[q] >= 0:
            add_qubit(board, q, owner[q])


@jit
def add_qubit(board: Board, q: int, v: int) -> None:
    """Return a free qubit to a variable."""
    board.owner[q] = v
    first = board.head[v]
    board.following[q] = first
    board.previous[q] = _NOBODY
    if first >= 0:
        board.previous[first] = q
    board.head[v] = q
    board.size[v] += 1
    for t in range(board.starts[q], board.starts[q + 1]):
        u = board.owner[board.neighbours[t]]
        if u >= 0 and u != v:
            board.links[v, u] += 1
            board.links[u, v] += 1


@jit
def drop_qubit(board: Board, q: int) -> None:
    """Set a qubit free."""
    v = board.owner[q]
    before, after = board.previous[q], board.following[q]
    if before >= 0:
        board.following[before] = after
    else:
        board.head[v] = after
    if after >= 0:
        board.previous[after] = before
    board.owner[q] = FREE
    board.size[v] -= 1
    for t in range(board.starts[q], board.starts[q + 1]):
        u = board.owner[board.neighbours[t]]
        if u >= 0 and u != v:
            board.links[v, u] -= 1
            board.links[u, v] -= 1


@jit
def _fresh(board: Board) -> int:
    """Return a mark that no qubit carries yet."""
    board.mark[-1] += 1
    return int(board.mark[-1])


@jit
def _component(board: Board, v: int) -> int:
    """Mark what hangs together with the head of a chain; gives the number of qubits."""
    stamp = _fresh(board)
    queue = board.queue
    queue[0] = board.head[v]
    board.mark[queue[0]] = stamp
    taken, filled = 0, 1
    while taken < filled:
        q = queue[taken]
        taken += 1
        for t in range(board.starts[q], board.starts[q + 1]):
            p = board.neighbours[t]
            if board.owner[p] == v and board.mark[p] != stamp:
                board.mark[p] = stamp
                queue[filled] = p
                filled += 1
    return filled


@jit
def _try_drop(board: Board, q: int) -> bool:
    """Set a qubit free if its chain stays whole and no needed link is lost."""
    v = board.owner[q]
    if board.size[v] == 1:
        return False
    inside = 0
    drop_qubit(board, q)
    keeps = True
    for t in range(board.starts[q], board.starts[q + 1]):
        u = board.owner[board.neighbours[t]]
        if u == v:
            inside += 1
        elif u >= 0 and board.wanted[v, u] and board.links[v, u] == 0:
            keeps = False
            break
    if keeps and inside > 1 and _component(board, v) != board.size[v]:
        keeps = False
    if not keeps:
        add_qubit(board, q, v)
    return keeps


@jit
def members_of(board: Board, v: int, out: NDArray[np.int32]) -> int:
    """Copy a chain; gives its length."""
    q, count = board.head[v], 0
    while q >= 0:
        out[count] = q
        count += 1
        q = board.following[q]
    return count


@jit
def trim_chain(
    board: Board,
    v: int,
    state: NDArray[np.uint64],
    buffer: NDArray[np.int32],
    log: NDArray[np.int32],
    logged: int,
) -> int:
    """Drop qubits of a chain, in random order, until none can go; logs them, gives the log's end.

    Rounds are repeated: a qubit in the middle can go once those beyond it have gone.
    """
    changed = True
    while changed:
        changed = False
        count = members_of(board, v, buffer)
        for i in range(count - 1, 0, -1):
            j = int(uniform(state) * (i + 1))
            buffer[i], buffer[j] = buffer[j], buffer[i]
        for i in range(count):
            q = buffer[i]
            if _try_drop(board, q):
                log[2 * logged], log[2 * logged + 1] = q, v
                logged += 1
                changed = True
    return logged


@jit
def trim_all(board: Board, seed: int) -> int:
    """Trim every chain until no qubit can go; gives how many went."""
    state = generator(seed)
    qubits = len(board.owner)
    buffer = np.empty(qubits, dtype=np.int32)
    log = np.empty(2 * qubits, dtype=np.int32)
    total = 0
    while True:
        dropped = 0
        for v in range(len(board.head)):
            dropped += trim_chain(board, v, state, buffer, log, 0)
        total += dropped
        if dropped == 0:
            return total


@jit
def _reaches(board: Board, p: int, v: int) -> int:
    """Count chains beside a free qubit that v needs and does not touch yet."""
    found = 0
    for t in range(board.starts[p], board.starts[p + 1]):
        u = board.owner[board.neighbours[t]]
        if u >= 0 and u != v and board.wanted[v, u] and board.links[v, u] == 0:
            found += 1
    return found


@jit
def grow_chain(board: Board, v: int) -> bool:
    """Lengthen a chain by a shortest path that reaches something it needs; False: no way.

    Of the ends at the same distance the one that reaches most is taken.
    """
    stamp = _fresh(board)
    queue, mark, parent = board.queue, board.mark, board.parent
    filled = 0
    q = board.head[v]
    while q >= 0:
        queue[filled] = q
        mark[q] = stamp
        filled += 1
        q = board.following[q]
    taken, best, most = 0, -1, 0
    while taken < filled and best < 0:
        level_end = filled
        while taken < level_end:
            q = queue[taken]
            taken += 1
            for t in range(board.starts[q], board.starts[q + 1]):
                p = board.neighbours[t]
                if board.owner[p] != FREE or mark[p] == stamp:
                    continue
                mark[p] = stamp
                parent[p] = q
                queue[filled] = p
                filled += 1
                found = _reaches(board, p, v)
                if found > most:
                    best, most = p, found
    if best < 0:
        return False
    while board.owner[best] != v:
        step = parent[best]
        add_qubit(board, best, v)
        best = step
    return True


@jit
def lacking_links(board: Board, v: int) -> bool:
    """Whether a chain misses a link that it needs, to a chain that exists."""
    for t in range(board.problem_starts[v], board.problem_starts[v + 1]):
        u = board.problem_neighbours[t]
        if board.size[u] > 0 and board.links[v, u] == 0:
            return True
    return False


@jit
def _join_pieces(board: Board, v: int) -> bool:
    """Connect a chain that lies in several pieces through free qubits; False: no way."""
    queue, mark, parent = board.queue, board.mark, board.parent
    while True:
        filled = _component(board, v)
        if filled == board.size[v]:
            return True
        stamp = mark[queue[0]]
        taken, end = 0, -1
        while taken < filled and end < 0:
            q = queue[taken]
            taken += 1
            for t in range(board.starts[q], board.starts[q + 1]):
                p = board.neighbours[t]
                if mark[p] == stamp:
                    continue
                if board.owner[p] == v:
                    end = q
                    break
                if board.owner[p] == FREE:
                    mark[p] = stamp
                    parent[p] = q
                    queue[filled] = p
                    filled += 1
        if end < 0:
            return False
        while board.owner[end] != v:
            step = parent[end]
            add_qubit(board, end, v)
            end = step


@jit
def _connect(board: Board, lacking: NDArray[np.bool_]) -> int:
    """Make chains whole and add missing links through free qubits; marks and counts failures."""
    failures = 0
    for v in range(len(board.head)):
        lacking[v] = board.size[v] == 0
        if not lacking[v]:
            whole = _join_pieces(board, v)
            while whole and lacking_links(board, v):
                whole = grow_chain(board, v)
            lacking[v] = not whole
        failures += lacking[v]
    return failures


@jit
def settle(board: Board, order: NDArray[np.int32], rounds: int, seed: int) -> int:
    """Place, connect and link all chains; gives how many variables could not be served.

    Between rounds chains are trimmed, which makes room, and those that failed are taken up to be
    placed anew. `order` says who is placed first.
    """
    lacking = np.zeros(len(board.head), dtype=np.bool_)
    failures = 0
    for turn in range(rounds):
        _place_missing(board, order)
        failures = _connect(board, lacking)
        if failures == 0 or turn == rounds - 1:
            break
        trim_all(board, seed + turn)
        for v in range(len(board.head)):
            if lacking[v]:
                while board.head[v] >= 0:
                    drop_qubit(board, board.head[v])
    return failures


@jit
def _flood(
    board: Board,
    u: int,
    total: NDArray[np.int64],
    seen: NDArray[np.int32],
    depth: NDArray[np.int32],
) -> None:
    """Add to each free qubit its distance from a chain."""
    stamp = _fresh(board)
    queue, mark = board.queue, board.mark
    filled = 0
    q = board.head[u]
    while q >= 0:
        queue[filled] = q
        mark[q] = stamp
        depth[q] = 0
        filled += 1
        q = board.following[q]
    taken = 0
    while taken < filled:
        q = queue[taken]
        taken += 1
        for t in range(board.starts[q], board.starts[q + 1]):
            p = board.neighbours[t]
            if board.owner[p] == FREE and mark[p] != stamp:
                mark[p] = stamp
                depth[p] = depth[q] + 1
                total[p] += depth[p]
                seen[p] += 1
                queue[filled] = p
                filled += 1


@jit
def _best_root(board: Board, v: int) -> int:
    """Return the free qubit from which all placed neighbours are nearest in sum, or -1."""
    qubits = len(board.owner)
    total = np.zeros(qubits, dtype=np.int64)
    seen = np.zeros(qubits, dtype=np.int32)
    depth = np.zeros(qubits, dtype=np.int32)
    placed = 0
    for t in range(board.problem_starts[v], board.problem_starts[v + 1]):
        u = board.problem_neighbours[t]
        if board.size[u] > 0:
            placed += 1
            _flood(board, u, total, seen, depth)
    best = -1
    for q in range(qubits):
        if board.owner[q] == FREE and seen[q] == placed and (best < 0 or total[q] < total[best]):
            best = q
    return best


@jit
def _place_missing(board: Board, order: NDArray[np.int32]) -> None:
    """Give chains to variables that have none, in this order, where there is a way."""
    for v in order:
        if board.size[v] > 0:
            continue
        root = _best_root(board, v)
        if root < 0:
            continue
        add_qubit(board, root, v)
        whole = True
        while whole and lacking_links(board, v):
            whole = grow_chain(board, v)
        if not whole:
            while board.head[v] >= 0:
                drop_qubit(board, board.head[v])
