"""Data sets that need no file: two that break convex losses, Figure 2's, and breast cancer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.source import Source

__all__ = ["NAMES", "column_names", "is_named", "make"]


Floats = NDArray[np.float64]


def long_servedio(rng: np.random.Generator, *, examples: int = 2000) -> tuple[Floats, Floats]:
    """A quarter large margins, a quarter pullers, half penalizers; 21 features -1/+1."""
    y = rng.permutation(np.where(np.arange(examples) < examples // 2, 1.0, -1.0))
    kind = rng.permutation(np.arange(examples) * 4 // examples)
    agree = np.ones((examples, 21))
    agree[np.ix_(kind == 1, np.arange(11, 21))] = -1
    for row in np.flatnonzero(kind >= 2):
        agree[row] = -1
        agree[row, rng.choice(11, 5, replace=False)] = 1
        agree[row, 11 + rng.choice(10, 6, replace=False)] = 1
    return agree * y[:, None], y


def mease_wyner(rng: np.random.Generator, *, examples: int = 2000) -> tuple[Floats, Floats]:
    """x uniform on [0,1]^20 and a column of ones; y = +1 where the first five add up to 2.5."""
    x = rng.uniform(size=(examples, 20))
    y = np.where(x[:, :5].sum(axis=1) >= 2.5, 1.0, -1.0)
    return np.hstack([x, np.ones((examples, 1))]), y


def synthetic(
    rng: np.random.Generator, *, examples: int = 10_000, features: int = 9
) -> tuple[Floats, Floats]:
    """Features uniform on [-1, 1], labelled by a classifier with normal weights (Figure 2)."""
    weights = rng.normal(size=features)
    x = rng.uniform(-1, 1, size=(examples, features))
    return x, np.where(x @ weights >= 0, 1.0, -1.0)


def breast_cancer(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Wisconsin diagnostic data as shipped with scikit-learn; label 1 is benign."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def column_names(name: str | None) -> tuple[str, ...] | None:
    """Return the names of the columns of a set, if they have names."""
    if name != "breast-cancer":
        return None
    from sklearn.datasets import load_breast_cancer

    return tuple(map(str, load_breast_cancer().feature_names))


NAMES: dict[str, Callable[..., tuple[Floats, Floats]]] = {
    "breast-cancer": breast_cancer,
    "long-servedio": long_servedio,
    "mease-wyner": mease_wyner,
    "synthetic": synthetic,
}


def is_named(source: str | Path) -> bool:
    """Whether `source` is a named set such as ``synthetic`` or ``synthetic:examples=500``."""
    return isinstance(source, str) and source.split(":")[0] in NAMES


def make(source: str, *, seed: int = 0) -> tuple[Floats, Floats, Source]:
    """Draw a named set; return rows, labels and the record of what was drawn.

    >>> make("synthetic:examples=5,features=2")[0].shape
    (5, 2)
    """
    name, _, parameters = source.partition(":")
    options = _options(source, parameters)
    memory.require(
        32 * options.get("examples", 10_000) * max(21, options.get("features", 9)),
        f"{source}: drawing the examples",
        "ask for fewer examples or features",
    )
    try:
        x, y = NAMES[name](np.random.default_rng(seed), **options)
    except TypeError:
        raise InputError(f"{source}: {name} has no such parameter") from None
    return x, y, Source(name=source, rows=len(y), seed=seed)


def _options(source: str, parameters: str) -> dict[str, int]:
    options = {}
    for part in filter(None, parameters.split(",")):
        key, _, value = part.partition("=")
        if not (value.isascii() and value.isdigit() and 0 < int(value) <= 10**9):
            raise InputError(
                f"{source}: parameter {part!r}; expected name=number, as in "
                "synthetic:examples=1000,features=5"
            )
        options[key] = int(value)
    return options
