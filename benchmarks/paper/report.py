"""RESULTS.md: what was measured beside what the paper says, from the CSV files alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from . import common
from .figure4_report import figure4_section, second_run

__all__ = ["run"]

Rows = list[dict[str, str]]


def run(options: Any) -> None:
    """Write the page from whatever has been measured so far."""
    read = partial(common.read_csv, options=options)
    sections = [
        _INTRODUCTION,
        _qubits(read("table_qubits")),
        _datasets(read("table_datasets")),
        _figure1(read("figure1")),
        _figure2(read("figure2")),
        _FIGURE3,
        _figure4(options),
        _appendix(read("correlations"), read("convergence")),
        _causes(read("causes")),
        _floors(read("floors")),
        _beyond(options),
    ]
    path = common.folder(options) / "RESULTS.md"
    path.write_text("\n\n".join(section.strip() for section in sections if section) + "\n")
    print(f"written {path}")


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


_INTRODUCTION = """# The paper, rerun

Every table and figure is made by one command, `python -m benchmarks.paper PART` (parts: tables,
figure1, figure2, figure3, figure4, appendix, beyond, floors, causes; `all` for all), into this
folder: a CSV file and, for figures, a PNG. `--quick` runs a small case, into the folder `quick`.
This page is written from the CSV files by `python -m benchmarks.paper report`. The paper's own
numbers are in `../facts`.

Real data: `QCOMPILE_DATA` names a folder with `covtype.svm.xz`, `mushrooms.svm.xz`, `adult9.svm.xz`
(a9a and a9a.t, one after the other) and `web8.svm.xz` (w8a and w8a.t without rows that are all
zeros), svmlight text. They come from the LIBSVM data page (a9a, w8a, mushrooms) and the UCI
repository (Covertype). Without them the synthetic parts run."""


def _qubits(rows: Rows) -> str:
    if not rows:
        return ""
    table = _table(
        ["features", "bits", "paper", "estimate", "compiled from data", "proved"],
        [
            [r["features"], r["bits"], r["paper"], r["estimate"], r["compiled"], r["proved"]]
            for r in rows
        ],
    )
    return (
        "## Table: estimated qubit requirements\n\n"
        "`compiled` is the number of variables of a QUBO made from 2,000 synthetic rows; `proved` "
        "says that `verify` found structure, algebra, gates and data in order.\n\n" + table
    )


def _datasets(rows: Rows) -> str:
    if not rows:
        return ""
    pairs = [
        ("examples", "examples_paper"),
        ("dims", "dims_paper"),
        ("density_percent", "density_paper"),
        ("baseline_error_percent", "baseline_paper"),
    ]
    table = _table(
        ["set", "examples", "dims", "density %", "baseline error %", "why they differ"],
        [[r["dataset"], *(f"{r[a]} ({r[b]})" for a, b in pairs), r["why_different"]] for r in rows],
    )
    return "## Table: data summary\n\nThe paper's numbers in brackets.\n\n" + table


def _figure1(rows: Rows) -> str:
    if not rows:
        return ""
    table = _table(
        ["set", "a1", "a3", "turns at margin"],
        [
            [r["dataset"], *(f"{float(r[k]):.4f}" for k in ("a1", "a3", "turns_at_margin"))]
            for r in rows
        ],
    )
    return (
        "## Figure 1: cubic fits\n\n![figure 1](figure1.png)\n\n" + table + "\n\n"
        "Margins in units of their root mean square. The sets differ because the lengths of their "
        "rows do: scaled to equal lengths, all fits are the same."
    )


def _figure2(rows: Rows) -> str:
    if not rows:
        return ""
    noises = list(dict.fromkeys(f"{float(r['label_noise_percent']):.0f}" for r in rows))
    losses = list(dict.fromkeys(r["loss"] for r in rows))
    found = {(r["loss"], f"{float(r['label_noise_percent']):.0f}"): r for r in rows}
    parts = [
        "## Figure 2: all classifiers of nine two-bit weights",
        f"![figure 2](figure2.png)\n\n{_data_sets(rows)}",
    ]
    for name, title, shape in (
        ("error_of_lowest_percent", "Test error of the lowest state, %", "{:.1f}"),
        ("best_of_fifty_percent", "Best of the lowest fifty, %", "{:.1f}"),
        ("position_of_the_minimum", "Position of the 0-1 minimum in the spectrum", "{:.0f}"),
        ("probability_within_fifty", "Probability that it is within the first fifty", "{:.2f}"),
    ):
        lines = [
            [loss, *(shape.format(float(found[loss, noise][name])) for noise in noises)]
            for loss in losses
            if found[loss, noises[0]][name] not in ("", "nan")
        ]
        parts.append(f"{title}:\n\n" + _table(["noise %", *noises], lines))
    return "\n\n".join(parts)


def _data_sets(rows: Rows) -> str:
    """Say how many data sets the curves were averaged over."""
    counts: dict[str, list[str]] = {}
    for row in rows:
        own = counts.setdefault(f"{float(row['data_sets']):.0f}", [])
        own += [row["loss"]] if row["loss"] not in own else []
    said = [f"{count} data sets of 10,000 examples: {', '.join(o)}." for count, o in counts.items()]
    return " ".join(said) + (
        " `cubic, row by row` is the sum of every row's best cubic, which does not see the lengths "
        "of the rows; `rounds` have no grid, and no position in its spectrum."
    )


_FIGURE3 = """## Figure 3: the sixth-order loss

