"""Figure 4: test error against label noise, six data sets, eight methods, ten folds.

Cheap first. All settings of a method are tried on some rows of one fold at the lowest and the
highest noise; the best of both go on, at every noise, on more rows of two folds; the four best of
these are run on three folds with a longer search, and the one with the least mean validation error
on all ten, which are reported. Stages and efforts are the same for all annealed methods. Every
single fit is written to a cache as it is done, so that an interrupted run goes on; sets run side by
side.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from qcompile import Dataset
from qcompile.runtime.threads import cores

from . import common
from .methods import METHODS, Effort, Method, Setting
from .sets import FOLDS, NOISES, SETS, cut, load

__all__ = ["run"]

# Reads, sweeps and rows at most of the three stages.
_SCREEN, _SECOND, _FINAL = Effort(3, 40, 8_000), Effort(3, 50, 40_000), Effort(12, 50, 40_000)
_BY_NOISE, _FINALISTS, _SOME_FOLDS = 6, 4, 3


class Bench:
    """Fits, each done once, with what they cost."""

    def __init__(self, cache: Path | None, seed: int) -> None:
        self._cache, self._seed = cache, seed
        self._known: dict[str, dict[str, Any]] = {}
        self._counted: set[str] = set()
        self.seconds = 0.0
        if cache is not None:
            cache.parent.mkdir(exist_ok=True)
        if cache is not None and cache.exists():
            for line in cache.read_text().splitlines():
                entry = json.loads(line)
                self._known[entry["key"]] = entry

    def errors(
        self, data: Dataset, name: str, method: Method, setting: Setting, noise: int, fold: int,
        effort: Effort,
    ) -> tuple[float, float]:  # fmt: skip
        """Return the validation and the test error of one fit, in percent."""
        what = [name, method.name, setting, noise, fold, effort.reads, effort.sweeps, effort.rows]
        key = json.dumps([*what, self._seed])
        if key not in self._known:
            began = time.process_time()
            part = cut(data, noise, fold, rows=effort.rows, seed=self._seed)
            with threadpool_limits(1):  # threads that wait for each other would be counted
                weights = method.fit(part, setting, effort)[None]
            errors = [100 * float(d.errors(weights)[0]) for d in (part.validation, part.test)]
            seconds = time.process_time() - began
            self._known[key] = {"key": key, "errors": errors, "seconds": seconds}
            if self._cache is not None:
                with self._cache.open("a") as stream:
                    stream.write(json.dumps(self._known[key]) + "\n")
        entry = self._known[key]
        if key not in self._counted:
            self._counted.add(key)
            self.seconds += entry["seconds"]
        validation, test = entry["errors"]
        return validation, test


def _ranked(
    bench: Bench, data: Dataset, name: str, method: Method, settings: Iterable[Setting], noise: int,
    folds: Iterable[int], effort: Effort,
) -> list[Setting]:  # fmt: skip
    scores = []
    for number, setting in enumerate(settings):
        errors = [bench.errors(data, name, method, setting, noise, f, effort)[0] for f in folds]
        scores.append((float(np.mean(errors)), number, setting))
    return [setting for _, _, setting in sorted(scores, key=lambda score: score[:2])]


def _one(
    bench: Bench, data: Dataset, name: str, method: Method, noises: tuple[int, ...], folds: int
) -> list[dict[str, Any]]:
    """Return a row for each noise: errors over the folds, and the setting that was chosen."""
    began = bench.seconds
    settings: list[Setting] = []
    for noise in (noises[0], noises[-1]):
        best = _ranked(bench, data, name, method, method.settings, noise, (0,), _SCREEN)
        settings += [setting for setting in best[:_BY_NOISE] if setting not in settings]
    rows = []
    for noise in noises:
        best = _ranked(bench, data, name, method, settings, noise, (1, 2), _SECOND)
        some = range(min(_SOME_FOLDS, folds))
        setting = _ranked(bench, data, name, method, best[:_FINALISTS], noise, some, _FINAL)[0]
        errors = [
            bench.errors(data, name, method, setting, noise, fold, _FINAL) for fold in range(folds)
        ]
        validation, test = np.array(errors).T
        rows.append(
            {
                "dataset": name,
                "method": method.name,
                "label_noise_percent": noise,
                "test_error_percent": round(float(test.mean()), 4),
                "error_bar_percent": round(float(test.std()), 4),
                "validation_error_percent": round(float(validation.mean()), 4),
                "setting": " ".join(f"{k}={v:g}" for k, v in setting.items()),
            }
        )
    for row in rows:
        row["cpu_seconds"] = round((bench.seconds - began) / len(rows), 2)
    return rows


def run(options: Any) -> None:
    """Measure, write the table, draw the figure."""
    quick = options.quick
    names = ("Mease-Wyner",) if quick else SETS
    noises = (0, 40) if quick else NOISES
    methods = [m for m in METHODS.values() if not options.method or m.name in options.method]
    folder = None if quick else common.folder(options) / "figure4_cache"
    one_set = partial(
        _all_methods, methods=[m.name for m in methods], noises=noises, quick=quick, cache=folder,
        seed=options.seed,
    )  # fmt: skip
    workers = min(cores(), len(names))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(one_set, names))
    rows = [row for part, _ in parts for row in part]
    seconds = sum(spent for _, spent in parts)
    known = {(r["dataset"], r["method"], int(r["label_noise_percent"])): r for r in _facts()}
    for row in rows:
        fact = known.get((row["dataset"], row["method"], row["label_noise_percent"]), {})
        row["paper_test_error_percent"] = fact.get("test_error_percent", "")
        row["paper_error_bar_percent"] = fact.get("error_bar_percent", "")
    common.write_csv("figure4", rows, options)
    print(f"CPU seconds of all fits: {seconds:.0f}")
    print(verdict(rows))
    _draw(rows, options)


def _all_methods(
    name: str, methods: list[str], noises: tuple[int, ...], quick: bool, cache: Path | None,
    seed: int,
) -> tuple[list[dict[str, Any]], float]:  # fmt: skip
    """Run all methods on one set; gives rows and CPU seconds."""
    data = load(name)
    if data is None:
        return [], 0.0
    bench = Bench(cache and cache / f"{name}.jsonl", seed)
    rows: list[dict[str, Any]] = []
    for method in map(METHODS.__getitem__, methods):
        chosen = _reduced(method) if quick else method
        rows += _one(bench, data, name, chosen, noises, 2 if quick else FOLDS)
        _say(rows, name, method.name)
    return rows, bench.seconds


def _facts() -> list[dict[str, str]]:
    return common.facts("figure4_test_error")


def _reduced(method: Method) -> Method:
    return Method(
        method.name,
        method.settings[:: max(1, len(method.settings) // 3)],
        method.fit,
        method.annealed,
    )


def _say(rows: list[dict[str, Any]], name: str, method: str) -> None:
    found = [r for r in rows if (r["dataset"], r["method"]) == (name, method)]
    errors = "  ".join(f"{r['test_error_percent']:.2f}" for r in found)
    seconds = sum(r["cpu_seconds"] for r in found)
    print(f"{name:<14} {method:<13} {errors}   ({seconds:.0f} CPU s)", flush=True)


def verdict(rows: list[dict[str, Any]]) -> str:
    """Count the cells of sixth order at or below the paper's error, within its error bar."""
    ours = [r for r in rows if r["method"] == "sixth-order" and r["paper_test_error_percent"] != ""]
    good = [
        r
        for r in ours
        if r["test_error_percent"]
        <= float(r["paper_test_error_percent"]) + float(r["paper_error_bar_percent"])
    ]
    return f"sixth order at or below the paper's error bar in {len(good)} of {len(ours)} cells"


