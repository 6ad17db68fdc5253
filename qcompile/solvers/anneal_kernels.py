"""Compiled annealers: bits of a polynomial, weights of a cubic, weights over the margins.

All keep the lowest distinct states they pass through in a pool (see `pool_kernel`). A sweep
proposes one change to every variable; the inverse temperature rises geometrically.
"""

import math

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform
from qcompile.solvers.pool_kernel import Pool, note, offer, zobrist

__all__ = [
    "CUT_HINGE",
    "POLYNOMIAL",
    "ZERO_ONE",
    "anneal_dense",
    "anneal_margins",
    "anneal_terms",
    "anneal_weights",
    "flip_terms",
    "is_accepted",
    "rate_of_cooling",
]


# exp(-37) is less than the resolution of the random numbers
_NEVER = 37.0
# Kinds of loss that can be annealed over margins.
POLYNOMIAL, ZERO_ONE, CUT_HINGE = 0, 1, 2


@jit
def is_accepted(rise: float, beta: float, state: NDArray[np.uint64]) -> bool:
    """Whether a change of the energy is taken at an inverse temperature."""
    if rise <= 0.0:
        return True
    exponent = rise * beta
    return exponent < _NEVER and uniform(state) < math.exp(-exponent)


@jit
def rate_of_cooling(hot: float, cold: float, sweeps: int) -> float:
    """Return the factor by which the inverse temperature rises with each sweep."""
    return float((hot / cold) ** (1.0 / max(1, sweeps - 1)))


@jit
def anneal_dense(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    third: NDArray[np.float64],
    constant: float,
    sweeps: int,
    hot: float,
    cold: float,
    seed: int,
    pool: Pool,
) -> None:
    """Anneal bits of a cubic whose coefficients are full symmetric tensors.

    The local field of bit i is its coefficient in the energy; a flip adds the rows of one slice of
    the third tensor, those of the bits that are on. A quadratic has an empty third tensor.
    """
    size = len(first)
    random = generator(seed)
    bits = np.zeros(size, dtype=np.int32)
    field = first.copy()
    energy = constant
    mark = np.uint64(0)
    for i in range(size):
        if uniform(random) < 0.5:
            energy += field[i]
            mark ^= _flip_dense(i, bits, field, second, third)
    offer(pool, energy, mark, bits)
    growth = rate_of_cooling(hot, cold, sweeps)
    beta = 1.0 / hot
    limit = np.inf
    for _ in range(sweeps):
        for i in range(size):
            rise = -field[i] if bits[i] else field[i]
            if is_accepted(rise, beta, random):
                energy += rise
                mark ^= _flip_dense(i, bits, field, second, third)
                limit = note(pool, energy, mark, bits, limit)
        beta *= growth


@jit
def _flip_dense(
    i: int,
    bits: NDArray[np.int32],
    field: NDArray[np.float64],
    second: NDArray[np.float64],
    third: NDArray[np.float64],
) -> np.uint64:
    size = len(bits)
    sign = -1.0 if bits[i] else 1.0
    bits[i] = 1 - bits[i]
    for j in range(size):
        field[j] += sign * second[i, j]
    if len(third):
        slab = third[i]
        for k in range(size):
            if bits[k] and k != i:
                row = slab[k]
                for j in range(size):
                    field[j] += sign * row[j]
    return zobrist(i, 1)


