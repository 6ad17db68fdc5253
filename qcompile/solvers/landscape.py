"""Pubo -> the landscape that a search walks on: in bits or in spins, in the cheapest of its kinds.

A polynomial that was given in spins is searched in spins where that takes less work: low
autocorrelation of 40 spins has 5,130 terms, and 15,384 terms in bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime import memory
from qcompile.solvers.incidence import Incidence, incidence_of
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.pubo import Pubo
from qcompile.stages.spins import bits_to_spins

__all__ = [
    "Ground",
    "full_tensors",
    "ground_of_bits",
    "ground_of_spins",
    "is_dense",
    "is_full_quadratic",
    "spins_of",
    "spread_of_bits",
]


# A full third tensor is worth its memory up to so many bits.
_MOST_DENSE = 160
# A full matrix of so many bits takes 128 MB.
_MOST_QUADRATIC = 4000
# Words of signs are worth it up to so many for each term that a flip changes; few sizes, 64 MB.
_WORDS_A_TERM, _MOST_SIZES, _MOST_WORDS = 2, 16, 1 << 23
_WORD, _LANES = 64, 8
_ASKED = 1 << 16  # for fewer words asking the system takes longer than filling them
# Coefficients of spins that are smaller than this share of the largest are rounding errors.
_ROUNDING = 2.0**-44
# Going back to spins is tried up to so many terms on the way.
_MOST_EXPANDED = 1 << 25


@dataclass(frozen=True)
class Ground:
    """What all searches of one polynomial share.

    `fresh()` returns a landscape of its own, with all bits 0, where the energy is `energy`. `work`
    is how many numbers a flip changes, `spread` the typical rise of the energy by a flip of each
    variable at random states.
    """

    fresh: Callable[[], Any]
    variables: int
    energy: float
    space: str
    work: float
    spread: Floats


def spins_of(pubo: Pubo) -> Pubo | None:
    """Return the polynomial over spins if it was given in spins and takes less work there."""
    if pubo.vartype != "SPIN" or pubo.degree < 2:
        return None
    if sum(number << j for j, number in enumerate(pubo.terms, 1)) > _MOST_EXPANDED:
        return None
    spins = bits_to_spins(pubo)
    least = _ROUNDING * max(float(np.abs(c).max()) for c in pubo.coefficients if len(c))
    kept = [np.abs(c) > least for c in spins.coefficients]
    spins = replace(
        spins,
        indices=tuple(frozen(r[k], np.int32) for r, k in zip(spins.indices, kept, strict=True)),
        coefficients=tuple(frozen(c[k]) for c, k in zip(spins.coefficients, kept, strict=True)),
    )
    return spins if _updates(spins) <= _updates(pubo) else None


def _updates(pubo: Pubo) -> int:
    """Return how many numbers change if every variable is flipped once."""
    return sum(j * j * number for j, number in enumerate(pubo.terms, 1))


def ground_of_bits(pubo: Pubo) -> Ground:
    """Return the cheapest landscape of a polynomial of bits with at least one variable."""
    return _bit_tensors(pubo) if is_full_quadratic(pubo) or is_dense(pubo) else _bit_terms(pubo)


def ground_of_spins(spins: Pubo) -> Ground:
    """Return the cheapest landscape of a polynomial whose variables are spins -1 and +1."""
    return _signs(spins) or _spin_terms(spins)


def is_full_quadratic(pubo: Pubo) -> bool:
    """Whether adding a row of a matrix is faster than visiting the terms of a bit."""
    if pubo.degree > 2 or pubo.variables > _MOST_QUADRATIC:
        return False
    pairs = pubo.terms[1] if len(pubo.terms) > 1 else 0
    return 20 * pairs > pubo.variables**2 / 2


def is_dense(pubo: Pubo) -> bool:
    """Whether adding rows of a third tensor is faster than visiting the terms of a bit."""
    if pubo.degree > 3 or pubo.variables > _MOST_DENSE:
        return False
    triples = pubo.terms[2] if len(pubo.terms) > 2 else 0
    return 20 * triples > pubo.variables**3 / 6 or pubo.variables <= 24


def full_tensors(pubo: Pubo) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients as symmetric tensors; the third is empty for a quadratic."""
    n = pubo.variables
    cubic = pubo.degree > 2
    first, second, third = np.zeros(n), np.zeros((n, n)), np.zeros((n, n, n) if cubic else (0,) * 3)
    rows, values = pubo.of_degree(1)
    first[rows[:, 0]] = values
    (a, b), values = pubo.of_degree(2)[0].T, pubo.of_degree(2)[1]
    second[a, b] = second[b, a] = values
    if cubic:
        (a, b, c), values = pubo.of_degree(3)[0].T, pubo.of_degree(3)[1]
        third[a, b, c] = third[a, c, b] = third[b, a, c] = values
        third[b, c, a] = third[c, a, b] = third[c, b, a] = values
    return first, second, third


def _bit_tensors(pubo: Pubo) -> Ground:
    from qcompile.solvers.landscape_kernels import BitTensors

    first, second, third = full_tensors(pubo)
    n = pubo.variables

    def fresh() -> BitTensors:
        return BitTensors(np.zeros(n, np.int32), first.copy(), np.zeros(n), second, third)

    rows = 1 + n / 2 if len(third) else 1  # half of the bits are on
    return Ground(fresh, n, pubo.constant, "bits", rows * n / _LANES, spread_of_bits(pubo))


