"""Search for chains of small complete cubics that fill whole cells of a Zephyr graph.

Usage: python -m benchmarks.dense_shapes_bench [--bits 6 7 8] [--runs 3] -o FILE

This made qcompile/embedding/dense_shapes.json, from which `find_copies` takes them.

A Zephyr graph is a grid: each of its edges is a place of four equal qubits, and upright and level
places are coupled where they meet. All sets of few places with many meetings are tried, up to
rotation and reflection. Simulated annealing assigns the qubits of a set to variables; its cost is
the couplings without a coupler and the further parts of chains. Chains of the smallest sets that
hold the problem are written.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from benchmarks.copies_bench import complete_cubic
from qcompile import Embedding, Machine, Qubo, load_machine
from qcompile.embedding.copies_shapes import places_of
from qcompile.embedding.kernel_input import KernelInput, trimmed
from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform
from qcompile.stages.embedded import check_embedding, problem_id

Place = tuple[int, int, int]  # 0 upright or 1 level, x, y
Ints = NDArray[np.int32]
_WINDOW = 4  # vertices of the grid in each direction
_MOVES = 700_000
_HOT, _COLD = 1.0, 0.12
_MOST = 7  # sets of places that are kept


def _canonical(places: list[Place]) -> tuple[Place, ...]:
    """Return the first of all rotations and reflections of a set of places, at the corner."""
    found = []
    for way in range(8):
        moved = []
        for kind, x, y in places:
            if way & 4:
                kind, x, y = 1 - kind, y, x
            x = -x - (kind == 1) if way & 1 else x
            y = -y - (kind == 0) if way & 2 else y
            moved.append((kind, x, y))
        left, low = min(x for _, x, _ in moved), min(y for _, _, y in moved)
        found.append(tuple(sorted((kind, x - left, y - low) for kind, x, y in moved)))
    return min(found)


def _meet(upright: Place, level: Place) -> bool:
    return level[2] - upright[2] in (0, 1) and upright[1] - level[1] in (0, 1)


def _sets(upright: int, level: int, least: int) -> list[tuple[Place, ...]]:
    """Return the sets of places with most meetings, or one less; there must be `least`."""
    size = range(_WINDOW)
    all_upright = [(0, x, y) for x in size for y in size[:-1]]
    all_level = [(1, x, y) for x in size[:-1] for y in size]
    found: dict[tuple[Place, ...], int] = {}
    for chosen in combinations(all_upright, upright):
        met = [(sum(_meet(u, own) for u in chosen), own) for own in all_level]
        for others in combinations([pair for pair in met if pair[0]], level):
            count = sum(number for number, _ in others)
            if count >= least:
                found[_canonical([*chosen, *(own for _, own in others)])] = count
    most = max(found.values(), default=0)
    good = [key for key, count in found.items() if count >= most - 1]
    return sorted(good, key=lambda key: (-found[key], key))


@jit
def _cost(owner: Ints, starts: Ints, neighbours: Ints, wanted: NDArray[np.bool_], met: Ints) -> int:
    """Return the couplings that no coupler joins, and the parts of chains beyond the first."""
    variables = len(wanted)
    joined, cost = 0, 0
    for u in range(variables):
        for v in range(variables):
            met[u, v] = 0
    part = np.arange(len(owner))
    for q in range(len(owner)):
        for t in range(starts[q], starts[q + 1]):
            other = neighbours[t]
            met[owner[q], owner[other]] = 1
            if owner[q] == owner[other]:
                a, b = q, int(other)
                while part[a] != a:
                    a = int(part[a])
                while part[b] != b:
                    b = int(part[b])
                if a != b:
                    part[max(a, b)] = min(a, b)
                    joined += 1
    for u in range(variables):
        for v in range(u):
            if wanted[u, v] and not met[u, v]:
                cost += 1
    return cost + len(owner) - joined - variables  # parts beyond one for each variable


@jit
def _assign(
    starts: Ints, neighbours: Ints, wanted: NDArray[np.bool_], moves: int, seed: int, owner: Ints
) -> int:
    """Anneal the owner of every qubit, in place; return the cost at the end."""
    state = generator(seed)
    qubits, variables = len(owner), len(wanted)
    met = np.zeros((variables, variables), dtype=np.int32)
    sizes = np.zeros(variables, dtype=np.int32)
    for q in range(qubits):
        owner[q] = q if q < variables else int(uniform(state) * variables)
        sizes[owner[q]] += 1
    cost = _cost(owner, starts, neighbours, wanted, met)
    temperature, cooling = _HOT, (_COLD / _HOT) ** (1.0 / moves)
    for _ in range(moves):
        if cost == 0:
            break
        temperature *= cooling
        a, b = int(uniform(state) * qubits), int(uniform(state) * qubits)
        old, other = owner[a], owner[b]
        swap = uniform(state) < 0.5
        if not swap:
            other = int(uniform(state) * variables)
        if old == other or (not swap and sizes[old] == 1):
            continue
        owner[a] = other
        if swap:
            owner[b] = old
        now = _cost(owner, starts, neighbours, wanted, met)
        if now <= cost or uniform(state) < np.exp((cost - now) / temperature):
            cost = now
            if not swap:
                sizes[old] -= 1
                sizes[other] += 1
        else:
            owner[a] = old
            if swap:
                owner[b] = other
    return cost


def _chains_on(
    places: tuple[Place, ...], qubo: Qubo, window: Machine, runs: int
) -> list[list[int]] | None:
    """Return chains on all qubits of these places, or None if none were found."""
    table = places_of(window)
    qubits = np.concatenate([table.qubit[place] for place in places])
    rest = window.without(np.setdiff1d(window.nodes, window.nodes[qubits]).tolist())
    inputs = KernelInput(qubo, rest)
    if inputs.qubits < qubo.variables:
        return None
    wanted = np.zeros((qubo.variables, qubo.variables), dtype=np.bool_)
    wanted[qubo.first, qubo.second] = wanted[qubo.second, qubo.first] = True
    owner = np.zeros(inputs.qubits, dtype=np.int32)
    for seed in range(runs):
        if _assign(*inputs.graph, wanted, _MOVES, seed, owner) == 0:
            parts = [np.flatnonzero(owner == v) for v in range(qubo.variables)]
            owner = trimmed(inputs, parts)
            return [rest.nodes[owner == v].tolist() for v in range(qubo.variables)]
    return None


def _searched(qubo: Qubo, window: Machine, runs: int) -> Iterator[list[list[int]]]:
    """Yield chains on different sets of the fewest places that hold the problem."""
    pairs = len(qubo.first)
    for count in range(-(-qubo.variables // 4), 10):
        found = 0
        for level in (count // 2, count // 2 - 1):
            # most couplers of a meeting are one for each pair of its qubits
            for places in _sets(count - level, level, -(-pairs // 16) + 1):
                chains = _chains_on(places, qubo, window, runs)
                print(f"{count} places {places}: {'no' if chains is None else 'yes'}", flush=True)
                if chains is not None:
                    found += 1
                    yield chains
                if found == _MOST:
                    return
        if found:
            return


def main() -> None:
    """Search, check and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bits", type=int, nargs="+", default=[6, 7, 8])
    parser.add_argument("--runs", type=int, default=3, help="anneals of each set of places")
    parser.add_argument("--tiny", action="store_true", help="the cubic of 4 bits, one anneal")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    window = load_machine("zephyr3")
    problems = {}
    for bits in [4] if options.tiny else options.bits:
        qubo = complete_cubic(bits)
        shapes = list(_searched(qubo, window, 1 if options.tiny else options.runs))
        name = problem_id(qubo)
        for chains in shapes:
            check_embedding(Embedding(tuple(map(tuple, chains)), window, name, "dense"), qubo)
        print(f"cubic of {bits} bits: {len(shapes)} shapes", flush=True)
        problems[name] = {"name": f"complete cubic of {bits} bits", "chains": shapes}
    if options.output:
        options.output.write_bytes(
            orjson.dumps({"machine": window.name, "problems": problems}) + b"\n"
        )


if __name__ == "__main__":
    main()