def _draw(rows: list[dict[str, Any]], options: Any) -> None:
    plt = common.pyplot()
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = plt.subplots(
        -(-len(names) // 2), min(2, len(names)), squeeze=False, figsize=(10, 12)
    )
    for axis, name in zip(axes.ravel(), names, strict=False):
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [r for r in rows if (r["dataset"], r["method"]) == (name, method)]
            noise = [r["label_noise_percent"] for r in own]
            line = axis.errorbar(
                noise,
                [r["test_error_percent"] for r in own],
                [r["error_bar_percent"] for r in own],
                label=method,
                capsize=2,
                marker="o",
                markersize=3,
            )
            paper = [
                (r["label_noise_percent"], float(r["paper_test_error_percent"]))
                for r in own
                if r["paper_test_error_percent"] != ""
            ]
            if paper and method == "sixth-order":
                axis.plot(
                    *zip(*paper, strict=True),
                    "x--",
                    color=line[0].get_color(),
                    label="sixth-order, paper",
                )
        axis.set(title=name, xlabel="label noise in %", ylabel="test error in %")
        axis.grid(alpha=0.3)
    for axis in axes.ravel()[len(names) :]:
        axis.set_visible(False)
    axes.ravel()[0].legend(fontsize=7)
    common.save_figure(figure, "figure4", options)