![figure 3](figure3.png)

All of them are one curve, stretched by ω^(-1/6): the largest difference is rounding
(`figure3.csv`)."""


def _figure4(options: Any) -> str:
    kinds = ("", "_folds", "_seconds")
    rows, folds, seconds = [common.read_csv(f"figure4{kind}", options) for kind in kinds]
    notes = Path(__file__).with_name("figure4_notes.md").read_text().strip()
    first = figure4_section(rows, folds, seconds, notes, _table)
    again = [common.read_csv(f"figure4{kind}_extended", options) for kind in kinds]
    second = second_run(again[0], again[1], again[2], rows, _table)
    return "\n\n".join(part for part in (first, second) if part)


def _appendix(correlations: Rows, convergence: Rows) -> str:
    if not correlations or not convergence:
        return ""
    first = _table(
        ["", "", "correlation"],
        [[r["one"], r["other"], f"{float(r['correlation']):.4f}"] for r in correlations],
    )
    names = [name for name in convergence[0] if name not in ("examples", "paper")]
    second = _table(
        ["examples", *(name.replace("_", " ") for name in names), "paper (cubic)"],
        [
            [r["examples"], *(f"{float(r[name]):.4f}" for name in names), r["paper"]]
            for r in convergence
        ],
    )
    return (
        "## Appendix: correlations of risks on adult9\n\n![correlations](correlations.png)\n\n"
        + first
        + "\n\n## Appendix: convergence of the cubic fit\n\n![convergence](convergence.png)\n\n"
        + second
        + "\n\nRisks are shifted and rescaled to [0, 1]; the error is the standard deviation of "
        "cubic minus 0-1 risk over 10,000 random states. The paper does not say on which rows "
        "0-1 risk is taken; both readings are given. `row by row` is the sum of every row's best "
        "cubic; `rounds` is their objective, at the size of the weights that a training ends with."
    )


def _causes(rows: Rows) -> str:
    if not rows:
        return ""
    kinds = ("rounds", "descent", "true")
    lines = [
        [
            row["dataset"], row["label_noise_percent"], f"{float(row['price']):.3g}",
            *(row[f"{what}_{kind}"] for what in (
                "objective", "noisy_rows_wrong_percent", "validation_error_percent"
            ) for kind in kinds),
        ]
        for row in rows
    ]  # fmt: skip
    names = [f"{what}, {kind}" for what in ("F", "noisy rows %", "validation %") for kind in kinds]
    return (
        "## Why rounds miss at high noise\n\n"
        "One fold: the objective F, wrong training rows with their noisy labels, and validation "
        "error of what rounds find, of what L-BFGS finds from four starts, and of the classifier "
        "of the labels before the noise. No method sees these: this is a diagnosis.\n\n"
        + _table(["set", "noise %", "price", *names], lines)
    )


def _floors(rows: Rows) -> str:
    if not rows:
        return ""
    skipped = ("dataset", "rows", "features", "proved_at_least", "best_found", "proved")
    names = [name for name in rows[0] if name not in (*skipped, "cpu_seconds")]
    lines = [
        [
            row["dataset"], row["rows"], row["features"],
            row["best_found"] if row["proved"] == "True"
            else f"{row['proved_at_least']} to {row['best_found']}",
            *(row[name] for name in names), f"{float(row['cpu_seconds']):.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    head = ["set", "rows", "columns", "least", *(name.replace("_", " ") for name in names), "CPU s"]
    return (
        "## Floors: the least training error there is\n\n"
        "Wrong training rows of linear classifiers with a constant, standardised columns. `least` "
        "is proved by integer programming (HiGHS); where two numbers stand, the proof was not over "
        "in time, and the least is between them.\n\n" + _table(head, lines)
    )


def _beyond(options: Any) -> str:
    parts = []
    for name, title in (
        ("stages", "what each stage costs (breast-cancer, 9 features and a constant, 2 bits)"),
        ("bits", "bits of a weight (breast-cancer, 10 features)"),
        ("regularisers", "ℓ0 against ℓ2 (breast-cancer, 12 features, 20% noise)"),
    ):
        rows = common.read_csv(name, options)
        if rows:
            table = _table(list(rows[0]), [list(r.values()) for r in rows])
            parts.append(f"## Beyond: {title}\n\n{table}")
    return "\n\n".join(parts)
