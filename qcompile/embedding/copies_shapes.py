"""Shapes of chains: where the chains of one problem may lie on a chip, anywhere on it.

The graphs of Chimera, Pegasus and Zephyr repeat: chains may be moved by whole units, and on Chimera
and Zephyr also turned and reflected. Qubits at the same place (kind, x, y) are equal but for their
track. A track matters only where chains run along it, so a piece of a chain on one line may change
its track.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.copies_records import Variants
from qcompile.embedding.kernel_input import KernelInput, Owner
from qcompile.stages.machine import Machine

__all__ = [
    "Places",
    "Shape",
    "on_fewest_places",
    "oriented",
    "places_of",
    "shape_of",
    "shapes_near",
    "variants_of",
]

Ints = NDArray[np.int32]
_ORIENTATIONS = 8
_MOVES, _CYCLE = 40_000, 300  # of a walk: about half a second
_PLACE = 2.0  # qubits that a place counts as, in the second walk
_MOST_DENSE = 100  # chains on the fewest places, of which many are the same shape
_MOST_FOUND = 4000
_MORE_QUBITS = 1.1  # shapes may have this many times the qubits of the smallest, or 2 more
_NEAR = 24


@dataclass(frozen=True)
class Places:
    """The place of each working qubit; ``qubit[kind, x, y, track]`` is its number, or -1.

    `upright` says for each kind whether its qubits lie one above the other on their line.
    """

    kind: Ints
    x: Ints
    y: Ints
    track: Ints
    upright: NDArray[np.bool_]
    turns: bool
    half: int

    @cached_property
    def qubit(self) -> Ints:
        """The position in the list of working qubits, or -1."""
        shape = (len(self.upright), self.x.max() + 1, self.y.max() + 1, self.track.max() + 1)
        table = np.full(shape, -1, dtype=np.int32)
        table[self.kind, self.x, self.y, self.track] = np.arange(len(self.kind))
        return table

    @cached_property
    def room(self) -> Ints:
        """Number of working qubits at each kind, x and y."""
        return np.asarray((self.qubit >= 0).sum(axis=3), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Shape:
    """The qubits of the chains of one problem: place, variable and piece of each.

    All qubits of a piece must get the same track.
    """

    kind: Ints
    x: Ints
    y: Ints
    variable: Ints
    piece: Ints

    @cached_property
    def cells(self) -> tuple[tuple[int, int, int, int], ...]:
        """Each place (kind, x, y) with its number of qubits, in order."""
        rows = np.column_stack([self.kind, self.x, self.y])
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        return tuple(map(tuple, np.column_stack([unique, counts]).tolist()))


def places_of(machine: Machine) -> Places:
    """Return the place of each working qubit, from Ocean's coordinates."""
    import dwave.graphs as dg

    nodes, whole = machine.nodes.tolist(), machine.whole_graph.graph
    tile = whole["tile"]
    if machine.topology == "chimera":
        of = dg.chimera_coordinates(whole["rows"], whole["columns"], tile).linear_to_chimera
        found = [(u, j, i, k) for i, j, u, k in map(of, nodes)]
    elif machine.topology == "pegasus":
        of = dg.pegasus_coordinates(whole["rows"]).linear_to_pegasus
        found = [
            (u * tile // 2 + k // 2, *((z, w) if u else (w, z)), k % 2)
            for u, w, k, z in map(of, nodes)
        ]
    else:
        of = dg.zephyr_coordinates(whole["rows"], tile).linear_to_zephyr
        found = [
            (u, *((2 * z + j, w) if u else (w, 2 * z + j)), k) for u, w, k, j, z in map(of, nodes)
        ]
    kinds = tile if machine.topology == "pegasus" else 2
    kind, x, y, track = np.array(found, dtype=np.int32).T
    return Places(
        kind=kind,
        x=x,
        y=y,
        track=track,
        upright=np.arange(kinds) < kinds // 2,
        turns=machine.topology != "pegasus",
        # a qubit of Zephyr lies between two crossings, one of Chimera on one
        half=int(machine.topology == "zephyr"),
    )


def oriented(shape: Shape, places: Places) -> Iterator[Shape]:
    """Yield the shape turned and reflected in every way that the graph allows, at the corner."""
    if not places.turns:
        yield shape
        yield _across(shape, places)
        return
    for way in range(_ORIENTATIONS):
        kind, x, y = shape.kind, shape.x, shape.y
        if way & 4:
            kind, x, y = 1 - kind, y, x
        if way & 1:
            x = -x - places.half * (kind == 1)
        if way & 2:
            y = -y - places.half * (kind == 0)
        yield replace(shape, kind=kind, x=x - x.min(), y=y - y.min())


def _across(shape: Shape, places: Places) -> Shape:
    """Return a shape on Pegasus reflected at the falling diagonal: its graph has no other way.

    Line k of a cell becomes line 11 - k of the other direction. A qubit begins after the border of
    its cell and ends after the next one, so that its reflection begins a cell earlier.
    """
    kind = len(places.upright) - 1 - shape.kind
    upright = places.upright[kind]
    x, y = -shape.y - np.where(upright, 0, 1), -shape.x - np.where(upright, 1, 0)
    return replace(shape, kind=kind, x=x - x.min(), y=y - y.min())


def shape_of(owner: Owner, inputs: KernelInput, places: Places) -> Shape:
    """Return the shape of chains."""
    used = np.flatnonzero(owner >= 0)
    x, y = places.x[used], places.y[used]
    return Shape(
        kind=places.kind[used],
        x=x - x.min(),
        y=y - y.min(),
        variable=owner[used].astype(np.int32),
        piece=_pieces(owner, inputs, places)[used],
    )


def _pieces(owner: Owner, inputs: KernelInput, places: Places) -> Ints:
    """Number the parts of the chains that are joined along one line."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = inputs.machine.edges.T
    a, b = owner[first], owner[second]
    wanted = np.zeros((inputs.variables, inputs.variables), dtype=np.bool_)
    wanted[inputs.qubo.first, inputs.qubo.second] = True
    needed = (a >= 0) & (b >= 0) & ((a == b) | wanted[a, b] | wanted[b, a])
    same_line = (places.kind[first] == places.kind[second]) & np.where(
        places.upright[places.kind[first]],
        places.x[first] == places.x[second],
        places.y[first] == places.y[second],
    )
    same_line &= places.track[first] == places.track[second]
    first, second = first[needed & same_line], second[needed & same_line]
    size = len(owner)
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(size, size))
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1], dtype=np.int32)


def shapes_near(owner: Owner, inputs: KernelInput, *, seed: int, most: int) -> list[Shape]:
    """Return different shapes of chains for a problem, found by changing the given chains.

    Those on the fewest places come first, then those with the fewest qubits.
    """
    from qcompile.embedding.chain_kernels import layout_of
    from qcompile.embedding.copies_kernel import walk_shapes

    places = places_of(inputs.machine)
    room = places.room
    place = np.ravel_multi_index((places.kind, places.x, places.y), room.shape).astype(np.int32)
    least = int((owner >= 0).sum())
    seen = np.zeros(1 << 16, dtype=np.uint64)
    limit = max(least + 2, int(least * _MORE_QUBITS))
    found = [owner]
    for weight in (0.0, _PLACE):
        layout = layout_of(inputs.graph, inputs.problem, owner)
        rows = np.empty((_MOST_FOUND, inputs.qubits), dtype=np.int32)
        count = walk_shapes(layout, _MOVES, seed, _CYCLE, limit, weight, place, seen, rows)
        found += list(rows[:count])
    sizes = [(int((row >= 0).sum()), len(np.unique(place[row >= 0]))) for row in found]
    order = np.array(sizes, dtype=np.int64)
    small = np.lexsort((order[:, 1], order[:, 0]))
    dense = np.lexsort((order[:, 0], order[:, 1]))[:_MOST_DENSE]
    shapes: list[Shape] = []
    known: set[tuple[tuple[int, int, int, int], ...]] = set()
    for i in [*dense.tolist(), *small.tolist()]:
        shape = shape_of(found[i], inputs, places)
        if shape.cells not in known:
            known.update(way.cells for way in oriented(shape, places))
            shapes.append(shape)
            if len(shapes) == most:
                break
    return shapes


def variants_of(shapes: list[Shape], places: Places) -> tuple[list[Shape], Variants]:
    """Return the shapes in every orientation, and their places as the kernels need them."""
    every: dict[tuple[tuple[int, int, int, int], ...], Shape] = {}
    for shape in shapes:
        for way in oriented(shape, places):
            every.setdefault(way.cells, way)
    longest = max(map(len, every))
    table = np.zeros((4, len(every), longest), dtype=np.int32)
    for i, cells in enumerate(every):
        table[:, i, : len(cells)] = np.array(cells).T
    counts = np.array([len(cells) for cells in every], dtype=np.int32)
    return list(every.values()), _with_near(table, counts, len(places.upright))


def _with_near(table: Ints, counts: Ints, kinds: int) -> Variants:
    """Return shapes in every orientation with the ones that are near each."""
    from qcompile.embedding.copies_kernel import nearest_variants

    kind, x, y, count = (np.ascontiguousarray(part) for part in table)
    near = nearest_variants(kind, x, y, count, counts, kinds, _NEAR)
    return Variants(kind, x, y, count, counts, near)


def on_fewest_places(variants: Variants) -> Variants:
    """Return the first of these shapes: those on the fewest places, which may fill a chip best."""
    end = int(np.argmax(np.append(variants.places != variants.places[0], True)))
    table = np.stack([variants.kind, variants.x, variants.y, variants.qubits])[:, :end]
    return _with_near(table, variants.places[:end].copy(), int(variants.kind.max()) + 1)
