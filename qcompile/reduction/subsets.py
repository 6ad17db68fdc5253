"""Cover terms of any degree by products of subsets: ancillas for degree 4 and more.

An ancilla stands for the product of a subset of bits. Every term, and every ancilla, must be the
product of two disjoint subsets that are available; a term may also be one such subset. Single bits
are always available. Several families of subsets are tried: those inside two halves; the same with
all pairs; all subsets up to half the degree; and for degrees up to 6 over at most 18 bits families
that were found by long annealing. Each family is pruned to what the terms need.

A term of k bits has 2^k subsets, too many above degree 10, and sparse terms have few in common.
There pairs of factors are replaced one after the other (`substitution`).
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.reduction.cover import Search
from qcompile.reduction.substitution import (
    SubsetCover,
    multiply_beginnings,
    substitute_pairs,
    substitution_steps,
)
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo

__all__ = [
    "SPLIT",
    "cover_monomials",
    "in_words",
    "search_memory",
    "search_seconds",
    "split_memory",
]


_log = logging.getLogger("qcompile")

SPLIT = "split terms"
# Of the search, for each subset of a term, and of splitting a term; measured on one core.
_SECONDS_A_SUBSET, _BYTES_A_SUBSET = 1e-6, 24
_BYTES_A_SPLIT = 240
_PRUNINGS = 12
_MOST_GREEDY = 3000
_STORED_DEGREE = 6
_WIDEST = 10
# Most steps for replacing shared pairs; above it wide terms share beginnings only.
_MOST_STEPS = 1e8
_SHORT = 1.0  # seconds that a search through all subsets of sparse terms may take


def cover_monomials(pubo: Pubo, search: Search) -> SubsetCover:
    """Choose subsets whose products make every term of degree 3 or more.

    Terms are reduced by greedy substitution; families of subsets are tried too if the terms are
    dense, or the search through all of their subsets is short. If the search of a dense polynomial
    is expected to take longer than the time limit, every term is split in a fixed way, which is
    fast. What is tried depends on the terms and the options alone.
    """
    method = search.method
    if method == "exact":
        raise InputError("cover exact is for cubics; for higher degrees use auto")
    steps = substitution_steps(pubo)
    if pubo.degree > _WIDEST or not _Problem.can_number(pubo):
        if method not in ("auto", "greedy"):
            raise InputError(
                f"terms of degree {pubo.degree} over {pubo.variables:,} variables have too many "
                f"subsets for cover {method}; use auto"
            )
        if steps > _MOST_STEPS:
            return multiply_beginnings(pubo)
        return substitute_pairs(pubo, search)
    if method == "greedy":
        return substitute_pairs(pubo, replace(search, effort=0.0))
    took, dense = search_seconds(pubo.terms), _is_dense(pubo)
    found = None
    if method == "auto" and steps <= _MOST_STEPS and not (dense and took > search.time_limit):
        found = substitute_pairs(pubo, search)
        if not dense and took > min(search.time_limit, search.effort * _SHORT):
            return found
    return _by_families(_Problem.of(pubo), pubo, search, took, found)


def _is_dense(pubo: Pubo) -> bool:
    """Whether half of all terms of degree 3 and more are there, over the bits that occur."""
    occurring = np.zeros(pubo.variables, dtype=np.bool_)
    for rows in pubo.indices[2:]:
        occurring[rows] = True
    everything = sum(comb(int(occurring.sum()), j) for j in range(3, pubo.degree + 1))
    return 2 * sum(pubo.terms[2:]) >= everything


def _by_families(
    problem: _Problem, pubo: Pubo, search: Search, took: float, found: SubsetCover | None
) -> SubsetCover:
    """Return the smallest pruned family of subsets, or what was found if that is smaller."""
    method, seed, time_limit = search.method, search.seed, search.time_limit
    if method in ("auto", "halves"):
        if took > time_limit:
            _log.warning(
                "warning: a search for few products of these %s terms would take about %s, and "
                "time_limit=%g: terms are split in a fixed way",
                f"{sum(map(len, problem.monomials)):,}",
                in_words(took),
                time_limit,
            )
            return problem.by_splitting()
        memory.require(
            search_memory(pubo.terms),
            f"a search for few products of {sum(map(len, problem.monomials)):,} terms",
            "use fewer bits= or features=, a lower order=, or a short time_limit= to split them",
        )
    deadline = time.monotonic() + time_limit
    best: tuple[int, str, list[NDArray[np.int64]]] | None = None
    for name, family in _families(problem, pubo, search).items():
        if best is not None and time.monotonic() > deadline:
            _log.warning("warning: the time limit ended the search for few products")
            break
        pruned = problem.pruned(family, seed, deadline)
        if pruned is not None:
            number = sum(map(len, pruned))
            if best is None or number < best[0]:
                best = (number, name, pruned)
    if found is not None and (best is None or len(found) < best[0]):
        return found
    if best is None:
        raise InputError(f"cover {method} cannot make all terms of this polynomial; use auto")
    return problem.routed(best[2], best[1])


def search_seconds(terms: Sequence[int]) -> float:
    """Return roughly how long the search takes for so many terms of degree 1, 2, ...

    Every subset of a term is looked up for each of three or four families.
    """
    return sum(number * _SECONDS_A_SUBSET * 2.0**j for j, number in enumerate(terms, 1) if j > 2)


def search_memory(terms: Sequence[int]) -> int:
    """Return roughly how many bytes the search takes for so many terms of degree 1, 2, ..."""
    return sum(number * _BYTES_A_SUBSET << j for j, number in enumerate(terms, 1) if j > 2)


def split_memory(terms: Sequence[int]) -> int:
    """Return roughly how many bytes it takes to split so many terms of degree 1, 2, ..."""
    return _BYTES_A_SPLIT * sum(terms[2:])


def in_words(seconds: float) -> str:
    """Return a time in words.

    >>> in_words(100), in_words(600), in_words(1e6)
    ('100 s', '10 minutes', '278 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"


def _families(problem: _Problem, pubo: Pubo, search: Search) -> dict[str, list[NDArray[np.int64]]]:
    """Return candidate families by name: the members of size 2, 3, ... as rows."""
    degree = problem.degree
    half = -(-degree // 2)
    if search.method == "dimod":
        return {"dimod": _dimod_family(pubo, degree)}
    parts = problem.subsets(degree - 1)
    inside = [rows[np.all(rows % 2 == rows[:, :1] % 2, axis=1)] for rows in parts]
    halves = {
        "halves": inside,
        "halves and pairs": [parts[0], *inside[1:]],
    }
    if search.method == "halves":
        return halves
    families = {"all subsets": parts[: half - 1], **halves}
    terms = sum(map(len, problem.monomials))
    attempts = min(8, _MOST_GREEDY // max(1, terms)) if not _is_dense(pubo) else 0
    for attempt in range(attempts):
        families[f"greedy pairs {attempt}"] = _greedy_family(pubo, search, attempt)
    stored = _stored(problem)
    if stored is not None:
        families["stored"] = stored
    return families


@dataclass(frozen=True, eq=False)
class _Problem:
    """Terms of degree 3 or more, and keys that number all subsets of the variables."""

    variables: int
    degree: int
    monomials: list[NDArray[np.int64]]
    values: list[Floats]
    chooses: NDArray[np.int64]
    bases: NDArray[np.int64]

    @staticmethod
    def can_number(pubo: Pubo) -> bool:
        """Whether each subset of the variables has a number of its own below 2^62."""
        return sum(comb(pubo.variables, t) for t in range(pubo.degree + 1)) < 2**62

    @classmethod
    def of(cls, pubo: Pubo) -> _Problem:
        size, degree = pubo.variables, pubo.degree
        assert cls.can_number(pubo)
        chooses = np.array(
            [[comb(i, t) for i in range(size)] for t in range(degree + 1)], dtype=np.int64
        )
        bases = np.cumsum([0] + [comb(size, t) for t in range(degree + 1)]).astype(np.int64)
        monomials = [rows.astype(np.int64) for rows in pubo.indices[2:degree]]
        return cls(size, degree, monomials, list(pubo.coefficients[2:degree]), chooses, bases)

    def keys(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the keys of subsets, one a row with ascending members; that of bit i is i."""
        size = rows.shape[1]
        total = np.full(len(rows), self.bases[size] - 1, dtype=np.int64)
        for t in range(size):
            total += self.chooses[t + 1, rows[:, t]]
        return total

    def subsets(self, largest: int) -> list[NDArray[np.int64]]:
        """Return the subsets of the terms, of the sizes 2 to `largest`."""
        found = []
        for size in range(2, largest + 1):
            count = sum(len(r) * comb(r.shape[1], size) for r in self.monomials)
            memory.require(
                16 * size * min(count, comb(self.variables, size)),
                f"{min(count, comb(self.variables, size)):,} products of {size} bits",
                "use fewer bits= or features=, or a lower order=",
            )
            rows = np.empty((0, size), dtype=np.int64)
            for terms in self.monomials:
                for members in combinations(range(terms.shape[1]), size):
                    joined = np.concatenate([rows, terms[:, members]])
                    _, first = np.unique(self.keys(joined), return_index=True)
                    rows = joined[first]
            found.append(rows)
        return found

    def splits(
        self, rows: NDArray[np.int64], known: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return for each way to split a row in two both parts' places in `known`, or -1.

        `known` holds sorted keys, those of single bits included.
        """
        size = rows.shape[1]
        ways = []
        for small in range(1, size // 2 + 1):
            for left in combinations(range(size), small):
                right = tuple(i for i in range(size) if i not in left)
                if 2 * small == size and left > right:
                    continue
                ways.append((self._find(rows[:, left], known), self._find(rows[:, right], known)))
        return ways

    def _find(self, rows: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = self.keys(rows)
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[at] == keys, at, -1)

    def known_keys(self, family: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the sorted keys of bits and members: the variables of the QUBO in order."""
        members = [self.keys(rows) for rows in family if len(rows)]
        return np.concatenate([np.arange(self.variables), *(np.sort(keys) for keys in members)])

    def split_terms(self) -> list[NDArray[np.int64]]:
        """Return the parts of all terms that are split in two, the parts of these, and so on.

        A term gives the larger half of its bits to the first part, of one parity if possible. For a
        complete polynomial this makes as few products as the best of the families.
        """
        needed: dict[int, list[NDArray[np.int64]]] = {s: [] for s in range(2, self.degree)}
        family: list[NDArray[np.int64]] = []
        for terms in self.monomials:
            for part in _split(terms):
                needed.setdefault(part.shape[1], []).append(part)
        for size in range(self.degree - 1, 1, -1):
            rows = np.concatenate([np.empty((0, size), np.int64), *needed.pop(size, [])])
            _, first = np.unique(self.keys(rows), return_index=True)
            rows = rows[first]
            family.insert(0, rows)
            if size > 2:
                for part in _split(rows):
                    needed.setdefault(part.shape[1], []).append(part)
        return family

    def by_splitting(self) -> SubsetCover:
        """Split every term, and return the factors of the parts and those of the terms."""
        terms = [0, 0, *map(len, self.monomials)]
        memory.require(
            split_memory(terms),
            f"splitting {sum(terms):,} terms",
            "use fewer bits= or features=, or a lower order=",
        )
        family = self.split_terms()
        known = self.known_keys(family)

        def parts(rows: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.column_stack([self._find(part, known) for part in _split(rows)])

        factors = [parts(rows) for rows in family]
        return SubsetCover(
            factors=np.concatenate([np.empty((0, 2), np.int64), *factors]).astype(np.int32),
            routes=np.concatenate([parts(rows) for rows in self.monomials]),
            values=np.concatenate(self.values),
            method=SPLIT,
        )

    def pruned(
        self, family: list[NDArray[np.int64]], seed: int, deadline: float = math.inf
    ) -> list[NDArray[np.int64]] | None:
        """Remove members that no term needs, in several orders; None if a term is not covered."""
        from qcompile.reduction.subset_kernel import prune

        known = self.known_keys(family)
        members = np.arange(len(known) - self.variables)
        targets, users, entry_users = self._ways(family, known)
        monomials = sum(map(len, self.monomials))
        ways = np.bincount(targets, minlength=monomials + len(members))
        if (ways[:monomials] == 0).any():
            return None
        order = np.argsort(entry_users, kind="stable")
        starts = np.searchsorted(entry_users[order], np.arange(len(members) + 1))
        sizes = np.concatenate([np.full(len(rows), rows.shape[1]) for rows in family])
        best = None
        for attempt in range(_PRUNINGS):
            if best is not None and time.monotonic() > deadline:
                break
            noise = np.random.default_rng(seed + attempt).random(len(members))
            # larger products first: they cost the same and are less useful
            tried = np.lexsort((noise, -sizes)) if attempt % 2 else np.argsort(noise)
            kept = prune(tried, starts, users[order], targets, ways.copy(), monomials)
            if best is None or kept.sum() < best.sum():
                best = kept
        ends = np.cumsum([0] + [len(rows) for rows in family])
        ordered = [rows[np.argsort(self.keys(rows))] for rows in family]
        assert best is not None
        return [rows[best[a:b]] for rows, a, b in zip(ordered, ends[:-1], ends[1:], strict=True)]

    def _ways(
        self, family: list[NDArray[np.int64]], known: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the target of each way, and pairs (way, member that it uses)."""
        targets: list[NDArray[np.int64]] = []
        lefts: list[NDArray[np.int64]] = []
        rights: list[NDArray[np.int64]] = []
        first = 0
        for rows in self.monomials:
            ids = np.arange(first, first + len(rows))
            whole = self._find(rows, known)
            parts = [(whole, whole), *self.splits(rows, known)]
            first += len(rows)
            _collect(parts, ids, targets, lefts, rights)
        for rows in family:
            if len(rows) and rows.shape[1] > 2:
                own = self._find(rows, known)
                ids = first + own - self.variables
                _collect(self.splits(rows, known), ids, targets, lefts, rights)
        target = np.concatenate(targets)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        numbers = np.arange(len(target))
        ways = np.concatenate([numbers, numbers[right != left]])
        used = np.concatenate([left, right[right != left]])
        inside = used >= self.variables
        return target, ways[inside], used[inside] - self.variables

    def routed(self, family: list[NDArray[np.int64]], method: str) -> SubsetCover:
        """Number the members and choose their factors and the two variables of every term."""
        known = self.known_keys(family)
        factors = [
            _choose(self.splits(rows[np.argsort(self.keys(rows))], known))
            for rows in family
            if len(rows)
        ]
        routes = []
        for rows in self.monomials:
            whole = self._find(rows, known)
            chosen = _choose([(whole, whole), *self.splits(rows, known)])
            routes.append(chosen)
        return SubsetCover(
            factors=np.concatenate([np.empty((0, 2), np.int64), *factors]).astype(np.int32),
            routes=np.concatenate(routes),
            values=np.concatenate(self.values),
            method=method,
        )


def _split(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split each row in two: the larger half from the parity that most members have."""
    size = rows.shape[1]
    odd = rows % 2
    frequent = (2 * odd.sum(axis=1) > size).astype(np.int64)
    order = np.argsort(odd != frequent[:, None], axis=1, kind="stable")
    arranged = np.take_along_axis(rows, order, axis=1)
    half = -(-size // 2)
    return np.sort(arranged[:, :half], axis=1), np.sort(arranged[:, half:], axis=1)


def _collect(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    ids: NDArray[np.int64],
    targets: list[NDArray[np.int64]],
    lefts: list[NDArray[np.int64]],
    rights: list[NDArray[np.int64]],
) -> None:
    for left, right in parts:
        found = (left >= 0) & (right >= 0)
        targets.append(ids[found])
        lefts.append(left[found])
        rights.append(right[found])


def _choose(ways: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> NDArray[np.int64]:
    """Choose for each row one of its possible ways, in turns, so that they are used evenly."""
    count = len(ways[0][0])
    chosen = np.full((count, 2), -1, dtype=np.int64)
    possible = np.stack([(left >= 0) & (right >= 0) for left, right in ways])
    turn = np.arange(count) % np.maximum(1, possible.sum(axis=0))
    seen = np.zeros(count, dtype=np.int64)
    for fits, (left, right) in zip(possible, ways, strict=True):
        take = fits & (seen == turn)
        chosen[take] = np.column_stack([left[take], right[take]])
        seen += fits
    return chosen


def _greedy_family(pubo: Pubo, search: Search, attempt: int) -> list[NDArray[np.int64]]:
    """Return the products that arise if the pair that most terms share is replaced repeatedly."""
    bits: list[tuple[int, ...]] = [(i,) for i in range(pubo.variables)]
    for one, two in substitute_pairs(
        pubo, replace(search, effort=0.0), first=attempt
    ).factors.tolist():
        bits.append(tuple(sorted({*bits[one], *bits[two]})))
    products = set(bits[pubo.variables :])
    return [
        np.array(sorted(p for p in products if len(p) == size), dtype=np.int64).reshape(-1, size)
        for size in range(2, pubo.degree + 1)
    ]


def _stored(problem: _Problem) -> list[NDArray[np.int64]] | None:
    """Return the stored family for so many bits or the next more, without surplus bits."""
    if problem.degree > _STORED_DEGREE:
        return None
    text = (files("qcompile.reduction") / "degree6_families.json").read_text()
    larger = {int(n): masks for n, masks in json.loads(text).items() if int(n) >= problem.variables}
    if not larger:
        return None
    masks = larger[min(larger)]
    rows = [[i for i in range(64) if mask >> i & 1] for mask in masks]
    fitting = [row for row in rows if row[-1] < problem.variables]
    return [
        np.array([r for r in fitting if len(r) == size], dtype=np.int64).reshape(-1, size)
        for size in range(2, problem.degree)
    ]


def _dimod_family(pubo: Pubo, degree: int) -> list[NDArray[np.int64]]:
    """Return the subsets that dimod.make_quadratic makes products of."""
    import dimod

    reduction = dimod.make_quadratic(pubo.to_dimod(), 1.0, dimod.BINARY).info["reduction"]
    bits: dict[object, frozenset[int]] = {i: frozenset([i]) for i in range(pubo.variables)}
    waiting = dict(reduction)
    while waiting:  # products of products need their factors first
        for (u, v), names in list(waiting.items()):
            if u in bits and v in bits:
                bits[names["product"]] = bits[u] | bits[v]
                del waiting[u, v]
    subsets = {tuple(sorted(b)) for b in bits.values() if len(b) > 1}
    return [
        np.array(sorted(s for s in subsets if len(s) == size), dtype=np.int64).reshape(-1, size)
        for size in range(2, degree + 1)
    ]
