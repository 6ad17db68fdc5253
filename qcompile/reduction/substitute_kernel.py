"""Compiled greedy substitution: the pair of factors that the most terms share becomes a product.

Factors are bits and earlier products. A pair of which only one term is left gains nothing by being
chosen early: such pairs are not listed, and the terms that share nothing are multiplied up at the
end. The pairs of a new product are known at once and never get more, so that they stand together:
those of factor b with smaller ones a are ``firsts[begins[b]:begins[b + 1]]``, ascending.
"""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = ["substitute"]


_COMPARED = 8  # pairs of the same count, of which the one that takes the least from others is taken


@jit
def _grown(array: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """Return the array, or a longer copy if it is shorter than `size`."""
    if len(array) >= size:
        return array
    longer = np.empty(max(size, 2 * len(array)), np.int32)
    for at in range(len(array)):  # a slice would take seconds to compile
        longer[at] = array[at]
    return longer


@jit
def _sort(array: NDArray[np.int32], size: int) -> None:
    """Sort the first entries by Shell's method: numba's own takes seconds to compile."""
    gap = size // 2
    while gap > 0:
        for at in range(gap, size):
            value, place = array[at], at
            while place >= gap and array[place - gap] > value:
                array[place] = array[place - gap]
                place -= gap
            array[place] = value
        gap //= 2


@jit
def _place(begins: NDArray[np.int32], firsts: NDArray[np.int32], a: int, b: int) -> int:
    """Return the number of the listed pair of two factors, or -1."""
    if a > b:
        a, b = b, a
    low, high = begins[b], begins[b + 1]
    while low < high:
        middle = (low + high) // 2
        if firsts[middle] < a:
            low = middle + 1
        else:
            high = middle
    return int(low) if low < begins[b + 1] and firsts[low] == a else -1


@jit
def _link(
    pair: int,
    count: int,
    heads: NDArray[np.int32],
    befores: NDArray[np.int32],
    afters: NDArray[np.int32],
) -> None:
    """Put a pair in front of the list of its count."""
    head = heads[count]
    befores[pair], afters[pair] = -1, head
    if head >= 0:
        befores[head] = pair
    heads[count] = pair


@jit
def _unlink(
    pair: int,
    count: int,
    heads: NDArray[np.int32],
    befores: NDArray[np.int32],
    afters: NDArray[np.int32],
) -> None:
    before, after = befores[pair], afters[pair]
    if before >= 0:
        afters[before] = after
    else:
        heads[count] = after
    if after >= 0:
        befores[after] = before


@jit
def _has(
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    term: int,
    a: int,
    b: int,
) -> bool:
    """Whether a term that is still to be reduced has both factors."""
    if sizes[term] < 3:
        return False
    found = 0
    for at in range(starts[term], starts[term] + sizes[term]):
        found += members[at] == a or members[at] == b
    return found == 2


@jit
def list_pairs(
    members: NDArray[np.int32], starts: NDArray[np.int64], variables: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the pairs of two terms or more: begins, firsts, starts of their terms, and terms.

    Pairs are sorted by their first and then, keeping that order, by their second member.
    """
    total = 0
    by_first, by_second = np.zeros(variables + 1, np.int64), np.zeros(variables + 1, np.int64)
    for term in range(len(starts) - 1):
        size = starts[term + 1] - starts[term]
        total += size * (size - 1) // 2
        for place in range(size):
            by_first[members[starts[term] + place] + 1] += size - 1 - place
            by_second[members[starts[term] + place] + 1] += place
    for v in range(variables):
        by_first[v + 1] += by_first[v]
        by_second[v + 1] += by_second[v]
    ends = by_second.copy()
    seconds, owners = np.empty(total, np.int32), np.empty(total, np.int32)
    sorted_firsts, sorted_owners = np.empty(total, np.int32), np.empty(total, np.int32)
    written = by_first.copy()
    for term in range(len(starts) - 1):
        for i in range(starts[term], starts[term + 1]):
            for j in range(i + 1, starts[term + 1]):
                at = written[members[i]]
                seconds[at], owners[at] = members[j], term
                written[members[i]] += 1
    for v in range(variables):
        for at in range(by_first[v], by_first[v + 1]):
            place = by_second[seconds[at]]
            sorted_firsts[place], sorted_owners[place] = v, owners[at]
            by_second[seconds[at]] += 1
    begins = np.zeros(variables + 1, np.int32)
    pairs, used = 0, 0
    # listed pairs move to the front of the same arrays
    limits = seconds
    for b in range(variables):
        at = ends[b]
        while at < ends[b + 1]:
            stop = at + 1
            while stop < ends[b + 1] and sorted_firsts[stop] == sorted_firsts[at]:
                stop += 1
            if stop > at + 1:
                sorted_firsts[pairs], limits[pairs] = sorted_firsts[at], used
                pairs += 1
                for place in range(at, stop):
                    sorted_owners[used] = sorted_owners[place]
                    used += 1
            at = stop
        begins[b + 1] = pairs
    user_starts = np.empty(pairs + 1, np.int32)
    for pair in range(pairs):
        user_starts[pair] = limits[pair]
    user_starts[pairs] = used
    return begins, sorted_firsts[:pairs].copy(), user_starts, sorted_owners[:used].copy()


@jit
def _lose(
    pair: int,
    counts: NDArray[np.int32],
    heads: NDArray[np.int32],
    befores: NDArray[np.int32],
    afters: NDArray[np.int32],
) -> None:
    """Take a term away from a listed pair; nothing happens to one that is not listed."""
    if pair < 0:
        return
    if counts[pair] > 1:
        _unlink(pair, counts[pair], heads, befores, afters)
    counts[pair] -= 1
    if counts[pair] > 1:
        _link(pair, counts[pair], heads, befores, afters)


@jit
def _harm(
    pair: int,
    a: int,
    b: int,
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    begins: NDArray[np.int32],
    firsts: NDArray[np.int32],
    user_starts: NDArray[np.int32],
    users: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> int:
    """Return how much other listed pairs lose if this one becomes a product."""
    lost = 0
    for at in range(user_starts[pair], user_starts[pair + 1]):
        term = users[at]
        if not _has(members, starts, sizes, term, a, b):
            continue
        for place in range(starts[term], starts[term] + sizes[term]):
            w = members[place]
            if w not in (a, b):
                for factor in (a, b):
                    other = _place(begins, firsts, w, factor)
                    if other >= 0:
                        lost += min(counts[other] - 1, 8)
    return lost


@jit
def substitute(
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    variables: int,
    begins: NDArray[np.int32],
    firsts: NDArray[np.int32],
    user_starts: NDArray[np.int32],
    users: NDArray[np.int32],
    seed: int,
) -> tuple[NDArray[np.int32], int]:
    """Replace shared pairs until every term has two factors; return the products' factors and work.

    The last three arrays and `begins` come from `list_pairs`. `members` are the factors of the
    terms; the first two of each are left. Of pairs that as many terms share some are compared, and
    that is taken from which other pairs lose least; ties are broken at random if `seed` is not 0.
    If it is odd, any of them is taken.
    """
    terms, pairs = len(starts) - 1, len(firsts)
    sizes, most, room = np.empty(terms, np.int32), 1, 0
    for term in range(terms):
        sizes[term] = starts[term + 1] - starts[term]
        room += sizes[term] - 2
    counts, seconds = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    befores, afters = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    for pair in range(pairs):
        counts[pair] = user_starts[pair + 1] - user_starts[pair]
        most = max(most, counts[pair])
    heads = np.full(most + 1, -1, np.int32)
    for b in range(variables):
        for pair in range(begins[b], begins[b + 1]):
            seconds[pair] = b
            _link(pair, counts[pair], heads, befores, afters)
    begins = _grown(begins, variables + room + 1)
    factors, made = np.empty((room, 2), np.int32), 0
    together, near = np.zeros(variables + room, np.int32), np.empty(variables + room, np.int32)
    inside, written = np.empty(most, np.int32), np.empty(variables + room, np.int32)
    state, work, level = generator(seed), 0, most
    while level > 1:
        pair = heads[level]
        if pair < 0:
            level -= 1
            continue
        chosen, least, compared = pair, np.inf, 0
        while pair >= 0 and compared < _COMPARED:
            lost = 0.0
            if seed % 2 == 0:
                lost += float(
                    _harm(
                        pair,
                        firsts[pair],
                        seconds[pair],
                        members,
                        starts,
                        sizes,
                        begins,
                        firsts,
                        user_starts,
                        users,
                        counts,
                    )
                )
            if seed:
                lost += uniform(state)
            if lost < least:
                chosen, least = pair, lost
            compared += 1
            work += user_starts[pair + 1] - user_starts[pair]
            pair = afters[pair]
        a, b = firsts[chosen], seconds[chosen]
        product, count, nearby = variables + made, 0, 0
        factors[made, 0], factors[made, 1] = a, b
        made += 1
        for at in range(user_starts[chosen], user_starts[chosen + 1]):
            term = users[at]
            if not _has(members, starts, sizes, term, a, b):
                continue
            inside[count] = term
            count += 1
            last = starts[term]
            for place in range(starts[term], starts[term] + sizes[term]):
                w = members[place]
                if w in (a, b):
                    continue
                _lose(_place(begins, firsts, w, a), counts, heads, befores, afters)
                _lose(_place(begins, firsts, w, b), counts, heads, befores, afters)
                members[last] = w
                last += 1
                if sizes[term] > 3:
                    if together[w] == 0:
                        near[nearby] = w
                        nearby += 1
                    together[w] += 1
            members[last] = product
            sizes[term] -= 1
            work += sizes[term]
        _unlink(chosen, counts[chosen], heads, befores, afters)
        counts[chosen] = 0
        # list the pairs of the product: those of two terms or more
        fresh = pairs
        _sort(near, nearby)
        for at in range(nearby):
            if together[near[at]] > 1:
                pairs += 1
        firsts, seconds = _grown(firsts, pairs), _grown(seconds, pairs)
        counts, user_starts = _grown(counts, pairs), _grown(user_starts, pairs + 1)
        befores, afters = _grown(befores, pairs), _grown(afters, pairs)
        for at in range(nearby):
            w = near[at]
            if together[w] > 1:
                firsts[fresh], seconds[fresh], counts[fresh] = w, product, together[w]
                user_starts[fresh + 1] = user_starts[fresh] + together[w]
                _link(fresh, together[w], heads, befores, afters)
                fresh += 1
                together[w] = -fresh  # one more than its number, so that 0 is none
            else:
                together[w] = 0
        begins[product + 1] = pairs
        users = _grown(users, user_starts[pairs])
        for at in range(nearby):
            w = near[at]
            if together[w] < 0:
                written[w] = user_starts[-together[w] - 1]
        for at in range(count):
            term = inside[at]
            for place in range(starts[term], starts[term] + sizes[term]):
                w = members[place]
                if w < product and together[w] < 0:
                    users[written[w]] = term
                    written[w] += 1
        for at in range(nearby):
            together[near[at]] = 0
    for term in range(terms):  # what nothing shares
        start = starts[term]
        while sizes[term] > 2:
            last = start + sizes[term] - 1
            factors[made, 0], factors[made, 1] = members[start], members[start + 1]
            members[start] = variables + made
            members[start + 1] = members[last]
            made += 1
            sizes[term] -= 1
            work += 1
    return factors[:made].copy(), work
