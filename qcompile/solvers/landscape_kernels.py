"""Polynomials in a form in which a flip of one variable updates the price of every other flip.

A landscape is the state of one search: the values of all variables, and for each the rise of the
energy if it alone is flipped. There are four kinds, and `flip` is compiled for each of them:

Signs       spins, coefficients of few sizes: the signs of all terms as bits of words, in the order
            of the variables they act on; a flip is an exclusive or and a count of ones
SpinTerms   spins, any coefficients: the present value of each term
BitTerms    bits, any degree: how many members of each term are 0
BitTensors  bits, a full cubic: rows of its third derivative
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from qcompile.runtime.bit_counts import ones
from qcompile.runtime.jit import jit
from qcompile.runtime.random import generator, uniform
from qcompile.solvers.anneal_kernels import is_accepted, rate_of_cooling
from qcompile.solvers.pool_kernel import Pool, note, offer, zobrist

__all__ = ["BitTensors", "BitTerms", "Landscape", "Signs", "SpinTerms", "anneal_landscape", "flip"]


class Signs(NamedTuple):
    """Words of signs: bit b of ``words[slot, i]`` is set if that term of variable i is negative.

    ``masks[v]`` holds the bits of all terms with v. Slots ``class_starts[k]`` to
    ``class_starts[k + 1]`` hold the terms with coefficients of size ``sizes[k]``; ``totals[i]`` is
    the sum of the sizes of the terms of i. Columns after the last variable are empty.
    """

    bits: NDArray[np.int32]
    rise: NDArray[np.float64]
    words: NDArray[np.uint64]
    counts: NDArray[np.int64]
    masks: NDArray[np.uint64]
    class_starts: NDArray[np.int64]
    sizes: NDArray[np.float64]
    totals: NDArray[np.float64]


class SpinTerms(NamedTuple):
    """Terms of spins with their present values; the rest are those of `Incidence`."""

    bits: NDArray[np.int32]
    rise: NDArray[np.float64]
    values: NDArray[np.float64]
    members: NDArray[np.int32]
    member_starts: NDArray[np.int64]
    terms: NDArray[np.int32]
    term_starts: NDArray[np.int64]


class BitTerms(NamedTuple):
    """Terms of bits, and how many members of each are 0; the rest are those of `Incidence`."""

    bits: NDArray[np.int32]
    rise: NDArray[np.float64]
    off: NDArray[np.int32]
    members: NDArray[np.int32]
    member_starts: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    terms: NDArray[np.int32]
    term_starts: NDArray[np.int64]


class BitTensors(NamedTuple):
    """A cubic of bits as full symmetric tensors; ``change`` is a place for sums."""

    bits: NDArray[np.int32]
    rise: NDArray[np.float64]
    change: NDArray[np.float64]
    second: NDArray[np.float64]
    third: NDArray[np.float64]


Landscape = Signs | SpinTerms | BitTerms | BitTensors


def flip(at: Any, i: int) -> None:
    """Flip variable i and update the rises of all; only compiled code calls this."""
    raise NotImplementedError


@overload(flip)  # type: ignore[untyped-decorator]
def _flip(at: Any, i: int) -> Any:
    return _FLIPS[at.instance_class]


def _flip_signs(at: Any, i: int) -> None:
    at.bits[i] = 1 - at.bits[i]
    words, counts, rise, mask = at.words, at.counts, at.rise, at.masks[i]
    columns = len(rise)
    for j in range(columns):
        rise[j] = at.totals[j]
    for k in range(len(at.sizes)):
        for j in range(columns):
            counts[j] = 0
        for slot in range(at.class_starts[k], at.class_starts[k + 1]):
            for j in range(columns):
                word = words[slot, j] ^ mask[slot, j]
                words[slot, j] = word
                counts[j] += np.int64(ones(word))
        size = 2.0 * at.sizes[k]
        for j in range(columns):
            rise[j] -= size * counts[j]
    for j in range(columns):
        rise[j] *= -2.0


def _flip_spin_terms(at: Any, i: int) -> None:
    at.bits[i] = 1 - at.bits[i]
    rise = at.rise
    own = rise[i]
    for place in range(at.term_starts[i], at.term_starts[i + 1]):
        t = at.terms[place]
        value = at.values[t]
        at.values[t] = -value
        value *= 4.0
        for q in range(at.member_starts[t], at.member_starts[t + 1]):
            rise[at.members[q]] += value
    rise[i] = -own


def _flip_bit_terms(at: Any, i: int) -> None:
    bits, rise, off = at.bits, at.rise, at.off
    now_on = bits[i] == 0
    bits[i] = 1 if now_on else 0
    own = rise[i]
    for place in range(at.term_starts[i], at.term_starts[i + 1]):
        t = at.terms[place]
        others_off = off[t] - 1 if now_on else off[t]
        off[t] += -1 if now_on else 1
        if others_off > 1:
            continue
        change = at.coefficients[t] if now_on else -at.coefficients[t]
        for q in range(at.member_starts[t], at.member_starts[t + 1]):
            j = at.members[q]
            if bits[j] == 0:
                rise[j] += change
            elif others_off == 0:
                rise[j] -= change
    rise[i] = -own


def _flip_bit_tensors(at: Any, i: int) -> None:
    bits, rise, change = at.bits, at.rise, at.change
    size = len(bits)
    own = rise[i]
    sign = -1.0 if bits[i] else 1.0
    for j in range(size):
        change[j] = at.second[i, j]
    if len(at.third):
        slab = at.third[i]
        for k in range(size):
            if bits[k] and k != i:
                row = slab[k]
                for j in range(size):
                    change[j] += row[j]
    for j in range(size):
        rise[j] += sign * (1 - 2 * bits[j]) * change[j]
    bits[i] = 1 - bits[i]
    rise[i] = -own


_FLIPS = {
    Signs: _flip_signs,
    SpinTerms: _flip_spin_terms,
    BitTerms: _flip_bit_terms,
    BitTensors: _flip_bit_tensors,
}


@jit
def anneal_landscape(
    at: Any, energy: float, sweeps: int, hot: float, cold: float, seed: int, pool: Pool
) -> None:
    """Anneal from a random state; `energy` is that of the landscape as it is given."""
    size = len(at.bits)
    random = generator(seed)
    mark = np.uint64(0)
    for i in range(size):
        if uniform(random) < 0.5:
            energy += at.rise[i]
            mark ^= zobrist(i, 1)
            flip(at, i)
    offer(pool, energy, mark, at.bits)
    growth = rate_of_cooling(hot, cold, sweeps)
    beta = 1.0 / hot
    limit = np.inf
    for _ in range(sweeps):
        for i in range(size):
            rise = at.rise[i]
            if is_accepted(rise, beta, random):
                energy += rise
                mark ^= zobrist(i, 1)
                flip(at, i)
                limit = note(pool, energy, mark, at.bits, limit)
        beta *= growth
