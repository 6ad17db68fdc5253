"""Pubo -> Qubo: replace products by ancillas until no term has more than two variables.

An ancilla y stands for a product x_i x_j and is used elsewhere as y · s only. The gate

    P x_i x_j - (P + M)(x_i + x_j) y + (P + 2M) y,    P = max s, M = max -s over all assignments,

is 0 where y = x_i x_j, costs P where y is 0 instead of 1 and at least M where it is 1 instead of 0,
so that min over y of (y s + gate) = x_i x_j s for every assignment: no smaller strengths do, and
none need be guessed. P and M are the sums of the positive and of the negative coefficients that
pass through the ancilla; for nested products those of the original terms (gates of larger products
vanish when these are minimised first). A thousandth more makes the right ancilla the only minimum.
Where all coefficients have one sign, the strength of the other side stays 0: a thousandth of it
would be the smallest coefficient by far. Then a wrong ancilla costs nothing where s is 0, and there
it changes nothing. Strengths are rounded up to a few binary digits, so that the parts of a gate
cancel without rounding errors where the ancilla is right.

Price: ⌊(N-1)²/4⌋ ancillas for a complete cubic over N bits, which no pair cover beats.

The way back is `Qubo.restrict`, which drops the ancillas and counts the wrong ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.files.interchange import read_pubo
from qcompile.reduction.compress import SHARE, compress_range
from qcompile.reduction.cover import METHODS, PairCover, Search, cover_triples
from qcompile.reduction.subsets import cover_monomials
from qcompile.reduction.substitution import SubsetCover
from qcompile.reduction.truncate import truncate_terms, truncate_triples
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, frozen, sum_by
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Ancillas, Qubo

__all__ = ["QuboOptions", "quadratize"]


_MARGIN = 2.0**-10
_GATE_DIGITS = 24  # binary digits of a strength: sums of a few strengths are exact
_STRONGEST, _MOST_EFFORT = 1e6, 1e6


@dataclass(frozen=True)
class QuboOptions:
    """How to reduce the polynomial; see `quadratize`."""

    cover: str = "auto"
    strength: float = 1.0
    max_ancillas: int | None = None
    compress: bool | float = False
    time_limit: float = 60.0
    effort: float = 1.0


def quadratize(
    pubo: Pubo | Any,
    *,
    cover: str = "auto",
    strength: float = 1.0,
    max_ancillas: int | None = None,
    compress: bool | float = False,
    seed: int = 0,
    time_limit: float = 60.0,
    effort: float = 1.0,
) -> Qubo:
    """Replace products until no term has more than two bits.

    The polynomial may be anything that `read_pubo` reads: a file, terms, or a model of dimod.
    `cover` chooses the products: "halves", "greedy", "exact", "dimod" (those of
    `dimod.make_quadratic`) or "auto", the fewest found within a budget of work: about as long as
    the greedy choice took, at least 0.2 s. `effort` scales the budget, which takes about
    `time_limit` seconds at most. For cubics it is counted in steps, so that the result does not
    depend on the machine. Where a search would take longer than `time_limit`, terms above degree 3
    are split in a fixed way. `strength` scales the gates for experiments; below 1 the result may be
    wrong. `max_ancillas` leaves out the least important terms until the budget is kept;
    ``Qubo.error`` bounds what that changes. `compress` leaves out terms that a machine cannot tell
    from 0, as far as the minimum stays and every assignment keeps this share of its height above it
    (True: 0.9); the proof tries all assignments.

    >>> qubo = quadratize(Pubo.from_dict({(0, 1, 2): -3.0, (0, 1, 3): 2.0}))
    >>> qubo.ancillas.factors.tolist()
    [[0, 1]]
    """
    if not isinstance(pubo, Pubo):
        pubo = read_pubo(pubo)
    if cover not in METHODS:
        raise InputError(f"cover {cover!r}; expected one of {', '.join(METHODS)}")
    if not 0 < strength <= _STRONGEST:
        raise InputError(
            f"strength {strength:g}; expected a number above 0, at most {_STRONGEST:g}"
        )
    if max_ancillas is not None and (max_ancillas < 0 or max_ancillas != int(max_ancillas)):
        raise InputError(f"at most {max_ancillas} ancillas; expected a whole number from 0 on")
    if not 0 <= seed < 2**32 or not 0 < time_limit < math.inf:
        raise InputError(f"seed {seed}, time limit {time_limit:g}; expected 0 or more, and above 0")
    if not 0 <= effort <= _MOST_EFFORT:
        raise InputError(f"effort {effort:g}; expected a number from 0 to {_MOST_EFFORT:g}")
    options = QuboOptions(cover, strength, max_ancillas, compress, time_limit, effort)
    if compress is False:
        return _reduced(pubo, options, seed)
    if max_ancillas is not None or strength < 1:
        raise InputError(
            "compress= keeps the minimum, which max_ancillas= or strength= below 1 may lose: give "
            "one of them"
        )
    share = SHARE if compress is True else compress
    return compress_range(pubo, lambda left: _reduced(left, options, seed), share=share)


def _reduced(pubo: Pubo, options: QuboOptions, seed: int) -> Qubo:
    """Carry all terms over the products of a cover, or as many as a budget of ancillas allows."""
    most, strength = options.max_ancillas, options.strength
    search = Search(options.cover, seed, options.time_limit, options.effort)
    if pubo.degree > 3:
        covered = cover_monomials(pubo, search)
        if most is None or len(covered) <= most:
            return _nested(pubo, covered, strength)
        kept, fewer, error = truncate_terms(pubo, most, search)
        made = _nested(kept, fewer, strength) if fewer else _cubic(kept, _no_pairs(), strength)
        return replace(made, error=error, truncated=pubo - kept)
    triples, _ = pubo.of_degree(3)
    pairs = cover_triples(triples, pubo.variables, search)
    if most is None or len(pairs) <= most:
        return _cubic(pubo, pairs, strength)
    kept, pairs, error = truncate_triples(pubo, pairs, most)
    return replace(_cubic(kept, pairs, strength), error=error, truncated=pubo - kept)


def _gate(gains: Floats, strength: float) -> tuple[Floats, Floats]:
    """Return the strengths P and M from the sums of positive and of negative coefficients."""
    spare = _MARGIN * gains.sum(axis=1, keepdims=True)
    wanted = strength * np.where(gains > 0, gains + spare, 0.0)
    _, exponents = np.frexp(wanted.max(axis=1, keepdims=True))
    digits = np.ceil(np.ldexp(wanted, _GATE_DIGITS - exponents))
    on, off = np.ldexp(digits, exponents - _GATE_DIGITS).T
    return on, off


def _no_pairs() -> PairCover:
    return PairCover(np.empty((0, 2), dtype=np.int32), "truncated", None, None)


def _cubic(pubo: Pubo, cover: PairCover, strength: float) -> Qubo:
    """Carry every triple over one pair; arrays from beginning to end."""
    size, number = pubo.variables, len(cover)
    memory.require(
        56 * size + 32 * (sum(pubo.terms[2:3]) + 2 * number),
        f"a QUBO of {size + number:,} variables and {sum(pubo.terms[1:3]) + 2 * number:,} pairs",
        "use fewer bits= or features=",
    )
    routes = _Routes.of(pubo, cover)
    on, off = _gate(routes.gains, strength)
    merged = _merge_pairs(pubo, cover.pairs, on)
    # the pairs of bits come first, then those of each ancilla in turn
    starts = len(merged[0]) + np.concatenate([[0], np.cumsum(routes.counts + 2)])
    first, second = np.empty((2, starts[-1]), dtype=np.int32)
    quadratic = np.empty(starts[-1])
    for whole, part in zip((first, second, quadratic), merged, strict=True):
        whole[: starts[0]] = part
    routes.fill(starts, -(on + off), first, second, quadratic)
    linear = np.zeros(size + number)
    singles, single_values = pubo.of_degree(1)
    linear[singles[:, 0]] = single_values
    linear[size:] = on + 2 * off
    table = Ancillas(
        frozen(cover.pairs, np.int32), frozen(routes.counts, np.int64), frozen(on), frozen(off)
    )
    return _qubo(pubo, linear, first, second, quadratic, table, cover, strength)


@dataclass(frozen=True, eq=False)
class _Routes:
    """Which pair carries which triple: counts and sums of each, and how to write them down."""

    counts: NDArray[np.int64]
    gains: Floats
    fill: Callable[..., None]

    @classmethod
    def of(cls, pubo: Pubo, cover: PairCover) -> _Routes:
        size, number = pubo.variables, len(cover)
        triples, values = pubo.of_degree(3)
        counts, gains = np.zeros(number, dtype=np.int64), np.zeros((number, 2))
        if not number:
            return cls(counts, gains, lambda *arrays: None)
        if cover.method == "halves" and len(triples) == math.comb(size, 3):
            return cls._complete(values, size, cover.pairs, counts, gains)
        from qcompile.reduction.cover_kernels import fill_routes, route

        begins = np.searchsorted(cover.pairs[:, 0], np.arange(size + 1))
        routes, below = np.empty(len(triples), dtype=np.int32), np.zeros((number, 2), np.int64)
        route(triples, values, begins, cover.pairs, routes, counts, below, gains)

        def fill(starts: NDArray[np.int64], gates: Floats, *arrays: NDArray[Any]) -> None:
            fill_routes(triples, values, routes, starts, below, cover.pairs, gates, size, *arrays)

        return cls(counts, gains, fill)

    @classmethod
    def _complete(
        cls,
        values: Floats,
        size: int,
        pairs: NDArray[np.int32],
        counts: NDArray[np.int64],
        gains: Floats,
    ) -> _Routes:
        """Take the short way for a complete cubic on halves: every triple's place is known."""
        from qcompile.reduction.cover_kernels import fill_complete, route_complete

        row = np.arange(size, dtype=np.int64)
        before = math.comb(size, 3) - (size - row) * (size - row - 1) * (size - row - 2) // 6
        gap = row[None, :] - row[:, None] - 1  # bits between i and j
        skipped = gap * (size - 1) - gap * (row[:, None] + row[None, :]) // 2
        lines = before[:, None] + skipped - row[None, :] - 1
        route_complete(values, lines, pairs, counts, gains)

        def fill(starts: NDArray[np.int64], gates: Floats, *arrays: NDArray[Any]) -> None:
            fill_complete(values, lines, starts, pairs, gates, *arrays)

        return cls(counts, gains, fill)