@jit
def anneal_terms(
    members: NDArray[np.int32],
    member_starts: NDArray[np.int64],
    values: NDArray[np.float64],
    terms: NDArray[np.int32],
    term_starts: NDArray[np.int64],
    wide: NDArray[np.int32],
    constant: float,
    sweeps: int,
    hot: float,
    cold: float,
    seed: int,
    pool: Pool,
) -> None:
    """Anneal bits of any polynomial; `terms` lists for each variable the terms it is in.

    Each term knows how many of its members are off. It acts on the field of a bit when all others
    are on: when nothing is off, or when that bit alone is. Sweeps also propose to set all bits of
    terms in `wide`, with about as many flips as there are bits.
    """
    size = len(term_starts) - 1
    random = generator(seed)
    bits = np.zeros(size, dtype=np.int32)
    field = np.zeros(size)
    off = np.empty(len(values), dtype=np.int32)
    for t in range(len(values)):
        off[t] = member_starts[t + 1] - member_starts[t]
        if off[t] == 1:
            field[members[member_starts[t]]] += values[t]
    energy = constant
    mark = np.uint64(0)
    if len(wide):
        offer(pool, energy, mark, bits)  # where each product is 0, and single flips may not lead
    for i in range(size):
        if uniform(random) < 0.5:
            energy += field[i]
            mark ^= flip_terms(
                i, bits, field, off, members, member_starts, values, terms, term_starts
            )
    offer(pool, energy, mark, bits)
    growth = rate_of_cooling(hot, cold, sweeps)
    beta = 1.0 / hot
    limit = np.inf
    flipped = np.empty(size, dtype=np.int32)
    for _ in range(sweeps):
        for i in range(size):
            rise = -field[i] if bits[i] else field[i]
            if is_accepted(rise, beta, random):
                energy += rise
                mark ^= flip_terms(
                    i, bits, field, off, members, member_starts, values, terms, term_starts
                )
                limit = note(pool, energy, mark, bits, limit)
        visited = 0
        while len(wide) and visited < size:
            t = wide[int(uniform(random) * len(wide))]
            visited += member_starts[t + 1] - member_starts[t]
            count, rise, change = 0, 0.0, np.uint64(0)
            for q in range(member_starts[t], member_starts[t + 1]):
                i = members[q]
                if not bits[i]:
                    flipped[count] = i
                    count += 1
                    rise += field[i]
                    change ^= flip_terms(
                        i, bits, field, off, members, member_starts, values, terms, term_starts
                    )
            if is_accepted(rise, beta, random):
                energy += rise
                mark ^= change
                limit = note(pool, energy, mark, bits, limit)
            else:
                for k in range(count):
                    flip_terms(
                        flipped[k], bits, field, off, members, member_starts, values, terms,
                        term_starts,
                    )  # fmt: skip
        beta *= growth


@jit
def flip_terms(
    i: int,
    bits: NDArray[np.int32],
    field: NDArray[np.float64],
    off: NDArray[np.int32],
    members: NDArray[np.int32],
    member_starts: NDArray[np.int64],
    values: NDArray[np.float64],
    terms: NDArray[np.int32],
    term_starts: NDArray[np.int64],
) -> np.uint64:
    """Flip a bit, update the fields of all bits and what is off, and return the bit's mark."""
    now_on = bits[i] == 0
    bits[i] = 1 if now_on else 0
    for place in range(term_starts[i], term_starts[i + 1]):
        t = terms[place]
        others_off = off[t] - 1 if now_on else off[t]
        off[t] += -1 if now_on else 1
        if others_off > 1:
            continue
        change = values[t] if now_on else -values[t]
        for q in range(member_starts[t], member_starts[t + 1]):
            j = members[q]
            if j != i and (others_off == 0 or bits[j] == 0):
                field[j] += change
    return zobrist(i, 1)


