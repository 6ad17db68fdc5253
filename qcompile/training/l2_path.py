"""Choose the price of the weights by cross-validation along a path from large to small."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.data.prepare import PrepareOptions, prepare
from qcompile.data.split import folds
from qcompile.errors import InputError
from qcompile.moments.unit_rows import UnitRows
from qcompile.runtime import cluster
from qcompile.runtime.progress import muted, report
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.machine import Machine
from qcompile.stages.record import Record
from qcompile.training.descent import descend_smoothly
from qcompile.training.inner import Inner
from qcompile.training.rounds import Found, RoundOptions, Task, run_rounds
from qcompile.training.start import least_squares

__all__ = [
    "FOLDS",
    "PATH",
    "L2Trial",
    "choose_l2",
    "follow_path",
    "inner_of",
    "joined",
    "train_once",
]


_log = logging.getLogger("qcompile")

FOLDS = 5
# Half decades around the price that needs no search.
PATH = tuple(10.0 ** (exponent / 2) for exponent in range(3, -4, -1))


@dataclass(frozen=True)
class L2Trial(Record):
    """A price of the weights, its mean validation error and the standard error of that mean.

    `folds` is the number of errors that the mean was taken over.
    """

    l2: float
    error: float
    spread: float
    folds: int = 0

    @property
    def deviation(self) -> float:
        """The standard deviation of the errors of the folds."""
        return self.spread * math.sqrt(self.folds)

    @property
    def setting(self) -> dict[str, Any]:
        """The value that was tried."""
        return {"l2": self.l2}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key."""
        return {
            "l2": self.l2,
            "validation error": self.error,
            "standard error": self.spread,
            "standard deviation": self.deviation,
            "folds": self.folds,
        }


@dataclass(frozen=True, eq=False)
class _Folds:
    """The folds of the rows, and how to train on all but one of them."""

    parts: tuple[Dataset, ...]
    preparation: PrepareOptions | None
    path: tuple[float, ...]
    options: RoundOptions
    solver: SolveOptions
    machine: Machine | None


def choose_l2(
    data: Dataset,
    path: Sequence[float],
    options: RoundOptions,
    solver: SolveOptions,
    *,
    count: int = FOLDS,
    seed: int = 0,
    preparation: PrepareOptions | None = None,
    machine: Machine | None = None,
) -> list[L2Trial]:
    """Return the trials of the path, the best first; of equal ones the larger price.

    On each of `count` folds the prices are tried from large to small, and each training starts from
    the weights of the one before. With a Dask client its workers make the folds.
    """
    if not path or not all(price > 0 for price in path):
        raise InputError(f"prices of the weights {tuple(path)}; expected numbers above 0")
    parts = folds(data, count, seed=seed)
    work = _Folds(parts, preparation, tuple(sorted(path, reverse=True)), options, solver, machine)
    errors: list[Floats] = []
    try:
        for own in _errors(work):
            errors.append(own)
            report(len(errors), count)
    except KeyboardInterrupt:
        if not errors:
            raise
        _log.warning("interrupted: l2 is chosen by the folds so far")
    table = np.array(errors)
    means = table.mean(axis=0)
    spread = table.std(axis=0, ddof=1) / np.sqrt(len(table)) if len(table) > 1 else 0 * means
    trials = [
        L2Trial(price, float(mean), float(own), len(table))
        for price, mean, own in zip(work.path, means, spread, strict=True)
    ]
    return sorted(trials, key=lambda trial: trial.error)


def _errors(work: _Folds) -> Iterator[Floats]:
    """Yield the errors of the prices on each fold."""
    client, numbers = cluster.current(), list(range(len(work.parts)))
    if client is not None:
        yield from cluster.in_order(client, _errors_on, numbers, work)
        return
    for number in numbers:
        with muted():
            found = _errors_on(number, work)
        yield found


def _errors_on(number: int, work: _Folds) -> Floats:
    """Return the error of each price on the fold that is held out."""
    held = work.parts[number]
    rows = joined([part for i, part in enumerate(work.parts) if i != number])
    if work.preparation is not None:
        rows = work.preparation.apply(rows)
        held = prepare(held, like=rows)
    with cluster.locally():
        unit = UnitRows.of(rows)
        inner = inner_of(work.options, work.solver, rows.features, work.machine)
        first = least_squares(unit)
        task = Task(unit, work.path[0], work.options, work.solver, inner, rows, first)
        found = list(follow_path(task, work.path))
    if found[-1].ended == "interrupted":
        raise KeyboardInterrupt  # the folds before this one choose
    return np.array([held.error(one.weights) for one in found])


def inner_of(
    options: RoundOptions, solver: SolveOptions, features: int, machine: Machine | None
) -> Inner:
    """Return the solver of the rounds."""
    return Inner.of(solver, features, bits=options.bits or 1, block=options.block, machine=machine)


def follow_path(task: Task, path: Sequence[float]) -> Iterator[Found]:
    """Yield the training for each price; each starts from the weights of the one before."""
    weights: Floats | None = None
    for price in path:
        own = replace(task, l2=price)
        found = train_once(own, weights)
        weights = found.weights
        yield found
        if found.ended == "interrupted":
            return


def train_once(task: Task, begin: Floats | None = None) -> Found:
    """Train at one price: in rounds, or by descent if that is the solver."""
    if task.solver.solver != "descent":
        return run_rounds(task, begin)
    weights, value = descend_smoothly(
        task.rows,
        task.l2,
        direction=task.direction,
        starts=task.options.starts,
        seed=task.solver.seed,
        begin=begin,
        only_begin=task.only_begin,
        memory=task.memory,
    )
    lowest = weights[None]
    return Found(frozen(weights), value, (), lowest, np.array([value]), ended="descent")


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Return one data set with the rows of several."""
    import scipy.sparse as sp

    rows = [part.x for part in parts]
    sparse = any(sp.issparse(x) for x in rows)
    x = sp.csr_array(sp.vstack(rows)) if sparse else np.concatenate(rows)
    y = frozen(np.concatenate([part.y for part in parts]))
    if parts[0].weights is None:
        return replace(parts[0], x=x, y=y)
    weights = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    return replace(parts[0], x=x, y=y, weights=frozen(np.concatenate(weights)))