def _merge_pairs(
    pubo: Pubo, pairs: NDArray[np.integer], values: Floats
) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Add pairs to those of the polynomial; sorted by the second variable, then the first.

    Pairs of the value 0 are left out.
    """
    own, own_values = pubo.of_degree(2)
    pairs, values = pairs[values != 0], values[values != 0]
    rows = np.concatenate([own, pairs]).astype(np.int64)
    keys = rows[:, 1] * (1 << 32) + rows[:, 0]
    unique, where = np.unique(keys, return_inverse=True)
    sums = sum_by(where, np.concatenate([own_values, values]), len(unique))
    first, second = (unique & 0xFFFFFFFF).astype(np.int32), (unique >> 32).astype(np.int32)
    return first, second, sums


def _nested(pubo: Pubo, cover: SubsetCover, strength: float) -> Qubo:
    """Carry every term over at most two products of any size."""
    size, number = pubo.variables, len(cover.factors)
    rows, values = cover.routes, cover.values
    gains, counts = _loads(cover, size)
    on, off = _gate(gains, strength)
    linear = np.zeros(size + number)
    singles, single_values = pubo.of_degree(1)
    linear[singles[:, 0]] = single_values
    linear[size:] = on + 2 * off
    ids = np.arange(size, size + number, dtype=np.int32)
    lone = rows[:, 0] == rows[:, 1]  # a term that is one product by itself
    np.add.at(linear, rows[lone, 0], values[lone])
    pairs = np.concatenate(
        [
            np.sort(rows[~lone], axis=1),
            np.sort(cover.factors, axis=1),
            np.column_stack([cover.factors[:, 0], ids]),
            np.column_stack([cover.factors[:, 1], ids]),
        ]
    )
    weights = np.concatenate([values[~lone], on, -(on + off), -(on + off)])
    first, second, quadratic = _merge_pairs(pubo, pairs, weights)
    table = Ancillas(
        frozen(cover.factors, np.int32), frozen(counts, np.int64), frozen(on), frozen(off)
    )
    return _qubo(pubo, linear, first, second, quadratic, table, cover, strength)


def _loads(cover: SubsetCover, size: int) -> tuple[Floats, NDArray[np.int64]]:
    """Sum up what passes through each ancilla, directly or through a product made of it.

    The two variables of a term, and the two factors of a product, have no bit in common: no
    ancilla is reached in two ways, so that what a product carries is added once to each factor.
    """
    number = len(cover.factors)
    gains, counts = np.zeros((number, 2)), np.zeros(number)
    lone = cover.routes[:, 0] == cover.routes[:, 1]
    sides = ((cover.routes[:, 0], cover.values), (cover.routes[~lone, 1], cover.values[~lone]))
    for ways, values in sides:
        made = ways >= size
        own, passed = ways[made] - size, values[made]
        gains[:, 0] += sum_by(own, np.maximum(passed, 0.0), number)
        gains[:, 1] += sum_by(own, np.maximum(-passed, 0.0), number)
        counts += np.bincount(own, minlength=number)
    for k in reversed(range(number)):  # factors come before their products
        for factor in cover.factors[k].tolist():
            if factor >= size:
                gains[factor - size] += gains[k]
                counts[factor - size] += counts[k]
    return gains, counts.astype(np.int64)


def _qubo(
    pubo: Pubo,
    linear: Floats,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    quadratic: Floats,
    ancillas: Ancillas,
    cover: PairCover | SubsetCover,
    strength: float,
) -> Qubo:
    return Qubo(
        logical=pubo.variables,
        offset=pubo.constant,
        linear=frozen(linear),
        first=frozen(first, np.int32),
        second=frozen(second, np.int32),
        quadratic=frozen(quadratic),
        ancillas=ancillas,
        method=cover.method,
        strength=strength,
        optimal=cover.optimal,
        bound=cover.bound,
        origin=pubo.origin,
    )
