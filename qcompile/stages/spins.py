"""Polynomials of spins -1/+1 to polynomials of bits 0/1, and back: s = 2x - 1.

A term of k spins becomes up to 2^k terms of bits. With whole coefficients every sum is exact;
otherwise coefficients are rounded where terms meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo
from qcompile.stages.terms import collect

__all__ = ["bits_to_spins", "spins_to_bits"]


# 2^20 terms from a single one; what many of them need is held against the memory there is.
_LARGEST_TERM = 20


def spins_to_bits(polynomial: Pubo) -> Pubo:
    """Return the polynomial of bits with the same energies, the given one being one of spins.

    >>> spins_to_bits(Pubo.from_dict({(0, 1): 1.0})).to_dict()
    {(): 1.0, (0,): -2.0, (1,): -2.0, (0, 1): 4.0}
    """
    return _substituted(polynomial, -1.0, 2.0)


def bits_to_spins(polynomial: Pubo) -> Pubo:
    """Return the terms over spins of a polynomial of bits; the way back of `spins_to_bits`.

    >>> bits_to_spins(Pubo.from_dict({(0, 1): 4.0})).to_dict()
    {(): 1.0, (0,): 1.0, (1,): 1.0, (0, 1): 1.0}
    """
    return _substituted(polynomial, 0.5, 0.5)


def _substituted(polynomial: Pubo, base: float, slope: float) -> Pubo:
    """Put base + slope · y for every variable."""
    degree = polynomial.degree
    if degree > _LARGEST_TERM:
        raise InputError(
            f"a term of {degree} variables; between spins and bits it would become 2^{degree} "
            f"terms: expected at most {_LARGEST_TERM} variables, or no change of their kind"
        )
    count = sum(number << j for j, number in enumerate(polynomial.terms, 1))
    memory.require(
        (40 + 12 * degree) * count,  # rows, values, and the order in which they are sorted
        f"turning {polynomial.num_terms:,} terms between spins and bits into {count:,}",
        "give the polynomial in bits (BINARY), or one of a lower degree",
    )
    constant = polynomial.constant
    made: list[list[tuple[NDArray[np.int32], Floats]]] = [[] for _ in range(degree)]
    with np.errstate(over="ignore", invalid="ignore"):  # found below
        for size, rows, values in _parts(polynomial, base, slope):
            if size:
                made[size - 1].append((rows, values))
            else:
                constant += float(values.sum())
        merged = [collect(*parts[0], *parts[1:]) for parts in made]
    if not (math.isfinite(constant) and all(np.isfinite(v).all() for _, v in merged)):
        raise InputError("a coefficient leaves the range of numbers between spins and bits")
    return replace(
        polynomial,
        constant=constant,
        indices=tuple(rows for rows, _ in merged),
        coefficients=tuple(values for _, values in merged),
    )


def _parts(
    polynomial: Pubo, base: float, slope: float
) -> Iterator[tuple[int, NDArray[np.int32], Floats]]:
    """Multiply out: for each choice of members the rows that keep them, and their values."""
    for rows, values in zip(polynomial.indices, polynomial.coefficients, strict=True):
        degree = rows.shape[1]
        for size in range(degree + 1) if len(rows) else ():
            part = values * (base ** (degree - size) * slope**size)
            for members in combinations(range(degree), size):
                yield size, rows[:, list(members)], part
