"""Time to the optimum on problems of others: ``python -m benchmarks.labs [--tiny]``.

Low autocorrelation binary sequences, 3-regular 3-XORSAT, random 4-SAT, independent sets of
hypergraphs and compiled trainings, through `qcompile.ocean.PuboSampler` and beside OpenJij,
qubovert and dwave-samplers (`pip install -e '.[bench]'`). Writes CSV files and RESULTS.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import report
from .problems import Problem, compiled, four_sat, independent_set, labs, xorsat
from .samplers import beside, ours

_HERE = Path(__file__).parent
# Lengths with other samplers beside, and how many runs the longer ones are worth.
_BESIDE = (20, 28, 32)
_RUNS = {37: 25, 40: 25, 44: 8, 50: 6}


def main() -> None:
    """Run all parts, or with --tiny one small problem of each family."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labs", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a tiny case")
    parser.add_argument("--part", choices=("all", *report.PARTS, "report"), default="all")
    parser.add_argument("--budget", type=float, default=2.0, help="CPU seconds for a setting (2)")
    parser.add_argument("--output", metavar="FOLDER", help="where results go")
    options = parser.parse_args()
    folder = Path(options.output) if options.output else _HERE / "results"
    folder.mkdir(parents=True, exist_ok=True)
    budget = 0.05 if options.tiny else options.budget
    parts = {"sequences": _sequences, "families": _families}
    for part, run in parts.items():
        if options.part in ("all", part):
            _write(folder / f"{part}.csv", list(run(options.tiny, budget)))
    report.write(folder)


def _sequences(tiny: bool, budget: float) -> Iterator[dict[str, Any]]:
    """Every length up to 32, and some longer ones."""
    runs = dict.fromkeys((8, 12), 3) if tiny else dict.fromkeys(range(3, 33), 50) | _RUNS
    for length, count in runs.items():
        problem = labs(length)
        for solver in ("auto", "memetic") if length in (*_BESIDE, 40) else ("auto",):
            yield _row(problem, asdict(ours(problem, solver, count)))
        if length in (_BESIDE if not tiny else (8,)):
            yield from (_row(problem, asdict(one)) for one in beside(problem, budget))


def _families(tiny: bool, budget: float) -> Iterator[dict[str, Any]]:
    """Some problems of each of the other families."""
    for problem in _tiny_problems() if tiny else _problems():
        for solver in ("auto",) if tiny else ("auto", "memetic", "anneal"):
            yield _row(problem, asdict(ours(problem, solver, 3 if tiny else 20)))
        yield from (_row(problem, asdict(one)) for one in beside(problem, budget))


def _tiny_problems() -> Iterator[Problem]:
    yield xorsat(8, 1)
    yield four_sat(8, 4, 1)
    yield independent_set(8, 12, 1)
    yield compiled(3, 3, 2)


def _problems() -> Iterator[Problem]:
    yield xorsat(32, 1)
    yield four_sat(40, 8.5, 1)
    for seed in (1, 2):
        yield xorsat(48, seed)
        yield four_sat(80, 8.5, seed)
        yield independent_set(60, 300, seed)
    yield compiled(3, 6, 4)
    yield compiled(6, 6, 3)


def _row(problem: Problem, timing: dict[str, Any]) -> dict[str, Any]:
    row = {
        "family": problem.family,
        "problem": problem.name,
        "variables": problem.variables,
        "terms": len([term for term in problem.terms if term]),
        "target": problem.target,
        "known": problem.known,
        **timing,
    }
    print(
        "  ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()), flush=True
    )
    return row


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    print(f"written {path}")


if __name__ == "__main__":
    main()
