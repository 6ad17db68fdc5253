"""The inputs: polynomials as plain dictionaries, which every peer can take."""

from __future__ import annotations

from itertools import combinations

import numpy as np

__all__ = ["Terms", "complete", "sparse"]

Terms = dict[tuple[int, ...], float]


def complete(variables: int, degree: int, seed: int = 0) -> Terms:
    """All terms up to the degree, with normal coefficients."""
    rng = np.random.default_rng(seed)
    members = [m for j in range(1, degree + 1) for m in combinations(range(variables), j)]
    return dict(zip(members, rng.normal(size=len(members)).tolist(), strict=True))


def sparse(variables: int, count: int, degree: int = 3, seed: int = 0) -> Terms:
    """So many terms of one degree, with normal coefficients."""
    rng = np.random.default_rng(seed)
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < count:
        picked = rng.choice(variables, degree, replace=False)
        chosen.add(tuple(sorted(int(v) for v in picked)))
    values = rng.normal(size=count).tolist()
    return dict(zip(sorted(chosen), values, strict=True))
