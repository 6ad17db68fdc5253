"""Compiled enumeration of all assignments of a polynomial of bits, in blocks that fit the cache.

The low bits of a block are summed over subsets, one addition for each bit and state; the high bits
follow a Gray code, each step of which changes only the terms of one bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["enumerate_blocks", "enumerate_exactly"]


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
    energies: NDArray[np.float64],
    states: NDArray[np.int64],
) -> None:
    """Visit the Gray codes start..stop of the high bits and keep the lowest states.

    A term is a mask of low bits and one of high bits; `terms` lists those of each high bit.
    `energies` (ascending, infinity where empty) and `states` (-1 where empty) are the lowest so
    far; of equal energies the smallest states.
    """
    size = 1 << low_bits
    base = np.zeros(size)
    block = np.empty(size)
    code = start ^ (start >> 1)
    for t in range(len(values)):
        if high_masks[t] & code == high_masks[t]:
            base[low_masks[t]] += values[t]
    for count in range(start, stop):
        _sum_over_subsets(base, block, low_bits)
        worst = energies[-1]
        for s in range(size):
            if block[s] <= worst:
                state = (code << low_bits) | s
                if block[s] < worst or states[-1] < 0 or state < states[-1]:
                    _insert(block[s], state, energies, states)
                    worst = energies[-1]
        if count + 1 < stop:
            following = (count + 1) ^ ((count + 1) >> 1)
            changed = following ^ code
            bit = _lowest_bit(changed)
            on = (following >> bit) & 1
            code = following
            others = code & ~changed
            for place in range(term_starts[bit], term_starts[bit + 1]):
                t = terms[place]
                if (high_masks[t] & ~changed) & others == high_masks[t] & ~changed:
                    base[low_masks[t]] += values[t] if on else -values[t]


@jit
def enumerate_exactly(
    low_masks: NDArray[np.int64],
    high_masks: NDArray[np.int64],
    values: NDArray[np.int64],
    terms: NDArray[np.int32],
    term_starts: NDArray[np.int64],
    low_bits: int,
    width: int,
    start: int,
    stop: int,
    energies: NDArray[np.int64],
    states: NDArray[np.int64],
) -> None:
    """Do the same as `enumerate_blocks` with whole numbers, several words of `width` digits each.

    The first word of a number is its highest and has the sign; no word of a sum overflows. A row
    of `energies` is a number whose lower words are below 2^width.
    """
    size, words = 1 << low_bits, values.shape[1]
    base = np.zeros((words, size), dtype=np.int64)
    block = np.empty((words, size), dtype=np.int64)
    energy = np.empty(words, dtype=np.int64)
    code = start ^ (start >> 1)
    for t in range(len(values)):
        if high_masks[t] & code == high_masks[t]:
            for word in range(words):
                base[word, low_masks[t]] += values[t, word]
    for count in range(start, stop):
        for word in range(words):
            _sum_over_subsets(base[word], block[word], low_bits)
        for s in range(size):
            full = states[-1] >= 0
            if full and block[0, s] > energies[-1, 0]:
                continue  # lower words only add to the highest
            carry = 0
            for word in range(words - 1, 0, -1):
                carry += block[word, s]
                energy[word] = carry & ((1 << width) - 1)
                carry >>= width
            energy[0] = block[0, s] + carry
            state = (code << low_bits) | s
            if not full or _is_before(energy, state, energies[-1], states[-1]):
                place = len(states) - 1
                while place > 0 and (
                    states[place - 1] < 0
                    or _is_before(energy, state, energies[place - 1], states[place - 1])
                ):
                    energies[place] = energies[place - 1]
                    states[place] = states[place - 1]
                    place -= 1
                energies[place] = energy
                states[place] = state
        if count + 1 < stop:
            following = (count + 1) ^ ((count + 1) >> 1)
            changed = following ^ code
            bit = _lowest_bit(changed)
            sign = 1 if (following >> bit) & 1 else -1
            code = following
            others = code & ~changed
            for place in range(term_starts[bit], term_starts[bit + 1]):
                t = terms[place]
                if (high_masks[t] & ~changed) & others == high_masks[t] & ~changed:
                    for word in range(words):
                        base[word, low_masks[t]] += sign * values[t, word]


@jit
def _lowest_bit(number: int) -> int:
    bit = 0
    while not (number >> bit) & 1:
        bit += 1
    return bit


@jit
def _is_before(
    energy: NDArray[np.int64], state: int, other: NDArray[np.int64], other_state: int
) -> bool:
    """Whether a state comes before another: of lower energy, or equal and of a smaller number."""
    for word in range(len(energy)):
        if energy[word] != other[word]:
            return bool(energy[word] < other[word])
    return state < other_state


@jit
def _sum_over_subsets(base: NDArray[Any], block: NDArray[Any], low_bits: int) -> None:
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
    while place > 0 and (
        energies[place - 1] > energy
        or (energies[place - 1] == energy and (states[place - 1] < 0 or states[place - 1] > state))
    ):
        energies[place] = energies[place - 1]
        states[place] = states[place - 1]
        place -= 1
    energies[place] = energy
    states[place] = state
