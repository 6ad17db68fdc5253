"""Train and test every method on every case; each line is written as soon as it is known.

A case is a set, a condition and a seed. Lines that are in the CSV file are not computed again.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .conditions import CONDITIONS, damaged
from .methods import METHODS
from .sets import SETS, TEST_ROWS, TRAIN_ROWS, Split, split

__all__ = ["Case", "Line", "Plan", "measure", "read_lines", "write_lines"]


@dataclass(frozen=True)
class Case:
    """The rows that every method gets alike."""

    set: str
    condition: str
    seed: int


@dataclass(frozen=True)
class Line:
    """A line of the CSV file: what one method did in one case; errors are shares, not percent.

    `seconds` are CPU seconds of `fit` on one thread. `trouble` says why there is no error.
    """

    set: str
    condition: str
    seed: int
    method: str
    rows: int
    features: int
    baseline: float
    error: float
    seconds: float
    trouble: str = ""

    @property
    def case(self) -> Case:
        """The rows of this line."""
        return Case(self.set, self.condition, self.seed)


@dataclass(frozen=True)
class Plan:
    """What to run, on how many processes, with at most so many rows."""

    sets: tuple[str, ...]
    conditions: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    jobs: int = 1
    train_rows: int = TRAIN_ROWS
    test_rows: int = TEST_ROWS

    def cases(self) -> list[Case]:
        """Return the cases, seed after seed, so that an interrupted run has whole seeds."""
        return [
            Case(name, condition, seed)
            for seed in range(self.seeds)
            for name in self.sets
            for condition in self.conditions
        ]


def measure(plan: Plan, path: Path, again: Sequence[str] = ()) -> list[Line]:
    """Compute the lines that are missing, or of methods to compute again; return all lines."""
    planned = set(plan.cases())
    known = [
        line for line in read_lines(path) if line.method not in again or line.case not in planned
    ]
    write_lines(path, known)
    done = {(line.case, line.method) for line in known}
    missing = []
    for case in plan.cases():
        methods = tuple(m for m in plan.methods if (case, m) not in done)
        if methods:
            missing.append((case, methods))
    print(f"{len(missing)} cases to run, {len(known)} lines are there", flush=True)
    for number, lines in enumerate(_run(missing, plan), 1):
        _append(path, lines)
        known += lines
        _say(f"{number}/{len(missing)}", lines)
    write_lines(path, known)
    return known


def _run(missing: Iterable[tuple[Case, tuple[str, ...]]], plan: Plan) -> Iterator[list[Line]]:
    from joblib import Parallel, delayed

    tasks = (delayed(_one)(case, methods, plan) for case, methods in missing)
    yield from Parallel(plan.jobs, return_as="generator_unordered")(tasks)


def _one(case: Case, methods: Sequence[str], plan: Plan) -> list[Line]:
    """Run methods on one case, on one thread."""
    from threadpoolctl import threadpool_limits

    from qcompile.runtime.threads import at_most

    rows = split(case.set, case.seed, train_rows=plan.train_rows, test_rows=plan.test_rows)
    x, y = damaged(rows.x, rows.y, case.condition, name=case.set, seed=case.seed)
    with threadpool_limits(1), at_most(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: the test error tells what it costs
        return [_fitted(case, method, replace(rows, x=x, y=y), rows.baseline) for method in methods]


_warm: set[str] = set()


def _fitted(case: Case, method: str, rows: Split, baseline: float) -> Line:
    width = rows.x.shape[1]
    error, seconds, trouble = float("nan"), float("nan"), ""
    try:
        _warm_up(method)
        model = METHODS[method].make(case.seed, width)
        began = time.process_time()
        model.fit(rows.x, rows.y)
        seconds = time.process_time() - began
        error = float(np.mean(model.predict(rows.x_test) != rows.y_test))
    except Exception as problem:  # a method that fails is a result, too
        trouble = f"{type(problem).__name__}: {problem}".splitlines()[0][:200]
    return Line(
        case.set, case.condition, case.seed, method, len(rows.y), width,
        round(baseline, 6), round(error, 6), round(seconds, 4), trouble,
    )  # fmt: skip


def _warm_up(method: str) -> None:
    """Compile kernels and import modules before the clock starts, once in a process."""
    if method in _warm:
        return
    _warm.add(method)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 8))
    METHODS[method].make(0, 8).fit(x, np.where(x[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0))


def _say(number: str, lines: Sequence[Line]) -> None:
    case = lines[0].case
    shown = "  ".join(
        f"{line.method} {line.trouble or f'{100 * line.error:.1f}% {line.seconds:.2g}s'}"
        for line in lines
    )
    print(f"{number} {case.set}, {case.condition}, seed {case.seed}: {shown}", flush=True)


# --- the CSV file --------------------------------------------------------------------------

_NAMES = tuple(field.name for field in fields(Line))


def read_lines(path: Path) -> list[Line]:
    """Return the lines of a CSV file, none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [_line(row) for row in csv.DictReader(stream)]


def _line(row: dict[str, str]) -> Line:
    return Line(
        row["set"], row["condition"], int(row["seed"]), row["method"], int(row["rows"]),
        int(row["features"]), float(row["baseline"]), float(row["error"]), float(row["seconds"]),
        row["trouble"],
    )  # fmt: skip


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write lines, sorted by set, condition, seed and method in the order of their lists."""
    orders: list[list[str]] = [list(SETS), list(CONDITIONS), list(METHODS)]

    def place(line: Line) -> tuple[Any, ...]:
        names = (line.set, line.condition, line.method)
        a, b, c = (o.index(n) if n in o else -1 for o, n in zip(orders, names, strict=True))
        return a, b, line.seed, c

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_NAMES)
        writer.writerows(astuple(line) for line in sorted(lines, key=place))
    part.replace(path)


def _append(path: Path, lines: Iterable[Line]) -> None:
    with path.open("a", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(astuple(line) for line in lines)