@jit
def anneal_weights(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    third: NDArray[np.float64],
    constant: float,
    charge: float,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    step: float,
    sweeps: int,
    hot: float,
    cold: float,
    seed: int,
    pool: Pool,
) -> None:
    """Anneal weights step * level, low <= level <= high, of a cubic with full derivatives at 0.

    `charge` is added for each weight that is not zero. Slope and curvature are kept up to date, so
    that a proposal costs O(1) and an accepted move one slice of the third tensor.
    """
    size = len(first)
    random = generator(seed)
    level = np.zeros(size, dtype=np.int32)
    slope = first.copy()
    curve = second.copy()
    energy = constant
    mark = np.uint64(0)
    for a in range(size):
        target = low[a] + int(uniform(random) * (high[a] - low[a] + 1))
        energy += _move(a, target - level[a], step, level, slope, curve, third)
        energy += charge if level[a] else 0.0
        mark ^= zobrist(a, level[a] + 40000)
    offer(pool, energy, mark, level)
    growth = rate_of_cooling(hot, cold, sweeps)
    beta = 1.0 / hot
    limit = np.inf
    for _ in range(sweeps):
        for a in range(size):
            target = _propose(level[a], low[a], high[a], random)
            jump = target - level[a]
            if jump == 0:
                continue
            d = jump * step
            rise = d * (slope[a] + d * (curve[a, a] / 2.0 + d * third[a, a, a] / 6.0))
            rise += charge * (int(target != 0) - int(level[a] != 0))
            if is_accepted(rise, beta, random):
                mark ^= zobrist(a, level[a] + 40000) ^ zobrist(a, target + 40000)
                energy += rise
                _move(a, jump, step, level, slope, curve, third)
                limit = note(pool, energy, mark, level, limit)
        beta *= growth


@jit
def _propose(level: int, low: int, high: int, random: NDArray[np.uint64]) -> int:
    """Return a level that is 1, 2, 4, ... steps away half of the time, any level otherwise."""
    if high - low == 1:  # there is only the other one
        return low + high - level
    draw = uniform(random)
    if draw >= 0.5:
        return low + int((draw - 0.5) * 2.0 * (high - low + 1))
    scales = 1
    while (2 << scales) <= high - low:
        scales += 1
    jump = 1 << int(uniform(random) * scales)
    target = level + jump if draw < 0.25 else level - jump
    return min(max(target, low), high)


@jit
def _move(
    a: int,
    jump: int,
    step: float,
    level: NDArray[np.int32],
    slope: NDArray[np.float64],
    curve: NDArray[np.float64],
    third: NDArray[np.float64],
) -> float:
    """Change one weight and return the change of the energy."""
    d = jump * step
    rise = d * (slope[a] + d * (curve[a, a] / 2.0 + d * third[a, a, a] / 6.0))
    level[a] += jump
    size = len(level)
    slab = third[a]
    half = d * d / 2.0
    for b in range(size):
        slope[b] += d * curve[a, b] + half * slab[a, b]
    for b in range(size):
        for c in range(size):
            curve[b, c] += d * slab[b, c]
    return float(rise)


@jit
def anneal_margins(
    starts: NDArray[np.int64],
    rows: NDArray[np.int32],
    entries: NDArray[np.float64],
    examples: int,
    masses: NDArray[np.float64],
    kind: int,
    coefficients: NDArray[np.float64],
    ridge: float,
    charge: float,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    step: float,
    begin: NDArray[np.int64],
    sweeps: int,
    hot: float,
    cold: float,
    seed: int,
    pool: Pool,
) -> None:
    """Anneal weights over the margins of all examples, for a loss of any kind.

    `entries` are y x by columns. `masses` are how much the examples count, with a mean of 1; none
    if all count alike. `coefficients` are nine numbers, padded with zeros. `ridge` is
    l2, and `charge` is added for each weight that is not zero. The search begins at the levels
    `begin`, or at random levels if that is empty. A proposal costs the entries of one column, for
    any order.
    """
    size = len(low)
    random = generator(seed)
    level = np.zeros(size, dtype=np.int32)
    margin = np.zeros(examples)
    mark = np.uint64(0)
    for a in range(size):
        level[a] = low[a] + int(uniform(random) * (high[a] - low[a] + 1))
        if len(begin):
            level[a] = begin[a]
        mark ^= zobrist(a, level[a] + 40000)
        for t in range(starts[a], starts[a + 1]):
            margin[rows[t]] += level[a] * step * entries[t]
    cost = np.empty(examples)
    energy = _risk(margin, masses, kind, coefficients, cost)
    for a in range(size):
        energy += ridge / 2.0 * (level[a] * step) ** 2 + (charge if level[a] else 0.0)
    offer(pool, energy, mark, level)
    growth = rate_of_cooling(hot, cold, sweeps)
    beta = 1.0 / hot
    limit = np.inf
    for _ in range(sweeps):
        for a in range(size):
            target = _propose(level[a], low[a], high[a], random)
            if target == level[a]:
                continue
            d = (target - level[a]) * step
            column = slice(starts[a], starts[a + 1])
            own, sizes = rows[column], entries[column]
            if len(masses):
                total = _weighted_change(own, sizes, d, margin, masses, cost, kind, coefficients)
            else:
                total = _change(own, sizes, d, margin, cost, kind, coefficients)
            rise = total / examples + ridge / 2.0 * step * step * (
                target * target - level[a] * level[a]
            )
            rise += charge * (int(target != 0) - int(level[a] != 0))
            if is_accepted(rise, beta, random):
                mark ^= zobrist(a, level[a] + 40000) ^ zobrist(a, target + 40000)
                level[a] = target
                energy += rise
                for t in range(len(own)):
                    r = own[t]
                    margin[r] += d * sizes[t]
                    cost[r] = _loss(margin[r], kind, coefficients)
                    if len(masses):
                        cost[r] *= masses[r]
                limit = note(pool, energy, mark, level, limit)
        beta *= growth


