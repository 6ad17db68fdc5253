"""Compiled kernels that find shapes of chains and pack copies of them.

A shape is the number of qubits that chains need at each place of the chip. Places have a kind (the
direction of their qubits and, on Pegasus, the line within the cell), x and y. A place holds a few
equal qubits, so shapes may overlap as long as the sums stay within what each place holds.
"""

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.chain_kernels import Layout, place_chains
from qcompile.embedding.copies_records import Ground, Variants
from qcompile.embedding.reroute_kernels import relay_chain, restore_chain
from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform

__all__ = ["add_copies", "anneal_copies", "nearest_variants", "shapes_on_rest", "walk_shapes"]

Ints = NDArray[np.int32]


@jit
def _places_used(owner: Ints, place: Ints, mark: Ints, now: int) -> int:
    """Return the number of places with a qubit of a chain; `mark` has older numbers than `now`."""
    count = 0
    for q in range(len(owner)):
        if owner[q] >= 0 and mark[place[q]] != now:
            mark[place[q]] = now
            count += 1
    return count


@jit
def walk_shapes(
    layout: Layout,
    moves: int,
    seed: int,
    cycle: int,
    most: int,
    weight: float,
    place: Ints,
    seen: NDArray[np.uint64],
    out: Ints,
) -> int:
    """Record chains of at most `most` qubits that lie on different places; return their number.

    Each cycle begins with chains that were recorded, heats them and cools them down again. A place
    with a chain on it counts as `weight` qubits.
    """
    state = generator(seed)
    qubits, variables = len(layout.owner), len(layout.head)
    buffer = np.empty(qubits, dtype=np.int32)
    old = np.empty(qubits, dtype=np.int32)
    log = np.empty(2 * qubits, dtype=np.int32)
    code = np.empty(place.max() + 1, dtype=np.uint64)
    mark = np.full(len(code), -1, dtype=np.int32)
    for i in range(len(code)):
        code[i] = np.uint64(uniform(state) * 9007199254740992.0) * np.uint64(2654435761)
    hot, cold = 2.0, 0.3
    cooling, temperature = (cold / hot) ** (1.0 / cycle), hot
    size, found = layout.size.sum(), 0
    used = _places_used(layout.owner, place, mark, 0)
    for move in range(moves):
        if move % cycle == 0:
            temperature = hot
            if found:
                place_chains(layout, out[int(uniform(state) * found)])
                size = layout.size.sum()
                used = _places_used(layout.owner, place, mark, 2 * move + 1)
        temperature *= cooling
        v = int(uniform(state) * variables)
        change, logged, count = relay_chain(layout, v, state, buffer, old, log, 1)
        now = _places_used(layout.owner, place, mark, 2 * move + 2)
        worse = change + weight * (now - used)
        if worse > 0 and uniform(state) >= np.exp(-worse / temperature):
            restore_chain(layout, v, old, count, log, logged)
            continue
        size, used = size + change, now
        if size <= most:
            total = np.uint64(0)
            for q in range(qubits):
                if layout.owner[q] >= 0:
                    total += code[place[q]]
            slot = int(total % np.uint64(len(seen)))
            if seen[slot] != total:
                seen[slot] = total
                for q in range(qubits):
                    out[found, q] = layout.owner[q]
                found += 1
                if found == len(out):
                    break
    return found


@jit
def nearest_variants(
    kind: Ints, x: Ints, y: Ints, count: Ints, places: Ints, kinds: int, most: int
) -> Ints:
    """Return for each variant the variants and shifts by at most 1 that differ least from it."""
    variants, margin = len(places), 2
    wide = x.max() + 1 + 2 * margin
    high = y.max() + 1 + 2 * margin
    grid = np.zeros((kinds, wide, high), dtype=np.int32)
    near = np.zeros((variants, most, 3), dtype=np.int32)
    distance = np.full(most, 0, dtype=np.int32)
    total = np.zeros(variants, dtype=np.int32)
    for v in range(variants):
        total[v] = count[v, : places[v]].sum()
    for v in range(variants):
        grid[:] = 0
        for t in range(places[v]):
            grid[kind[v, t], x[v, t] + margin, y[v, t] + margin] = count[v, t]
        distance[:] = 1 << 30
        worst = 0
        for w in range(variants):
            for dx in range(-1, 2):
                for dy in range(-1, 2):
                    if w == v and dx == 0 and dy == 0:
                        continue
                    common = 0
                    for t in range(places[w]):
                        there = grid[kind[w, t], x[w, t] + margin + dx, y[w, t] + margin + dy]
                        common += min(there, count[w, t])
                    apart = total[v] + total[w] - 2 * common
                    if apart < distance[worst]:
                        distance[worst] = apart
                        near[v, worst, 0], near[v, worst, 1], near[v, worst, 2] = w, dx, dy
                        worst = int(np.argmax(distance))
    return near


@jit
def _fits(shapes: Variants, ground: Ground, v: int, x: int, y: int) -> bool:
    """Whether all places of a shape are on the ground."""
    if x < 0 or y < 0 or x >= ground.width or y >= ground.height:
        return False
    for t in range(shapes.places[v]):
        if ground.where[x + shapes.x[v, t], y + shapes.y[v, t]] < 0:
            return False
    return True


