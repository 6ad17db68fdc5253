"""Figure 4: test error against label noise, six data sets, nine methods, ten folds.

`PROTOCOL.md` says what is done and was fixed before it was run. In short: a few rows of one fold
at the lowest and the highest noise choose some settings, more rows at each noise choose two of
these and a part of the path of prices, two folds choose one, and it is run on all ten, where the
mean validation error chooses the price. Every single fit is written to a cache as it is done, so
that an interrupted run goes on, and `--collect` makes the tables from what is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from qcompile import Dataset

from . import common
from .figure4_tables import Cell, write_tables
from .methods import METHODS, Effort, Method, Setting
from .sets import FOLDS, NOISES, cut, load, scalings_of

__all__ = ["run"]

_SCREEN, _SECOND, _FINAL = (
    Effort(1, 2, 12, 2_500),
    Effort(2, 2, 25, 12_000),
    Effort(3, 2, 30, 40_000),
)
_CLEAN = 5  # validation rows at most, for each training row at most
_BY_NOISE, _FINALISTS, _SOME_FOLDS = 4, 2, 1
_LONG = 5  # prices; of a longer path every second one is tried first
_WORKERS = 2
# The order of a run: what matters most comes first. A split is the seed of a shuffle.
_FIRST = ("sixth-order", "liblinear", "square", "logistic", "smooth hinge", "rounds")
_LATER = ("0-1", "q-loss", "cubic")
_AGAIN, _SPLITS = ("rounds", "sixth-order", "liblinear"), (1, 2, 3, 4)
_SETS = ("mushrooms", "web8", "Mease-Wyner", "Long-Servedio", "adult9", "covertype")
Errors = list[list[float]]  # validation and test error, for each price of a path


class Job(NamedTuple):
    """One method on one set, for one split of its rows.

    With `extended` its cells are those of the first run with longer paths: see `PROTOCOL.md`.
    """

    split: int
    method: str
    name: str
    extended: bool = False


class Fit(NamedTuple):
    """What is fitted: a path of prices with one setting, on one fold at one noise."""

    setting: Setting
    path: tuple[float, ...]
    noise: int
    fold: int
    effort: Effort


class Bench:
    """Fits of a method on a set, each done once, with what they cost."""

    def __init__(self, cache: Path | None, job: Job, seed: int) -> None:
        self._cache, self._job, self._seed = cache, job, seed
        self._known: dict[str, dict[str, Any]] = {}
        self.seconds = 0.0
        if cache is not None and cache.exists():
            for line in cache.read_text().splitlines():
                entry = json.loads(line)
                self._known[entry["key"]] = entry
            self.seconds = sum(entry["seconds"] for entry in self._known.values())

    @property
    def data(self) -> Dataset:
        """The set, loaded when it is needed."""
        data = load(self._job.name)
        assert data is not None
        return data

    def errors(self, fit: Fit) -> Errors:
        """Return the validation and the test errors along a path, in percent."""
        what = [self._job.method, fit.setting, fit.path, fit.noise, fit.fold, *vars_of(fit.effort)]
        key = json.dumps([*what, self._seed])
        if key not in self._known:
            began = time.process_time()
            found = self._fitted(fit)
            entry = {"key": key, "errors": found, "seconds": time.process_time() - began}
            self._known[key] = entry
            self.seconds += float(entry["seconds"])  # type: ignore[arg-type]
            if self._cache is not None:
                with self._cache.open("a") as stream:
                    stream.write(json.dumps(entry) + "\n")
        found = self._known[key]["errors"]
        return list(found)

    def _fitted(self, fit: Fit) -> Errors:
        limit = fit.effort.rows
        part = cut(
            self.data, fit.noise, fit.fold, scaling=fit.setting["scaling"], rows=limit,
            clean=None if limit is None else _CLEAN * limit, seed=self._seed,
        )  # fmt: skip
        with threadpool_limits(1):  # threads that wait for each other would be counted
            weights = np.stack(
                METHODS[self._job.method].fit(part, fit.setting, fit.path, fit.effort)
            )
        both = [100 * d.errors(weights) for d in (part.validation, part.test)]
        return [list(map(float, pair)) for pair in zip(*both, strict=True)]

    def validation(self, fits: Iterable[Fit]) -> np.ndarray[Any, Any]:
        """Return the mean validation errors along the path."""
        return np.asarray(np.mean([np.array(self.errors(fit))[:, 0] for fit in fits], axis=0))


def vars_of(effort: Effort) -> list[Any]:
    """Return the numbers of an effort."""
    return [effort.valleys, effort.others, effort.sweeps, effort.rows]


def _screened(bench: Bench, method: Method, name: str, noises: tuple[int, ...]) -> list[Setting]:
    """Return the settings that are best at the lowest or the highest noise, on some rows."""
    settings = [own for own in method.settings if own["scaling"] in _offered(method, name)]
    if len(settings) <= _BY_NOISE:
        return settings
    chosen: list[Setting] = []
    some = method.path[::2]
    for noise in (noises[0], noises[-1]):
        scores = [
            (float(bench.validation([Fit(own, some, noise, 0, _SCREEN)]).min()), number)
            for number, own in enumerate(settings)
        ]
        best = [settings[number] for _, number in sorted(scores)[:_BY_NOISE]]
        chosen += [own for own in best if own not in chosen]
    return chosen


def _offered(method: Method, name: str) -> tuple[str, ...]:
    """Return the scalings that differ on a set."""
    known = {own["scaling"]: None for own in method.settings}
    if len(scalings_of(name)) == 1:
        return (next(iter(known)),)
    return tuple(known)


def _finalists(
    bench: Bench, method: Method, settings: list[Setting], noise: int
) -> list[tuple[Setting, tuple[float, ...]]]:
    """Return the best settings on more rows, each with the prices beside its best one."""
    scores = []
    step = 1 if len(method.path) <= _LONG else 2
    for number, own in enumerate(settings):
        errors = bench.validation([Fit(own, method.path[::step], noise, 1, _SECOND)])
        best = int(np.argmin(errors))
        scores.append((float(errors[best]), number, step * best))
    return [
        (settings[number], method.path[max(0, best - 1) : best + 2])
        for _, number, best in sorted(scores)[:_FINALISTS]
    ]


def _cell(bench: Bench, method: Method, settings: list[Setting], noise: int, folds: int) -> Cell:
    """Return the errors on all folds with the setting and the price that validation chose."""
    scores = []
    for number, (own, path) in enumerate(_finalists(bench, method, settings, noise)):
        some = [Fit(own, path, noise, fold, _FINAL) for fold in range(min(_SOME_FOLDS, folds))]
        scores.append((float(bench.validation(some).min()), number, own, path))
    _, _, setting, path = min(scores, key=lambda score: score[:2])
    return _on_all(bench, setting, path, noise, folds)


def _on_all(
    bench: Bench, setting: Setting, path: tuple[float, ...], noise: int, folds: int
) -> Cell:
    fits = [Fit(setting, path, noise, fold, _FINAL) for fold in range(folds)]
    best = int(np.argmin(bench.validation(fits)))
    errors = np.array([bench.errors(fit)[best] for fit in fits])
    return Cell(
        bench._job.name, bench._job.method, noise, bench._job.split,
        tuple(errors[:, 1].tolist()), float(errors[:, 0].mean()),
        {**setting, "price": path[best]}, path,
    )  # fmt: skip


def work(
    job: Job, noises: tuple[int, ...], quick: bool, cache: Path | None, seed: int
) -> tuple[list[Cell], float]:
    """Do one job; return its cells and the CPU seconds of all its fits."""
    if load(job.name) is None:
        return [], 0.0
    method = _reduced(METHODS[job.method]) if quick else METHODS[job.method]
    bench = Bench(cache and _file(cache, job), job, seed + job.split)
    folds = 2 if quick else FOLDS
    done = cache and _kept(cache, job)
    cells: list[Cell] = []
    if job.extended:
        for known in _cells(cache, job._replace(extended=False)):
            cells.append(_extended(bench, known, method.path, folds))
            _keep(done, cells, bench.seconds)
        return cells, bench.seconds
    if job.split:
        for known in _cells(cache, job._replace(split=0)):
            path = tuple(known.path)
            cells.append(_on_all(bench, _without_price(known.setting), path, known.noise, folds))
            _keep(done, cells, bench.seconds)
        return cells, bench.seconds
    settings = _screened(bench, method, job.name, noises)
    for noise in noises:
        cells.append(_cell(bench, method, settings, noise, folds))
        _keep(done, cells, bench.seconds)
    return cells, bench.seconds


def _extended(bench: Bench, cell: Cell, prices: tuple[float, ...], folds: int) -> Cell:
    """Return the cell with the next price as well, as long as the best is an end of its path."""
    while True:
        first, last = prices.index(cell.path[0]), prices.index(cell.path[-1])
        best = prices.index(cell.setting["price"])
        longer = max(0, first - (best == first)), min(len(prices), last + 1 + (best == last))
        path = prices[slice(*longer)]
        if path == tuple(cell.path):
            return cell
        cell = _on_all(bench, _without_price(cell.setting), path, cell.noise, folds)


def _without_price(setting: Setting) -> Setting:
    return {key: value for key, value in setting.items() if key != "price"}


def _file(cache: Path, job: Job) -> Path:
    return cache / f"{job.split}-{job.name}-{job.method}.jsonl"


def _kept(cache: Path, job: Job) -> Path:
    return _file(cache, job).with_suffix(".extended.json" if job.extended else ".cells.json")


def _keep(path: Path | None, cells: list[Cell], seconds: float) -> None:
    if path is not None:
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({"cells": [own._asdict() for own in cells], "cpu": seconds}))
        fresh.replace(path)


def _stored(cache: Path, job: Job) -> tuple[list[Cell], float]:
    path = _kept(cache, job)
    if not path.exists():
        return [], 0.0
    found = json.loads(path.read_text())
    cells = [Cell(**{**own, "tests": tuple(own["tests"])}) for own in found["cells"]]
    return cells, float(found["cpu"])


def _collected(cache: Path, job: Job) -> tuple[list[Cell], float]:
    """Return what is stored; a cell that was not extended yet is that of the first run."""
    cells, seconds = _stored(cache, job)
    if not job.extended:
        return cells, seconds
    first, spent = _stored(cache, job._replace(extended=False))
    longer = {own.noise: own for own in cells}
    return [longer.get(own.noise, own) for own in first], max(seconds, spent)


def _cells(cache: Path | None, job: Job) -> list[Cell]:
    return _stored(cache, job)[0] if cache else []


def _jobs(options: Any) -> list[Job]:
    """Return what is to be done, in order: a set is whole before the next one begins."""
    if options.quick:
        return [Job(0, name, "Mease-Wyner") for name in METHODS if _wanted(name, options)]
    first = [Job(0, method, name) for name in _SETS for method in _FIRST]
    more = [Job(0, method, name) for method in _LATER for name in _SETS]
    again = [Job(split, method, name) for split in _SPLITS for method in _AGAIN for name in _SETS]
    one = len(_SETS) * len(_AGAIN)  # a second split comes before methods that no goal is about
    jobs = [*first, *again[:one], *more, *again[one:]]
    if options.extend:  # what is compared comes first
        order = [*_FIRST[1:], _FIRST[0]]
        known = [Job(0, method, name, True) for name in _SETS for method in order[:-1]]
        jobs = known + [Job(0, order[-1], name, True) for name in _SETS]
    return [job for job in jobs if _wanted(job.method, options)]


def _wanted(method: str, options: Any) -> bool:
    return not options.method or method in options.method


def run(options: Any) -> None:
    """Measure, write the tables, draw the figure."""
    noises = (0, 40) if options.quick else NOISES
    cache = None if options.quick else common.folder(options) / "figure4_cache"
    if cache is not None:
        cache.mkdir(exist_ok=True)
    jobs = _jobs(options)
    done: dict[Job, tuple[list[Cell], float]] = {}
    if cache is not None and options.collect:
        done = {job: _collected(cache, job) for job in jobs}
    else:
        one = partial(work, noises=noises, quick=options.quick, cache=cache, seed=options.seed)
        with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
            for job, found in zip(jobs, pool.map(one, jobs), strict=True):
                done[job] = found
                _say(job, *found)
    cells = [own for measured, _ in done.values() for own in measured]
    seconds = {(job.name, job.method, job.split): spent for job, (_, spent) in done.items()}
    write_tables(cells, seconds, options, "_extended" if options.extend else "")


def _say(job: Job, cells: list[Cell], seconds: float) -> None:
    errors = "  ".join(f"{np.mean(own.tests):.2f}" for own in cells)
    print(
        f"{job.split} {job.name:<14} {job.method:<13} {errors}   ({seconds:.0f} CPU s)", flush=True
    )


def _reduced(method: Method) -> Method:
    return Method(
        method.name,
        method.settings[:: max(1, len(method.settings) // 3)],
        method.path[:3],
        method.fit,
        method.annealed,
    )
