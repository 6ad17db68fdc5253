"""Floors: the least 0-1 training error of small public sets, proved, and how near methods come.

The least number of wrong rows is the solution of a mixed-integer program, solved by HiGHS
(`scipy.optimize.milp`): minimise Σ z over w in [-1, 1]^n and z in {0, 1}^m, with u·w ≥ 0.001 - M z
for rows u = y x / |x| and M the least that allows any w. Where the time is over the program says
how far the bound is from the best classifier; a classifier with a smaller margin than 0.001 in
these units is not covered by the bound.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qcompile import Dataset, Encoding, anneal_examples, from_arrays, prepare, read, shuffle
from qcompile.stages.loss import ZeroOneLoss

from . import common

__all__ = ["floor", "run"]

Floats = NDArray[np.float64]
_MARGIN = 1e-3
_SECONDS = 20.0
# Name, file (None: comes with scikit-learn), the first column that is used, and rows.
_CASES = (
    ("iris, versicolor", None, None, 60),
    ("iris, versicolor", None, None, 150),
    ("breast cancer, diagnostic", None, None, 569),
    ("breast cancer, original", "breast-cancer_scale", 1, 200),
    ("breast cancer, original", "breast-cancer_scale", 1, 683),
    ("heart", "heart_scale", None, 60),
    ("heart", "heart_scale", None, 270),
    ("ionosphere", "ionosphere", None, 150),
    ("ionosphere", "ionosphere", None, 351),
)


def run(options: Any) -> None:
    """Prove the floors, train every method on the same rows, and write the table."""
    rows = []
    for case in _CASES[:1] if options.quick else _CASES:
        data = _rows(*case)
        if data is not None:
            rows.append(_measured(case[0], data, 5.0 if options.quick else _SECONDS))
            print(rows[-1], flush=True)
    common.write_csv("floors", rows, options)


def _rows(name: str, file: str | None, first: int | None, count: int) -> Dataset | None:
    """Return some rows of a set, standardised, with a constant column."""
    if file is None:
        x, y = _shipped(name)
    else:
        folder = os.environ.get("QCOMPILE_DATA")
        path = Path(folder) / f"{file}.svm.xz" if folder else None
        if path is None or not path.is_file():
            print(f"{name}: skipped, QCOMPILE_DATA names no folder with {file}.svm.xz")
            return None
        data = read(path)
        read_x: Any = data.x
        x, y = np.asarray(read_x.toarray() if sp.issparse(read_x) else read_x), data.y
    chosen = shuffle(from_arrays(x[:, first:], y), seed=0).take(slice(0, count))
    return prepare(chosen, scale="standard", bias=True)


def _shipped(name: str) -> tuple[Floats, Floats]:
    from sklearn.datasets import load_breast_cancer, load_iris

    if name.startswith("iris"):
        x, kind = load_iris(return_X_y=True)
        return np.asarray(x), np.where(kind == 1, 1.0, -1.0)
    x, kind = load_breast_cancer(return_X_y=True)
    return np.asarray(x), np.where(kind > 0, 1.0, -1.0)


def floor(data: Dataset, seconds: float) -> tuple[int, int, bool]:
    """Return the fewest wrong rows that were found, a proved lower bound, and whether they meet."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    x = np.asarray(data.x)
    u = data.y[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True)
    m, n = u.shape
    most = np.abs(u).sum(axis=1) + _MARGIN
    rows = sp.hstack([sp.csr_array(u), sp.diags_array(most)])
    limits = Bounds(np.r_[-np.ones(n), np.zeros(m)], np.ones(n + m))
    found = milp(
        np.r_[np.zeros(n), np.ones(m)],
        constraints=LinearConstraint(rows, lb=_MARGIN),
        bounds=limits,
        integrality=np.r_[np.zeros(n), np.ones(m)],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    bound = getattr(found, "mip_dual_bound", None)
    lower = 0 if bound is None else math.ceil(float(bound) - 1e-6)
    if found.x is None:
        return m, lower, False
    wrong = round(m * data.error(found.x[:n]))
    return wrong, lower, wrong <= lower


def _measured(name: str, data: Dataset, seconds: float) -> dict[str, Any]:
    began = time.process_time()
    wrong, lower, proved = floor(data, seconds)
    spent = time.process_time() - began
    counts = {label: round(len(data) * data.error(fit(data))) for label, fit in _METHODS.items()}
    best = min(wrong, *counts.values())
    return {
        "dataset": name,
        "rows": len(data),
        "features": data.features,
        "proved_at_least": lower,
        "best_found": best,
        "proved": best <= lower or proved,
        "integer_programming": wrong,
        **counts,
        "cpu_seconds": round(spent, 1),
    }


def _liblinear(data: Dataset) -> Floats:
    from sklearn.svm import LinearSVC

    model = LinearSVC(dual=False, fit_intercept=False, C=10.0)
    return np.asarray(model.fit(np.asarray(data.x), data.y).coef_.ravel())


def _logistic(data: Dataset) -> Floats:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(fit_intercept=False, C=10.0, max_iter=1000)
    return np.asarray(model.fit(np.asarray(data.x), data.y).coef_.ravel())


def _rounds(data: Dataset) -> Floats:
    from qcompile import RoundOptions, train

    found = train(data, rounds=RoundOptions(l2=1e-5))
    return np.asarray(found.classifier.weights)


def _sixth(data: Dataset) -> Floats:
    from .methods import METHODS, Effort
    from .sets import Cut

    setting = {"scaling": "standard", "range": 4.0, "bits": 8}
    path = (0.003, 0.0003, 0.0)
    # the rows to train on are those to choose with: the training error is what counts here
    found = METHODS["sixth-order"].fit(
        Cut(data, data, data), setting, path, Effort(3, 2, 100, None)
    )
    return min(found, key=data.error)


def _zero_one(data: Dataset) -> Floats:
    encoding = Encoding(data.features, 8, 1.0)
    found = anneal_examples(data, ZeroOneLoss(), encoding, reads=20, sweeps=500, keep=1)
    return np.asarray(found[0])


_METHODS: dict[str, Callable[[Dataset], Floats]] = {
    "liblinear": _liblinear,
    "logistic": _logistic,
    "rounds": _rounds,
    "sixth-order": _sixth,
    "0-1 annealed": _zero_one,
}
