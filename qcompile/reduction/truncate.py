"""Leave out the least important terms until a budget of ancillas is kept, with a bound.

A term c q_i q_j q_k written in spins (q = (1 + s)/2) is c/8 s_i s_j s_k plus terms of lower degree.
Dropping the spin product alone, the rest folded into lower degrees, changes no energy by more than
|c|/8 (in general |c|/2^degree) instead of |c|. The sum of these is a certified bound on the change
of any energy. Samples should be scored on the true polynomial: ``Qubo.score`` does.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qcompile.reduction.cover import PairCover, Search, shrink_cover
from qcompile.reduction.subsets import cover_monomials
from qcompile.reduction.substitution import SubsetCover
from qcompile.stages.arrays import frozen
from qcompile.stages.pubo import Pubo
from qcompile.stages.terms import collect

__all__ = ["truncate_terms", "truncate_triples", "without_products"]


_HALVINGS = 12


def truncate_triples(pubo: Pubo, cover: PairCover, most: int) -> tuple[Pubo, PairCover, float]:
    """Return a cubic that `most` pairs cover, those pairs, and the bound on any energy's change."""
    triples, values = pubo.indices[2], pubo.coefficients[2]
    fewer, kept = shrink_cover(triples, np.abs(values) / 8, pubo.variables, cover, most)
    made, error = without_products(pubo, 3, ~kept)
    return made, fewer, error


def truncate_terms(pubo: Pubo, most: int, search: Search) -> tuple[Pubo, SubsetCover | None, float]:
    """Drop terms of any degree, the smallest bounds first; as few as halving finds."""
    sizes = np.concatenate(
        [np.abs(c) / 2.0**j for j, c in enumerate(pubo.coefficients, 1) if j >= 3]
    )
    levels = np.unique(sizes)
    low, high = 0, len(levels) - 1
    brief = replace(search, time_limit=search.time_limit / _HALVINGS)
    best: tuple[Pubo, SubsetCover | None, float] | None = None
    for _ in range(_HALVINGS):
        if low > high:
            break
        middle = (low + high) // 2
        made, error = _below(pubo, float(levels[middle]))
        covered = None
        if made.degree >= 3:
            covered = cover_monomials(made, brief)
        if covered is None or len(covered) <= most:
            best, high = (made, covered, error), middle - 1
        else:
            low = middle + 1
    if best is None:  # nothing but the quadratic part fits
        made, error = _below(pubo, np.inf)
        best = (made, None, error)
    return best


def _below(pubo: Pubo, level: float) -> tuple[Pubo, float]:
    """Drop all terms of degree 3 and more whose bound is at most `level`, top degree first."""
    total, made = 0.0, pubo
    for degree in range(pubo.degree, 2, -1):
        small = np.abs(made.coefficients[degree - 1]) / 2.0**degree <= level
        made, error = without_products(made, degree, small)
        total += error
    return made, total


def without_products(pubo: Pubo, degree: int, drop: NDArray[np.bool_]) -> tuple[Pubo, float]:
    """Drop the spin products of some terms of one degree; the rest goes to lower degrees.

    q_S becomes -Σ over proper subsets T of S of (-1)^(|S|-|T|) 2^(|T|-|S|) q_T.
    """
    rows, values = pubo.indices[degree - 1][drop], pubo.coefficients[degree - 1][drop]
    indices, coefficients = list(pubo.indices), list(pubo.coefficients)
    indices[degree - 1] = frozen(pubo.indices[degree - 1][~drop], np.int32)
    coefficients[degree - 1] = frozen(pubo.coefficients[degree - 1][~drop])
    for size in range(1, degree):
        share = -((-1.0) ** (degree - size)) * 2.0 ** (size - degree)
        extra = [rows[:, members] for members in combinations(range(degree), size)]
        indices[size - 1], coefficients[size - 1] = collect(
            *pubo.of_degree(size), (np.concatenate(extra), np.tile(values * share, len(extra)))
        )
    constant = pubo.constant - (-1.0) ** degree * 2.0**-degree * float(values.sum())
    made = replace(
        pubo, constant=constant, indices=tuple(indices), coefficients=tuple(coefficients)
    )
    return made, float(np.abs(values).sum()) / 2.0**degree
