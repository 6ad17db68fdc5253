"""Small random problems for hypothesis."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

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
