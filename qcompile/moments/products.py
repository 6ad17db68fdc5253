"""Sums of products of features over rows: three routes to the same tensors, the cheapest is taken.

Dense rows use matrix products. A sorted multiset of degree a is cut at its middle member j into
b = (a - 1) // 2 members up to j and a - 1 - b members from j on. For each j, one matrix product
gives all multisets with this middle, each exactly once. Sparse rows use products of the stored
entries. For 0/1 features, subsets are enough, since x² = x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from math import comb
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.progress import report
from qcompile.runtime.threads import cores, ordered
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats, Matrix

__all__ = [
    "SPARE_MEMORY",
    "Rows",
    "count_subsets",
    "dense_route",
    "single_threaded_blas",
    "sparse_route",
    "sums",
    "working_memory",
]


Key: TypeAlias = tuple[int, int]
Parts: TypeAlias = Iterable[tuple[Key, Floats]]

SPARE_MEMORY = 1 << 28
# Measured: one scattered addition takes as long as this many multiply-adds of a matrix product.
_SCATTER_COST = 40
_TASK_ROWS = 1 << 15
_BLOCK_ROWS = 1 << 11
_BLOCK_NUMBERS = 1 << 23
_LEFT_WIDTH = 128


@dataclass(frozen=True, eq=False)
class Rows:
    """Nonzero rows with their signs and norms, and how much each counts if not once."""

    x: Matrix
    y: Floats
    norms: Floats
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """Number of columns."""
        return int(self.x.shape[1])

    def take(self, rows: slice) -> Rows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.x[rows], self.y[rows], self.norms[rows], weights)

    def power(self, power: int) -> Floats:
        """Return a power of the norm of each row, times its weight."""
        made = _power(self.norms, power)
        return made if self.weights is None else made * self.weights


def sums(rows: Rows, keys: tuple[Key, ...]) -> dict[Key, Floats]:
    """Return Σ |x|^e z^{⊗a} for each key (a, e); report how many rows are summed."""
    route, task_rows, workers = _choose(rows, keys)
    slices = [slice(a, a + task_rows) for a in range(0, len(rows), task_rows)]
    total: dict[Key, Floats] = {}
    with single_threaded_blas() if workers > 1 else nullcontext():
        results = ordered(lambda part: dict(route(rows.take(part), keys)), slices, workers=workers)
        for part, result in zip(slices, results, strict=True):
            for key, values in result.items():
                total[key] = total[key] + values if key in total else values
            report(min(part.stop, len(rows)), len(rows))
    return spread_subsets(total, rows.features, keys) if route is count_subsets else total


def working_memory(features: int, keys: tuple[Key, ...], rows: int) -> int:
    """Return the most bytes that `sums` of so many rows holds at a time, by any route."""
    order = max(degree for degree, _ in keys)
    held = 8 * sum(multisets.count(features, degree) for degree, _ in keys)
    tasks = max(1, -(-rows // _TASK_ROWS))
    workers = min(_workers(held), tasks)
    # products of a block of rows: the lower, the upper, and those of each degree by their powers
    numbers = sum(multisets.count(features, half) for half in (order // 2, (order - 1) // 2))
    numbers += sum(_LEFT_WIDTH + multisets.count(features, degree // 2) for degree, _ in keys)
    rooms = 8 * min(rows, _block_rows(multisets.count(features, order // 2))) * numbers
    dense = workers * (2 * held + rooms) + (held if tasks > 1 else 0)
    # ranks and sizes of the supports, twice while they are joined; see `spread_subsets`
    subsets = held + 40 * multisets.count(features, order)
    return max(dense, subsets)


def _workers(held: int) -> int:
    """Return the number of tasks at a time: each has its own sums, and one more waits."""
    return max(1, min(cores(), SPARE_MEMORY // held - 1))


def _block_rows(width: int) -> int:
    return max(64, min(_BLOCK_ROWS, _BLOCK_NUMBERS // width))


def _choose(rows: Rows, keys: tuple[Key, ...]) -> tuple[Callable[..., Parts], int, int]:
    """Return the cheapest route, the rows of a task, and the number of workers."""
    order = max(degree for degree, _ in keys)
    held = 8 * sum(multisets.count(rows.features, degree) for degree, _ in keys)
    workers = _workers(held)
    if not hasattr(rows.x, "indptr"):
        return dense_route, _TASK_ROWS, workers
    ones = bool(np.all(rows.x.data == 1.0))
    sizes, repeats = np.unique(np.diff(rows.x.indptr), return_counts=True)
    per_row = [comb(int(s), order) if ones else multisets.count(int(s), order) for s in sizes]
    stored = sum(p * int(r) for p, r in zip(per_row, repeats, strict=True))
    size = multisets.count(rows.features, order)
    if _SCATTER_COST * stored >= size * len(rows):
        return dense_route, _TASK_ROWS, workers
    # a task should make more additions than it has sums
    tasks = min(4, max(1, stored // (8 * size)))
    return count_subsets if ones else sparse_route, -(-len(rows) // tasks), workers


def single_threaded_blas() -> Any:
    """Limit matrix products to one core, as their rounding depends on the number of threads."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


