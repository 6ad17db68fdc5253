"""The lowest states by enumeration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime.progress import report
from qcompile.runtime.threads import ordered
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo

__all__ = ["enumerate_lowest"]


MOST_BITS = 34
_LOW_BITS = 14
_BLOCKS = 64  # Gray codes that one task walks


def enumerate_lowest(pubo: Pubo, keep: int) -> NDArray[np.int8]:
    """Return the lowest of all assignments; among equal energies those of the smallest numbers.

    Reports how many tasks are done. Costs about one addition for each state and low bit: 2^30
    states take some ten seconds a core.
    """
    from qcompile.solvers.exact_kernel import enumerate_blocks

    size = pubo.variables
    if size > MOST_BITS:
        raise InputError(
            f"{size} bits have 2^{size} assignments; exact takes up to {MOST_BITS}: use "
            'solver="anneal", or fewer bits or features'
        )
    low = min(size, _LOW_BITS)
    masks, values = _masks(pubo)
    low_masks, high_masks = masks & ((1 << low) - 1), masks >> low
    terms, starts = _terms_of_bits(high_masks, size - low)
    codes = 1 << (size - low)
    tasks = [(start, min(codes, start + _BLOCKS)) for start in range(0, codes, _BLOCKS)]
    count = min(keep, 1 << size)
    # a few more than needed, because rounding may swap states of nearly equal energy
    room = count + min(count, 16)

    def visit(task: tuple[int, int]) -> tuple[Floats, NDArray[np.int64]]:
        energies = np.full(room, np.inf)
        states = np.zeros(room, dtype=np.int64)
        enumerate_blocks(
            low_masks, high_masks, values, terms, starts, low, *task, pubo.constant, energies,
            states,
        )  # fmt: skip
        return energies, states

    best = np.full(0, np.inf), np.zeros(0, dtype=np.int64)
    for done, (energies, states) in enumerate(ordered(visit, tasks), 1):
        best = _merged(best, (energies, states), room)
        report(done, len(tasks))
    numbers = best[1][np.isfinite(best[0])]
    bits = ((numbers[:, None] >> np.arange(size)) & 1).astype(np.int8)
    true = pubo.energies(bits)
    return np.asarray(bits[np.lexsort((numbers, true))][:count])


def _merged(
    one: tuple[Floats, NDArray[np.int64]], two: tuple[Floats, NDArray[np.int64]], room: int
) -> tuple[Floats, NDArray[np.int64]]:
    energies = np.concatenate([one[0], two[0]])
    states = np.concatenate([one[1], two[1]])
    order = np.lexsort((states, energies))[:room]
    return energies[order], states[order]


def _masks(pubo: Pubo) -> tuple[NDArray[np.int64], Floats]:
    """Return each term as a number with the term's bits set, and its coefficient."""
    masks = [np.zeros(0, dtype=np.int64)]
    for rows in pubo.indices:
        masks.append((np.int64(1) << rows.astype(np.int64)).sum(axis=1).reshape(-1))
    return np.concatenate(masks), np.concatenate([np.zeros(0), *pubo.coefficients])


def _terms_of_bits(
    masks: NDArray[np.int64], bits: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the terms of each bit, one bit after the other, and where those of each bit start."""
    lists = [np.flatnonzero((masks >> bit) & 1).astype(np.int32) for bit in range(bits)]
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in lists])]).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int32), *lists]), starts
