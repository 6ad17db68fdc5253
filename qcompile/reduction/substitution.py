"""Cover terms of any degree by products of two factors, which are bits or earlier products.

The pair of factors that the most terms share is replaced by a product, again and again, in compiled
code. This suits terms that have few subsets in common. Where even that would take long, as for few
terms of thousands of bits, terms share only what they begin with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qcompile.reduction.cover import Search
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo

__all__ = ["SubsetCover", "multiply_beginnings", "substitute_pairs", "substitution_steps"]


_BYTES_A_PRODUCT = 300  # of terms with too many subsets
_BYTES_A_STEP = 24  # measured, with all pairs shared
_LEAST_WORK, _MOST_TRIES = 2_000_000, 200


@dataclass(frozen=True, eq=False)
class SubsetCover:
    """Products of two earlier variables each, and the one or two variables that make each term."""

    factors: NDArray[np.int32]
    routes: NDArray[np.int64]
    values: Floats
    method: str
    optimal: bool | None = None
    bound: int | None = None

    def __len__(self) -> int:
        return len(self.factors)


def substitution_steps(pubo: Pubo) -> int:
    """Return how many pairs of factors `substitute_pairs` may look at once."""
    return sum(
        (degree - 1) ** 2 * count for degree, count in enumerate(pubo.terms, 1) if degree > 2
    )


def substitute_pairs(pubo: Pubo, search: Search, *, first: int = 0) -> SubsetCover:
    """Replace shared pairs, repeatedly; try other choices among equals as far as the work allows.

    Try 0 has no random choice. Those after the `first` one are as many as take as long as it did
    together, or 0.2 s if that is more.
    """
    from qcompile.reduction.substitute_kernel import list_pairs, substitute

    steps = substitution_steps(pubo)
    memory.require(
        _BYTES_A_STEP * steps,
        f"products of the pairs that {sum(pubo.terms[2:]):,} terms share",
        "use fewer bits= or features=, or a lower order=",
    )
    rows = [terms for terms in pubo.indices[2:] if len(terms)]
    members = np.concatenate([terms.ravel() for terms in rows])
    sizes = np.concatenate([np.full(len(terms), terms.shape[1]) for terms in rows])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    listed = list_pairs(members, starts, pubo.variables)
    best: NDArray[np.int32] | None = None
    left = np.empty((0, 2), dtype=np.int32)
    allowed, spent = 1, 0
    for attempt in range(first, first + _MOST_TRIES):
        if attempt >= first + allowed:
            break
        reduced = members.copy()
        seed = 0 if attempt == 0 else search.seed + attempt
        factors, work = substitute(reduced, starts, pubo.variables, *listed, seed)
        spent += work + len(members)
        if attempt == first:
            allowed = 1 + search.work(max(_LEAST_WORK, spent)) // spent
        if best is None or len(factors) < len(best):
            best = factors
            left = np.column_stack([reduced[starts[:-1]], reduced[starts[:-1] + 1]]).astype(
                np.int64
            )
    assert best is not None
    values = np.concatenate([np.empty(0), *pubo.coefficients[2:]])
    return SubsetCover(best, left.astype(np.int64), values, "greedy pairs")


def multiply_beginnings(pubo: Pubo) -> SubsetCover:
    """Multiply the factors of each term one by one, the most common first; share beginnings."""
    rows = [row for terms in pubo.indices[2:] for row in terms.tolist()]
    counts = np.bincount([member for row in rows for member in row], minlength=pubo.variables)
    products: dict[tuple[int, int], int] = {}
    left = []
    for row in rows:
        first, *others, last = sorted(row, key=lambda member: (-counts[member], member))
        for other in others:
            first = products.setdefault((first, other), pubo.variables + len(products))
        left.append((first, last))
    memory.require(
        _BYTES_A_PRODUCT * len(products),
        f"{len(products):,} ancillas that are made of each other",
        "lower the degree of the terms, or give fewer of them",
    )
    return SubsetCover(
        factors=np.array(list(products), dtype=np.int32).reshape(-1, 2),
        routes=np.array(left, dtype=np.int64).reshape(-1, 2),
        values=np.concatenate([np.empty(0), *pubo.coefficients[2:]]),
        method="shared beginnings",
    )