def _factors(rows: Rows, keys: tuple[Key, ...], degree: int) -> tuple[list[int], Floats]:
    powers = [power for d, power in keys if d == degree]
    return powers, np.stack([rows.power(p) for p in powers])


def _power(norms: Floats, power: int) -> Floats:
    """Return a power by repeated multiplication, several times faster than `**`."""
    base = 1.0 / norms if power < 0 else norms
    return np.asarray(math.prod([base] * abs(power), start=np.ones(len(norms))))


def dense_route(rows: Rows, keys: tuple[Key, ...]) -> Parts:
    """Yield sums by matrix products, over blocks of rows that fit in the cache."""
    order = max(degree for degree, _ in keys)
    width = multisets.count(rows.features, order // 2)
    block = _block_rows(width)
    plans = [_Cut(rows.features, degree, keys, block) for degree in range(1, order + 1)]
    for start in range(0, len(rows), block):
        part = rows.take(slice(start, start + block))
        x: Any = part.x
        z = np.ascontiguousarray((x.toarray() if hasattr(x, "indptr") else x).T) * part.y
        lower = _products(z, (order - 1) // 2)
        upper = _products(z[::-1], order // 2)
        for plan in plans:
            _, factors = _factors(part, keys, plan.degree)
            plan.add(z, lower[plan.below], upper[plan.above], factors)
    for plan in plans:
        yield from plan.sums()


def _products(z: Floats, degree: int) -> list[Floats]:
    """Return for t = 0..degree the products of every multiset of t features, one per row."""
    levels = [np.ones((1, z.shape[1])), z][: degree + 1]
    for t in range(2, degree + 1):
        parts = [levels[-1][: multisets.count(i + 1, t - 1)] * z[i] for i in range(len(z))]
        levels.append(np.concatenate(parts))
    return levels


def _view(room: Floats, shape: tuple[int, ...]) -> Floats:
    return room[: math.prod(shape)].reshape(shape)


class _Cut:
    """All multisets of one degree, cut at their middle member."""

    def __init__(self, features: int, degree: int, keys: tuple[Key, ...], block: int) -> None:
        self.degree = degree
        self.below = (degree - 1) // 2
        self.above = degree - 1 - self.below
        self._features = features
        self._powers = [power for d, power in keys if d == degree]
        self._groups = self._group_middles()
        self._sums = [
            np.zeros((sum(self._left(j) for j in middles), self._right(middles[0])))
            for middles in self._groups
        ]
        # allocating memory for every block would cost more than the arithmetic
        self._left_room = np.empty(block * max(map(len, self._sums)))
        self._right_room = np.empty(block * self._right(0))

    def _left(self, middle: int) -> int:
        return multisets.count(middle + 1, self.below)

    def _right(self, middle: int) -> int:
        return multisets.count(self._features - middle, self.above) * len(self._powers)

    def _group_middles(self) -> list[range]:
        """Return ranges of middles, each wide enough for an efficient matrix product."""
        groups, first, width = [], 0, 0
        for j in range(self._features):
            if j > first and width + self._left(j) > _LEFT_WIDTH:
                groups.append(range(first, j))
                first, width = j, 0
            width += self._left(j)
        return [*groups, range(first, self._features)]

    def add(self, z: Floats, lower: Floats, upper: Floats, factors: Floats) -> None:
        # the powers of a multiset are adjacent, so that multisets from j on are a prefix
        shape = (len(upper), len(factors), z.shape[1])
        right = np.multiply(upper[:, None, :], factors, out=_view(self._right_room, shape))
        right = right.reshape(-1, z.shape[1])
        for middles, sums_ in zip(self._groups, self._sums, strict=True):
            left = _view(self._left_room, (len(sums_), z.shape[1]))
            at = 0
            for j in middles:
                size = self._left(j)
                np.multiply(lower[:size], z[j], out=left[at : at + size])
                at += size
            sums_ += left @ right[: sums_.shape[1]].T

    def sums(self) -> Iterator[tuple[Key, Floats]]:
        """Yield the sums in the order of storage."""
        parts = multisets.rank_parts(self._features, self.degree)
        # the features of upper products are reversed
        members = multisets.enumerate_multisets(self._features, self.above)
        members = self._features - 1 - members[:, ::-1]
        places = np.zeros(len(members), dtype=np.int64)
        for t in range(self.above):
            places += parts[self.below + 2 + t, members[:, t]]
        kinds = len(self._powers)
        targets = [np.empty(multisets.count(self._features, self.degree)) for _ in range(kinds)]
        for middles, sums_ in zip(self._groups, self._sums, strict=True):
            at = 0
            for j in middles:
                size, used = self._left(j), self._right(j)
                first = places[: used // kinds] + parts[self.below + 1, j]
                where = np.arange(size)[:, None] + first
                for kind, target in enumerate(targets):
                    target[where] = sums_[at : at + size, kind:used:kinds]
                at += size
        for power, target in zip(self._powers, targets, strict=True):
            yield (self.degree, power), target


def sparse_route(rows: Rows, keys: tuple[Key, ...]) -> Parts:
    """Yield sums of products of the stored entries of each row."""
    from qcompile.moments.product_kernels import add_multiset_products

    starts, columns = _structure(rows.x)
    values = rows.x.data * np.repeat(rows.y, np.diff(starts))
    order = max(degree for degree, _ in keys)
    parts = multisets.rank_parts(rows.features, order)
    for degree in range(1, order + 1):
        powers, factors = _factors(rows, keys, degree)
        sums_ = np.zeros((multisets.count(rows.features, degree), len(powers)))
        add_multiset_products(starts, columns, values, factors.T, parts, degree, sums_)
        for kind, power in enumerate(powers):
            yield (degree, power), sums_[:, kind]


def count_subsets(rows: Rows, keys: tuple[Key, ...]) -> Parts:
    """Yield Σ y^a |x|^e over the subsets of the stored entries, for features that are 0 or 1.

    The sums depend only on the parity of the degree and on the power of the norm. So the keys here
    are (parity, power), and the sums of subsets of 1, 2, ... members follow each other.
    """
    from qcompile.moments.product_kernels import add_subset_counts

    starts, columns = _structure(rows.x)
    features, order = rows.features, max(degree for degree, _ in keys)
    largest: dict[Key, int] = {}
    for degree, power in keys:
        group = (degree % 2, power)
        largest[group] = max(degree, largest.get(group, 0))
    parts = np.array(
        [[comb(i, t) for i in range(features)] for t in range(order + 1)], dtype=np.int64
    )
    counted: dict[Key, list[Floats]] = {group: [] for group in largest}
    for size in range(1, order + 1):
        wanted = [group for group, top in largest.items() if top >= size]
        factors = np.stack([rows.y**odd * rows.power(p) for odd, p in wanted], axis=1)
        sums_ = np.zeros((comb(features, size), len(wanted)))
        add_subset_counts(starts, columns, factors, parts, size, sums_)
        for kind, group in enumerate(wanted):
            counted[group].append(sums_[:, kind])
    for group, arrays in counted.items():
        yield group, np.concatenate(arrays)


def spread_subsets(
    counted: dict[Key, Floats], features: int, keys: tuple[Key, ...]
) -> dict[Key, Floats]:
    """Return for each multiset the sum of the set of its distinct members, as x² = x."""
    bases = np.cumsum([0, 0] + [comb(features, t) for t in range(1, 9)])  # where size t starts
    spread: dict[Key, Floats] = {}
    ranks, sizes = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for degree in range(1, max(degree for degree, _ in keys) + 1):
        ranks, sizes = _append_member(ranks, sizes, features, degree)
        places = bases[sizes] + ranks
        for key in keys:
            if key[0] == degree:
                spread[key] = counted[degree % 2, key[1]][places]
    return spread


def _structure(x: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return np.asarray(x.indptr, dtype=np.int64), np.asarray(x.indices, dtype=np.int32)


def _append_member(
    ranks: NDArray[np.int64], sizes: NDArray[np.int64], features: int, degree: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rank and size of the supports of multisets of `degree` from those of degree - 1."""
    new_ranks, new_sizes = [], []
    for i in range(features):
        total = multisets.count(i + 1, degree - 1)
        fresh = multisets.count(i, degree - 1)  # those without i
        size, place = sizes[:total].copy(), ranks[:total].copy()
        size[:fresh] += 1
        chooses = np.array([comb(i, s) for s in range(degree + 1)], dtype=np.int64)
        place[:fresh] += chooses[size[:fresh]]
        new_ranks.append(place)
        new_sizes.append(size)
    return np.concatenate(new_ranks), np.concatenate(new_sizes)
