"""RESULTS.md from the CSV files; what holds of the goals first."""

from __future__ import annotations

import csv
import math
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["PARTS", "write"]


PARTS = ("sequences", "families")
Rows = list[dict[str, str]]
_RIVAL = "OpenJij sample_hubo"
# Seconds within which the optimum of a length is to be found in 99% of the runs.
_GOALS = {32: 0.2, 40: 2.0, 50: 60.0}

_HEAD = """# Time to the optimum on problems of others

Made by `python -m benchmarks.labs`; this page is written from the CSV files beside it. `t99` are
CPU seconds of one thread until the target is reached with 99% probability. Ours are whole calls of
`PuboSampler.sample_poly`, preparation included, until the target is met: the shortest of the runs
and 4.6 times the mean of what the others take beyond it, with the 95% interval of an exponential
distribution. Those of the others are of their calls, at the best of their settings: what a call
takes without reads, and the time of as many reads as are needed, with the exact 95% interval of the
share of reads that reach the target. `auto` is what PuboSampler does by default; it is not tuned.
OpenJij runs 100 and 1,000 sweeps, with its own temperatures and with ours; qubovert the same
sweeps; dwave-samplers 1,000 and 10,000 on our QUBO. Versions:
{versions}.
"""

_SEQUENCES = """## Low autocorrelation binary sequences

Goals, for our search on one core in 99% of the runs: every length up to 32 within 0.2 s, length 40
within 2 s, length 50 within a minute. The optima are those of
[facts](../facts/README.md).
"""

_FAMILIES = """## Other families

Planted 3-XORSAT in which every spin is in three equations, planted random 4-SAT, largest
independent sets of random hypergraphs with edges of three, and trainings that `compile` wrote,
without the record of their weights (with it, `auto` anneals weights).

Where OpenJij is ahead, on planted 4-SAT, the search is not what takes the time: almost every read
of either finds the target, and `read_pubo` alone takes longer than OpenJij's whole call (0.018 s
for the 3,036 terms of 80 variables in one run, a whole call of ours 0.030 s). Terms are read from a
dictionary in Python, one after the other.
"""


def write(folder: Path) -> None:
    """Write RESULTS.md from what there is."""
    parts = [_HEAD.format(versions=_versions())]
    sequences, families = (_read(folder / f"{part}.csv") for part in PARTS)
    if sequences:
        parts += [_SEQUENCES, _goals(sequences), _table(sequences)]
    if families:
        parts += [_FAMILIES, _ratios(families), _table(families)]
    path = folder / "RESULTS.md"
    path.write_text("\n".join(parts))
    print(f"written {path}")


def _read(path: Path) -> Rows:
    if not path.is_file():
        return []
    with path.open() as lines:
        return list(csv.DictReader(lines))


def _goals(rows: Rows) -> str:
    """Return a line for each goal: the worst length it is about, and whether it holds."""
    lines = [
        "| goal | worst of ours: t99 (95% interval) | longest run | holds |",
        "|---|---|---|---|",
    ]
    own = [row for row in rows if row["sampler"] == "qcompile auto"]
    for length, goal in _GOALS.items():
        up_to = length == min(_GOALS)
        about = [r for r in own if _is_about(int(r["variables"]), length, up_to)]
        if not about:
            continue
        worst = max(about, key=lambda row: float(row["t99"]))
        longest = max(float(row["longest"]) for row in about)
        what = f"every length up to {length}" if up_to else f"length {length}"
        holds = "yes" if float(worst["high"]) <= goal else "no"
        if holds == "no" and float(worst["t99"]) <= goal:
            holds = "yes, but the interval reaches beyond"
        name = f"{worst['problem']}: {_seconds(worst)}"
        lines.append(f"| {what} within {goal:g} s | {name} | {longest:.3g} s | {holds} |")
    return "\n".join(lines) + "\n"


def _is_about(variables: int, length: int, up_to: bool) -> bool:
    return variables <= length if up_to else variables == length


def _ratios(rows: Rows) -> str:
    """Return for each problem how many times as long OpenJij takes."""
    lines = ["| problem | OpenJij's t99 / ours | ahead |", "|---|---|---|"]
    for name in dict.fromkeys((row["family"], row["problem"]) for row in rows):
        of = {r["sampler"]: r for r in rows if (r["family"], r["problem"]) == name}
        if _RIVAL not in of:
            continue
        mine, rival = float(of["qcompile auto"]["t99"]), of[_RIVAL]
        reached = math.isfinite(float(rival["t99"]))
        ratio = float(rival["t99"] if reached else rival["low"]) / mine
        sign = "" if reached else "more than "
        ahead = "yes" if ratio > 1 else "no" if reached else "not known"
        lines.append(f"| {name[0]}, {name[1]} | {sign}{ratio:.3g} | {ahead} |")
    return "\n".join(lines) + "\n"


def _table(rows: Rows) -> str:
    lines = [
        "| problem | terms | target | sampler | reached it | t99 in s (95% interval) |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        target = f"{float(row['target']):.6g}, {row['known']}"
        lines.append(
            f"| {row['family']}, {row['problem']} | {row['terms']} | {target} | {row['sampler']} "
            f"| {row['hits']} of {row['runs']} | {_seconds(row)} |"
        )
    return "\n".join(lines) + "\n"


def _seconds(row: dict[str, str]) -> str:
    t99, low, high = (float(row[name]) for name in ("t99", "low", "high"))
    if math.isinf(t99):
        return f"never (above {low:.3g})"
    return f"{t99:.3g} ({low:.3g} to {'∞' if math.isinf(high) else f'{high:.3g}'})"


def _versions() -> str:
    """Return the versions of the samplers that are installed."""
    found = []
    for name in ("qcompile-anneal", "openjij", "qubovert", "dwave-samplers"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
