"""Lattices of copies: a few shapes that repeat without overlap, laid over a chip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.copies_records import Ground, Variants
from qcompile.embedding.copies_shapes import Places

__all__ = ["Lattice", "chip_ground", "laid", "lattices", "packed"]

Ints = NDArray[np.int32]

_MOVES_EACH = 10_000  # of each copy of a unit
_MOST_IN_UNIT = 4
_LOOSEST = 1.35  # a unit with more room than this for each copy is no use
_CHIP_MOVES = 800_000  # to make room for another copy
_TURNS, _FEW_TURNS, _MANY = 12, 2, 40  # of up to so many copies, and of more
_HOT, _COLD = 0.025, 0.0033  # temperatures in qubits, for each qubit of a copy


@dataclass(frozen=True, eq=False)
class Lattice:
    """Copies (variant, x, y) that repeat after (width, 0) and after (shift, height)."""

    copies: Ints
    width: int
    height: int
    shift: int

    @property
    def sites(self) -> float:
        """The sites of a unit for each of its copies."""
        return self.width * self.height / len(self.copies)


def chip_ground(places: Places) -> Ground:
    """Return the ground of a whole chip: its places and how many qubits of each work."""
    _, width, height = places.room.shape
    margin = max(width, height)
    where = np.full((width + margin, height + margin), -1, dtype=np.int32)
    where[:width, :height] = np.arange(width * height).reshape(width, height)
    return Ground(where, width, height, width * height, places.room.reshape(-1).copy())


def _unit_ground(width: int, height: int, shift: int, kinds: int, room: int, reach: int) -> Ground:
    """Return the ground of one unit of a lattice, which continues on its other side."""
    x, y = np.meshgrid(np.arange(width + reach), np.arange(height + reach), indexing="ij")
    where = (x - shift * (y // height)) % width * height + y % height
    rooms = np.full(kinds * width * height, room, dtype=np.int32)
    return Ground(where.astype(np.int32), width, height, width * height, rooms)


def lattices(
    variants: Variants, chip: Ground, seed: int, late: Callable[[], bool], below: float = np.inf
) -> Iterator[Lattice]:
    """Yield lattices without overlap, the densest that are found and no others.

    Only units of less than `below` sites for each copy are tried.
    """
    from qcompile.embedding.copies_kernel import anneal_copies

    kinds, room = len(chip.room) // chip.sites, int(chip.room.max())
    least = int(min(row.sum() for row in variants.qubits))
    reach = int(max(variants.x.max(), variants.y.max())) + 1
    units = [
        (area / copies, copies, area)
        for copies in range(1, _MOST_IN_UNIT + 1)
        for area in range(1, chip.sites // 2)
        if least * copies <= kinds * room * area <= _LOOSEST * least * copies
        and area < below * copies
    ]
    best = np.inf
    for density, copies, area in sorted(units):
        if density > best:
            return
        for height in [h for h in range(1, area + 1) if area % h == 0]:
            for shift in range(area // height):
                if late():
                    return
                ground = _unit_ground(area // height, height, shift, kinds, room, reach)
                found = np.zeros((copies, 3), dtype=np.int32)
                moves = _MOVES_EACH * copies
                if anneal_copies(variants, ground, found, 0, moves, 1.5, 0.2, seed) == 0:
                    best = density
                    yield Lattice(found, area // height, height, shift)


def laid(lattice: Lattice, variants: Variants, chip: Ground) -> Ints:
    """Return the copies of a lattice that lie on the chip, from the corner that holds most."""
    corners = [(x, y) for x in range(lattice.width) for y in range(lattice.height)]
    return max((_from(lattice, variants, chip, *corner) for corner in corners), key=len)


def _from(lattice: Lattice, variants: Variants, chip: Ground, left: int, low: int) -> Ints:
    """Return all copies on the chip if the lattice begins at this corner."""
    rooms = chip.room.reshape(-1, chip.width, chip.height) > 0
    found = []
    for v, x, y in lattice.copies.tolist():
        size = variants.places[v]
        kind, dx, dy = (part[v, :size] for part in (variants.kind, variants.x, variants.y))
        rows = range(-(chip.height // lattice.height) - 1, chip.height // lattice.height + 2)
        for row in rows:
            bottom = y + low + row * lattice.height
            if not 0 <= bottom < chip.height - dy.max():
                continue
            start = (x + left + row * lattice.shift) % lattice.width
            for a in range(start, chip.width - int(dx.max()), lattice.width):
                if rooms[kind, a + dx, bottom + dy].all():
                    found.append((v, a, bottom))
    return np.array(found, dtype=np.int32).reshape(-1, 3)


def packed(
    start: Ints, variants: Variants, chip: Ground, seed: int, late: Callable[[], bool]
) -> Iterator[Ints]:
    """Yield better and better packings of the chip, which begin with the given copies.

    One copy is added after the other: it begins anywhere, and all are annealed until none overlap.
    """
    from qcompile.embedding.copies_kernel import add_copies, anneal_copies

    least = int(min(row.sum() for row in variants.qubits))
    most = int(chip.room.sum()) // least
    best = add_copies(variants, chip, start, most, seed)
    yield best
    hot, cold = max(0.5, _HOT * least), max(0.2, _COLD * least)
    for turn in range(_TURNS if len(best) <= _MANY else _FEW_TURNS):
        if late() or len(best) == most:
            return
        trial = np.zeros((len(best) + 1, 3), dtype=np.int32)
        trial[:-1] = best
        moves = _CHIP_MOVES
        over = anneal_copies(variants, chip, trial, len(best), moves, hot, cold, seed + turn)
        if over < 1 << 30:
            found = add_copies(variants, chip, trial, most, seed)
            if len(found) > len(best):
                best = found
                yield best
