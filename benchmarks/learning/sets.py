"""The data sets: two classes, raw rows, split by a seed into rows to train on and rows to test.

A split is stratified. 70% of the rows train, the others test, at most 2,000 and 5,000 of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qcompile import read

__all__ = ["SETS", "Split", "at_hand", "load", "split"]

Floats = NDArray[np.float64]
Pair = tuple[Any, Floats]

TRAIN_ROWS, TEST_ROWS = 2_000, 5_000
_TRAIN_SHARE = 0.7


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on and rows to test, with labels -1 and +1; all of them are clean."""

    x: Floats
    y: Floats
    x_test: Floats
    y_test: Floats

    @property
    def baseline(self) -> float:
        """Test error of always giving the commoner label of the clean training rows."""
        commoner = 1.0 if np.mean(self.y > 0) >= 0.5 else -1.0
        return float(np.mean(self.y_test != commoner))


def _signs(positive: Any) -> Floats:
    return np.where(positive, 1.0, -1.0)


def _breast_cancer() -> Pair:
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return x, _signs(y == 1)


def _digits_odd() -> Pair:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x, _signs(y % 2 == 1)


def _digit_five() -> Pair:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x, _signs(y == 5)


def _wine() -> Pair:
    from sklearn.datasets import load_wine

    x, y = load_wine(return_X_y=True)
    return x, _signs(y == 1)


def _iris() -> Pair:
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True)
    return x, _signs(y == 1)


def _made() -> Pair:
    from sklearn.datasets import make_classification

    x, y = make_classification(
        4000, 20, n_informative=6, n_redundant=4, n_clusters_per_class=1, flip_y=0.0,
        class_sep=0.8, random_state=1,
    )  # fmt: skip
    return x, _signs(y == 1)


def _made_rare() -> Pair:
    from sklearn.datasets import make_classification

    x, y = make_classification(
        6000, 20, n_informative=6, n_redundant=4, n_clusters_per_class=1, flip_y=0.0,
        class_sep=1.0, weights=[0.97], random_state=2,
    )  # fmt: skip
    return x, _signs(y == 1)


def _moons() -> Pair:
    """Two half moons, and eight columns of which two say something about the label as well."""
    from sklearn.datasets import make_moons

    moons, y = make_moons(4000, noise=0.3, random_state=3)
    more = np.random.default_rng(3).normal(size=(4000, 8))
    more[:, :2] += 0.5 * _signs(y == 1)[:, None]
    return np.hstack([moons, more]), _signs(y == 1)


def _linear() -> Pair:
    """Twenty normal columns on scales from 0.1 to 10, and labels of one hyperplane."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4000, 20))
    y = _signs(x @ rng.normal(size=20) + 0.5 > 0)
    return x * np.logspace(-1, 1, 20), y


def _path(file: str) -> Path | None:
    folder = os.environ.get("QCOMPILE_DATA")
    path = Path(folder) / f"{file}.svm.xz" if folder else None
    return path if path is not None and path.is_file() else None


def _from_file(file: str, *, positive: int | None = None, skip: int = 0) -> Pair:
    path = _path(file)
    if path is None:
        raise FileNotFoundError(f"QCOMPILE_DATA names no folder with {file}.svm.xz")
    data = read(path, positive=positive)
    return data.x[:, skip:], np.asarray(data.y)


_FILES = {
    "adult9": "adult9",
    "australian": "australian_scale",
    "covertype": "covtype",
    "german": "german.numer",
    "heart": "heart_scale",
    "ionosphere": "ionosphere",
    "mushrooms": "mushrooms",
    "web8": "web8",
    "wisconsin": "breast-cancer_scale",
}

SETS: dict[str, Callable[[], Pair]] = {
    "breast cancer": _breast_cancer,
    "digits odd": _digits_odd,
    "digit 5": _digit_five,
    "wine": _wine,
    "iris": _iris,
    "made": _made,
    "made rare": _made_rare,
    "moons": _moons,
    "linear": _linear,
    "adult9": lambda: _from_file("adult9"),
    "australian": lambda: _from_file("australian_scale"),
    "covertype": lambda: _from_file("covtype", positive=1),
    "german": lambda: _from_file("german.numer"),
    "heart": lambda: _from_file("heart_scale"),
    "ionosphere": lambda: _from_file("ionosphere"),
    "mushrooms": lambda: _from_file("mushrooms"),
    "web8": lambda: _from_file("web8"),
    # its first column is the number of the sample
    "wisconsin": lambda: _from_file("breast-cancer_scale", skip=1),
}


def at_hand(name: str) -> bool:
    """Whether the set is made, comes with scikit-learn, or has its file in QCOMPILE_DATA."""
    return name not in _FILES or _path(_FILES[name]) is not None


@cache
def load(name: str) -> Pair:
    """Return all rows of a set, dense or sparse, and their labels."""
    return SETS[name]()


def split(
    name: str, seed: int, *, train_rows: int = TRAIN_ROWS, test_rows: int = TEST_ROWS
) -> Split:
    """Return the rows of a seed."""
    from sklearn.model_selection import train_test_split

    x, y = load(name)
    rows = len(y)
    train = min(train_rows, round(_TRAIN_SHARE * rows))
    test = min(test_rows, rows - train)
    chosen, held = train_test_split(
        np.arange(rows), train_size=train, test_size=test, stratify=y, random_state=seed
    )
    return Split(_dense(x[chosen]), y[chosen], _dense(x[held]), y[held])


def _dense(x: Any) -> Floats:
    return np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)
