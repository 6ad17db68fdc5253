"""Rows written to files, in parts, and comparisons of their moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qcompile import Moments
from qcompile.data.options import DataOptions
from qcompile.data.svmlight import lines_of
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import load_moments_of


def svm(folder: Path, text: str = "1 1:1 2:2\n-1 1:2\n1 2:1\n") -> Path:
    path = folder / "data.svm"
    path.write_text(text)
    return path


def assert_equal(one: Moments, two: Moments) -> None:
    """Bit for bit."""
    assert (one.count, one.sum_of_squares) == (two.count, two.sum_of_squares)
    assert dict(one.source) == dict(two.source)
    assert one.preparation is not None and two.preparation is not None
    assert one.preparation.to_dict() == two.preparation.to_dict()
    for key, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, two.tensors[key])


def rough_lines(rows: int, features: int, seed: int = 0) -> list[str]:
    """Values whose sums depend on the order of summation."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features))
    y = np.where(x[:, 0] + rng.normal(size=rows) > 0, 1, -1)
    return [
        f"{label} " + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(row.tolist())) + "\n"
        for label, row in zip(y.tolist(), x, strict=True)
    ]


def assert_same(a: Moments, b: Moments, *, exactly: bool = False) -> None:
    assert (a.features, a.order, a.count) == (b.features, b.order, b.count)
    assert set(a.tensors) == set(b.tensors)
    np.testing.assert_allclose(a.sum_of_squares, b.sum_of_squares, rtol=1e-12)
    for key, tensor in a.tensors.items():
        if exactly:
            np.testing.assert_array_equal(tensor, b.tensors[key])
        else:
            np.testing.assert_allclose(tensor, b.tensors[key], rtol=1e-9, atol=1e-9)


def sparse_lines(rows: int = 90, features: int = 5, seed: int = 0) -> list[str]:
    """Rows of halves and quarters: their sums have no rounding, whatever the order."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, size=(rows, features)) / 4 * (rng.random((rows, features)) < 0.6)
    x[0] = 0.25  # names every column
    labels = np.where(rng.random(rows) < 0.4, 7.0, 2.0)
    return list(lines_of(x, labels))


def write_parts(folder: Path, pieces: list[list[str]]) -> str:
    for number, piece in enumerate(pieces):
        (folder / f"part-{number:02}.svm").write_text("".join(piece))
    return str(folder / "part-*.svm")


def of(source: str, loss: LossOptions | None = None, **options: Any) -> Moments:
    wanted = DataOptions(**{"scale": "none", "bias": False, **options})
    return load_moments_of(source, wanted, loss or LossOptions())
