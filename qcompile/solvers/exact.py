"""The lowest states by enumeration.

Sums of floating-point numbers are rounded, so that they may put two states of nearly equal energy
in the wrong order. The order of the states that are kept is therefore that of exact sums; and if
the rounding of the others may hide a lower state among them, all states are visited again with
exact sums, in whole numbers of several words.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.runtime.progress import report
from qcompile.runtime.threads import ordered
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo

__all__ = ["enumerate_lowest", "exact_energies"]


MOST_BITS = 34
_LOW_BITS = 14
_BLOCKS = 64  # Gray codes that one task walks
_STATES_AT_ONCE = 64
_ENTRIES_AT_ONCE = 1 << 22  # states times terms
_TERM_COST = 300  # bytes of a term whose coefficient is a whole number of any size
_UNIT = 2.0**-53  # half the distance of 1 to the next number


def enumerate_lowest(pubo: Pubo, keep: int) -> NDArray[np.int8]:
    """Return the lowest of all assignments, in order of exact energy and then of bits.

    Reports how many tasks are done. Costs about one addition for each state and low bit: 2^30
    states take some ten seconds a core.
    """
    size = pubo.variables
    if size > MOST_BITS:
        raise InputError(
            f"{size} bits have 2^{size} assignments; exact takes up to {MOST_BITS}: use "
            'solver="anneal", or fewer bits or features'
        )
    search = _Search.of(pubo)
    count = min(keep, 1 << size)
    room = count if search.sums_are_exact else count + min(count, 16)
    energies, states = search.by_rounded_sums(room)
    bits = search.bits(states)
    sums = search.terms.sums(bits)
    order = sorted(range(len(states)), key=lambda at: (sums[at], states[at]))[:count]
    if len(states) < 1 << size and not search.sums_are_exact:
        # a state that was not kept is not lower than the last one that was, up to rounding
        if not np.isfinite(energies[-1] - search.rounding):  # the sums overflow
            return search.bits(search.by_exact_sums(count))
        sure = Fraction(float(energies[-1])) - Fraction(search.rounding)
        if sums[order[-1]] * search.terms.unit >= sure:
            return search.bits(search.by_exact_sums(count))
    return bits[order]


def exact_energies(pubo: Pubo, bits: NDArray[np.int8]) -> Floats:
    """Return the energy of each row of bits, summed up exactly and rounded once."""
    terms = _WholeTerms.of(pubo)
    constant = Fraction(pubo.constant)
    return np.array([float(total * terms.unit + constant) for total in terms.sums(bits)])


@dataclass(frozen=True, eq=False)
class _WholeTerms:
    """Coefficients as whole multiples of a unit, in words of `width` binary digits each.

    The first word has the sign. A word has room for the sum over all terms.
    """

    pubo: Pubo
    unit: Fraction
    total: int
    width: int
    words: NDArray[np.int64]

    @classmethod
    def of(cls, pubo: Pubo) -> _WholeTerms:
        memory.require(
            _TERM_COST * pubo.num_terms,
            f"exact sums of {pubo.num_terms:,} terms",
            'use solver="anneal", or fewer bits or features',
        )
        ratios = [v.as_integer_ratio() for c in pubo.coefficients for v in c.tolist()]
        unit = max((below for _, below in ratios), default=1)  # a power of 2
        whole = [above * (unit // below) for above, below in ratios]
        shared = min((above & -above for above in whole if above), default=1)
        whole = [above // shared for above in whole]
        total = sum(map(abs, whole))
        width = 62 - (len(whole) + 1).bit_length()
        number = max(1, -(-(total.bit_length() + 1) // width))
        mask = (1 << width) - 1
        words = np.zeros((len(whole), number), dtype=np.int64)
        for word in range(number):
            shift = width * (number - 1 - word)
            words[:, word] = [v >> shift if word == 0 else v >> shift & mask for v in whole]
        return cls(pubo, Fraction(shared, unit), total, width, words)

    def sums(self, bits: NDArray[np.int8]) -> list[int]:
        """Return the sum of the terms of each row of bits."""
        found: list[int] = []
        at_once = max(1, min(_STATES_AT_ONCE, _ENTRIES_AT_ONCE // max(1, len(self.words))))
        for start in range(0, len(bits), at_once):
            rows = bits[start : start + at_once].astype(np.bool_)
            active = [rows[:, members].all(axis=2) for members in self.pubo.indices]
            on = np.concatenate([np.zeros((len(rows), 0), np.bool_), *active], axis=1)
            found += map(self.joined, (on.astype(np.int64) @ self.words).tolist())
        return found

    def joined(self, words: list[int]) -> int:
        """Return the number that words make up."""
        total = 0
        for word in words:
            total = (total << self.width) + word
        return total


@dataclass(frozen=True, eq=False)
class _Search:
    """A polynomial ready for the kernels. The number of a state has bit 0 as its highest digit.

    States are therefore in the order of their bits. The constant does not matter and is left out.
    """

    size: int
    terms: _WholeTerms
    low_masks: NDArray[np.int64]
    high_masks: NDArray[np.int64]
    values: Floats
    of_bits: tuple[NDArray[np.int32], NDArray[np.int64]]

    @classmethod
    def of(cls, pubo: Pubo) -> _Search:
        size = pubo.variables
        low = min(size, _LOW_BITS)
        masks, values = _masks(pubo)
        low_masks, high_masks = masks & ((1 << low) - 1), masks >> low
        of_bits = _terms_of_bits(high_masks, size - low)
        return cls(size, _WholeTerms.of(pubo), low_masks, high_masks, values, of_bits)

    @property
    def low(self) -> int:
        """Number of bits that a block sums over."""
        return min(self.size, _LOW_BITS)

    @property
    def sums_are_exact(self) -> bool:
        """Whether no sum of coefficients needs more digits than a floating-point number has."""
        return self.terms.total < 1 << 53

    @cached_property
    def rounding(self) -> float:
        """Bound on the rounding error of an energy of the first kernel.

        Each number of a block is added up from the terms with the same low bits, once and again in
        each step of the Gray code; the energy is a sum over these, in `low` steps.
        """
        _, together = np.unique(self.low_masks, return_counts=True)
        steps = int(together.max(initial=0)) * (1 + _BLOCKS) + self.low + 2
        return 2 * steps * _UNIT * float(np.abs(self.values).sum())

    @property
    def tasks(self) -> list[tuple[int, int]]:
        """Ranges of Gray codes of the high bits."""
        codes = 1 << (self.size - self.low)
        return [(start, min(codes, start + _BLOCKS)) for start in range(0, codes, _BLOCKS)]

    def bits(self, states: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the bits of states, one state a row."""
        return ((states[:, None] >> np.arange(self.size)[::-1]) & 1).astype(np.int8)

    def by_rounded_sums(self, room: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return the lowest energies and states, as far as rounded sums tell."""
        from qcompile.solvers.exact_kernel import enumerate_blocks

        def visit(task: tuple[int, int]) -> tuple[Floats, NDArray[np.int64]]:
            energies = np.full(room, np.inf)
            states = np.full(room, -1, dtype=np.int64)
            enumerate_blocks(
                self.low_masks, self.high_masks, self.values, *self.of_bits, self.low, *task,
                energies, states,
            )  # fmt: skip
            return energies[states >= 0], states[states >= 0]

        best = np.zeros(0), np.zeros(0, dtype=np.int64)
        tasks = self.tasks
        for done, found in enumerate(ordered(visit, tasks), 1):
            energies, states = (np.concatenate(both) for both in zip(best, found, strict=True))
            order = np.lexsort((states, energies))[:room]
            best = energies[order], states[order]
            report(done, len(tasks))
        return best

    def by_exact_sums(self, room: int) -> NDArray[np.int64]:
        """Return the lowest states in order of exact energy, then of bits."""
        from qcompile.solvers.exact_kernel import enumerate_exactly

        whole = self.terms

        def visit(task: tuple[int, int]) -> list[tuple[int, int]]:
            energies = np.zeros((room, whole.words.shape[1]), dtype=np.int64)
            states = np.full(room, -1, dtype=np.int64)
            enumerate_exactly(
                self.low_masks, self.high_masks, whole.words, *self.of_bits, self.low,
                whole.width, *task, energies, states,
            )  # fmt: skip
            found = states >= 0
            sums = map(whole.joined, energies[found].tolist())
            return list(zip(sums, states[found].tolist(), strict=True))

        best: list[tuple[int, int]] = []
        tasks = self.tasks
        for done, found in enumerate(ordered(visit, tasks), 1):
            best = sorted(best + found)[:room]
            report(done, len(tasks))
        return np.array([state for _, state in best], dtype=np.int64)


def _masks(pubo: Pubo) -> tuple[NDArray[np.int64], Floats]:
    """Return each term as a number with the term's bits set, bit 0 the highest."""
    masks = [np.zeros(0, dtype=np.int64)]
    for rows in pubo.indices:
        places = pubo.variables - 1 - rows.astype(np.int64)
        masks.append((np.int64(1) << places).sum(axis=1).reshape(-1))
    return np.concatenate(masks), np.concatenate([np.zeros(0), *pubo.coefficients])


def _terms_of_bits(
    masks: NDArray[np.int64], bits: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the terms of each bit, one bit after the other, and where those of each bit start."""
    lists = [np.flatnonzero((masks >> bit) & 1).astype(np.int32) for bit in range(bits)]
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in lists])]).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int32), *lists]), starts