@jit
def _change(
    rows: NDArray[np.int32],
    entries: NDArray[np.float64],
    d: float,
    margin: NDArray[np.float64],
    cost: NDArray[np.float64],
    kind: int,
    coefficients: NDArray[np.float64],
) -> float:
    """Return what a change of one weight adds to the sum of costs.

    The kind of loss is tested once, outside of the loop.
    """
    total = 0.0
    if kind == POLYNOMIAL:
        for t in range(len(rows)):
            r = rows[t]
            total += _polynomial(margin[r] + d * entries[t], coefficients) - cost[r]
    else:
        for t in range(len(rows)):
            r = rows[t]
            total += _loss(margin[r] + d * entries[t], kind, coefficients) - cost[r]
    return total


@jit
def _weighted_change(
    rows: NDArray[np.int32],
    entries: NDArray[np.float64],
    d: float,
    margin: NDArray[np.float64],
    masses: NDArray[np.float64],
    cost: NDArray[np.float64],
    kind: int,
    coefficients: NDArray[np.float64],
) -> float:
    """Return what a change of one weight adds to the sum of costs that count by masses."""
    total = 0.0
    for t in range(len(rows)):
        r = rows[t]
        total += masses[r] * _loss(margin[r] + d * entries[t], kind, coefficients) - cost[r]
    return total


@jit
def _risk(
    margin: NDArray[np.float64],
    masses: NDArray[np.float64],
    kind: int,
    coefficients: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> float:
    """Fill in the cost of each example and return the mean."""
    total = 0.0
    for r in range(len(margin)):
        cost[r] = _loss(margin[r], kind, coefficients)
        if len(masses):
            cost[r] *= masses[r]
        total += cost[r]
    return total / len(margin)


@jit
def _loss(x: float, kind: int, c: NDArray[np.float64]) -> float:
    """Return a polynomial, the 0-1 loss, or a square hinge that is cut off at c[0]."""
    if kind == POLYNOMIAL:
        return _polynomial(x, c)
    if kind == ZERO_ONE:
        return 1.0 if x <= 0.0 else 0.0
    gap = max(0.0, 1.0 - x)
    return float(min(c[0], gap * gap))


@jit
def _polynomial(x: float, c: NDArray[np.float64]) -> float:
    """Return a polynomial of nine coefficients.

    Even and odd powers are summed apart, because two short chains of sums are faster than one.
    """
    y = x * x
    even = (((c[8] * y + c[6]) * y + c[4]) * y + c[2]) * y + c[0]
    odd = ((c[7] * y + c[5]) * y + c[3]) * y + c[1]
    return float(even + x * odd)
