"""Rows of unit length in blocks of fixed size: sums over them are the same on any machine.

0-1 loss does not see the length of a row, so that every sum here is over u = y x / |x|. A row
of zeros has margin 0 for all weights and stays a row of zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.runtime import cluster, memory
from qcompile.runtime.threads import cores, ordered
from qcompile.stages.arrays import Floats, frozen, row_norms
from qcompile.stages.dataset import Dataset

__all__ = ["Block", "UnitRows", "one_core_blas"]


Result = TypeVar("Result")

_BLOCK_ENTRIES = 1 << 19
_FEWEST_ROWS, _MOST_ROWS = 1 << 8, 1 << 13
# Measured: adding one product of a sparse row takes as long as this many of a dense product.
_SCATTER_COST = 6


class Block(ABC):
    """Some rows u = y x / |x|, and the share of each row in the risk."""

    shares: Floats

    @abstractmethod
    def margins(self, weights: Floats) -> Floats:
        """Return u·w for each column of `weights`."""

    @abstractmethod
    def combined(self, factors: Floats) -> Floats:
        """Return Σ factor · u."""

    @abstractmethod
    def pairs(self, factors: Floats, members: NDArray[np.int64]) -> Floats:
        """Return Σ factor · u uᵀ over the columns that are members."""

    @abstractmethod
    def wide(self, members: NDArray[np.int64]) -> Floats:
        """Return the columns that are members as a dense array."""

    def triples(self, factors: Floats, members: NDArray[np.int64]) -> Floats:
        """Return Σ factor · u ⊗ u ⊗ u over the columns that are members."""
        u = self.wide(members)
        size = len(members)
        total = np.empty((size, size, size))
        for a in range(size):
            total[a] = (u * (factors * u[:, a])[:, None]).T @ u
        return total


@dataclass(frozen=True, eq=False)
class DenseBlock(Block):
    """Rows as a dense array."""

    shares: Floats
    rows: Floats

    def margins(self, weights: Floats) -> Floats:
        """Return u·w for each column of `weights`."""
        return np.asarray(self.rows @ weights)

    def combined(self, factors: Floats) -> Floats:
        """Return Σ factor · u."""
        return np.asarray(factors @ self.rows)

    def pairs(self, factors: Floats, members: NDArray[np.int64]) -> Floats:
        """Return Σ factor · u uᵀ over the columns that are members."""
        u = self.rows if len(members) == self.rows.shape[1] else self.rows[:, members]
        return np.asarray((u * factors[:, None]).T @ u)

    def wide(self, members: NDArray[np.int64]) -> Floats:
        """Return the columns that are members as a dense array."""
        return np.ascontiguousarray(self.rows[:, members])


@dataclass(frozen=True, eq=False)
class SparseBlock(Block):
    """Rows as the arrays of a CSR matrix."""

    shares: Floats
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Floats
    features: int

    def margins(self, weights: Floats) -> Floats:
        """Return u·w for each column of `weights`."""
        from qcompile.moments.local_kernels import add_margins

        made = np.zeros((len(self.shares), weights.shape[1]))
        add_margins(self.starts, self.columns, self.values, np.ascontiguousarray(weights), made)
        return made

    def combined(self, factors: Floats) -> Floats:
        """Return Σ factor · u."""
        from qcompile.moments.local_kernels import add_rows

        total = np.zeros(self.features)
        add_rows(self.starts, self.columns, self.values, factors, total)
        return total

    def pairs(self, factors: Floats, members: NDArray[np.int64]) -> Floats:
        """Return Σ factor · u uᵀ over the columns that are members."""
        from qcompile.moments.local_kernels import add_all_pairs, add_pairs

        if len(members) == self.features:
            total = np.zeros((self.features, self.features))
            add_all_pairs(self.starts, self.columns, self.values, factors, total)
            return total + total.T - np.diag(total.diagonal())
        places = np.full(self.features, -1, dtype=np.int64)
        places[members] = np.arange(len(members))
        total = np.zeros((len(members), len(members)))
        add_pairs(self.starts, self.columns, self.values, factors, places, total)
        return total + total.T - np.diag(total.diagonal())

    def wide(self, members: NDArray[np.int64]) -> Floats:
        """Return the columns that are members as a dense array."""
        import scipy.sparse as sp

        shape = (len(self.shares), self.features)
        sparse = sp.csr_array((self.values, self.columns, self.starts), shape=shape)
        return np.asarray(sparse[:, members].toarray(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class UnitRows:
    """The rows of a data set at unit length, in blocks; `shares` of the rows add up to 1.

    With a current Dask client the blocks are held by its workers.
    """

    features: int
    count: int
    blocks: tuple[Block, ...] = ()
    held: tuple[Any, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, data: Dataset | Sequence[Dataset], sample_weight: ArrayLike | None = None
    ) -> UnitRows:
        """Return the rows of a data set, or of its parts; `sample_weight` multiplies rows.

        Without it the rows have the weights of the data.
        """
        parts = [data] if isinstance(data, Dataset) else list(data)
        if not parts or len({part.features for part in parts}) > 1:
            raise InputError("no parts of data, or parts of different widths")
        count = sum(map(len, parts))
        shares = _shares(count, _weights(parts) if sample_weight is None else sample_weight)
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        blocks = tuple(
            block
            for part, start, end in zip(parts, ends, ends[1:], strict=False)
            for block in _blocks(part, shares[start:end])
        )
        client = cluster.current()
        if client is None:
            return cls(parts[0].features, count, blocks)
        held = tuple(cluster.hold(client, block) for block in blocks)
        return cls(parts[0].features, count, (), held)

    def scaled(self, share: float) -> UnitRows:
        """Return the rows with their shares multiplied: other rows have the rest."""
        assert not self.held  # only rows of this process are scaled
        own: Any = self.blocks
        blocks = tuple(replace(block, shares=frozen(share * block.shares)) for block in own)
        return replace(self, blocks=blocks)

    def map(self, task: Callable[..., Result], *arguments: Any) -> Iterator[Result]:
        """Yield task(block, *arguments) for each block, in order."""
        if self.held:
            client = cluster.current()
            assert client is not None  # the blocks are with its workers
            yield from cluster.in_order(client, _with_one_core, self.held, task, *arguments)
            return
        with one_core_blas():
            if len(self.blocks) == 1 or cores() == 1:
                yield from (task(block, *arguments) for block in self.blocks)
            else:
                yield from ordered(lambda block: task(block, *arguments), self.blocks, again=True)


def _with_one_core(block: Block, task: Callable[..., Result], *arguments: Any) -> Result:
    """Run a task on a worker as it would run here."""
    with one_core_blas():
        return task(block, *arguments)


@cache
def _controller() -> Any:
    """Return what limits the threads of BLAS; looking for its libraries takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_core_blas() -> Iterator[None]:
    """Limit matrix products to one core, as their rounding depends on the number of threads."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def _weights(parts: Sequence[Dataset]) -> Floats | None:
    """Return the weights of all rows; None if no part has any."""
    if all(part.weights is None for part in parts):
        return None
    own = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    return np.concatenate(own)


def _shares(rows: int, sample_weight: ArrayLike | None) -> Floats:
    """Return the share of each row in the mean."""
    if sample_weight is None:
        return np.full(rows, 1.0 / rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,):
        raise InputError(f"{weights.size} sample weights; expected one for each of {rows} rows")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise InputError("sample weights must be finite, not negative and not all 0")
    return np.asarray(weights / weights.sum())


def _blocks(data: Dataset, shares: Floats) -> Iterator[Block]:
    """Yield blocks of rows, dense unless sparse ones need less work and memory."""
    x: Any = data.x
    rows, features = x.shape
    sparse = hasattr(x, "indptr")
    stored = len(x.data) if sparse else rows * features
    filled = stored / max(1, rows * features)
    sparse = sparse and _SCATTER_COST * filled * filled < 1
    memory.require(
        stored * 12 if sparse else 8 * rows * features,
        f"{rows:,} rows at unit length",
        "use fewer rows= or features=",
    )
    per_row = max(1, round(filled * features)) if sparse else features
    size = int(np.clip(_BLOCK_ENTRIES // per_row, _FEWEST_ROWS, _MOST_ROWS))
    for start in range(0, rows, size):
        part = slice(start, start + size)
        own = x[part]
        norms = row_norms(own)
        factors = np.divide(data.y[part], norms, out=np.zeros_like(norms), where=norms > 0)
        share = frozen(shares[part])
        if sparse:
            yield SparseBlock(
                share,
                frozen(own.indptr, np.int64),
                frozen(own.indices, np.int32),
                frozen(own.data * np.repeat(factors, np.diff(own.indptr))),
                features,
            )
        else:
            wide = own.toarray() if hasattr(own, "indptr") else own
            yield DenseBlock(share, frozen(wide * factors[:, None]))
