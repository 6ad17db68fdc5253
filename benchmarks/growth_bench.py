"""How time and memory grow with rows, features, bits and order; fitted exponents.

Compiling one polynomial: rows come in blocks, as from a file, and after the moments nothing depends
on their number. Training in rounds: all rows are held, and each round goes over them.
"""

from __future__ import annotations

import csv
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import options, peak_memory, row
from qcompile import Dataset, discretize, fit_loss, from_arrays, moments_of, quadratize, train

STAGES = ("moments", "loss", "pubo", "qubo")
_BLOCK = 100_000
Case = dict[str, int]


def block(rows: int, features: int) -> Dataset:
    """Dense normal features, labels of a noisy line."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features))
    y = np.where(x.sum(axis=1) + rng.normal(size=rows) > 0, 1.0, -1.0)
    return from_arrays(x, y)


def blocks(rows: int, features: int) -> Iterator[Dataset]:
    """One block again and again: making rows is not what is measured."""
    whole = block(min(rows, _BLOCK), features)
    yield from itertools.repeat(whole, max(1, rows // _BLOCK))


def stages(case: Case) -> dict[str, float]:
    """Seconds of each pass."""
    parts = list(blocks(case["rows"], case["features"]))
    clock = [time.perf_counter()]
    moments = moments_of(iter(parts), case["order"])
    clock.append(time.perf_counter())
    loss = fit_loss(moments, case["order"], weight_range=1.0)
    clock.append(time.perf_counter())
    pubo = discretize(moments, loss, case["bits"])
    clock.append(time.perf_counter())
    quadratize(pubo)
    clock.append(time.perf_counter())
    return dict(zip(STAGES, np.diff(clock).tolist(), strict=True))


def best_stages(case: Case, repeat: int) -> dict[str, float]:
    """Least seconds of each pass over several runs."""
    runs = [stages(case) for _ in range(repeat)]
    return {stage: min(run[stage] for run in runs) for stage in STAGES}


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope of the upper half in a double logarithmic plot, where constants no longer matter."""
    half = min(len(sizes) // 2, len(sizes) - 2)
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def grow(name: str, sizes: list[int], case: Case, repeat: int) -> list[dict[str, Any]]:
    """Vary one size; print a line for each, then the exponents."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        own = {**case, name: size}
        seconds = best_stages(own, repeat)
        memory = peak_memory(stages, own) / 1e6
        rows.append({"varied": name, **own, **seconds, "peak_MB": memory})
        row(f"{name} {size:,}", **seconds, peak_MB=memory)
    fitted = {s: exponent(sizes, [float(r[s]) for r in rows]) for s in STAGES}
    base = min(float(r["peak_MB"]) for r in rows)
    above = [max(1.0, float(r["peak_MB"]) - base) for r in rows]
    row(f"exponents in {name}", **fitted, memory=exponent(sizes, above))
    return rows


def trained(case: Case) -> dict[str, float]:
    """Seconds of a training in rounds, and of one of its rounds."""
    data = block(case["rows"], case["features"])
    began = time.perf_counter()
    found = train(data, seed=0)
    seconds = time.perf_counter() - began
    return {"train": seconds, "a_round": seconds / max(1, len(found.rounds))}


def grow_rounds(name: str, sizes: list[int], case: Case) -> list[dict[str, Any]]:
    """Vary one size of a training in rounds; print a line for each, then the exponents."""
    rows: list[dict[str, Any]] = []
    for size in sizes:
        own = {**case, name: size}
        seconds, memory = trained(own), peak_memory(trained, own) / 1e6
        rows.append({"varied": name, **own, **seconds, "peak_MB": memory})
        row(f"rounds, {name} {size:,}", **seconds, peak_MB=memory)
    fitted = {s: exponent(sizes, [float(r[s]) for r in rows]) for s in ("train", "a_round")}
    row(f"exponents in {name}", **fitted)
    return rows


def write(rows: list[dict[str, Any]], name: str) -> None:
    """Write lines as CSV into the folder of results."""
    path = Path(__file__).parent / "results" / name
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in r.items()} for r in rows
        )
    print(f"written {path}")


def main() -> None:
    """Vary rows, features, bits, and features at order 6; rows and features of rounds."""
    chosen = options(__doc__)
    repeat = 1 if chosen.tiny else chosen.repeat
    usual = {"rows": 10_000, "features": 20, "bits": 4, "order": 3}
    stages({**usual, "rows": 100, "features": 4})  # compiles the kernels
    trained({"rows": 100, "features": 4})
    sixth = {**usual, "bits": 1, "order": 6}
    stages({**sixth, "rows": 100, "features": 4})
    if chosen.tiny:
        grow("rows", [100, 1000], {**usual, "features": 4}, repeat)
        grow_rounds("rows", [100, 1000], {"rows": 0, "features": 4})
        return
    rows = grow("rows", [10**k for k in range(3, 8)], usual, repeat)
    rows += grow("features", [10, 20, 40, 60, 80, 100], usual, repeat)
    rows += grow("bits", [1, 2, 4, 6, 8], usual, repeat)
    rows += grow("features", [8, 10, 12, 14, 16, 18], sixth, 1)
    write(rows, "growth.csv")
    in_rounds = grow_rounds("rows", [10**k for k in range(3, 7)], {"rows": 0, "features": 20})
    many = {"rows": 10_000, "features": 0}
    in_rounds += grow_rounds("features", [10, 30, 100, 300], many)
    write(in_rounds, "growth_rounds.csv")


if __name__ == "__main__":
    main()
