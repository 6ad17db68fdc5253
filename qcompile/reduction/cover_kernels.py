"""Compiled kernels for pairs that cover triples: which carries which, and what is written down."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = [
    "cut",
    "fill_complete",
    "fill_routes",
    "route",
    "route_complete",
    "shrink",
]


@jit
def _number(starts: NDArray[np.int64], factors: NDArray[np.int32], i: int, j: int) -> int:
    """Return the number of the pair i < j, or -1; ``starts[i]`` is that of the first one with i."""
    low, high = starts[i], starts[i + 1]
    while low < high:
        middle = (low + high) // 2
        if factors[middle, 1] < j:
            low = middle + 1
        else:
            high = middle
    return int(low) if low < starts[i + 1] and factors[low, 1] == j else -1


@jit
def route(
    triples: NDArray[np.int32],
    values: NDArray[np.float64],
    begins: NDArray[np.int64],
    factors: NDArray[np.int32],
    routes: NDArray[np.int32],
    counts: NDArray[np.int64],
    below: NDArray[np.int64],
    gains: NDArray[np.float64],
) -> None:
    """Assign each triple to a pair of the cover; if several are possible, they take turns.

    The pairs `factors` are in lexicographic order, those with the first variable i from
    ``begins[i]`` on. A route is four times the pair's number, plus 0, 1 or 2 if the third variable
    is before, between or after the pair's. For each pair, `counts` is the number of its triples,
    `below` the number of those whose third variable is before its first and its second one, and
    `gains` the sums of their positive and negative values.
    """
    for t in range(len(triples)):
        i, j, k = triples[t, 0], triples[t, 1], triples[t, 2]
        one, two = _number(begins, factors, i, j), _number(begins, factors, i, k)
        three = _number(begins, factors, j, k)
        choices = int(one >= 0) + int(two >= 0) + int(three >= 0)
        turn = 0 if choices == 1 else (i + j + k) % choices
        if one >= 0 and turn == 0:
            pair, place = one, 2
        elif two >= 0 and turn == int(one >= 0):
            pair, place = two, 1
        else:
            pair, place = three, 0
        routes[t] = (pair << 2) | place
        counts[pair] += 1
        if place < 2:
            below[pair, 1] += 1
            if place == 0:
                below[pair, 0] += 1
        if values[t] > 0:
            gains[pair, 0] += values[t]
        else:
            gains[pair, 1] -= values[t]


@jit
def fill_routes(
    triples: NDArray[np.int32],
    values: NDArray[np.float64],
    routes: NDArray[np.int32],
    starts: NDArray[np.int64],
    below: NDArray[np.int64],
    factors: NDArray[np.int32],
    gates: NDArray[np.float64],
    variables: int,
    others: NDArray[np.int32],
    own: NDArray[np.int32],
    couplings: NDArray[np.float64],
) -> None:
    """Write the couplings of each pair's ancilla, the other variable ascending, factors included.

    Triples are in lexicographic order, in which the third variable ascends for each pair. It is
    before, between or after the factors, which leaves a gap for each factor.
    """
    pairs = len(factors)
    written = starts[:pairs].copy()
    for t in range(len(triples)):
        pair = routes[t] >> 2
        place = routes[t] & 3
        at = written[pair] + place
        written[pair] += 1
        others[at] = triples[t, place]
        couplings[at] = values[t]
    for pair in range(pairs):
        for side in range(2):
            at = starts[pair] + below[pair, side] + side
            others[at] = factors[pair, side]
            couplings[at] = gates[pair]
        for at in range(starts[pair], starts[pair + 1]):
            own[at] = variables + pair


@jit
def cut(
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    side: NDArray[np.int8],
    sweeps: int,
    heat: float,
    seed: int,
) -> NDArray[np.int8]:
    """Anneal a bipartition of a graph so that few edges are inside a part (maximum cut)."""
    size = len(side)
    state = generator(seed)
    best, inside, lowest = side.copy(), 0, 0
    for step in range(sweeps * size):
        v = int(uniform(state) * size)
        same = 0
        for at in range(starts[v], starts[v + 1]):
            if side[neighbours[at]] == side[v]:
                same += 1
        change = (starts[v + 1] - starts[v]) - 2 * same  # edges that would come inside
        warmth = heat * (1.0 - step / (sweeps * size))
        if change <= 0 or (warmth > 0 and uniform(state) < np.exp(-change / warmth)):
            side[v] = 1 - side[v]
            inside += change
            if inside < lowest:
                lowest = inside
                best[:] = side
    return best


@jit
def shrink(
    triple_pairs: NDArray[np.int32],
    sizes: NDArray[np.float64],
    cover: NDArray[np.bool_],
    budget: int,
) -> NDArray[np.bool_]:
    """Remove pairs from a cover, the least important first, until `budget` are left.

    The importance of a pair is the sum of the sizes of the triples that only it covers.
    """
    pairs, triples = len(cover), len(triple_pairs)
    starts = np.zeros(pairs + 1, dtype=np.int64)
    for t in range(triples):
        for c in range(3):
            starts[triple_pairs[t, c] + 1] += 1
    for p in range(pairs):
        starts[p + 1] += starts[p]
    members, written = np.empty(3 * triples, dtype=np.int32), starts[:-1].copy()
    covered, load, left = np.zeros(triples, dtype=np.int32), np.zeros(pairs), 0
    for t in range(triples):
        for c in range(3):
            pair = triple_pairs[t, c]
            members[written[pair]] = t
            written[pair] += 1
            covered[t] += cover[pair]
    for t in range(triples):
        for c in range(3):
            if covered[t] == 1 and cover[triple_pairs[t, c]]:
                load[triple_pairs[t, c]] += sizes[t]
    kept = cover.copy()
    for p in range(pairs):
        left += kept[p]
    while left > budget:
        least = -1
        for p in range(pairs):
            if kept[p] and (least < 0 or load[p] < load[least]):
                least = p
        kept[least] = False
        left -= 1
        for at in range(starts[least], starts[least + 1]):
            t = members[at]
            covered[t] -= 1
            if covered[t] == 1:
                for c in range(3):
                    if kept[triple_pairs[t, c]]:
                        load[triple_pairs[t, c]] += sizes[t]
    return kept


@jit
def _position(lines: NDArray[np.int64], a: int, b: int, k: int) -> int:
    """Return the place of the triple of a < b and k in the lexicographic list of all triples."""
    if k > b:
        return int(lines[a, b]) + k
    if k > a:
        return int(lines[a, k]) + b
    return int(lines[k, a]) + b


@jit
def _serves(a: int, b: int, k: int) -> bool:
    """Whether the triple of a < b and k is assigned to the pair a, b in a cubic on two halves.

    If k is in the other half there is no choice; in the same half the three pairs take turns.
    """
    if (a + k) % 2 == 1:
        return True
    place = 2 if k < a else (1 if k < b else 0)
    return (a + b + k) % 3 == place


@jit
def route_complete(
    values: NDArray[np.float64],
    lines: NDArray[np.int64],
    factors: NDArray[np.int32],
    counts: NDArray[np.int64],
    gains: NDArray[np.float64],
) -> None:
    """Do the work of `route` for a complete cubic on interleaved halves, pair by pair.

    ``lines[i, j] + k`` is the place of the triple i < j < k.
    """
    variables = len(lines)
    for pair in range(len(factors)):
        a, b = factors[pair, 0], factors[pair, 1]
        taken, plus, minus = 0, 0.0, 0.0
        for k in range(variables):
            if k not in (a, b) and _serves(a, b, k):
                value = values[_position(lines, a, b, k)]
                taken += 1
                plus += max(value, 0.0)
                minus -= min(value, 0.0)
        counts[pair] = taken
        gains[pair, 0], gains[pair, 1] = plus, minus


@jit
def fill_complete(
    values: NDArray[np.float64],
    lines: NDArray[np.int64],
    starts: NDArray[np.int64],
    factors: NDArray[np.int32],
    gates: NDArray[np.float64],
    others: NDArray[np.int32],
    own: NDArray[np.int32],
    couplings: NDArray[np.float64],
) -> None:
    """Do the work of `fill_routes` for a complete cubic on interleaved halves, pair by pair."""
    variables = len(lines)
    for pair in range(len(factors)):
        a, b = factors[pair, 0], factors[pair, 1]
        at = starts[pair]
        for k in range(variables):
            if k in (a, b):
                couplings[at] = gates[pair]
            elif _serves(a, b, k):
                couplings[at] = values[_position(lines, a, b, k)]
            else:
                continue
            others[at] = k
            own[at] = variables + pair
            at += 1
