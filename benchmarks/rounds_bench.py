"""Training in rounds beside what users would take: time, memory, a machine with errors, blocks.

Time is that of `PolynomialLossClassifier()` on raw rows, the yardstick LogisticRegression after
StandardScaler, in the same run; ratios count. The other parts compare the objective that rounds
reach on the chains of a simulated machine with that of L-BFGS from ten starts.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.common import best_time, data_file, options, peak_memory, row
from qcompile import (
    Dataset,
    MockMachine,
    PolynomialLossClassifier,
    RoundOptions,
    SolveOptions,
    add_noise,
    from_arrays,
    prepare,
    read,
    train,
)
from qcompile.moments.unit_rows import UnitRows
from qcompile.training.descent import descend_smoothly


def known(name: str, **reading: Any) -> Dataset | None:
    """Read a set of QCOMPILE_DATA; None if it is not there, which is said."""
    path = data_file(name)
    return None if path is None else read(path, **reading)


def made(rows: int, features: int) -> Dataset:
    """Return normal features and labels of a noisy line."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features))
    y = np.where(x @ rng.normal(size=features) + rng.normal(size=rows) > 0, 1.0, -1.0)
    return from_arrays(x, y)


def beside_logistic_regression(name: str, data: Dataset, repeat: int) -> None:
    """Print the seconds of both, and their ratio."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sparse = hasattr(data.x, "indptr")
    usual = make_pipeline(StandardScaler(with_mean=not sparse), LogisticRegression(max_iter=1000))
    model = PolynomialLossClassifier()
    theirs = best_time(lambda: usual.fit(data.x, data.y), repeat)
    ours = best_time(lambda: model.fit(data.x, data.y), repeat)
    row(
        f"time, {name}",
        rows=len(data),
        features=data.features,
        logistic_s=theirs,
        rounds_s=ours,
        ratio=ours / theirs,
        rounds=model.n_iter_,
    )


def trained_in_memory(case: dict[str, Any]) -> None:
    """Train on one case; its memory is measured from outside."""
    data = known(case["name"], positive=case["positive"])
    assert data is not None
    PolynomialLossClassifier().fit(data.x, data.y)


def on_a_machine(name: str, data: Dataset, machine: str, limit: int | None = None) -> None:
    """Print how far the objective on chains with 2% errors is above that of L-BFGS."""
    prepared = prepare(data, scale="robust", bias=True)
    solver = SolveOptions(MockMachine(machine, errors=0.02), 50, sweeps=100)
    settings = RoundOptions(rounds=limit or 100)
    began = time.perf_counter()
    found = train(prepared, options=solver, rounds=settings, seed=0)
    seconds = time.perf_counter() - began
    assert found.l2 is not None
    _, lowest = descend_smoothly(UnitRows.of(prepared), found.l2, starts=10)
    row(
        f"2% errors, {name}",
        machine=machine,
        features=prepared.features,
        block=found.rounds[0].weights,
        rounds=len(found.rounds),
        broken=float(np.mean([own.broken for own in found.rounds])),
        above_descent=found.objective - lowest,
        train_error=found.errors["train"],
        seconds=seconds,
    )


def some(data: Dataset, rows: int) -> Dataset:
    """Return some of the rows, drawn with a fixed seed."""
    if len(data) <= rows:
        return data
    return data.take(np.sort(np.random.default_rng(0).choice(len(data), rows, replace=False)))


def main() -> None:
    """Time against logistic regression, memory, and machines with errors."""
    chosen = options(__doc__)
    if chosen.tiny:
        beside_logistic_regression("made", made(300, 5), 1)
        on_a_machine("made", made(300, 5), "chimera4")
        return
    beside_logistic_regression("made", made(2000, 30), 5)
    adult = known("adult9")
    if adult is not None:
        beside_logistic_regression("adult9", adult, 3)
        on_a_machine("adult9, 30% flipped", add_noise(some(adult, 4200), 0.3, seed=1), "advantage")
    covertype = known("covtype", positive=2)
    if covertype is not None:
        beside_logistic_regression("covertype", covertype, 1)
        case = {"name": "covtype", "positive": 2}
        row("memory, covertype", peak_GB=peak_memory(trained_in_memory, case) / 1e9)
    breast = read("breast-cancer")
    on_a_machine("breast cancer", breast, "pegasus4")
    on_a_machine("breast cancer, 30% flipped", add_noise(breast, 0.3, seed=1), "pegasus4")
    web = known("web8")
    if web is not None:
        on_a_machine("web8 in blocks", some(web, 10_000), "2000q", 200)


if __name__ == "__main__":
    main()
