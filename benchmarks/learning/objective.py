"""The objective that rounds reach, beside the best of ten starts of L-BFGS on the same one.

F(w) = mean Φ(-u_i·w) + l2/2 |w|², with u_i = y_i x_i / |x_i| over prepared rows. F and its gradient
are written here anew, in numpy, and share no code with qcompile's.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile import Dataset, MockMachine, SolveOptions, Trained, from_arrays, train

from .conditions import flipped
from .figures import Goal
from .run import Plan
from .sets import split

__all__ = [
    "SEARCHES",
    "Compared",
    "Reached",
    "compare",
    "lowest",
    "objective_goals",
    "reached",
    "read_compared",
    "smoothed_risk",
    "unit_rows",
]

Floats = NDArray[np.float64]
NOISES = (0.0, 0.3)
STARTS = 10
ON_CHAINS = "chains with 2% errors"


def _on_chains(data: Dataset) -> Trained:
    """Train on the chains of a simulated Advantage with 2% control errors."""
    machine = MockMachine("advantage", errors=0.02, beta=3.0)
    return train(data, options=SolveOptions(machine, 50, sweeps=100), seed=0)


# How each solver of the rounds is called, by the name in the CSV file.
SEARCHES: dict[str, Callable[[Dataset], Trained]] = {
    "anneal": lambda data: train(data, seed=0),
    ON_CHAINS: _on_chains,
}


@dataclass(frozen=True, eq=False)
class Reached:
    """What a training gives: prepared rows, labels, l2, the weights, and how many rounds."""

    rows: Floats
    labels: Floats
    l2: float
    weights: Floats
    rounds: int


@dataclass(frozen=True)
class Compared:
    """A line of objective.csv; `above` is the F of rounds less the F of L-BFGS."""

    set: str
    flipped: float
    solver: str
    rows: int
    weights: int
    l2: float
    rounds: int
    risk_rounds: float
    risk_descent: float
    above: float
    seconds_rounds: float
    seconds_descent: float


def reached(found: Trained, x: Floats, y: Floats) -> Reached:
    """Return what a training in rounds on raw rows minimised, and where it ended.

    This is the only place that reads the result of qcompile: the preparation that leads from raw
    rows to the columns that were trained, the weights, l2, and the number of rounds.
    """
    if found.l2 is None:
        raise ValueError(f"a training by the method {found.method}; expected one in rounds")
    rows: Any = found.classifier.preparation.apply(x)
    dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    weights = np.asarray(found.classifier.weights, dtype=np.float64)
    return Reached(dense, y, found.l2, weights, len(found.rounds))


def unit_rows(rows: Floats, labels: Floats) -> Floats:
    """Return y_i x_i / |x_i|; rows of zeros stay zeros."""
    lengths = np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
    return labels[:, None] * rows / np.where(lengths > 0, lengths, 1.0)


def smoothed_risk(units: Floats, l2: float, weights: Floats) -> tuple[float, Floats]:
    """Return F and its gradient."""
    from scipy.special import ndtr

    margins = units @ weights
    density = np.exp(-margins * margins / 2) / np.sqrt(2 * np.pi)
    value = float(np.mean(ndtr(-margins))) + l2 / 2 * float(weights @ weights)
    return value, -(density @ units) / len(units) + l2 * weights


def lowest(units: Floats, l2: float, *, starts: int = STARTS, seed: int = 0) -> float:
    """Return the least F that L-BFGS finds from zero and from random starts of several lengths."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    width = units.shape[1]
    least = np.inf
    for number in range(starts):
        start = rng.normal(size=width) / np.sqrt(width) * (3.0 * number / max(starts - 1, 1))
        found = minimize(
            lambda w: smoothed_risk(units, l2, w),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-9},
        )
        least = min(least, float(found.fun))
    return float(least)


def compare(plan: Plan, path: Path, *, solver: str = "anneal") -> list[Compared]:
    """Fit every set clean and with 30% of the labels flipped, one seed; write a line for each.

    Lines of other sets and solvers that are in the file stay.
    """
    from joblib import Parallel, delayed

    tasks = [delayed(_one)(name, noise, solver, plan) for name in plan.sets for noise in NOISES]
    made: list[Compared] = []
    for line in Parallel(plan.jobs, return_as="generator")(tasks):
        print(f"{line.set}, {line.flipped:.0%} flipped, {solver}: F {line.risk_rounds:.6f}, "
              f"{line.above:+.2e} to L-BFGS, {line.rounds} rounds", flush=True)  # fmt: skip
        made.append(line)
    new = {(line.set, line.flipped, line.solver) for line in made}
    kept = [c for c in read_compared(path) if (c.set, c.flipped, c.solver) not in new]
    _write(path, [*kept, *made])
    return made


def _one(name: str, noise: float, solver: str, plan: Plan) -> Compared:
    from threadpoolctl import threadpool_limits

    from qcompile.runtime.threads import at_most

    rows = split(name, 0, train_rows=plan.train_rows, test_rows=plan.test_rows)
    x, y = flipped(noise)(rows.x, rows.y, np.random.default_rng(0))
    with threadpool_limits(1), at_most(1):
        began = time.process_time()
        found = SEARCHES[solver](from_arrays(x, y))
        between = time.process_time()
        end = reached(found, x, y)
        units = unit_rows(end.rows, end.labels)
        risk, _ = smoothed_risk(units, end.l2, end.weights)
        started = time.process_time()
        best = lowest(units, end.l2)
        stopped = time.process_time()
    return Compared(
        name, noise, solver, len(y), units.shape[1], end.l2, end.rounds, round(risk, 9),
        round(best, 9), round(risk - best, 9), round(between - began, 4),
        round(stopped - started, 4),
    )  # fmt: skip


def read_compared(path: Path) -> list[Compared]:
    """Return the lines of objective.csv, none if there is no file."""
    if not path.exists():
        return []
    whole = ("rows", "weights", "rounds")
    made = []
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            values: dict[str, Any] = {
                name: text if name in ("set", "solver") else (int if name in whole else float)(text)
                for name, text in row.items()
            }
            made.append(Compared(**values))
    return made


def _write(path: Path, lines: Iterable[Compared]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(field.name for field in fields(Compared))
        writer.writerows(astuple(line) for line in lines)


# How far above L-BFGS each solver may end.
_WITHIN = {"anneal": 1e-4, ON_CHAINS: 1e-3}


def objective_goals(lines: Iterable[Compared]) -> list[Goal]:
    """Return what the rounds must reach on their own objective."""
    lines = list(lines)
    made = []
    for solver, within in _WITHIN.items():
        own = [line for line in lines if line.solver == solver]
        says = f"F within {within:g} of the best of {STARTS} L-BFGS starts: {solver}"
        made.append(_worst(own, within, says))
    most = max(lines, key=lambda line: line.rounds, default=None)
    says = "at most 60 rounds"
    if most is None:
        return [*made, Goal(says, None, "not measured")]
    return [*made, Goal(says, most.rounds <= 60, f"at most {most.rounds}, on {most.set}")]


def _worst(lines: list[Compared], within: float, says: str) -> Goal:
    if not lines:
        return Goal(says, None, "not measured")
    worst = max(lines, key=lambda line: line.above)
    far = sum(line.above > within for line in lines)
    figures = f"at most {worst.above:.2e} above, on {worst.set}; {far} of {len(lines)} cases beyond"
    return Goal(says, worst.above <= within, figures)
