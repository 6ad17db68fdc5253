"""The tables and the picture of Figure 4, from the cells that were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import common

__all__ = ["Cell", "write_tables"]

Rows = list[dict[str, Any]]


class Cell(NamedTuple):
    """Errors of a method on a set at one noise, in percent: a test error for each fold."""

    name: str
    method: str
    noise: int
    split: int
    tests: tuple[float, ...]
    validation: float
    setting: dict[str, Any]
    path: tuple[float, ...]


def write_tables(
    cells: Sequence[Cell],
    seconds: Mapping[tuple[str, str, int], float],
    options: Any,
    kind: str = "",
) -> None:
    """Write the means of split 0, the errors of all folds and splits, and the picture.

    The names of the files end with `kind`. If only some methods were asked for, the rows of the
    others stay as they were.
    """
    if not cells:
        print("figure4: nothing was measured")
        return
    first = [own for own in cells if own.split == 0]
    rows = _with_known(f"figure4{kind}", _means(first, seconds), options)
    common.write_csv(f"figure4{kind}", rows, options)
    folds = _with_known(f"figure4_folds{kind}", [_folds(own) for own in cells], options)
    common.write_csv(f"figure4_folds{kind}", folds, options)
    spent = [
        {"dataset": name, "method": method, "split": split, "cpu_seconds": round(value, 1)}
        for (name, method, split), value in seconds.items()
        if value
    ]
    spent = _with_known(f"figure4_seconds{kind}", spent, options)
    common.write_csv(f"figure4_seconds{kind}", spent, options)
    print(f"CPU seconds of all fits: {sum(seconds.values()):.0f}")
    _draw(rows, options, kind)


def _with_known(name: str, rows: Rows, options: Any) -> Rows:
    """Return the rows in the places of those they replace, the others of the table with them."""
    if not options.method:
        return rows
    fresh = {_key(row): row for row in rows}
    kept = [fresh.pop(_key(row), row) for row in common.read_csv(name, options)]
    return [*kept, *fresh.values()]


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("dataset", "method", "label_noise_percent", "split")
    return tuple(str(row.get(name, "")) for name in names)


def _means(cells: Sequence[Cell], seconds: Mapping[tuple[str, str, int], float]) -> Rows:
    facts = common.facts("figure4_test_error")
    known = {(r["dataset"], r["method"], int(r["label_noise_percent"])): r for r in facts}
    rows = []
    for own in cells:
        fact = known.get((own.name, own.method, own.noise), {})
        same = [c for c in cells if (c.name, c.method) == (own.name, own.method)]
        spent = seconds.get((own.name, own.method, 0), 0.0)
        rows.append(
            {
                "dataset": own.name,
                "method": own.method,
                "label_noise_percent": own.noise,
                "test_error_percent": round(float(np.mean(own.tests)), 4),
                "error_bar_percent": round(float(np.std(own.tests)), 4),
                "validation_error_percent": round(own.validation, 4),
                "setting": " ".join(f"{k}={_plain(v)}" for k, v in own.setting.items()),
                "cpu_seconds": round(spent / len(same), 2),
                "paper_test_error_percent": fact.get("test_error_percent", ""),
                "paper_error_bar_percent": fact.get("error_bar_percent", ""),
            }
        )
    return rows


def _plain(value: Any) -> str:
    return value.replace(" ", "-") if isinstance(value, str) else f"{value:g}"


def _folds(own: Cell) -> dict[str, Any]:
    return {
        "dataset": own.name,
        "method": own.method,
        "label_noise_percent": own.noise,
        "split": own.split,
        **{f"fold_{fold}": round(error, 4) for fold, error in enumerate(own.tests)},
    }


def _draw(rows: Rows, options: Any, kind: str) -> None:
    plt = common.pyplot()
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    across = min(2, len(names))
    figure, axes = plt.subplots(-(-len(names) // 2), across, squeeze=False, figsize=(10, 12))
    for axis, name in zip(axes.ravel(), names, strict=False):
        for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
            own = [r for r in rows if (r["dataset"], r["method"]) == (name, method)]
            _curve(axis, own, method, f"C{number}")
        axis.set(title=name, xlabel="label noise in %", ylabel="test error in %")
        axis.grid(alpha=0.3)
    for axis in axes.ravel()[len(names) :]:
        axis.set_visible(False)
    axes.ravel()[0].legend(fontsize=7)
    common.save_figure(figure, f"figure4{kind}", options)


def _curve(axis: Any, own: Rows, method: str, colour: str) -> None:
    noise = [int(r["label_noise_percent"]) for r in own]
    axis.errorbar(
        noise,
        [float(r["test_error_percent"]) for r in own],
        [float(r["error_bar_percent"]) for r in own],
        label=method,
        color=colour,
        capsize=2,
        marker="o",
        markersize=3,
        linewidth=2 if method in ("rounds", "sixth-order") else 1,
    )
    paper = [
        (int(r["label_noise_percent"]), float(r["paper_test_error_percent"]))
        for r in own
        if r["paper_test_error_percent"] != ""
    ]
    if paper and method == "sixth-order":
        axis.plot(*zip(*paper, strict=True), "x--", color=colour, label="sixth-order, paper")
