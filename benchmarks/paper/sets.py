"""The six data sets of Figure 4, prepared, noised and split as its protocol says.

Scaling is our choice, the paper does not say: Mease-Wyner, mushrooms and the ten continuous columns
of covertype are standardised, with the means and deviations of the rows to train on; one-hot
columns stay as they are. Real sets get a constant column.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
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
# So many leading columns are standardised.
_STANDARD = {"Mease-Wyner": 20, "mushrooms": 112, "covertype": 10}
_FILES = {"covertype": "covtype", "mushrooms": "mushrooms", "adult9": "adult9", "web8": "web8"}


def raw(name: str) -> Dataset | None:
    """Return a set as it is, or None where its file is not at hand."""
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
    """Return a set with its constant column; `cut` standardises it."""
    data = raw(name)
    if data is None:
        return None
    x: Any = data.x
    if name == "covertype":
        x = sp.hstack([x, _constant(x, 1.0)])
    elif name == "mushrooms":
        x = np.hstack([_dense(x), np.ones((x.shape[0], 1))])
    elif name in ("adult9", "web8"):
        # the positive class is the rare one: with one bit a weight can only be 0 or positive
        x = sp.hstack([x, _constant(x, -1.0)])
    return from_arrays(
        sp.csr_array(x) if sp.issparse(x) else _dense(x), data.y, source={"name": name}
    )


def _dense(x: Any) -> NDArray[np.float64]:
    return np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)


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


@lru_cache(maxsize=FOLDS)
def _standardised(data: Dataset, fold: int, seed: int) -> Any:
    """Return all rows, leading columns standardised by the rows to train on."""
    leading = _STANDARD.get(str(data.source.get("name")), 0)
    if not leading:
        return data.x
    chosen, _, _ = _parts(len(data), fold, seed)
    x: Any = data.x
    left = _dense(x[:, :leading])
    mean, deviation = left[chosen].mean(axis=0), left[chosen].std(axis=0)
    left = (left - mean) / np.where(deviation > 0, deviation, 1.0)
    if sp.issparse(x):
        return sp.csr_array(sp.hstack([sp.csr_array(left), x[:, leading:]]))
    return np.hstack([left, x[:, leading:]])


def _parts(rows: int, fold: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """Return the rows to train on, to choose with and to test."""
    order = _order(rows, seed)
    held = round(0.3 * rows)
    folds = np.array_split(order[held:], FOLDS)
    train = np.concatenate([part for i, part in enumerate(folds) if i != fold])
    return train, order[:held], folds[fold]


@lru_cache(maxsize=12)
def cut(data: Dataset, noise: int, fold: int, *, rows: int | None = None, seed: int = 0) -> Cut:
    """Set 30% aside for validation, take a tenth of the rest for the test, flip training labels.

    `rows` takes only so many of the training rows, for screening.
    """
    train, validation, test = _parts(len(data), fold, seed)
    y = noisy(data.y[train], noise, seed=1000 * seed + fold)
    scaled = replace(data, x=_standardised(data, fold, seed))
    return Cut(
        from_arrays(scaled.x[train[:rows]], y[:rows]), scaled.take(validation), scaled.take(test)
    )


def noisy(labels: NDArray[np.float64], percent: int, *, seed: int) -> NDArray[np.float64]:
    """Flip exactly ceil(share * rows) labels."""
    flipped = labels.copy()
    count = -(-percent * len(labels) // 100)
    chosen = np.random.default_rng(seed).choice(len(labels), count, replace=False)
    flipped[chosen] *= -1
    return flipped