@jit
def _lay(shapes: Variants, ground: Ground, used: Ints, v: int, x: int, y: int, sign: int) -> int:
    """Add a shape, or take it away (sign -1); return the change of the qubits beyond the room."""
    change = 0
    for t in range(shapes.places[v]):
        site = ground.where[x + shapes.x[v, t], y + shapes.y[v, t]]
        place = shapes.kind[v, t] * ground.sites + site
        before = max(0, used[place] - ground.room[place])
        used[place] += sign * shapes.qubits[v, t]
        change += max(0, used[place] - ground.room[place]) - before
    return change


@jit
def anneal_copies(
    shapes: Variants,
    ground: Ground,
    copies: Ints,
    known: int,
    moves: int,
    hot: float,
    cold: float,
    seed: int,
) -> int:
    """Move copies (variant, x, y) until none overlap; return the qubits used too often.

    The first `known` copies are where they are said to be, the others begin anywhere.
    """
    state = generator(seed)
    variants, near = len(shapes.places), shapes.near.shape[1]
    used = np.zeros(len(ground.room), dtype=np.int32)
    over = 0
    for i in range(len(copies)):
        v, x, y = copies[i, 0], copies[i, 1], copies[i, 2]
        for _ in range(0 if i < known else 1000):
            v = int(uniform(state) * variants)
            x, y = int(uniform(state) * ground.width), int(uniform(state) * ground.height)
            if _fits(shapes, ground, v, x, y):
                break
        if not _fits(shapes, ground, v, x, y):
            return 1 << 30
        copies[i, 0], copies[i, 1], copies[i, 2] = v, x, y
        over += _lay(shapes, ground, used, v, x, y, 1)
    cooling, temperature = (cold / hot) ** (1.0 / max(1, moves)), hot
    for _ in range(moves):
        if over == 0:
            break
        temperature *= cooling
        i = int(uniform(state) * len(copies))
        v, x, y = copies[i, 0], copies[i, 1], copies[i, 2]
        kind = uniform(state)
        w, a, b = v, x, y
        if kind < 0.55:
            j = int(uniform(state) * near)
            w, a, b = shapes.near[v, j, 0], x + shapes.near[v, j, 1], y + shapes.near[v, j, 2]
        elif kind < 0.7:
            step = 2 * int(uniform(state) * 2) - 1
            if uniform(state) < 0.5:
                a += step
            else:
                b += step
        elif kind < 0.85:
            w = int(uniform(state) * variants)
            a, b = x + int(uniform(state) * 3) - 1, y + int(uniform(state) * 3) - 1
        else:
            w = int(uniform(state) * variants)
            a, b = int(uniform(state) * ground.width), int(uniform(state) * ground.height)
        if not _fits(shapes, ground, w, a, b):
            continue
        change = _lay(shapes, ground, used, v, x, y, -1)
        change += _lay(shapes, ground, used, w, a, b, 1)
        if change <= 0 or uniform(state) < np.exp(-change / temperature):
            copies[i, 0], copies[i, 1], copies[i, 2] = w, a, b
            over += change
        else:
            _lay(shapes, ground, used, w, a, b, -1)
            _lay(shapes, ground, used, v, x, y, 1)
    return over


@jit
def add_copies(shapes: Variants, ground: Ground, given: Ints, most: int, seed: int) -> Ints:
    """Keep the given copies that fit beside each other, and add others; return all of them."""
    state = generator(seed)
    used = np.zeros(len(ground.room), dtype=np.int32)
    chosen = np.empty((most, 3), dtype=np.int32)
    count = 0
    variants = len(shapes.places)
    sites = ground.width * ground.height
    start = int(uniform(state) * sites)
    for turn in range(len(given) + sites * variants):
        if count == most:
            break
        if turn < len(given):
            v, x, y = given[turn, 0], given[turn, 1], given[turn, 2]
        else:  # the smallest shapes first, everywhere
            v, site = divmod(turn - len(given), sites)
            x, y = divmod((site + start) % sites, ground.height)
        if not _fits(shapes, ground, v, x, y):
            continue
        if _lay(shapes, ground, used, v, x, y, 1) > 0:
            _lay(shapes, ground, used, v, x, y, -1)
            continue
        chosen[count, 0], chosen[count, 1], chosen[count, 2] = v, x, y
        count += 1
    return chosen[:count].copy()


@jit
def shapes_on_rest(shapes: Variants, ground: Ground, lacking: int) -> Ints:
    """Return variant, x, y and the qubits that lack, for all copies that lack at most so many."""
    used = np.zeros(len(ground.room), dtype=np.int32)
    found = np.empty((1 << 14, 4), dtype=np.int32)
    count = 0
    for v in range(len(shapes.places)):
        for x in range(ground.width):
            for y in range(ground.height):
                if count == len(found) or not _fits(shapes, ground, v, x, y):
                    continue
                over = _lay(shapes, ground, used, v, x, y, 1)
                _lay(shapes, ground, used, v, x, y, -1)
                if over <= lacking:
                    found[count, 0], found[count, 1], found[count, 2] = v, x, y
                    found[count, 3] = over
                    count += 1
    return found[:count].copy()
