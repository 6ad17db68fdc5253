"""Tracks for the pieces of many copies, and which copies are whole on the working graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.copies_shapes import Places, Shape
from qcompile.embedding.kernel_input import KernelInput

__all__ = ["Chains", "chains_on_tracks", "mended_copies"]

Ints = NDArray[np.int32]
Chains: TypeAlias = tuple[tuple[int, ...], ...]
Line: TypeAlias = tuple[int, int]  # kind and the coordinate that all its qubits share
_TAKEN = -2  # owner of a qubit that belongs to another copy: neither free nor a variable
_MOST_STEPS = 3000  # of the search for the tracks of one line


def chains_on_tracks(
    shapes: Sequence[Shape], corners: Ints, places: Places
) -> list[list[list[int]] | None]:
    """Return the chains of each copy, as positions of working qubits; None if it found no track.

    Shape i lies at corner i.
    """
    lines: defaultdict[Line, list[tuple[int, int, int]]] = defaultdict(list)
    for copy, (shape, (left, low)) in enumerate(zip(shapes, corners, strict=True)):
        upright = places.upright[shape.kind]
        fixed = np.where(upright, shape.x + left, shape.y + low)
        along = np.where(upright, shape.y + low, shape.x + left)
        masks: defaultdict[tuple[Line, int], int] = defaultdict(int)
        rows = zip(shape.kind, fixed, along, shape.piece, strict=True)
        for kind, where, position, piece in (map(int, row) for row in rows):
            masks[(kind, where), piece] |= 1 << position
        for (line, piece), mask in masks.items():
            lines[line].append((mask, copy, piece))
    tracks: dict[tuple[int, int], int] = {}
    lost: set[int] = set()
    for line in sorted(lines):
        _assign(line, lines[line], places, tracks, lost)
    return [
        None if copy in lost else _chains(copy, shape, corner, places, tracks)
        for copy, (shape, corner) in enumerate(zip(shapes, corners, strict=True))
    ]


def _assign(
    line: Line,
    pieces: list[tuple[int, int, int]],
    places: Places,
    tracks: dict[tuple[int, int], int],
    lost: set[int],
) -> None:
    """Give the pieces of one line their tracks; copies for which there is none are lost."""
    kind, fixed = line
    on_line = places.qubit[kind, fixed] if places.upright[kind] else places.qubit[kind, :, fixed]
    free = [
        sum(1 << int(position) for position in np.flatnonzero(column >= 0)) for column in on_line.T
    ]
    waiting = sorted(
        (piece for piece in pieces if piece[1] not in lost),
        key=lambda piece: (piece[0] & -piece[0], -piece[0].bit_count(), piece[1:]),
    )
    while True:
        chosen, failed = _tracks_for([mask for mask, _, _ in waiting], free)
        if failed is None:
            break
        lost.add(waiting[failed][1])
        waiting = [piece for piece in waiting if piece[1] not in lost]
    for (_, copy, piece), track in zip(waiting, chosen, strict=True):
        tracks[copy, piece] = track


def _tracks_for(masks: list[int], working: list[int]) -> tuple[list[int], int | None]:
    """Return a track for each piece by search in depth, or the piece at which it got no further."""
    free = list(working)
    chosen: list[int] = []
    following = [0]
    furthest, steps = 0, 0
    while len(chosen) < len(masks):
        steps += 1
        mask = masks[len(chosen)]
        furthest = max(furthest, len(chosen))
        fitting = [t for t in range(following[-1], len(free)) if free[t] & mask == mask]
        if fitting and steps < _MOST_STEPS:
            free[fitting[0]] ^= mask
            chosen.append(fitting[0])
            following[-1] = fitting[0] + 1
            following.append(0)
            continue
        following.pop()
        if not chosen or steps >= _MOST_STEPS:
            return [], furthest
        free[chosen.pop()] ^= masks[len(chosen)]
    return chosen, None


def _chains(
    copy: int, shape: Shape, corner: Ints, places: Places, tracks: dict[tuple[int, int], int]
) -> list[list[int]]:
    """Return the qubits of each variable of a copy."""
    track = np.array([tracks[copy, piece] for piece in shape.piece.tolist()])
    qubits = places.qubit[shape.kind, shape.x + corner[0], shape.y + corner[1], track]
    chains: list[list[int]] = [[] for _ in range(int(shape.variable.max()) + 1)]
    for variable, qubit in zip(shape.variable.tolist(), qubits.tolist(), strict=True):
        chains[variable].append(qubit)
    return chains


def mended_copies(
    copies: Sequence[list[list[int]] | None],
    inputs: KernelInput,
    free: NDArray[np.bool_] | None = None,
) -> list[Chains]:
    """Return the chains, as qubits of the machine, of all copies that the working graph allows.

    Copies that lack a coupler are connected again through qubits that no other copy uses; if
    `free` is given, only through these.
    """
    from qcompile.embedding.chain_kernels import layout_of, settle, trim_all

    whole = _whole(copies, inputs)
    taken = np.zeros(inputs.qubits, dtype=np.bool_) if free is None else ~free
    found: list[list[list[int]]] = []
    for number, chains in enumerate(copies):
        if chains is not None and number in whole:
            found.append(chains)
            taken[[q for chain in chains for q in chain]] = True
    order = np.arange(inputs.variables, dtype=np.int32)
    for number, chains in enumerate(copies):
        if chains is None or number in whole:
            continue
        owner = np.full(inputs.qubits, -1, dtype=np.int32)
        for variable, chain in enumerate(chains):
            owner[[q for q in chain if not taken[q]]] = variable
        layout = layout_of(inputs.graph, inputs.problem, owner)
        layout.owner[taken] = _TAKEN
        if settle(layout, order, 4, 1):
            continue
        trim_all(layout, 1)
        mended = [np.flatnonzero(layout.owner == v).tolist() for v in range(inputs.variables)]
        if 0 in _whole([mended], inputs):
            found.append(mended)
            taken[layout.owner >= 0] = True
    nodes = inputs.machine.nodes
    return [tuple(tuple(sorted(nodes[chain].tolist())) for chain in chains) for chains in found]


def _whole(copies: Sequence[list[list[int]] | None], inputs: KernelInput) -> set[int]:
    """Return the numbers of the copies with connected chains and a coupler for each coupling."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    qubo, machine = inputs.qubo, inputs.machine
    size, nodes = qubo.variables, machine.nodes
    owner = np.full(len(nodes), -1, dtype=np.int64)
    for number, chains in enumerate(copies):
        for variable, chain in enumerate(chains or ()):
            owner[chain] = number * size + variable
    first, second = machine.edges.T
    a, b = owner[first], owner[second]
    own = (a == b) & (a >= 0)
    ones = np.ones(int(own.sum()), dtype=np.int8)
    graph = coo_array((ones, (first[own], second[own])), shape=(len(nodes), len(nodes))).tocsr()
    piece = connected_components(graph, directed=False)[1]
    used = np.flatnonzero(owner >= 0)
    parts = np.unique(np.column_stack([owner[used], piece[used]]), axis=0)[:, 0]
    pieces = np.bincount(parts, minlength=len(copies) * size)
    inside = (a >= 0) & (b >= 0) & (a // size == b // size) & ~own
    low, high = np.minimum(a, b)[inside], np.maximum(a, b)[inside]
    met = np.unique(low * size + high % size)
    wanted_low, wanted_high = np.sort(np.stack([qubo.first, qubo.second]), axis=0).astype(np.int64)
    good = set()
    for number, chains in enumerate(copies):
        if chains is None or (pieces[number * size : (number + 1) * size] != 1).any():
            continue
        if np.isin((number * size + wanted_low) * size + wanted_high, met).all():
            good.add(number)
    return good
