"""Cover triples of variables by pairs: the fewest products that make a cubic quadratic.

Every cubic term must contain a pair whose product has an ancilla. For a complete cubic no set of
pairs is smaller than all pairs inside two halves, ⌊(N-1)²/4⌋ (Mantel's theorem on the complement:
a graph without triangles has at most N²/4 edges). For a sparse cubic this is a minimum set cover,
solved greedily and by annealing, or exactly by integer programming.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.runtime.threads import ordered

__all__ = ["METHODS", "PairCover", "cover_triples", "halves_bound", "shrink_cover"]


METHODS = ("auto", "halves", "greedy", "exact", "dimod")
# Annealing steps for each pair and in total; temperatures at the beginning and at the end.
_STEPS_PER_PAIR, _MOST_STEPS = 6_000, 24_000_000
_HOT, _COLD = 0.5, 0.12
_BYTES_A_TRIPLE = 160  # measured


@dataclass(frozen=True, eq=False)
class PairCover:
    """Sorted pairs (first < second) that cover all triples.

    `bound` is a lower bound on the number of pairs; `optimal` says whether it is reached. Both are
    None if not known.
    """

    pairs: NDArray[np.int32]
    method: str
    optimal: bool | None
    bound: int | None

    def __len__(self) -> int:
        return len(self.pairs)


def halves_bound(variables: int) -> int:
    """Return the number of pairs that a complete cubic needs: ⌊(N-1)²/4⌋.

    >>> halves_bound(100)
    2450
    """
    return (variables - 1) ** 2 // 4


def cover_triples(
    triples: NDArray[np.int32],
    variables: int,
    *,
    method: str = "auto",
    seed: int = 0,
    time_limit: float = 60.0,
) -> PairCover:
    """Choose pairs that cover the triples; rows are ascending and in lexicographic order."""
    if method not in METHODS:
        raise InputError(f"cover {method!r}; expected one of {', '.join(METHODS)}")
    if not len(triples):
        return PairCover(np.empty((0, 2), dtype=np.int32), method, True, 0)
    used = np.arange(variables)
    if len(triples) < comb(variables, 3):
        used = np.flatnonzero(np.bincount(triples.ravel(), minlength=variables))
    complete = len(triples) == comb(len(used), 3)
    if method == "halves" or (method == "auto" and complete):
        if complete:
            pairs = used[_halves(len(used))].astype(np.int32)
            return PairCover(pairs, "halves", True, halves_bound(len(used)))
        return PairCover(_halves_used(triples, variables), "halves", None, None)
    if method == "dimod":
        return PairCover(_dimod_pairs(triples), "dimod", None, None)
    problem = _SetCover.of(triples, variables)
    if method == "exact":
        return _exact(problem, seed, time_limit)
    greedy = problem.annealed(np.zeros(problem.size, dtype=np.bool_), seed)
    if method == "greedy":
        return PairCover(problem.pairs[greedy], "greedy", None, None)
    return _best_of(problem, triples, variables, greedy, seed)


def shrink_cover(
    triples: NDArray[np.int32],
    sizes: NDArray[np.float64],
    variables: int,
    cover: PairCover,
    most: int,
) -> tuple[PairCover, NDArray[np.bool_]]:
    """Keep at most `most` pairs of a cover; return them and which triples they still cover.

    `sizes` is the cost of each triple that is not covered; the total is kept small greedily.
    """
    from qcompile.reduction.cover_kernels import shrink

    problem = _SetCover.of(triples, variables)
    kept = shrink(problem.triple_pairs, sizes, problem.mark(cover.pairs), most)
    return (
        PairCover(problem.pairs[kept], f"{cover.method}, truncated", None, None),
        np.asarray(kept[problem.triple_pairs].any(axis=1)),
    )


def _best_of(
    problem: _SetCover,
    triples: NDArray[np.int32],
    variables: int,
    greedy: NDArray[np.bool_],
    seed: int,
) -> PairCover:
    """Try starts that suit dense and one-hot data too; return the cover with the fewest pairs."""
    halves = problem.mark(_halves_used(triples, variables))
    parted = problem.mark(_inside(triples, _max_cut(problem, variables, seed)))
    annealed = ordered(lambda start: problem.annealed(start, seed), (halves, parted))
    found = {"greedy": greedy, **dict(zip(("halves", "max-cut"), annealed, strict=True))}
    name = min(found, key=lambda key: (int(found[key].sum()), key))
    return PairCover(problem.pairs[found[name]], name, None, None)


def _halves(variables: int) -> NDArray[np.int32]:
    """Return all pairs of equal parity: interleaved halves use the ancillas evenly."""
    first, second = np.triu_indices(variables, 1)
    same = (first + second) % 2 == 0
    return np.column_stack([first[same], second[same]]).astype(np.int32)


def _halves_used(triples: NDArray[np.int32], variables: int) -> NDArray[np.int32]:
    return _inside(triples, np.arange(variables) % 2)


def _inside(triples: NDArray[np.int32], side: NDArray[Any]) -> NDArray[np.int32]:
    """Return the pairs inside a part that some triple needs.

    A triple with two variables in a part needs their pair. One with three variables there needs any
    of its pairs: one that another triple needs too, or else its first.
    """
    pairs = [triples[:, [0, 1]], triples[:, [0, 2]], triples[:, [1, 2]]]
    same = [side[p[:, 0]] == side[p[:, 1]] for p in pairs]
    whole = same[0] & same[1]
    needed = np.concatenate([p[s & ~whole] for p, s in zip(pairs, same, strict=True)])
    forced = _unique_rows(needed)
    size = len(side)
    keys = forced[:, 0].astype(np.int64) * size + forced[:, 1]
    left = triples[whole]
    has = np.zeros(len(left), dtype=np.bool_)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        has |= np.isin(left[:, a].astype(np.int64) * size + left[:, b], keys)
    return _unique_rows(np.concatenate([forced, left[~has][:, :2]]))


def _unique_rows(pairs: NDArray[np.int32]) -> NDArray[np.int32]:
    width = int(pairs.max(initial=0)) + 1
    keys = np.unique(pairs[:, 0].astype(np.int64) * width + pairs[:, 1])
    return np.column_stack([keys // width, keys % width]).astype(np.int32)


@dataclass(frozen=True, eq=False)
class _SetCover:
    """Triples as sets of three numbers of pairs; only pairs of the triples are numbered."""

    pairs: NDArray[np.int32]
    triple_pairs: NDArray[np.int32]
    starts: NDArray[np.int64]
    lists: NDArray[np.int32]
    variables: int

    @classmethod
    def of(cls, triples: NDArray[np.int32], variables: int) -> _SetCover:
        from qcompile.reduction.cover_kernels import incidence

        memory.require(
            _BYTES_A_TRIPLE * len(triples),
            f"a cover of {len(triples):,} cubic terms",
            'use fewer bits= or features=, or cover="halves"',
        )
        wide = triples.astype(np.int64)
        keys = np.stack(
            [wide[:, a] * variables + wide[:, b] for a, b in ((0, 1), (0, 2), (1, 2))], axis=1
        )
        used, numbers = np.unique(keys, return_inverse=True)
        pairs = np.column_stack([used // variables, used % variables]).astype(np.int32)
        triple_pairs = numbers.reshape(-1, 3).astype(np.int32)
        return cls(pairs, triple_pairs, *incidence(triple_pairs, len(pairs)), variables)

    @property
    def size(self) -> int:
        return len(self.pairs)

    def mark(self, chosen: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the numbered pairs are among the rows."""
        keys = self.pairs[:, 0].astype(np.int64) * self.variables + self.pairs[:, 1]
        return np.isin(keys, chosen[:, 0].astype(np.int64) * self.variables + chosen[:, 1])

    def annealed(self, start: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
        """Return a cover completed and improved by a fixed number of steps."""
        from qcompile.reduction.cover_kernels import improve

        steps = min(_STEPS_PER_PAIR * self.size, _MOST_STEPS)
        return improve(self.starts, self.lists, start, steps, _HOT, _COLD, seed + 1)


def _max_cut(problem: _SetCover, variables: int, seed: int) -> NDArray[np.int8]:
    """Divide the variables in two parts so that few pairs of the triples are inside a part."""
    from qcompile.reduction.cover_kernels import cut

    both = np.concatenate([problem.pairs, problem.pairs[:, ::-1]])
    order = np.lexsort((both[:, 1], both[:, 0]))
    neighbours = both[order, 1].astype(np.int32)
    starts = np.searchsorted(both[order, 0], np.arange(variables + 1))
    tries = []
    for attempt in range(8):
        side = np.random.default_rng(seed + attempt).integers(0, 2, variables).astype(np.int8)
        parted = cut(starts, neighbours, side, 400, 2.0, seed + attempt + 1)
        inside = int((parted[problem.pairs[:, 0]] == parted[problem.pairs[:, 1]]).sum())
        tries.append((inside, attempt, parted))
    return min(tries)[2]


def _exact(problem: _SetCover, seed: int, time_limit: float) -> PairCover:
    """Return a minimum set cover by HiGHS, or the annealed one if it is smaller at the limit."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(len(problem.triple_pairs)), 3)
    matrix = csr_array((np.ones(len(rows)), (rows, problem.triple_pairs.ravel())))
    result = milp(
        np.ones(problem.size),
        integrality=np.ones(problem.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, lb=1),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    annealed = problem.annealed(np.zeros(problem.size, dtype=np.bool_), seed)
    chosen = annealed if result.x is None else result.x > 0.5
    if annealed.sum() < chosen.sum():
        chosen = annealed
    dual = getattr(result, "mip_dual_bound", None)
    bound = None if dual is None else int(np.ceil(dual - 1e-6))
    optimal = bool(bound is not None and chosen.sum() <= bound)
    return PairCover(problem.pairs[chosen], "exact", optimal, bound)


def _dimod_pairs(triples: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the pairs that dimod.make_quadratic replaces."""
    import dimod

    polynomial = dimod.BinaryPolynomial(dict.fromkeys(map(tuple, triples.tolist()), 1.0), "BINARY")
    reduction = dimod.make_quadratic(polynomial, 1.0, dimod.BINARY).info["reduction"]
    return _unique_rows(np.array([sorted(pair) for pair in reduction], dtype=np.int32))
