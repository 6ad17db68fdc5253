"""Compiled enumeration of all assignments of a polynomial of bits, in blocks that fit the cache.

The low bits of a block are summed over subsets, one addition for each bit and state; the high bits
follow a Gray code, each step of which changes only the terms of one bit.
"""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["enumerate_blocks"]


@jit
def enumerate_blocks(
    low_masks: NDArray[np.int64],
    high_masks: NDArray[np.int64],
    values: NDArray[np.float64],
    terms: NDArray[np.int32],
    term_starts: NDArray[np.int64],
    low_bits: int,
    start: int,
    stop: int,
    constant: float,
    energies: NDArray[np.float64],
    states: NDArray[np.int64],
) -> None:
    """Visit the Gray codes start..stop of the high bits and keep the lowest states.

    A term is a mask of low bits and one of high bits; `terms` lists those of each high bit.
    `energies` (ascending, infinity where empty) and `states` are the lowest so far.
    """
    size = 1 << low_bits
    base = np.zeros(size)
    block = np.empty(size)
    base[0] = constant
    code = start ^ (start >> 1)
    for t in range(len(values)):
        if high_masks[t] & code == high_masks[t]:
            base[low_masks[t]] += values[t]
    for count in range(start, stop):
        _sum_over_subsets(base, block, low_bits)
        worst = energies[-1]
        for s in range(size):
            if block[s] < worst:
                _insert(block[s], (code << low_bits) | s, energies, states)
                worst = energies[-1]
        if count + 1 < stop:
            following = (count + 1) ^ ((count + 1) >> 1)
            changed = following ^ code
            bit = 0
            while not (changed >> bit) & 1:
                bit += 1
            on = (following >> bit) & 1
            code = following
            others = code & ~changed
            for place in range(term_starts[bit], term_starts[bit + 1]):
                t = terms[place]
                if (high_masks[t] & ~changed) & others == high_masks[t] & ~changed:
                    base[low_masks[t]] += values[t] if on else -values[t]


@jit
def _sum_over_subsets(base: NDArray[np.float64], block: NDArray[np.float64], low_bits: int) -> None:
    """Compute the value at every assignment from the coefficients of subsets."""
    size = len(base)
    for s in range(size):
        block[s] = base[s]
    for bit in range(low_bits):
        half = 1 << bit
        for first in range(0, size, 2 * half):
            for s in range(first, first + half):
                block[s + half] += block[s]


@jit
def _insert(
    energy: float, state: int, energies: NDArray[np.float64], states: NDArray[np.int64]
) -> None:
    place = len(energies) - 1
    while place > 0 and energies[place - 1] > energy:
        energies[place] = energies[place - 1]
        states[place] = states[place - 1]
        place -= 1
    energies[place] = energy
    states[place] = state
