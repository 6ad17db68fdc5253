"""Cover triples of variables by pairs: the fewest products that make a cubic quadratic.

Every cubic term must contain a pair whose product has an ancilla. For a complete cubic no set of
pairs is smaller than all pairs inside two halves, ⌊(N-1)²/4⌋ (Mantel's theorem on the complement:
a graph without triangles has at most N²/4 edges). For a sparse cubic this is a minimum set cover.
First, pairs are chosen as long as a minimum cover with them exists, which is all of a very sparse
cubic. The triples left are covered greedily, and the cover is annealed for a budget of work; or
exactly, by integer programming.
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

__all__ = ["METHODS", "PairCover", "Search", "cover_triples", "halves_bound", "shrink_cover"]


METHODS = ("auto", "halves", "greedy", "exact", "dimod")
# Work of annealing: at least, for each unit of the greedy choice's, and at most for each pair.
# Eight million units take about 0.2 s where everything fits into the cache, up to 1 s elsewhere.
_LEAST_WORK, _WORK_SHARE, _WORK_A_PAIR = 8_000_000, 2, 20_000
_WORK_A_SECOND = 8_000_000
_HOT, _COLD = 0.3, 0.12  # temperatures at the beginning and at the end
_BYTES_A_TRIPLE = 200  # measured
# Parts are tried where so many triples share a pair on average, and leave not many more pairs.
_DENSE, _WORTH_PARTING = 4, 1.3
_CUTS, _CUT_WORK = 8, 60_000_000


@dataclass(frozen=True)
class Search:
    """How to choose products: a method of `METHODS`, and how much work improves the choice.

    `effort` scales the work, which is at most what `time_limit` seconds allow on a slow machine.
    It is counted, not timed: a cubic has the same cover on every machine. Only the trial of subsets
    above degree 3 ends by the clock, if it takes `time_limit` seconds.
    """

    method: str = "auto"
    seed: int = 0
    time_limit: float = 60.0
    effort: float = 1.0

    def work(self, least: int) -> int:
        """Return the work of a search that takes at least so much of it by default."""
        return int(min(self.effort * least, self.time_limit * _WORK_A_SECOND))


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
    triples: NDArray[np.int32], variables: int, search: Search | None = None
) -> PairCover:
    """Choose pairs that cover the triples; rows are ascending and in lexicographic order."""
    search = Search() if search is None else search
    method = search.method
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
    forced, left = problem.settled()
    if not left.any():
        name = "exact" if method == "exact" else "greedy"
        return PairCover(problem.pairs[forced], name, True, int(forced.sum()))
    core = _Core.of_left(problem, left)
    if method == "exact":
        chosen, bound = core.exact(search)
        bound = None if bound is None else bound + int(forced.sum())
        pairs = problem.pairs[core.joined(forced, chosen)]
        return PairCover(pairs, "exact", bound is not None and len(pairs) <= bound, bound)
    name, (chosen, took) = "greedy", core.greedy()
    if method == "auto":
        name, chosen = _improved(core, triples[left], chosen, took, search)
    return PairCover(problem.pairs[core.joined(forced, chosen)], name, None, None)


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


def _improved(
    core: _Core,
    triples: NDArray[np.int32],
    greedy: NDArray[np.bool_],
    took: int,
    search: Search,
) -> tuple[str, NDArray[np.bool_]]:
    """Anneal the greedy cover, and one that suits dense and one-hot data; return the smaller one.

    The other one is that of two parts of the variables: all pairs inside a part that are needed.
    """
    starts = {"greedy": greedy}
    if _DENSE * core.size <= 3 * len(triples):
        halves = _halves_used(triples, core.variables)
        if len(halves) <= _WORTH_PARTING * greedy.sum():
            parts = _inside(triples, _max_cut(core.pairs, core.variables, search.seed))
            name, pairs = min(("halves", halves), ("max-cut", parts), key=lambda pair: len(pair[1]))
            starts[name] = core.mark(pairs)
    each = core.work(took, search) // len(starts)
    annealed = ordered(lambda start: core.annealed(start, each, search.seed), starts.values())
    found = dict(zip(starts, annealed, strict=True))
    name = min(found, key=lambda key: (int(found[key].sum()), key))
    return name, found[name]


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
    variables: int

    @classmethod
    def of(cls, triples: NDArray[np.int32], variables: int) -> _SetCover:
        from qcompile.reduction.set_cover_kernels import number_pairs

        memory.require(
            _BYTES_A_TRIPLE * len(triples),
            f"a cover of {len(triples):,} cubic terms",
            'use fewer bits= or features=, or cover="halves"',
        )
        return cls(*number_pairs(np.ascontiguousarray(triples), variables), variables)

    @property
    def size(self) -> int:
        return len(self.pairs)

    def mark(self, chosen: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the numbered pairs are among the rows."""
        keys = self.pairs[:, 0].astype(np.int64) * self.variables + self.pairs[:, 1]
        return np.isin(keys, chosen[:, 0].astype(np.int64) * self.variables + chosen[:, 1])

    def settled(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return pairs that some minimum cover has, and the triples that they leave."""
        from qcompile.reduction.set_cover_kernels import settle

        return settle(self.triple_pairs, self.size)


@dataclass(frozen=True, eq=False)
class _Core(_SetCover):
    """Triples that are left when pairs are settled; `places` are the pairs in the whole problem."""

    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    lists: NDArray[np.int32]

    @classmethod
    def of_left(cls, whole: _SetCover, left: NDArray[np.bool_]) -> _Core:
        """Number the pairs of the triples that are left."""
        from qcompile.reduction.set_cover_kernels import incidence

        rows = whole.triple_pairs[left]
        used = np.zeros(whole.size, dtype=np.bool_)
        used[rows] = True
        places = np.flatnonzero(used)
        numbers = np.zeros(whole.size, dtype=np.int32)
        numbers[places] = np.arange(len(places))
        rows = numbers[rows]
        return cls(
            whole.pairs[places], rows, whole.variables, places, *incidence(rows, len(places))
        )

    def joined(self, forced: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the pairs of the whole problem that are settled or chosen."""
        together = forced.copy()
        together[self.places[chosen]] = True
        return together

    def greedy(self) -> tuple[NDArray[np.bool_], int]:
        """Return a cover by the pairs that cover the most, and the work that it took."""
        from qcompile.reduction.set_cover_kernels import greedy

        chosen, work = greedy(self.starts, self.lists)
        return self.annealed(chosen, 0, 0), work

    def annealed(self, start: NDArray[np.bool_], work: int, seed: int) -> NDArray[np.bool_]:
        """Return a cover without pairs that nothing needs, improved by so much work."""
        from qcompile.reduction.set_cover_kernels import improve

        return improve(self.starts, self.lists, start, work, _HOT, _COLD, seed + 1)

    def work(self, took: int, search: Search) -> int:
        """Return the work of annealing, if the greedy choice took so much."""
        least = min(max(_LEAST_WORK, _WORK_SHARE * took), _WORK_A_PAIR * self.size)
        return search.work(least)

    def exact(self, search: Search) -> tuple[NDArray[np.bool_], int | None]:
        """Return a minimum cover by HiGHS, or the annealed one if it is smaller, and a bound."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows = np.repeat(np.arange(len(self.triple_pairs)), 3)
        matrix = csr_array((np.ones(len(rows)), (rows, self.triple_pairs.ravel())))
        result = milp(
            np.ones(self.size),
            integrality=np.ones(self.size),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, lb=1),
            options={"time_limit": search.time_limit, "mip_rel_gap": 0.0},
        )
        greedy, took = self.greedy()
        annealed = self.annealed(greedy, self.work(took, search), search.seed)
        chosen = annealed if result.x is None else result.x > 0.5
        if annealed.sum() < chosen.sum():
            chosen = annealed
        dual = getattr(result, "mip_dual_bound", None)
        return chosen, None if dual is None else int(np.ceil(dual - 1e-6))


def _max_cut(pairs: NDArray[np.int32], variables: int, seed: int) -> NDArray[np.int8]:
    """Divide the variables in two parts so that few of the pairs are inside a part."""
    from qcompile.reduction.cover_kernels import cut

    both = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.lexsort((both[:, 1], both[:, 0]))
    neighbours = both[order, 1].astype(np.int32)
    starts = np.searchsorted(both[order, 0], np.arange(variables + 1))
    sweeps = max(1, min(400, _CUT_WORK // (_CUTS * len(both))))
    tries = []
    for attempt in range(_CUTS):
        side = np.random.default_rng(seed + attempt).integers(0, 2, variables).astype(np.int8)
        parted = cut(starts, neighbours, side, sweeps, 2.0, seed + attempt + 1)
        inside = int((parted[pairs[:, 0]] == parted[pairs[:, 1]]).sum())
        tries.append((inside, attempt, parted))
    return min(tries)[2]


def _dimod_pairs(triples: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the pairs that dimod.make_quadratic replaces."""
    import dimod

    polynomial = dimod.BinaryPolynomial(dict.fromkeys(map(tuple, triples.tolist()), 1.0), "BINARY")
    reduction = dimod.make_quadratic(polynomial, 1.0, dimod.BINARY).info["reduction"]
    return _unique_rows(np.array([sorted(pair) for pair in reduction], dtype=np.int32))
