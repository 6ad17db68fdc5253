"""A first embedding from the structure of problem and machine: strips of lines that cross.

The qubits of Chimera, Pegasus and Zephyr lie on vertical and horizontal lines that cross each
other. A QUBO from `quadratize` has a few variables that are coupled to almost all others (the bits)
and many that are coupled to bits only (the ancillas). Each bit gets one line in a strip of adjacent
vertical lines and one in a strip of horizontal lines. Every two bits meet where the strips cross.
Each ancilla gets a short piece of a line across one of the strips. More strips of either
orientation hold more ancillas. Needless qubits are trimmed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["Lines", "Roles", "layouts", "lines_of", "roles_of"]


_MOST_STRIPS = 4
# A piece of a line may miss this share of the strip because of dead qubits; the missing links are
# added afterwards.
_MISSED_SHARE = 0.25


@dataclass(frozen=True)
class Lines:
    """The places of a machine's qubits, which are numbered as in its list of working qubits.

    ``qubit[o, l, p]`` is the qubit at position p of line l of orientation o, or -1.
    ``crossing[o][l, k]`` is the position on line l at which it meets line k of the other
    orientation, or -1.
    """

    qubit: NDArray[np.int64]
    crossing: tuple[NDArray[np.int64], NDArray[np.int64]]

    @property
    def count(self) -> int:
        """The number of lines of each orientation."""
        return int(self.qubit.shape[1])

    @cached_property
    def period(self) -> int:
        """The number of lines that one qubit crosses, after which the chip's pattern repeats."""
        first = self.crossing[0]
        return max(1, int(max(np.bincount(row[row >= 0]).max(initial=0) for row in first)))

    @cached_property
    def whole(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of crossings that each line lacks, compared with the longest line."""
        alive = [np.count_nonzero(table >= 0, axis=1) for table in self.crossing]
        return alive[0].max() - alive[0], alive[1].max() - alive[1]


@dataclass(frozen=True)
class Roles:
    """Variables that get lines in the strips (`spread`), and those that only cross the strips."""

    spread: tuple[int, ...]
    crossing: tuple[int, ...]


def lines_of(machine: Machine) -> Lines:
    """Sort the working qubits of a machine into lines."""
    places = _places(machine)
    orientation, line, position = places.T
    shape = (2, int(line.max()) + 1, int(position.max()) + 1)
    qubit = np.full(shape, -1, dtype=np.int64)
    qubit[orientation, line, position] = np.arange(len(places))
    a, b = machine.edges.T
    across = orientation[a] != orientation[b]
    a, b = a[across], b[across]
    upright = np.where(orientation[a] == 0, a, b)
    level = np.where(orientation[a] == 0, b, a)
    crossing = tuple(np.full((shape[1], shape[1]), -1, dtype=np.int64) for _ in range(2))
    crossing[0][line[upright], line[level]] = position[upright]
    crossing[1][line[level], line[upright]] = position[level]
    return Lines(qubit, (crossing[0], crossing[1]))


def _places(machine: Machine) -> NDArray[np.int64]:
    """Return orientation, line and position of each working qubit, from Ocean's coordinates."""
    import dwave.graphs as dg

    nodes, whole = machine.nodes.tolist(), machine.whole_graph.graph
    tile = whole["tile"]
    if machine.topology == "chimera":
        system = dg.chimera_coordinates(whole["rows"], whole["columns"], tile)
        found = [
            (u, (i if u else j) * tile + k, j if u else i)
            for i, j, u, k in map(system.linear_to_chimera, nodes)
        ]
    elif machine.topology == "pegasus":
        convert = dg.pegasus_coordinates(whole["rows"]).linear_to_pegasus
        found = [(u, w * tile + k, z) for u, w, k, z in map(convert, nodes)]
    else:
        convert = dg.zephyr_coordinates(whole["rows"], tile).linear_to_zephyr
        found = [(u, (w * tile + k) * 2 + j, z) for u, w, k, j, z in map(convert, nodes)]
    return np.array(found, dtype=np.int64)


def roles_of(qubo: Qubo) -> Roles:
    """Split the variables into a large set without couplings inside (`crossing`) and the others.

    The set is filled greedily, variables with few neighbours first. Both groups are ordered by the
    leading singular vectors of the couplings between them, so that variables with similar
    neighbours are adjacent. For a cubic this separates the two halves.
    """
    size = qubo.variables
    meets = np.zeros((size, size), dtype=bool)
    meets[qubo.first, qubo.second] = meets[qubo.second, qubo.first] = True
    blocked = np.zeros(size, dtype=bool)
    apart = np.zeros(size, dtype=bool)
    for v in np.lexsort((np.arange(size), meets.sum(axis=1))):
        if not blocked[v]:
            apart[v] = True
            blocked |= meets[v]
    lone, spread = np.flatnonzero(apart), np.flatnonzero(~apart)
    table = meets[np.ix_(lone, spread)].astype(np.float64)
    if min(table.shape) > 1:
        left, _, right = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
        # Rounding keeps ties in order. The sign of a singular vector is arbitrary: fix it.
        sign = np.sign(right[0][np.argmax(np.abs(right[0]).round(9))]) or 1.0
        spread = spread[np.argsort((sign * right[0]).round(9), kind="stable")]
        lone = lone[np.argsort((sign * left[:, 0]).round(9), kind="stable")]
    return Roles(tuple(spread.tolist()), tuple(lone.tolist()))


@dataclass(frozen=True)
class _Strip:
    orientation: int
    lines: NDArray[np.int64]


@dataclass(frozen=True)
class _Slot:
    """A piece of a line across a strip, at a `distance` from where the strips cross."""

    strip: int
    line: int
    qubits: NDArray[np.int64]
    distance: float


def layouts(lines: Lines, roles: Roles, qubits: int) -> Iterator[Iterator[NDArray[np.int32]]]:
    """Yield groups of layouts (the owner of each qubit, or -1), those with fewer strips first.

    A variable without a place owns no qubit. Dead qubits may leave chains in pieces.
    """
    width = len(roles.spread)
    shapes = sorted(
        ((v, h) for v in range(1, _MOST_STRIPS + 1) for h in range(1, v + 1)),
        key=lambda s: (sum(s), s[0]),
    )
    for upright, level in shapes:
        room = upright * (lines.count - level * width) + level * (lines.count - upright * width)
        if upright * width <= lines.count and room >= len(roles.crossing):
            yield (
                _lay(lines, roles, strips, qubits)
                for strips in _placements(lines, width, upright, level)
            )


def _placements(lines: Lines, width: int, upright: int, level: int) -> Iterator[list[_Strip]]:
    """Yield places for the strips: around the middle, shifted line by line over one period."""
    damaged = any(np.bincount(short)[1:-1].any() for short in lines.whole)
    tolerances = (0, lines.period, lines.count) if damaged else (lines.count,)
    for shift in range(lines.period):
        for short in tolerances:
            strips = []
            for orientation, count in ((0, upright), (1, level)):
                good = np.flatnonzero(lines.whole[orientation] <= short)
                gap = (len(good) - count * width) / (count + 1)
                for i in range(count):
                    start = round(gap + i * (gap + width)) - lines.period // 2 + shift
                    start = max(0, min(start, len(good) - width))
                    strips.append(_Strip(orientation, good[start : start + width]))
            if all(len(strip.lines) == width for strip in strips):
                yield strips


def _lay(lines: Lines, roles: Roles, strips: list[_Strip], qubits: int) -> NDArray[np.int32]:
    owner = np.full(qubits, -1, dtype=np.int32)
    slots = _fill(lines, strips, len(roles.crossing), qubits)
    for slot, variable in zip(slots, roles.crossing, strict=False):
        owner[slot.qubits] = variable
    for number, strip in enumerate(strips):
        across = [slot.line for slot in slots if slot.strip == number]
        for other in strips:
            if other.orientation != strip.orientation:
                across += other.lines.tolist()
        for line, variable in zip(strip.lines.tolist(), roles.spread, strict=True):
            met = lines.crossing[strip.orientation][line, across]
            met = met[met >= 0]
            if len(met):
                piece = lines.qubit[strip.orientation, line, met.min() : met.max() + 1]
                piece = piece[piece >= 0]
                owner[piece[owner[piece] < 0]] = variable
    return owner


def _fill(lines: Lines, strips: list[_Strip], wanted: int, qubits: int) -> list[_Slot]:
    """Choose free pieces of lines near the crossings of strips; return them in the chip's order."""
    taken = np.zeros(qubits, dtype=bool)
    chosen: list[_Slot] = []
    for slot in sorted(_slots(lines, strips), key=lambda s: (s.strip, s.distance, s.line)):
        if len(chosen) == wanted:
            break
        if not taken[slot.qubits].any():
            taken[slot.qubits] = True
            chosen.append(slot)
    return sorted(chosen, key=lambda s: (s.strip, s.line))


def _slots(lines: Lines, strips: list[_Strip]) -> Iterator[_Slot]:
    for number, strip in enumerate(strips):
        other = 1 - strip.orientation
        kept = np.concatenate([s.lines for s in strips if s.orientation == other])
        centres = [s.lines.mean() for s in strips if s.orientation == other]
        for line in np.setdiff1d(np.arange(lines.count), kept).tolist():
            met = lines.crossing[other][line, strip.lines]
            reached = met[met >= 0]
            missed = len(met) - len(reached)
            if not len(reached) or missed > _MISSED_SHARE * len(met):
                continue
            piece = lines.qubit[other, line, reached.min() : reached.max() + 1]
            if (piece >= 0).all():
                # a missed line costs about one qubit, as does a chain that is longer by a period
                away = min(abs(line - centre) for centre in centres) + lines.period * missed
                yield _Slot(number, line, piece, away)
