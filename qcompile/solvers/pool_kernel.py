"""A compiled pool that keeps the k lowest distinct states that a search passes through."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["Pool", "count_read", "note", "note_lowest", "offer", "pool_of", "zobrist"]


class Pool(NamedTuple):
    """Energies, marks and states of the lowest so far, and how many reads each was the lowest of.

    ``meta`` holds how many places are filled, and which of them has the highest energy: that one is
    replaced next. ``lowest`` and ``lowest_mark`` are those of the read that is running.
    """

    energies: NDArray[np.float64]
    marks: NDArray[np.uint64]
    states: NDArray[np.int32]
    meta: NDArray[np.int64]
    reads: NDArray[np.int64]
    lowest: NDArray[np.float64]
    lowest_mark: NDArray[np.uint64]


def pool_of(size: int, variables: int) -> Pool:
    """Return an empty pool."""
    return Pool(
        np.full(size, np.inf),
        np.zeros(size, dtype=np.uint64),
        np.zeros((size, variables), dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.full(1, np.inf),
        np.zeros(1, dtype=np.uint64),
    )


def count_read(pool: Pool) -> None:
    """End a read: count it for its lowest state, if that is among the lowest of all reads."""
    places = np.flatnonzero(pool.marks[: pool.meta[0]] == pool.lowest_mark[0])
    pool.reads[places[:1]] += 1
    pool.lowest[0] = np.inf


@jit
def offer(pool: Pool, energy: float, mark: np.uint64, state: NDArray[np.int32]) -> None:
    """Add a state if its energy is below the highest in the pool and the state is new."""
    note_lowest(pool, energy, mark)
    filled, worst = pool.meta[0], pool.meta[1]
    if filled == len(pool.energies) and energy >= pool.energies[worst]:
        return
    for place in range(filled):
        if pool.marks[place] == mark:
            return
    place = worst
    if filled < len(pool.energies):
        place = filled
        pool.meta[0] = filled + 1
    pool.energies[place] = energy
    pool.marks[place] = mark
    for i in range(len(state)):  # a whole row at once takes seconds to compile
        pool.states[place, i] = state[i]
    pool.reads[place] = 0
    worst = 0
    for other in range(pool.meta[0]):
        if pool.energies[other] > pool.energies[worst]:
            worst = other
    pool.meta[1] = worst


@jit
def note_lowest(pool: Pool, energy: float, mark: np.uint64) -> None:
    """Remember a state if it is the lowest of the read that is running."""
    if energy < pool.lowest[0]:
        pool.lowest[0] = energy
        pool.lowest_mark[0] = mark


@jit
def note(
    pool: Pool, energy: float, mark: np.uint64, state: NDArray[np.int32], limit: float
) -> float:
    """Keep a state if it is low enough; return the energy that the next one must undercut."""
    if energy >= limit:
        note_lowest(pool, energy, mark)  # another read may have found the same state
        return limit
    offer(pool, energy, mark, state)
    if pool.meta[0] < len(pool.energies):
        return limit
    return float(pool.energies[pool.meta[1]])


@jit
def zobrist(variable: int, level: int) -> np.uint64:
    """Return a mark of one variable at one level; the mark of a state is the xor of them."""
    x = np.uint64(variable) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(level) * np.uint64(
        0xD1B54A32D192ED03
    )
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
