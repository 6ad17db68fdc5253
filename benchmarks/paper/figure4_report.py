"""Figure 4 as a section of RESULTS.md: every count is made from the CSV files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .agreement import Paired, best_convex, folds_of, paired, within_bar, within_two_samples

__all__ = ["figure4_section", "second_run"]

Rows = list[dict[str, str]]
Place = tuple[str, int]
Folds = dict[tuple[str, Place], list[float]]
Table = Callable[[Sequence[str], Sequence[Sequence[object]]], str]
_REAL = ("covertype", "mushrooms", "adult9", "web8")
_CELLS = 30
_HIGH = (30, 40)


def figure4_section(rows: Rows, folds: Rows, seconds: Rows, notes: str, table: Table) -> str:
    """Return the section, or nothing if Figure 4 was not measured."""
    if not rows:
        return ""
    own = folds_of(folds)
    parts = [
        "## Figure 4: test error against label noise",
        "![figure 4](figure4.png)",
        "How it was measured, and what was fixed before, is in [PROTOCOL.md](../PROTOCOL.md).",
        _goals(rows, own, seconds),
        _sixth(rows, table),
        _rounds(rows, table),
        _against_convex(own, table),
        _splits(folds, table),
        _all_methods(rows, table),
        notes,
    ]
    return "\n\n".join(part for part in parts if part)


def second_run(rows: Rows, folds: Rows, seconds: Rows, first: Rows, table: Table) -> str:
    """Return the section of the second run, or nothing if there was none."""
    if not rows:
        return ""
    own = folds_of(folds)
    before = {(row["method"], *_place(row)): row for row in first}
    lines = []
    for method in ("sixth-order", "rounds"):
        for row in _sixth_of_paper(rows, method):
            key = method, *_place(row)
            if key in before and before[key]["setting"] != row["setting"]:
                lines.append(
                    [
                        row["dataset"], row["label_noise_percent"], method, _error(before[key]),
                        _error(row), _error(row, "paper_"), _yes(within_bar(row)),
                        _yes(within_two_samples(row)), row["setting"],
                    ]
                )  # fmt: skip
    names = [
        "set", "noise %", "method", "first run", "second run", "paper's sixth order",
        "mean and bar", "two samples", "setting",
    ]  # fmt: skip
    parts = [
        "### A second run: paths that do not end at the best price",
        "What was changed after the test errors of the first run had been seen, and why, is at the "
        "end of [PROTOCOL.md](../PROTOCOL.md). Cells of methods that were not run again are those "
        "of the first run.",
        _goals(rows, own, seconds),
        "Cells of sixth order and of the rounds that changed:\n\n" + table(names, lines),
        _against_convex(own, table, "#### "),
    ]
    return "\n\n".join(part for part in parts if part)


def _of(rows: Rows, method: str) -> Rows:
    return [row for row in rows if row["method"] == method and row["label_noise_percent"]]


def _place(row: dict[str, str]) -> Place:
    return row["dataset"], int(row["label_noise_percent"])


def _sixth_of_paper(rows: Rows, method: str) -> Rows:
    """Return the rows of a method, with the paper's sixth order as the paper's figures."""
    paper = {_place(row): row for row in _of(rows, "sixth-order")}
    names = ("paper_test_error_percent", "paper_error_bar_percent")
    return [
        {**row, **{name: paper[_place(row)][name] for name in names}}
        for row in _of(rows, method)
        if _place(row) in paper
    ]


def _goals(rows: Rows, folds: Folds, seconds: Rows) -> str:
    lines = []
    for method, goal in (("sixth-order", 24), ("rounds", 26)):
        own = _sixth_of_paper(rows, method)
        bar, two = sum(map(within_bar, own)), sum(map(within_two_samples, own))
        name = "Sixth order" if method == "sixth-order" else "Rounds"
        lines.append(
            f"- {name} at or below the paper's sixth order: **{bar} of {len(own)}** cells by the "
            f"paper's mean and bar (goal: {goal} of {_CELLS}), **{two}** by two samples."
        )
    lines += _own_in_paper(rows)
    compared = _compared(folds)
    good = [place for place, (_, found) in compared.items() if found.no_worse]
    lines.append(
        f"- Rounds at or below the best convex method of the same run, within one standard error: "
        f"**{len(good)} of {len(compared)}** cells (goal: {_CELLS} of {_CELLS})."
    )
    high = {p: found for p, (_, found) in compared.items() if p[0] in _REAL and p[1] in _HIGH}
    clear = [place for place, found in high.items() if found.clearly_better]
    lines.append(
        f"- Clearly better than it on real sets at 30% and 40% noise: **{len(clear)} of "
        f"{len(high)}** cells (goal: 8 of 8)."
    )
    spent = sum(float(row["cpu_seconds"]) for row in seconds)
    lines.append(
        f"- All fits of all methods and splits took {spent:,.0f} CPU seconds ({spent / 3600:.2f} "
        "hours; goal: 1.5; the paper: over 100,000)."
    )
    return "\n".join(lines)


def _own_in_paper(rows: Rows) -> list[str]:
    """Return a line for each other searched method that the paper has; no goal is about them."""
    lines = []
    for method in ("q-loss", "0-1"):
        own = _of(rows, method)
        bar, two = sum(map(within_bar, own)), sum(map(within_two_samples, own))
        if own:
            lines.append(
                f"- {method} at or below the paper's {method}: **{bar} of {len(own)}** cells by "
                f"mean and bar, **{two}** by two samples (no goal)."
            )
    return lines


def _compared(folds: Folds) -> dict[Place, tuple[str, Paired]]:
    found: dict[Place, tuple[str, Paired]] = {}
    for (method, place), errors in folds.items():
        if method == "rounds":
            best = best_convex(folds, place)
            if best is not None:
                found[place] = best, paired(errors, folds[best, place])
    return found


def _yes(held: bool) -> str:
    return "yes" if held else "**no**"


def _error(row: dict[str, str], kind: str = "") -> str:
    mean, bar = (float(row[f"{kind}{n}_percent"]) for n in ("test_error", "error_bar"))
    return f"{mean:.2f} ± {bar:.2f}"


def _sixth(rows: Rows, table: Table) -> str:
    lines = [
        [
            row["dataset"], row["label_noise_percent"], _error(row), _error(row, "paper_"),
            _yes(within_bar(row)), _yes(within_two_samples(row)), row["setting"],
        ]
        for row in _of(rows, "sixth-order")
    ]  # fmt: skip
    names = ["set", "noise %", "ours", "paper", "mean and bar", "two samples", "setting"]
    return "### Sixth order against the paper\n\n" + table(names, lines)


def _rounds(rows: Rows, table: Table) -> str:
    known = {(row["method"], _place(row)): row for row in rows}
    lines: list[list[object]] = []
    for row in _sixth_of_paper(rows, "rounds"):
        place = _place(row)
        others = []
        for name in ("q-loss", "0-1"):
            other = _paper_of(name, place)
            others.append(other)
        own = known.get(("liblinear", place))
        lines.append(
            [
                *place, _error(row), _error(row, "paper_"), *others,
                f"{float(own['test_error_percent']):.2f}" if own else "",
                _yes(within_bar(row)), _yes(within_two_samples(row)), row["setting"],
            ]
        )  # fmt: skip
    if not lines:
        return ""
    names = [
        "set", "noise %", "rounds", "paper's sixth order", "paper's q-loss", "paper's 0-1",
        "liblinear, same run", "mean and bar", "two samples", "setting",
    ]  # fmt: skip
    return "### Rounds against the paper\n\n" + table(names, lines)


def _paper_of(method: str, place: Place) -> str:
    from . import common

    for fact in common.facts("figure4_test_error"):
        same = fact["dataset"], int(fact["label_noise_percent"])
        if fact["method"] == method and same == place:
            return f"{float(fact['test_error_percent']):.2f}"
    return ""


def _against_convex(folds: Folds, table: Table, level: str = "### ") -> str:
    lines = []
    for place, (best, found) in _compared(folds).items():
        high = place[0] in _REAL and place[1] in _HIGH
        lines.append(
            [
                *place,
                f"{np.mean(folds['rounds', place]):.2f}",
                f"{np.mean(folds[best, place]):.2f} ({best})",
                f"{found.difference:+.3f} ± {found.standard_error:.3f}",
                _yes(found.no_worse),
                f"{found.p:.3f}",
                _yes(found.clearly_better) if high else "",
            ]
        )
    if not lines:
        return ""
    names = [
        "set", "noise %", "rounds", "best convex", "difference over folds",
        "within one standard error", "p, corrected", "clearly better",
    ]  # fmt: skip
    return (
        f"{level}Rounds against the best convex method of the same run\n\n"
        "The difference is the mean over ten folds ± its standard error; p is that of the paired, "
        "one-sided t-test with the correction of Nadeau and Bengio.\n\n" + table(names, lines)
    )


def _splits(folds: Rows, table: Table) -> str:
    splits = sorted({int(row["split"]) for row in folds})
    if len(splits) < 2:
        return ""
    by_split = {split: folds_of(folds, split) for split in splits}
    lines: list[list[object]] = []
    for key in by_split[0]:
        means = [by_split[s].get(key) for s in splits]
        if sum(own is not None for own in means) > 1:
            shown = [f"{np.mean(own):.2f}" if own else "" for own in means]
            values = [float(np.mean(own)) for own in means if own]
            method, place = key
            lines.append([*place, method, *shown, f"{max(values) - min(values):.2f}"])
    if not lines:
        return ""
    lines.sort(key=lambda line: str(line[2]))
    names = ["set", "noise %", "method", *(f"split {s}" for s in splits), "largest difference"]
    return (
        "### Several splits\n\nTest error in % for other shuffles of the rows; the setting is that "
        "of split 0.\n\n" + table(names, lines)
    )


def _all_methods(rows: Rows, table: Table) -> str:
    noises = sorted({int(row["label_noise_percent"]) for row in rows})
    parts = ["### All methods, test error in % (paper in brackets)"]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for name in dict.fromkeys(row["dataset"] for row in rows):
        own = {
            (r["method"], int(r["label_noise_percent"])): r for r in rows if r["dataset"] == name
        }
        lines = [
            [method, *(_with_paper(own.get((method, noise))) for noise in noises)]
            for method in methods
            if any((method, noise) in own for noise in noises)
        ]
        parts.append(table([name, *(f"{noise}%" for noise in noises)], lines))
    return "\n\n".join(parts)


def _with_paper(row: dict[str, str] | None) -> str:
    if row is None:
        return ""
    paper = row["paper_test_error_percent"]
    return f"{float(row['test_error_percent']):.2f}" + (f" ({paper})" if paper else "")
