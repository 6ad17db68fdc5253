"""Choose settings by cross-validation, from the moments of folds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.data.prepare import prepare
from qcompile.data.split import folds
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.objective.decode import decode
from qcompile.objective.fit import LossOptions, fit_loss_with
from qcompile.runtime.cluster import in_order
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.moments import Moments
from qcompile.training.search import BITS, Clock, Progress, Task, goes_over_margins, search_lowest

__all__ = ["GRID_NAMES", "cross_validate"]


GRID_NAMES = ("order", "bits", "omega", "l2", "range_")


def cross_validate(
    data: Dataset,
    grid: Mapping[str, Sequence[Any]],
    *,
    count: int = 10,
    bits: int = BITS,
    l0: float = 0.0,
    loss: LossOptions | None = None,
    options: SolveOptions | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    preparation: Mapping[str, Any] | None = None,
    client: Any = None,
) -> list[dict[str, Any]]:
    """Try all settings of a grid over orders, bits, omega, l2 and range on k folds.

    Gives a row a setting with the mean validation error and its standard error, the best first.
    `preparation` holds options of `prepare` for data that are not prepared yet: then features are
    chosen and scaled without the fold that is held out. Where that was done by all rows before,
    the folds have seen each other to that extent. With a Dask `client` its workers try the
    settings, each on each fold; the rows are the same.
    """
    strange = sorted(set(grid) - set(GRID_NAMES))
    if strange:
        raise InputError(f"{strange[0]!r} in the grid; expected {', '.join(GRID_NAMES)}")
    if count < 2 or count > len(data):
        raise InputError(f"{count} folds of {len(data)} rows; expected 2 to {len(data)}")
    loss, options = loss or LossOptions(), options or SolveOptions()
    settings = [
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    ]
    shown = data if preparation is None else prepare(data, **preparation)
    plans = [_Plan.of(shown, {"bits": bits, **setting}, loss, options) for setting in settings]
    needed = max((plan.loss.degree for plan in plans if not plan.over_margins), default=1)
    parts = _Folds.of(folds(data, count, seed=seed), needed, preparation)
    trials = [(plan, number) for number in range(count) for plan in plans]
    if client is not None:
        found = list(in_order(client, _trial, trials, parts, l0, options, progress=progress))
    else:
        found = []
        for number in range(count):
            fold = parts.without(number)
            for plan in plans:
                found.append(_fold_error(plan, fold, l0, options))
                if progress is not None:
                    progress(len(found), len(trials))
    rows = [
        {
            **{name.rstrip("_"): value for name, value in setting.items()},
            "validation error": float(np.mean(errors)),
            "standard error": float(np.std(errors, ddof=1) / np.sqrt(count)),
        }
        for setting, errors in zip(
            settings, np.array(found).reshape(count, len(settings)).T, strict=True
        )
    ]
    return sorted(rows, key=lambda row: float(row["validation error"]))


@dataclass(frozen=True)
class _Plan:
    """One setting of a grid: the loss, the bits, and in which space it is annealed."""

    loss: LossOptions
    bits: int
    over_margins: bool

    @classmethod
    def of(
        cls, data: Dataset, setting: Mapping[str, Any], loss: LossOptions, options: SolveOptions
    ) -> _Plan:
        bits = int(setting["bits"])
        own = {name: value for name, value in setting.items() if name != "bits"}
        chosen = replace(loss, **own)
        return cls(chosen, bits, goes_over_margins(data, bits, chosen.degree, options))


@dataclass(frozen=True, eq=False)
class _Fold:
    """All rows but those of a fold, their moments, and the fold that is held out."""

    rows: Dataset
    moments: Moments
    held: Dataset


@dataclass(frozen=True, eq=False)
class _Folds:
    """The folds; where they are prepared alike, what is left without one is a difference."""

    parts: tuple[Dataset, ...]
    degree: int
    preparation: Mapping[str, Any] | None
    pieces: tuple[Moments, ...] = ()
    total: Moments | None = None

    @classmethod
    def of(
        cls, parts: tuple[Dataset, ...], degree: int, preparation: Mapping[str, Any] | None
    ) -> _Folds:
        if preparation is not None and _learns_from_rows(preparation):
            return cls(parts, degree, preparation)
        if preparation is not None:
            parts = tuple(prepare(part, **preparation) for part in parts)
        pieces = tuple(moments_of(part, degree, fit=True) for part in parts)
        return cls(parts, degree, None, pieces, sum(pieces[1:], pieces[0]))

    def without(self, number: int) -> _Fold:
        """Return what is left without a fold."""
        held = self.parts[number]
        rows = _joined([part for i, part in enumerate(self.parts) if i != number])
        if self.total is not None:
            return _Fold(rows, self.total - self.pieces[number], held)
        assert self.preparation is not None
        rows = prepare(rows, **self.preparation)
        moments = moments_of(rows, self.degree, fit=True)
        return _Fold(rows, moments, prepare(held, like=rows))


def _learns_from_rows(preparation: Mapping[str, Any]) -> bool:
    """Whether other rows would have been prepared otherwise."""
    return preparation.get("features") is not None or preparation.get("scale") in (
        "standard",
        "max-abs",
    )


def _trial(trial: tuple[_Plan, int], parts: _Folds, l0: float, options: SolveOptions) -> float:
    plan, number = trial
    return _fold_error(plan, parts.without(number), l0, options)


def _fold_error(plan: _Plan, fold: _Fold, l0: float, options: SolveOptions) -> float:
    """Train on all folds but one and give the error on that one."""
    moments = fold.moments
    if not plan.over_margins:
        moments = _lower(moments, plan.loss.degree)
    task = Task(fold.rows, moments, plan.bits, l0, plan.over_margins, options)
    fitted = fit_loss_with(moments, plan.loss)
    found, problem, _ = search_lowest(task, fitted, plan.loss.range_ == "auto", Clock())
    return fold.held.error(decode(problem, found).weights)


def _joined(parts: Sequence[Dataset]) -> Dataset:
    """Put the rows of folds together."""
    import scipy.sparse as sp

    rows = [part.x for part in parts]
    sparse = any(sp.issparse(x) for x in rows)
    x = sp.csr_array(sp.vstack(rows)) if sparse else np.concatenate(rows)
    return replace(parts[0], x=x, y=frozen(np.concatenate([part.y for part in parts])))


def _lower(moments: Moments, degree: int) -> Moments:
    """Moments of a lower order are among those of a higher one."""
    kept = {key: tensor for key, tensor in moments.tensors.items() if key[0] <= degree}
    return replace(moments, order=degree, tensors=kept)
