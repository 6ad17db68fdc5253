"""Small random problems for hypothesis."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from qcompile import Pubo
from qcompile.data.prepare import from_arrays
from qcompile.stages.dataset import Dataset


@st.composite
def datasets(
    draw: st.DrawFn, *, max_features: int = 4, kinds: tuple[str, ...] = ("dense", "sparse", "0/1")
) -> Dataset:
    """A few examples: dense, sparse, or sparse with features 0/1; zero rows among them."""
    features = draw(st.integers(1, max_features))
    rows = draw(st.integers(2, 12))
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.normal(size=(rows, features))
    if kind != "dense":
        x *= rng.random(x.shape) < 0.5
    if kind == "0/1":
        x = (x != 0).astype(float)
    y = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return from_arrays(x if kind == "dense" else sp.csr_array(x), y)


def dense(data: Dataset) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The rows as a plain array."""
    rows = data.x.toarray() if hasattr(data.x, "toarray") else data.x
    return np.asarray(rows, dtype=np.float64)


NAMES: dict[str, list[Any]] = {
    "numbers": [0, 1, 2, 3],
    "gaps": [-4, 7, 10**12, 12],
    "texts": ["b", "a", "é 1", "10"],
    "rows": [(0, 1), (1, 0), (2, 2), (0, 3)],
    "mixed": [5, "x", (1, "y"), "5"],
}


Terms = dict[tuple[Any, ...], float]


@st.composite
def terms(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(NAMES), degree: int = 4) -> Terms:
    """Whole coefficients, so that sums are exact; zeros and the constant among them."""
    labels = NAMES[draw(st.sampled_from(kinds))]
    members = st.lists(st.sampled_from(labels), max_size=degree, unique=True).map(tuple)
    return draw(st.dictionaries(members, st.integers(-9, 9).map(float), max_size=8))


@st.composite
def polynomials(draw: st.DrawFn, *, degree: int = 4, variables: int = 5) -> Pubo:
    """Sparse or complete polynomials with small whole coefficients: equality is exact."""
    size = draw(st.integers(1, variables))
    top = draw(st.integers(1, min(degree, size)))
    share = draw(st.sampled_from([0.3, 0.7, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terms = {
        members: float(rng.integers(-9, 10))
        for j in range(top + 1)
        for members in combinations(range(size), j)
        if rng.random() < share
    }
    return Pubo.from_dict(terms, variables=size)
