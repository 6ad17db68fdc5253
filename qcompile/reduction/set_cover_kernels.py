"""Compiled search for few pairs that cover triples: what is forced, a greedy choice, annealing.

All of it is near linear in the triples: what a choice changes is updated in place. `work` counts
the entries of lists that are looked at, so that a budget is the same on any machine.
"""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = ["greedy", "improve", "incidence", "number_pairs", "settle"]


_LEVELS = 66  # of harm, for each number of triples that a pair would cover
_MOST_RIVALRY = 8


@jit
def number_pairs(
    triples: NDArray[np.int32], variables: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs that occur, in lexicographic order, and the numbers of each triple's three.

    Places are sorted by the second member and then, keeping that order, by the first: two passes
    of counting.
    """
    count = len(triples)
    order, by_second = np.empty(3 * count, np.int32), np.empty(3 * count, np.int32)
    starts = np.zeros(variables + 1, np.int64)
    for t in range(count):
        starts[triples[t, 1] + 1] += 1
        starts[triples[t, 2] + 1] += 2
    for v in range(variables):
        starts[v + 1] += starts[v]
    for t in range(count):
        for c in range(3):
            second = triples[t, 1] if c == 0 else triples[t, 2]
            by_second[starts[second]] = 3 * t + c
            starts[second] += 1
    starts[:] = 0
    for t in range(count):
        starts[triples[t, 0] + 1] += 2
        starts[triples[t, 1] + 1] += 1
    for v in range(variables):
        starts[v + 1] += starts[v]
    for at in range(3 * count):
        place = by_second[at]
        t, c = place // 3, place % 3
        first = triples[t, 1] if c == 2 else triples[t, 0]
        order[starts[first]] = place
        starts[first] += 1
    numbers = np.empty((count, 3), np.int32)
    pairs = np.empty((3 * count, 2), np.int32)
    found = 0
    for at in range(3 * count):
        t, c = order[at] // 3, order[at] % 3
        first = triples[t, 1] if c == 2 else triples[t, 0]
        second = triples[t, 1] if c == 0 else triples[t, 2]
        if found == 0 or pairs[found - 1, 0] != first or pairs[found - 1, 1] != second:
            pairs[found, 0], pairs[found, 1] = first, second
            found += 1
        numbers[t, c] = found - 1
    return pairs[:found].copy(), numbers


@jit
def _cover(
    pair: int,
    numbers: NDArray[np.int32],
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    counts: NDArray[np.int32],
    left: NDArray[np.bool_],
    waiting: NDArray[np.int32],
    height: int,
) -> int:
    """Take the triples of a pair away; those that lost all but one rival of a pair wait again."""
    for at in range(starts[pair], starts[pair + 1]):
        t = members[at]
        if not left[t]:
            continue
        left[t] = False
        for c in range(3):
            other = numbers[t, c]
            counts[other] -= 1
            if counts[other] != 1 or other == pair:
                continue
            for place in range(starts[other], starts[other + 1]):
                if left[members[place]]:
                    waiting[height] = members[place]
                    height += 1
    return height


@jit
def settle(numbers: NDArray[np.int32], pairs: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Choose pairs as long as a minimum cover with them exists; return them and the triples left.

    A pair that would cover one triple only is no better than any other pair of that triple. So a
    triple takes a pair that covers others too if it has only one of them, and any of its pairs if
    it has none. What is left has two or more such pairs in every triple; it is often nothing.
    """
    starts, members = np.zeros(pairs + 1, np.int64), np.empty(3 * len(numbers), np.int32)
    counts = np.zeros(pairs, np.int32)
    for t in range(len(numbers)):
        for c in range(3):
            counts[numbers[t, c]] += 1
    for pair in range(pairs):
        starts[pair + 1] = starts[pair] + counts[pair]
    written = starts[:-1].copy()
    for t in range(len(numbers)):
        for c in range(3):
            members[written[numbers[t, c]]] = t
            written[numbers[t, c]] += 1
    chosen, left = np.zeros(pairs, np.bool_), np.ones(len(numbers), np.bool_)
    # a triple waits once at first, and once more for each of its pairs
    waiting, height = np.empty(4 * len(numbers), np.int32), len(numbers)
    for t in range(len(numbers)):
        waiting[t] = len(numbers) - 1 - t
    while height:
        height -= 1
        t = waiting[height]
        if not left[t]:
            continue
        wide, pair = 0, numbers[t, 0]
        for c in range(3):
            if counts[numbers[t, c]] > 1:
                wide, pair = wide + 1, numbers[t, c]
        if wide < 2:
            chosen[pair] = True
            height = _cover(pair, numbers, starts, members, counts, left, waiting, height)
    return chosen, left


@jit
def incidence(
    numbers: NDArray[np.int32], pairs: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return for each pair the two other pairs of its triples: (start of each list, lists)."""
    starts = np.zeros(pairs + 1, dtype=np.int64)
    for t in range(len(numbers)):
        for c in range(3):
            starts[numbers[t, c] + 1] += 1
    for p in range(pairs):
        starts[p + 1] += starts[p]
    lists = np.empty((3 * len(numbers), 2), dtype=np.int32)
    written = starts[:-1].copy()
    for t in range(len(numbers)):
        for c in range(3):
            pair = numbers[t, c]
            lists[written[pair], 0] = numbers[t, (c + 1) % 3]
            lists[written[pair], 1] = numbers[t, (c + 2) % 3]
            written[pair] += 1
    return starts, lists


@jit
def _rivalry(count: int) -> int:
    """Return how much it costs to take a triple from a pair that would cover so many."""
    return min(count - 1, _MOST_RIVALRY) if count > 1 else 0


@jit
def _move(
    pair: int,
    counts: NDArray[np.int32],
    harms: NDArray[np.int32],
    heads: NDArray[np.int32],
    links: NDArray[np.int32],
    where: NDArray[np.int32],
) -> None:
    """Put a pair into the list of its count and harm; one that covers nothing is in no list."""
    count = counts[pair]
    bucket = -1
    if count > 0:
        bucket = count * _LEVELS + harms[pair] * 4 // max(4, count)
    if bucket == where[pair]:
        return
    _take_out(pair, heads, links, where)
    where[pair] = bucket
    if bucket >= 0:
        head = heads[bucket]
        links[pair, 0], links[pair, 1] = -1, head
        if head >= 0:
            links[head, 0] = pair
        heads[bucket] = pair


@jit
def _take_out(
    pair: int, heads: NDArray[np.int32], links: NDArray[np.int32], where: NDArray[np.int32]
) -> None:
    if where[pair] < 0:
        return
    before, after = links[pair, 0], links[pair, 1]
    if before >= 0:
        links[before, 1] = after
    else:
        heads[where[pair]] = after
    if after >= 0:
        links[after, 0] = before
    where[pair] = -1


@jit
def greedy(starts: NDArray[np.int64], lists: NDArray[np.int32]) -> tuple[NDArray[np.bool_], int]:
    """Choose the pair that covers the most triples left, repeatedly; return the cover and the work.

    Among pairs that cover as many, one comes first whose triples the fewest others would cover as
    well. Pairs are kept in lists by both numbers, which are updated in place. The work is the
    number of entries that were looked at.
    """
    pairs = len(starts) - 1
    counts, harms = np.empty(pairs, np.int32), np.zeros(pairs, np.int32)
    most = 0
    for pair in range(pairs):
        counts[pair] = starts[pair + 1] - starts[pair]
        most = max(most, counts[pair])
    heads = np.full((most + 1) * _LEVELS, -1, np.int32)
    links, where = np.empty((pairs, 2), np.int32), np.full(pairs, -1, np.int32)
    for pair in range(pairs - 1, -1, -1):
        for at in range(starts[pair], starts[pair + 1]):
            harms[pair] += _rivalry(counts[lists[at, 0]]) + _rivalry(counts[lists[at, 1]])
        _move(pair, counts, harms, heads, links, where)
    chosen, work = np.zeros(pairs, np.bool_), 0
    level = most
    while level > 0:
        pair = -1
        for bucket in range(level * _LEVELS, (level + 1) * _LEVELS):
            if heads[bucket] >= 0:
                pair = heads[bucket]
                break
        work += 1
        if pair < 0:
            level -= 1
            continue
        _take_out(pair, heads, links, where)
        chosen[pair] = True
        own = _rivalry(counts[pair])
        for at in range(starts[pair], starts[pair + 1]):
            a, b = lists[at, 0], lists[at, 1]
            work += 1
            if chosen[a] or chosen[b]:
                continue
            for side in range(2):
                one, other = (a, b) if side == 0 else (b, a)
                # `other` has lost the triple already when it is its turn: count it as before
                before = _rivalry(counts[other] + side)
                harms[one] -= own + before
                fewer = _rivalry(counts[one]) - _rivalry(counts[one] - 1)
                counts[one] -= 1
                _move(one, counts, harms, heads, links, where)
                if fewer == 0 or counts[one] == 0:
                    continue
                for place in range(starts[one], starts[one + 1]):
                    x, y = lists[place, 0], lists[place, 1]
                    work += 1
                    if chosen[x] or chosen[y]:
                        continue
                    harms[x] -= fewer
                    harms[y] -= fewer
                    _move(x, counts, harms, heads, links, where)
                    _move(y, counts, harms, heads, links, where)
    return chosen, work


@jit
def _toggle(
    pair: int,
    starts: NDArray[np.int64],
    lists: NDArray[np.int32],
    place: NDArray[np.int32],
    chosen: NDArray[np.int32],
    needed: NDArray[np.int32],
    changed: NDArray[np.int32],
    size: int,
) -> int:
    """Add a pair to the cover or remove it, and update how often each pair is needed.

    `changed` lists the pairs that were toggled since the smallest cover: a number of them, then
    the pairs, then for each pair whether it is listed.
    """
    if place[pair] < 0:
        place[pair] = size
        chosen[size] = pair
        size, change = size + 1, -1
    else:
        size, change = size - 1, 1
        last = chosen[size]
        chosen[place[pair]] = last
        place[last] = place[pair]
        place[pair] = -1
    listed = 1 + len(place) + pair
    if changed[listed] == 0:
        changed[listed] = 1
        changed[0] += 1
        changed[changed[0]] = pair
    for at in range(starts[pair], starts[pair + 1]):
        a, b = lists[at, 0], lists[at, 1]
        if place[b] < 0:
            needed[a] += change
        if place[a] < 0:
            needed[b] += change
    return size


@jit
def _keep(place: NDArray[np.int32], changed: NDArray[np.int32], best: NDArray[np.bool_]) -> int:
    """Copy what has changed into the best cover; return how many pairs that are."""
    count = changed[0]
    for at in range(1, count + 1):
        pair = changed[at]
        best[pair] = place[pair] >= 0
        changed[1 + len(place) + pair] = 0
    changed[0] = 0
    return int(count)


@jit
def _repair(
    pair: int,
    starts: NDArray[np.int64],
    lists: NDArray[np.int32],
    place: NDArray[np.int32],
    chosen: NDArray[np.int32],
    needed: NDArray[np.int32],
    changed: NDArray[np.int32],
    size: int,
    state: NDArray[np.uint64],
) -> tuple[int, int]:
    """Cover what a removed pair has left, and remove what is idle then; return size and work."""
    work = 2 * (starts[pair + 1] - starts[pair])
    for at in range(starts[pair], starts[pair + 1]):
        a, b = lists[at, 0], lists[at, 1]
        if place[a] >= 0 or place[b] >= 0:
            continue
        fresh = a if uniform(state) < 0.5 else b
        size = _toggle(fresh, starts, lists, place, chosen, needed, changed, size)
        work += 2 * (starts[fresh + 1] - starts[fresh])
        for beside in range(starts[fresh], starts[fresh + 1]):
            for c in range(2):
                idle = lists[beside, c]
                if place[idle] >= 0 and needed[idle] == 0:
                    size = _toggle(idle, starts, lists, place, chosen, needed, changed, size)
                    work += starts[idle + 1] - starts[idle]
    return size, work


@jit
def improve(
    starts: NDArray[np.int64],
    lists: NDArray[np.int32],
    cover: NDArray[np.bool_],
    budget: int,
    hot: float,
    cold: float,
    seed: int,
) -> NDArray[np.bool_]:
    """Anneal a cover: remove a pair and add another for each triple that is no longer covered.

    A pair is *needed* by a triple that no other pair of the cover covers. Removing a pair that is
    needed k times costs k - 1; it is done with probability exp(-(k - 1) / heat). A trial costs
    O(1), a move O(triples of the pairs that change). Pairs that are not needed at all go first,
    also if the budget is 0. Return the smallest cover seen.
    """
    pairs = len(starts) - 1
    place, chosen = np.full(pairs, -1, dtype=np.int32), np.empty(pairs, dtype=np.int32)
    changed = np.zeros(1 + 2 * pairs, dtype=np.int32)
    needed, size = np.zeros(pairs, dtype=np.int32), 0
    for pair in range(pairs):
        needed[pair] = starts[pair + 1] - starts[pair]
    state = generator(seed)
    for pair in range(pairs):
        if cover[pair]:
            size = _toggle(pair, starts, lists, place, chosen, needed, changed, size)
    for pair in range(pairs):
        if place[pair] >= 0 and needed[pair] == 0:
            size = _toggle(pair, starts, lists, place, chosen, needed, changed, size)
    best, smallest = np.zeros(pairs, dtype=np.bool_), size
    _keep(place, changed, best)
    work, trials, heat = 0, 0, hot
    while work < budget and size > 0:
        if trials % 256 == 0:
            heat = hot * (cold / hot) ** (work / budget)
        trials += 1
        work += 1
        pair = chosen[int(uniform(state) * size)]
        cost = needed[pair] - 1
        if cost > 0 and (cost > 12 * heat or uniform(state) >= np.exp(-cost / heat)):
            continue
        size = _toggle(pair, starts, lists, place, chosen, needed, changed, size)
        size, took = _repair(pair, starts, lists, place, chosen, needed, changed, size, state)
        work += took
        if size < smallest:
            smallest = size
            work += _keep(place, changed, best)
    return best
