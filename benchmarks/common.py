"""What the benchmarks share: timing, memory, the machine's own speed, where the data are."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["best_time", "data_file", "dgemm_rate", "options", "peak_memory", "row"]


def options(description: str | None) -> argparse.Namespace:
    """Parse --tiny (a case of seconds that shows that the program still runs) and --repeat."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tiny", action="store_true", help="a tiny case")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each measurement (3)")
    return parser.parse_args()


def best_time(function: Callable[[], object], repeat: int) -> float:
    """Seconds of the fastest of several runs, after one that compiles the kernels.

    A result is let go after the clock has stopped: making it is measured, not taking it apart.
    """
    kept, times = function(), []
    for _ in range(repeat):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
        kept = result
        del result
    del kept
    return min(times)


def dgemm_rate(repeat: int = 5) -> float:
    """Floating-point operations a second of a matrix product of 2000 x 2000."""
    a = np.random.default_rng(0).random((2000, 2000))
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        a @ a
        times.append(time.perf_counter() - start)
    return 2 * 2000**3 / statistics.median(times[1:])


def data_file(name: str) -> Path | None:
    """Find a real data set, or say that it is not there."""
    folder = os.environ.get("QCOMPILE_DATA")
    path = Path(folder) / f"{name}.svm.xz" if folder else None
    if path is None or not path.is_file():
        print(f"{name}: skipped, QCOMPILE_DATA names no folder with it")
        return None
    return path


def peak_memory(function: Callable[..., Any], *arguments: object) -> float:
    """Bytes at most resident in a fresh process that calls the function, libraries included."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return float(pool.apply(_peak_of, (function, arguments)))


def _peak_of(function: Callable[..., Any], arguments: tuple[object, ...]) -> int:
    function(*arguments)
    # not getrusage: a new process inherits the largest size of the one that started it
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no peak memory in /proc/self/status")


def row(name: str, **figures: object) -> None:
    """Print one line of results."""
    shown = "  ".join(
        f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items()
    )
    print(f"{name:<34} {shown}", flush=True)
