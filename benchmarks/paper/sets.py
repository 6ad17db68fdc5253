"""The six data sets of Figure 4, prepared, noised and split as its protocol says.

Scaling is our choice, the paper does not say: Mease-Wyner, mushrooms and the ten continuous columns
of covertype are standardised; one-hot columns stay as they are. Real sets get a constant column.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qcompile import Dataset, from_arrays, read

__all__ = ["NOISES", "SETS", "Cut", "cut", "load", "noisy"]

SETS = ("Long-Servedio", "Mease-Wyner", "covertype", "mushrooms", "adult9", "web8")
NOISES = (0, 10, 20, 30, 40)
FOLDS = 10
_FILES = {"covertype": "covtype", "mushrooms": "mushrooms", "adult9": "adult9", "web8": "web8"}


def raw(name: str) -> Dataset | None:
    """Give a set as it is, or None where its file is not at hand."""
    if name in ("Long-Servedio", "Mease-Wyner"):
        return read(name.lower())
    folder = os.environ.get("QCOMPILE_DATA")
    path = Path(folder) / f"{_FILES[name]}.svm.xz" if folder else None
    if path is None or not path.is_file():
        print(f"{name}: skipped, QCOMPILE_DATA names no folder with {_FILES[name]}.svm.xz")
        return None
    return read(path, positive=1 if name == "covertype" else None)


@cache
def load(name: str) -> Dataset | None:
    """Give a set prepared for training."""
    data = raw(name)
    if data is None:
        return None
    x: Any = data.x
    if name == "covertype":
        continuous = _standard(x[:, :10].toarray())
        x = sp.hstack([sp.csr_array(continuous), x[:, 10:], _constant(x, 1.0)])
    elif name == "Mease-Wyner":
        x = np.hstack([_standard(_dense(x)[:, :20]), np.ones((x.shape[0], 1))])
    elif name == "mushrooms":
        x = np.hstack([_standard(_dense(x)), np.ones((x.shape[0], 1))])
    elif name in ("adult9", "web8"):
        # the positive class is the rare one: with one bit a weight can only be 0 or positive
        x = sp.hstack([x, _constant(x, -1.0)])
    return from_arrays(sp.csr_array(x) if sp.issparse(x) else _dense(x), data.y, name=name)


def _dense(x: Any) -> NDArray[np.float64]:
    return np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)


def _standard(x: NDArray[np.float64]) -> NDArray[np.float64]:
    deviation = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _constant(x: Any, value: float) -> Any:
    return sp.csr_array(np.full((x.shape[0], 1), value))


@dataclass(frozen=True, eq=False)
class Cut:
    """One fold: noisy rows to train on, clean rows to choose and to test."""

    train: Dataset
    validation: Dataset
    test: Dataset


@cache
def _order(rows: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(rows)


@lru_cache(maxsize=12)
def cut(data: Dataset, noise: int, fold: int, *, rows: int | None = None, seed: int = 0) -> Cut:
    """Set 30% aside for validation, take a tenth of the rest for the test, flip training labels.

    `rows` takes only so many of the training rows, for screening.
    """
    order = _order(len(data), seed)
    held = round(0.3 * len(data))
    folds = np.array_split(order[held:], FOLDS)
    train = np.concatenate([part for i, part in enumerate(folds) if i != fold])
    y = noisy(data.y[train], noise, seed=1000 * seed + fold)
    chosen = slice(0, rows)
    return Cut(
        from_arrays(data.x[train[chosen]], y[chosen]),
        data.take(order[:held]),
        data.take(folds[fold]),
    )


def noisy(labels: NDArray[np.float64], percent: int, *, seed: int) -> NDArray[np.float64]:
    """Flip exactly ceil(share * rows) labels."""
    flipped = labels.copy()
    count = -(-percent * len(labels) // 100)
    chosen = np.random.default_rng(seed).choice(len(labels), count, replace=False)
    flipped[chosen] *= -1
    return flipped
