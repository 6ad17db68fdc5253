"""Shuffle, split, fold and add label noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from qcompile.data.prepare import PrepareOptions, prepare
from qcompile.errors import InputError
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.expected import READ_IT, check_kind

__all__ = ["Parts", "add_noise", "folds", "prepare_alike", "set_aside", "shuffle", "split"]


def add_noise(data: Dataset, share: float, *, seed: int = 0) -> Dataset:
    """Flip exactly ceil(share · m) labels, chosen at random."""
    check_kind(data, Dataset, READ_IT)
    if not 0 <= share <= 1:
        raise InputError(f"label noise {share:g}; expected a share between 0 and 1")
    # as written: 0.1 of 30 is 3, though in binary it is a little more
    flips = math.ceil(Fraction(repr(float(share))) * len(data))
    y = data.y.copy()
    y[np.random.default_rng(seed).choice(len(y), flips, replace=False)] *= -1
    return replace(data, y=frozen(y), source=replace(data.source, noise=share, noise_seed=seed))


def shuffle(data: Dataset, *, seed: int = 0) -> Dataset:
    """Put the rows into a random order."""
    check_kind(data, Dataset, READ_IT)
    mixed = data.take(np.random.default_rng(seed).permutation(len(data)))
    return replace(mixed, source=replace(data.source, shuffle_seed=seed))


def split(data: Dataset, shares: Sequence[float], *, seed: int = 0) -> tuple[Dataset, ...]:
    """Split the rows at random into parts of the given shares (at most 1 in total).

    >>> from qcompile import read
    >>> [len(part) for part in split(read("long-servedio"), (0.7, 0.3))]
    [1400, 600]
    """
    check_kind(data, Dataset, READ_IT)
    if not shares or not all(0 < share <= 1 for share in shares) or sum(shares) > 1 + 1e-9:
        raise InputError(f"shares {tuple(shares)}; expected numbers above 0 that add up to 1")
    order = np.random.default_rng(seed).permutation(len(data))
    ends = [round(float(end) * len(data)) for end in np.cumsum(shares)]
    parts = [np.sort(order[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    if min(map(len, parts)) == 0:
        told = ", ".join(f"{share:g}" for share in shares)
        raise InputError(
            f"{len(data)} rows in shares {told}: a part is empty; expected a row or more in each"
        )
    return tuple(data.take(part) for part in parts)


def folds(data: Dataset, number: int, *, seed: int = 0) -> tuple[Dataset, ...]:
    """Split the rows at random into folds whose sizes differ by one at most."""
    check_kind(data, Dataset, READ_IT)
    if not 2 <= number <= len(data):
        raise InputError(f"{number} folds of {len(data)} rows; expected 2 to {len(data)}")
    order = np.random.default_rng(seed).permutation(len(data))
    return tuple(data.take(np.sort(part)) for part in np.array_split(order, number))


Parts = tuple[Dataset, Dataset | None, Dataset | None]  # for training, validation and test


def set_aside(
    data: Dataset,
    validation: Dataset | float,
    test: Dataset | float,
    *,
    seed: int = 0,
    preparation: PrepareOptions | Mapping[str, Any] | None = None,
) -> Parts:
    """Return the rows for training, validation and test.

    With a `preparation` the training rows are prepared by it, and the others like them.
    """
    parts = _parts(data, validation, test, seed)
    return parts if preparation is None else prepare_alike(parts, preparation)


def prepare_alike(parts: Parts, preparation: PrepareOptions | Mapping[str, Any]) -> Parts:
    """Return the parts prepared: the training rows by the options, the others like them."""
    rows, *others = parts
    made = PrepareOptions.of(preparation).apply(rows)
    checked, tested = (None if part is None else prepare(part, like=made) for part in others)
    return made, checked, tested


def _parts(data: Dataset, validation: Dataset | float, test: Dataset | float, seed: int) -> Parts:
    for part in (validation, test):
        if not isinstance(part, float | int | Dataset):
            raise InputError(
                f"validation or test data from {type(part).__name__}; expected a share of the rows "
                "or a Dataset: read() the file first"
            )
    shares = [part if isinstance(part, float | int) else 0.0 for part in (validation, test)]
    for part in (validation, test):
        if isinstance(part, Dataset) and part.features != data.features:
            raise InputError(
                f"validation or test data with {part.features} features; expected {data.features}, "
                "prepared as the training data"
            )
    if not (all(share >= 0 for share in shares) and sum(shares) < 1):
        raise InputError(
            f"shares {shares[0]:g} for validation and {shares[1]:g} for test; expected shares "
            "that leave rows for training"
        )
    asked = [share for share in shares if share > 0]
    parts = list(split(data, (1 - sum(shares), *asked), seed=seed)) if asked else [data]
    rows, rest = parts[0], iter(parts[1:])
    given: list[Dataset | None] = []
    for part, share in zip((validation, test), shares, strict=True):
        whole = part if isinstance(part, Dataset) else None
        given.append(next(rest) if share > 0 else whole)
    return rows, given[0], given[1]