def _bit_terms(pubo: Pubo) -> Ground:
    from qcompile.solvers.landscape_kernels import BitTerms

    found = incidence_of(pubo, "searching the terms of this polynomial")
    sizes = np.diff(found.member_starts).astype(np.int32)
    rise = np.zeros(pubo.variables)
    rows, values = pubo.of_degree(1)
    rise[rows[:, 0]] = values

    def fresh() -> BitTerms:
        members, starts, coefficients, terms, term_starts = found
        return BitTerms(
            np.zeros(pubo.variables, np.int32), rise.copy(), sizes.copy(), members, starts,
            coefficients, terms, term_starts,
        )  # fmt: skip

    return Ground(
        fresh, pubo.variables, pubo.constant, "bits", _terms_a_flip(found), spread_of_bits(pubo)
    )


def _spin_terms(spins: Pubo) -> Ground:
    from qcompile.solvers.landscape_kernels import SpinTerms

    found = incidence_of(spins, "searching the terms of this polynomial")
    sizes = np.diff(found.member_starts)
    values = np.where(sizes % 2, -found.values, found.values)  # all spins are -1
    rise = -2.0 * _sums(found, values, spins.variables)

    def fresh() -> SpinTerms:
        return SpinTerms(
            np.zeros(spins.variables, np.int32), rise.copy(), values.copy(), found.members,
            found.member_starts, found.terms, found.term_starts,
        )  # fmt: skip

    energy = spins.constant + float(values.sum())
    return Ground(
        fresh, spins.variables, energy, "spins", _terms_a_flip(found), _spread_of_spins(spins)
    )


def _sums(found: Incidence, values: Floats, size: int) -> Floats:
    """Return the sum of these values of the terms of each variable."""
    every = np.repeat(values, np.diff(found.member_starts))
    return np.bincount(found.members, every, minlength=size).astype(np.float64)


def _terms_a_flip(found: Incidence) -> float:
    """Return how many members the terms of a variable have, on average."""
    sizes = np.diff(found.member_starts)
    return float(np.sum(sizes * sizes)) / max(1, len(found.term_starts) - 1)


def _signs(spins: Pubo) -> Ground | None:
    """Return the landscape of signs, or None where it is larger or slower than that of terms."""
    from qcompile.solvers.landscape_kernels import Signs

    found = incidence_of(spins, "searching the terms of this polynomial")
    n, lengths = spins.variables, np.diff(found.member_starts)
    sizes, kinds = np.unique(np.abs(found.values), return_inverse=True)
    if not 0 < len(sizes) <= _MOST_SIZES:
        return None
    # one entry for each variable of each term, in the order of variables and then of sizes
    owner = np.repeat(np.arange(n), np.diff(found.term_starts))
    kind = kinds[found.terms]
    counts = np.bincount(owner * len(sizes) + kind, minlength=n * len(sizes))
    slots = -(-counts.reshape(n, -1).max(axis=0) // _WORD)
    columns = -(-n // _LANES) * _LANES
    words = int(slots.sum()) * columns
    if words > _WORDS_A_TERM * _terms_a_flip(found) or n * words > _MOST_WORDS:
        return None
    if n * words > _ASKED:
        memory.require(16 * n * words, "the signs of this polynomial", "use fewer terms")
    starts = np.concatenate([[0], np.cumsum(slots)])
    order = np.argsort(owner * len(sizes) + kind, kind="stable")
    rank = np.empty(len(owner), dtype=np.int64)
    rank[order] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = (starts[kind] + rank // _WORD) * columns + owner
    bit = np.uint64(1) << (rank % _WORD).astype(np.uint64)
    negative = (found.values[found.terms] < 0) ^ (lengths[found.terms] % 2 == 1)
    base = np.zeros(words, dtype=np.uint64)
    np.bitwise_or.at(base, place[negative], bit[negative])
    masks = _masks(found, place, bit, words)
    totals = _sums(found, np.abs(found.values), columns)
    shape = (int(starts[-1]), columns)
    signs = np.where(lengths % 2, -found.values, found.values)
    rise = -2.0 * _sums(found, signs, columns)

    def fresh() -> Signs:
        return Signs(
            np.zeros(n, np.int32), rise.copy(), base.copy().reshape(shape),
            np.zeros(columns, np.int64), masks.reshape(n, *shape), starts, sizes, totals,
        )  # fmt: skip

    energy = spins.constant + float(signs.sum())
    return Ground(fresh, n, energy, "spins", words / 4, _spread_of_spins(spins))


def _masks(
    found: Incidence, place: NDArray[np.int64], bit: NDArray[np.uint64], words: int
) -> NDArray[np.uint64]:
    """Return for each variable the bits of all terms that it is in, in the words of all owners."""
    lengths = np.diff(found.member_starts)[found.terms]
    entry = np.repeat(np.arange(len(place)), lengths)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    member = found.members[found.member_starts[found.terms[entry]] + within].astype(np.int64)
    masks = np.zeros((len(found.term_starts) - 1) * words, dtype=np.uint64)
    np.bitwise_or.at(masks, member * words + place[entry], bit[entry])
    return masks


def spread_of_bits(pubo: Pubo) -> Floats:
    """Estimate the spread of local fields at random states from the coefficients.

    A term of degree j acts on a bit when its j - 1 other bits are on: with probability 2^(1-j).
    """
    return _spread(pubo, [0.5 ** (degree - 1) for degree in range(1, pubo.degree + 1)])


def _spread_of_spins(spins: Pubo) -> Floats:
    """Return the spread of the rises at random states."""
    return _spread(spins, [4.0] * spins.degree)


def _spread(pubo: Pubo, shares: list[float]) -> Floats:
    squares = np.zeros(pubo.variables)
    for degree, share in enumerate(shares, 1):
        rows, values = pubo.of_degree(degree)
        for column in range(degree):
            squares += np.bincount(rows[:, column], values**2 * share, minlength=pubo.variables)
    return np.sqrt(squares)
