"""Compare settings by cross-validation, from the moments of folds."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.data.given import DataSource
from qcompile.data.prepare import RAW, PrepareOptions, prepare
from qcompile.data.read import read
from qcompile.data.split import folds
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.objective.decode import decode
from qcompile.objective.fit import LossOptions, fit_loss_with
from qcompile.runtime import cluster, memory
from qcompile.runtime.progress import Progress, muted, report, shown_by
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.moments import Moments
from qcompile.stages.record import Record
from qcompile.training.l2_path import joined
from qcompile.training.search import BITS, Clock, Task, goes_over_margins, search_lowest

__all__ = ["GRID_NAMES", "Trial", "cross_validate"]


GRID_NAMES = ("order", "bits", "omega", "l2", "weight_range")
_OLD_NAMES = {"range_": "weight_range"}


@dataclass(frozen=True)
class Trial(Record):
    """A setting of a grid, the mean of its validation error and the standard error of that mean.

    `varied` names the options that the grid varies, as in `GRID_NAMES`. `folds` is the number of
    errors that the mean was taken over.
    """

    bits: int
    loss: LossOptions
    error: float
    spread: float
    varied: tuple[str, ...]
    folds: int = 0

    @property
    def deviation(self) -> float:
        """The standard deviation of the errors of the folds."""
        return self.spread * math.sqrt(self.folds)

    @property
    def setting(self) -> dict[str, Any]:
        """The values of the options that the grid varies."""
        values = {**vars(self.loss), "bits": self.bits}
        return {name: values[name] for name in self.varied}

    def to_dict(self) -> dict[str, Any]:
        """Return the setting and the errors by key."""
        return self.setting | {
            "validation error": self.error,
            "standard error": self.spread,
            "standard deviation": self.deviation,
            "folds": self.folds,
        }


def cross_validate(
    data: DataSource,
    grid: Mapping[str, Sequence[Any]],
    *,
    count: int = 10,
    bits: int = BITS,
    l0: float = 0.0,
    loss: LossOptions | None = None,
    options: SolveOptions | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    preparation: PrepareOptions | Mapping[str, Any] | None = None,
    client: Any = None,
) -> list[Trial]:
    """Try all settings of a grid over `GRID_NAMES` on `count` folds; return them, the best first.

    `data` is a `Dataset`, or what `read` takes; the rows are then scaled (robust) and get a
    constant column unless `preparation` says otherwise. `bits` and `loss` hold the values of
    options that the grid does not vary. `preparation` is for data that are not prepared yet:
    features are then chosen and scaled without the fold that is held out. If all rows were prepared
    together before, the folds know that much of each other. `progress(done, total)` counts the
    trainings, each of one setting on one fold. With a Dask `client` its workers make them; the
    trials are the same.
    """
    if not isinstance(data, Dataset):
        data = read(data, seed=seed)
        preparation = RAW if preparation is None else preparation
    grid = {_present_name(name): values for name, values in grid.items()}
    unknown = sorted(set(grid) - set(GRID_NAMES))
    if unknown:
        raise InputError(f"{unknown[0]!r} in the grid; expected {', '.join(GRID_NAMES)}")
    if count < 2 or count > len(data):
        raise InputError(f"{count} folds of {len(data)} rows; expected 2 to {len(data)}")
    loss, options = loss or LossOptions(), options or SolveOptions()
    wanted = None if preparation is None else PrepareOptions.of(preparation)
    shown = data if wanted is None else wanted.apply(data)
    plans = [_Plan.of(shown, *setting, options) for setting in _settings(grid, bits, loss)]
    needed = max((plan.loss.degree for plan in plans if not plan.over_margins), default=1)
    with muted():
        parts = _Folds.of(folds(data, count, seed=seed), needed, wanted)
    with shown_by(progress), cluster.using(client):
        found = _errors_of(plans, parts, l0, options)
    errors = np.array(found).reshape(count, len(plans)).T
    tried = [plan.tried(own, tuple(grid)) for plan, own in zip(plans, errors, strict=True)]
    return sorted(tried, key=lambda trial: trial.error)


def _present_name(name: str) -> str:
    """Return the name of an option in a grid, with a warning if it is an old one."""
    if name not in _OLD_NAMES:
        return name
    warnings.warn(
        f"{name!r} in the grid is deprecated: use {_OLD_NAMES[name]!r}",
        DeprecationWarning,
        stacklevel=4,  # comprehension and function here, then the caller
    )
    return _OLD_NAMES[name]


def _settings(
    grid: Mapping[str, Sequence[Any]], bits: int, loss: LossOptions
) -> Iterator[tuple[int, LossOptions]]:
    """Yield the bits and the loss of each setting of a grid."""
    for values in itertools.product(*grid.values()):
        own = dict(zip(grid, values, strict=True))
        yield int(own.pop("bits", bits)), replace(loss, **own)


@dataclass(frozen=True)
class _Plan:
    """A setting of a grid, and whether it is annealed over the margins or in bits."""

    bits: int
    loss: LossOptions
    over_margins: bool

    @classmethod
    def of(cls, data: Dataset, bits: int, loss: LossOptions, options: SolveOptions) -> _Plan:
        return cls(bits, loss, goes_over_margins(data, bits, loss.degree, options))

    def tried(self, errors: Floats, varied: tuple[str, ...]) -> Trial:
        """Return the record of the setting and its errors on the folds."""
        spread = float(np.std(errors, ddof=1) / np.sqrt(len(errors)))
        return Trial(self.bits, self.loss, float(np.mean(errors)), spread, varied, len(errors))


@dataclass(frozen=True, eq=False)
class _Fold:
    """All rows but those of a fold, their moments, and the fold that is held out."""

    rows: Dataset
    moments: Moments
    held: Dataset


@dataclass(frozen=True, eq=False)
class _Folds:
    """The folds, and the moments of all but each unless `preparation` depends on the rows.

    Moments add up. They are not subtracted: a fold with one very long row would leave little but
    rounding of the others.
    """

    parts: tuple[Dataset, ...]
    degree: int
    preparation: PrepareOptions | None
    others: tuple[Moments, ...] = ()

    @classmethod
    def of(
        cls, parts: tuple[Dataset, ...], degree: int, preparation: PrepareOptions | None
    ) -> _Folds:
        if preparation is not None and preparation.learns_from_rows:
            return cls(parts, degree, preparation)
        if preparation is not None:
            parts = tuple(preparation.apply(part) for part in parts)
        pieces = [moments_of(part, degree, fit=True) for part in parts]
        held = sum(tensor.nbytes for tensor in pieces[0].tensors.values())
        memory.require(
            3 * len(pieces) * held,  # sums from both ends, and those without each fold
            f"the moments of {len(pieces)} folds",
            "use fewer folds, fewer features= or a lower order=",
        )
        return cls(parts, degree, None, _sums_without_each(pieces))

    def without(self, number: int) -> _Fold:
        """Return all rows but those of a fold, their moments, and the fold."""
        held = self.parts[number]
        rows = joined([part for i, part in enumerate(self.parts) if i != number])
        if self.others:
            return _Fold(rows, self.others[number], held)
        assert self.preparation is not None
        rows = self.preparation.apply(rows)
        moments = moments_of(rows, self.degree, fit=True)
        return _Fold(rows, moments, prepare(held, like=rows))


def _sums_without_each(pieces: Sequence[Moments]) -> tuple[Moments, ...]:
    """Return the sum of all moments but one, for each one: those before it and those after it."""
    before = list(itertools.accumulate(pieces))
    after = list(itertools.accumulate(reversed(pieces)))[::-1]
    inner = [a + b for a, b in zip(before[:-2], after[2:], strict=True)]
    return (after[1], *inner, before[-2])


def _errors_of(
    plans: Sequence[_Plan], parts: _Folds, l0: float, options: SolveOptions
) -> list[float]:
    """Return the error of each plan on each fold, fold by fold; report how many are known."""
    client = cluster.current()
    pairs = [(plan, number) for number in range(len(parts.parts)) for plan in plans]
    errors = (
        _errors_here(plans, parts, l0, options)
        if client is None
        else cluster.in_order(client, _error_on, pairs, parts, l0, options)
    )
    found: list[float] = []
    for error in errors:
        found.append(error)
        report(len(found), len(pairs))
    return found


def _errors_here(
    plans: Sequence[_Plan], parts: _Folds, l0: float, options: SolveOptions
) -> Iterator[float]:
    """Yield the errors in the order of the folds, each of which is prepared once."""
    for number in range(len(parts.parts)):
        with muted():
            fold = parts.without(number)
        for plan in plans:
            with muted():
                error = _fold_error(plan, fold, l0, options)
            yield error


def _error_on(pair: tuple[_Plan, int], parts: _Folds, l0: float, options: SolveOptions) -> float:
    """Return the error of a plan on a fold: the work of one task on a cluster."""
    plan, number = pair
    return _fold_error(plan, parts.without(number), l0, options)


def _fold_error(plan: _Plan, fold: _Fold, l0: float, options: SolveOptions) -> float:
    """Train on all folds but one and return the error on that one."""
    moments = fold.moments
    if not plan.over_margins:
        moments = _lower(moments, plan.loss.degree)
    task = Task(fold.rows, moments, plan.bits, l0, plan.over_margins, options)
    fitted = fit_loss_with(moments, plan.loss)
    found, problem, _ = search_lowest(task, fitted, plan.loss.weight_range == "auto", Clock())
    return fold.held.error(decode(problem, found).weights)


def _lower(moments: Moments, degree: int) -> Moments:
    """Return the moments up to a lower order, which are among those given."""
    kept = {key: tensor for key, tensor in moments.tensors.items() if key[0] <= degree}
    return replace(moments, order=degree, tensors=kept)
