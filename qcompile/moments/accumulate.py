"""Dataset -> Moments: the only pass that sees the data.

For order k the sums Σ_i z_i^{⊗a}, a = 1..k, are what the polynomial needs; the fit of the 0-1 risk
(odd k) also needs Σ_i |x_i|^e z_i^{⊗a} for odd a and e = -a, 2, ..., k - a.

Cost: C(n + k - 1, k) numbers (twice that for odd k) and as many multiply-adds per dense row, or
C(s + k - 1, k) per sparse row with s stored entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from qcompile.data.stream import RowStream
from qcompile.errors import InputError
from qcompile.moments import products
from qcompile.runtime import memory
from qcompile.runtime.progress import Progress, muted, shown_by
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats, Matrix, extent, frozen, row_norms
from qcompile.stages.dataset import Dataset
from qcompile.stages.expected import READ_IT, check_kind
from qcompile.stages.moments import Moments
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source

__all__ = ["check_order", "memory_needed", "moments_of", "moments_of_rows", "tensor_keys"]


MAX_ORDER = 8
_LARGEST = 1e30  # its eighth power, summed over many rows, is still finite


def moments_of(
    data: Dataset | RowStream | Iterable[Dataset],
    order: int = 3,
    *,
    fit: bool | None = None,
    progress: Progress | None = None,
) -> Moments:
    """Return the sums over the rows that a loss of degree `order` needs.

    `fit` adds the sums for fitting the 0-1 risk (default: for odd orders). `data` may be an
    iterable of parts: moments of disjoint rows add up, as ``sum(map(moments_of, parts))`` shows.
    Weights of the rows multiply their products.
    `progress(done, total)` counts the rows of a data set.

    >>> from qcompile import read
    >>> moments_of(read("mease-wyner"), order=3).tensors[3, 0].shape
    (1771,)
    """
    check_order(order)
    if not isinstance(data, RowStream) and (
        isinstance(data, str | np.ndarray) or not isinstance(data, Iterable)
    ):
        check_kind(data, Dataset, READ_IT)
    keys = tensor_keys(order, fit=order % 2 == 1 if fit is None else fit)
    total = _Sums(keys)
    if isinstance(data, Dataset):
        with shown_by(progress):
            total.add(data.x, data.y, data.weights)
        return total.moments(order, data.preparation, data.source)
    if isinstance(data, RowStream):
        for x, signs in data:  # the stream counts bytes
            with muted():
                total.add(x, signs)
        moments = total.moments(order, data.preparation, data.source)
        return moments.flipped() if data.flip else moments
    with muted():  # nobody knows how many parts there are
        return _moments_of_parts(data, order, total)


def check_order(order: int) -> None:
    """Raise InputError if a degree is not supported."""
    if not 1 <= order <= MAX_ORDER:
        raise InputError(f"order {order}; expected 1 to {MAX_ORDER}")


def moments_of_rows(x: Matrix, signs: Floats, order: int, *, fit: bool) -> Moments:
    """Return the sums over rows with signs -1 or +1; there may be no rows."""
    total = _Sums(tensor_keys(order, fit=fit))
    total.add(x, signs)
    return total.moments(order, None, Source())


def _check_sizes(x: Matrix) -> None:
    """Raise InputError if powers of the values would overflow or underflow."""
    smallest, largest = extent(x.data if hasattr(x, "indptr") else x)
    if largest > _LARGEST or smallest < 1 / _LARGEST:
        raise InputError(
            f"features with values from {smallest:.3g} to {largest:.3g}; expected sizes from "
            f'{1 / _LARGEST:g} to {_LARGEST:g}: use scale="max-abs" or "standard"'
        )


def _moments_of_parts(parts: Iterable[Dataset], order: int, total: _Sums) -> Moments:
    preparation: Preparation | None = None
    source = Source()
    for part in parts:
        total.add(part.x, part.y, part.weights)
        preparation, source = part.preparation, part.source
    if preparation is None:
        raise InputError("no data: expected at least one part")
    if preparation.features != total.features:
        preparation = replace(
            preparation,
            raw_features=preparation.raw_features + total.features - preparation.features,
        )
    return total.moments(order, preparation, replace(source, rows=total.rows))


def tensor_keys(order: int, *, fit: bool) -> tuple[tuple[int, int], ...]:
    """Return the (degree, power of the norm) pairs that `order` needs."""
    keys = {(degree, 0) for degree in range(1, order + 1)}
    if fit:
        top = order if order % 2 else order - 1
        for degree in range(1, top + 1, 2):
            keys.update((degree, power) for power in (-degree, *range(2, top - degree + 1, 2)))
    return tuple(sorted(keys))


def memory_needed(features: int, keys: tuple[tuple[int, int], ...], rows: int) -> int:
    """Return the bytes that the sums take while so many rows at a time are added."""
    held = sum(multisets.count(features, degree) for degree, _ in keys)
    # the running sums, and those of the parts in progress
    return 8 * held + products.working_memory(features, keys, rows)


class _Sums:
    """Running sums, which grow when a later part has more features."""

    def __init__(self, keys: tuple[tuple[int, int], ...]) -> None:
        self.features = self.rows = 0
        self.count: float = 0
        self._squares = 0.0
        self._keys = keys
        self._tensors: dict[tuple[int, int], Floats] = {key: np.zeros(0) for key in keys}

    def add(self, x: Matrix, y: Floats, weights: Floats | None = None) -> None:
        self._grow(x.shape[1], len(y))
        _check_sizes(x)
        norms = row_norms(x)
        self.rows += len(y)
        self.count += len(y) if weights is None else float(weights.sum())
        squares = norms**2 if weights is None else weights * norms**2
        self._squares += float(np.sum(squares))
        used = norms > 0  # a zero row has margin 0 for all weights: it only adds to the count
        if not used.all():
            x, y, norms = x[used], y[used], norms[used]
            weights = None if weights is None else weights[used]
        if len(y):
            rows = products.Rows(x, y, norms, weights)
            for key, part in products.sums(rows, self._keys).items():
                self._tensors[key][: len(part)] += part

    def _grow(self, features: int, rows: int) -> None:
        if features <= self.features:
            return
        order = max(degree for degree, _ in self._keys)
        memory.require(
            memory_needed(features, self._keys, rows),
            f"moments of degree {order} over {features:,} features "
            f"({multisets.count(features, order):,} products each)",
            "choose the most useful ones with features=K, or a lower order=",
        )
        self.features = features
        for (degree, power), tensor in self._tensors.items():
            grown = np.zeros(multisets.count(features, degree))
            grown[: len(tensor)] = tensor
            self._tensors[degree, power] = grown

    def moments(self, order: int, preparation: Preparation | None, source: Source) -> Moments:
        return Moments(
            features=self.features,
            order=order,
            count=self.count,
            sum_of_squares=self._squares,
            tensors={key: frozen(tensor) for key, tensor in self._tensors.items()},
            preparation=preparation,
            source=source,
            rows=self.rows,
        )
