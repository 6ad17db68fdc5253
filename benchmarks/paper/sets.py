"""The six data sets of Figure 4, scaled, noised and split as its protocol says.

The paper does not say how columns were scaled, so that scaling is one more setting that validation
chooses. Real sets get a constant column, which is not scaled. See `PROTOCOL.md`.
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

__all__ = [
    "FOLDS",
    "NOISES",
    "SCALINGS",
    "SETS",
    "Cut",
    "cut",
    "labels_before_noise",
    "load",
    "noisy",
    "scalings_of",
]

SETS = ("Long-Servedio", "Mease-Wyner", "covertype", "mushrooms", "adult9", "web8")
NOISES = (0, 10, 20, 30, 40)
FOLDS = 10
SCALINGS = ("raw", "standard", "raw unit", "standard unit")
# So many leading columns are centred and divided by their deviation.
_CENTRED = {"Mease-Wyner": 20, "mushrooms": 112, "covertype": 10}
# Sparse columns of 0 and 1 are divided by their deviation, and stay sparse.
_DIVIDED = {"adult9": 123, "web8": 300}
_FILES = {"covertype": "covtype", "mushrooms": "mushrooms", "adult9": "adult9", "web8": "web8"}


def scalings_of(name: str) -> tuple[str, ...]:
    """Return the scalings that differ: all rows of Long-Servedio are -1 and 1, of one length."""
    return SCALINGS[:1] if name == "Long-Servedio" else SCALINGS


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
    """Return a set with its constant column; `cut` scales it."""
    data = raw(name)
    if data is None:
        return None
    x: Any = data.x
    if name in ("covertype", "mushrooms"):
        x = sp.hstack([sp.csr_array(x), _constant(x, 1.0)])
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


@lru_cache(maxsize=len(SCALINGS))
def _scaled(data: Dataset, scaling: str, fold: int, seed: int) -> Any:
    """Return all rows, scaled by the rows to train on."""
    kind, _, unit = scaling.partition(" ")
    x = _standardised(data, fold, seed) if kind == "standard" else data.x
    return _at_unit_length(x) if unit else x


def _standardised(data: Dataset, fold: int, seed: int) -> Any:
    x: Any = data.x
    name = str(data.source.get("name"))
    chosen, _, _ = _parts(len(data), fold, seed)
    if name in _DIVIDED:
        factors = np.ones(x.shape[1])
        own = x[chosen][:, : _DIVIDED[name]]
        share = np.asarray(own.mean(axis=0)).ravel()
        variance = np.asarray(own.multiply(own).mean(axis=0)).ravel() - share**2
        factors[: _DIVIDED[name]] = 1 / np.sqrt(np.where(variance > 0, variance, 1.0))
        return sp.csr_array(x @ sp.diags_array(factors))
    leading = _CENTRED.get(name, 0)
    left = _dense(x[:, :leading])
    mean, deviation = left[chosen].mean(axis=0), left[chosen].std(axis=0)
    left = (left - mean) / np.where(deviation > 0, deviation, 1.0)
    if sp.issparse(x) and leading < x.shape[1] - 1:
        return sp.csr_array(sp.hstack([sp.csr_array(left), x[:, leading:]]))
    return np.hstack([left, _dense(x[:, leading:])])


def _at_unit_length(x: Any) -> Any:
    squares = x.multiply(x) if sp.issparse(x) else x * x
    lengths = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    factors = 1 / np.where(lengths > 0, lengths, 1.0)
    return sp.csr_array(sp.diags_array(factors) @ x) if sp.issparse(x) else x * factors[:, None]


def _parts(rows: int, fold: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """Return the rows to train on, to choose with and to test."""
    order = _order(rows, seed)
    held = round(0.3 * rows)
    folds = np.array_split(order[held:], FOLDS)
    train = np.concatenate([part for i, part in enumerate(folds) if i != fold])
    return train, order[:held], folds[fold]


@lru_cache(maxsize=2 * len(SCALINGS))
def cut(
    data: Dataset,
    noise: int,
    fold: int,
    *,
    scaling: str = "standard",
    rows: int | None = None,
    clean: int | None = None,
    seed: int = 0,
) -> Cut:
    """Set 30% aside for validation, take a tenth of the rest for the test, flip training labels.

    `rows` takes only so many of the training rows, and `clean` of the validation rows.
    """
    train, validation, test = _parts(len(data), fold, seed)
    y = noisy(data.y[train], noise, seed=1000 * seed + fold)
    scaled = replace(data, x=_scaled(data, scaling, fold, seed))
    return Cut(
        from_arrays(scaled.x[train[:rows]], y[:rows]),
        scaled.take(validation[:clean]),
        scaled.take(test),
    )


def labels_before_noise(data: Dataset, fold: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return the clean labels of the rows to train on: for diagnosis alone."""
    return np.asarray(data.y[_parts(len(data), fold, seed)[0]])


def noisy(labels: NDArray[np.float64], percent: int, *, seed: int) -> NDArray[np.float64]:
    """Flip exactly ceil(share * rows) labels."""
    flipped = labels.copy()
    count = -(-percent * len(labels) // 100)
    chosen = np.random.default_rng(seed).choice(len(labels), count, replace=False)
    flipped[chosen] *= -1
    return flipped
