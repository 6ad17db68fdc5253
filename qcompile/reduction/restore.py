"""Qubo -> Pubo: put the products back for the ancillas.

With every ancilla replaced by the product of its factors the gates cancel, and what is left is the
polynomial that was reduced, up to the rounding of the QUBO's coefficients. The coefficients of a
term are added up exactly and rounded once: small ones are not lost beside large ones, and a term is
left out only if its sum is exactly 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.terms import order_of_rows

__all__ = ["members_of", "restore"]


# Bytes of a pair for each bit that a variable may stand for, measured while terms are sorted.
_PAIR_COST = 72
# Bits of all products together: more take gigabytes.
_MOST_MEMBERS = 50_000_000


def restore(qubo: Qubo) -> Pubo:
    """Return the polynomial over the logical bits that a QUBO stands for.

    >>> from qcompile import quadratize
    >>> pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0, 3): 1.0})
    >>> restore(quadratize(pubo)).to_dict()
    {(): 0.0, (0, 3): 1.0, (0, 1, 2): 2.0}
    """
    members = members_of(qubo)
    memory.require(
        _PAIR_COST * members.shape[1] * (len(qubo.first) + qubo.variables),
        f"the polynomial of a QUBO of {len(qubo.first):,} pairs",
        "use fewer bits= or features=, or the polynomial itself in place of the QUBO",
    )
    rows = np.concatenate(
        [
            np.pad(members, ((0, 0), (0, members.shape[1])), constant_values=qubo.logical),
            np.concatenate([members[qubo.first], members[qubo.second]], axis=1),
        ]
    )
    values = np.concatenate([qubo.linear, qubo.quadratic])
    rows = _distinct(rows, qubo.logical)
    constant, indices, coefficients = qubo.offset, [], []
    degrees = np.count_nonzero(rows < qubo.logical, axis=1)
    for degree in range(1, int(degrees.max(initial=0)) + 1):
        chosen = degrees == degree
        terms, sums = _added(rows[chosen, :degree], values[chosen])
        indices.append(terms)
        coefficients.append(sums)
    while coefficients and not len(coefficients[-1]):
        indices.pop()
        coefficients.pop()
    pubo = Pubo(
        variables=qubo.logical,
        constant=constant,
        indices=tuple(indices),
        coefficients=tuple(coefficients),
        origin=qubo.origin,
    )
    return pubo if qubo.truncated is None else pubo.with_terms(pubo + qubo.truncated)


def _added(rows: NDArray[np.int32], values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Add up equal terms exactly, in lexicographic order; sums of 0 are left out."""
    order = order_of_rows(rows)
    rows, values = rows[order], values[order]
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(rows)))
    sums = values[starts]  # most terms have one coefficient: only gates are added up
    for at in np.flatnonzero(sizes > 1).tolist():
        start = starts[at]
        sums[at] = math.fsum(values[start : start + sizes[at]].tolist())
    used = sums != 0
    return frozen(rows[starts[used]], np.int32), frozen(sums[used])


def members_of(qubo: Qubo) -> NDArray[np.int32]:
    """Return the bits whose product each variable is, ascending, padded with `logical`."""
    sets: list[tuple[int, ...]] = [(v,) for v in range(qubo.logical)]
    total = qubo.logical
    for a, b in qubo.ancillas.factors.tolist():
        sets.append(tuple(sorted({*sets[a], *sets[b]})))
        total += len(sets[-1])
        if total > _MOST_MEMBERS:
            raise InputError(f"products of more than {_MOST_MEMBERS:,} bits in all")
    width = max(map(len, sets), default=1)
    memory.require(8 * width * len(sets), f"products of up to {width:,} bits", "use fewer bits")
    table = np.full((len(sets), width), qubo.logical, dtype=np.int32)
    for v, bits in enumerate(sets):
        table[v, : len(bits)] = bits
    return table


def _distinct(rows: NDArray[np.int32], empty: int) -> NDArray[np.int32]:
    """Sort the members of each row, each once, the padding last."""
    ordered = np.sort(rows, axis=1)
    again = ordered[:, 1:] == ordered[:, :-1]
    ordered[:, 1:][again] = empty
    return np.sort(ordered, axis=1)
