"""Further copies in the qubits that a packing leaves, connected through whatever is free.

A packing counts qubits. On a damaged machine some of its copies find no tracks or lack a coupler;
here shapes are tried wherever most of their qubits are free, and then mended.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.copies_records import Ground, Variants
from qcompile.embedding.copies_shapes import Places, Shape
from qcompile.embedding.copies_tracks import Chains, mended_copies
from qcompile.embedding.kernel_input import KernelInput

__all__ = ["refilled"]

Ints = NDArray[np.int32]
_LACKING = 0.08  # share of a shape's qubits that may be taken or dead
_MOST_TRIES = 150  # mendings for each further copy
_TIMES_ROOM = 1.0  # free qubits for each qubit of a copy, below which nothing is tried


def refilled(
    known: list[Chains],
    shapes: list[Shape],
    variants: Variants,
    chip: Ground,
    inputs: KernelInput,
    places: Places,
    late: Callable[[], bool],
) -> list[Chains]:
    """Return the known copies and those that were found beside them."""
    from qcompile.embedding.copies_kernel import shapes_on_rest

    found = list(known)
    least = int(min(row.sum() for row in variants.qubits))
    nodes = inputs.machine.nodes
    while not late():
        free = np.ones(len(nodes), dtype=np.bool_)
        used = [q for chains in found for chain in chains for q in chain]
        free[np.searchsorted(nodes, used)] = False
        if free.sum() < _TIMES_ROOM * least:
            break
        room = np.zeros_like(places.room)
        np.add.at(room, (places.kind[free], places.x[free], places.y[free]), 1)
        rest = chip._replace(room=room.reshape(-1).astype(np.int32))
        trials = shapes_on_rest(variants, rest, int(_LACKING * least) + 1)
        order = np.argsort(trials[:, 3], kind="stable")[:_MOST_TRIES]
        another = _first_mended(trials[order], shapes, free, inputs, places, late)
        if another is None:
            break
        found.append(another)
    return found


def _first_mended(
    trials: Ints,
    shapes: list[Shape],
    free: NDArray[np.bool_],
    inputs: KernelInput,
    places: Places,
    late: Callable[[], bool],
) -> Chains | None:
    """Return the first of these copies that can be connected on the free qubits."""
    for v, x, y, _ in trials.tolist():
        if late():
            break
        chains = _on_free(shapes[v], x, y, free, places)
        mended = mended_copies([chains], inputs, free)
        if mended:
            return mended[0]
    return None


def _on_free(
    shape: Shape, left: int, low: int, free: NDArray[np.bool_], places: Places
) -> list[list[int]]:
    """Return the chains of a shape, each piece on the track with most free qubits for it."""
    chains: list[list[int]] = [[] for _ in range(int(shape.variable.max()) + 1)]
    left_over = free.copy()
    sizes = np.bincount(shape.piece)
    order = sorted(np.unique(shape.piece).tolist(), key=lambda piece: (-sizes[piece], piece))
    for piece in order:
        own = shape.piece == piece
        rows = places.qubit[shape.kind[own], shape.x[own] + left, shape.y[own] + low]
        good = (rows >= 0) & left_over[rows]
        track = int(np.argmax(good.sum(axis=0)))
        qubits = rows[good[:, track], track]
        left_over[qubits] = False
        chains[int(shape.variable[own][0])].extend(qubits.tolist())
    return chains
