"""Moments: against the paper's sum over pairs, and against the machine's matrix product.

The pairwise route costs O(m² n); it is timed on a subset of the rows and extrapolated by m².
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.common import best_time, data_file, dgemm_rate, options, peak_memory, row
from qcompile import fit_loss, from_arrays, moments_of, read
from qcompile.stages.dataset import Dataset

_NARROW = 0.05  # a range that needs no search: the fit alone is measured


def pairwise_seconds(data: Dataset, rows: int) -> float:
    """Time the paper's formula on some rows, in blocks so that it needs little memory."""
    x = data.x[:rows]
    z = (x.toarray() if hasattr(x, "toarray") else x) * data.y[:rows, None]
    start = time.perf_counter()
    sigma = np.linalg.norm(z, axis=1)
    unit, totals = z / sigma[:, None], np.zeros(5)
    for first in range(0, len(z), 500):
        rho = unit[first : first + 500] @ unit.T
        a, b = sigma[first : first + 500, None], sigma[None, :]
        totals += [
            (rho * (a + b)).sum(),
            (rho * (3 - rho**2) * (a**3 + b**3)).sum(),
            (3 * rho * a * b * (a**2 + b**2)).sum(),
            (rho * a * b).sum(),
            (3 * rho * (3 + 2 * rho**2) * a**3 * b**3).sum(),
        ]
    seconds = time.perf_counter() - start
    if not np.isfinite(totals).all():
        raise SystemExit("the sum over pairs is not finite")
    return seconds


def cubic_fit(path: str, positive: float | None) -> None:
    """Read a file and fit the cubic, for the measurement of memory."""
    fit_loss(moments_of(read(path, positive=positive), 3), weight_range=_NARROW)


def against_pairs(name: str, data: Dataset, subset: int, repeat: int) -> None:
    """Fit the cubic by moments and by pairs."""
    ours = best_time(lambda: fit_loss(moments_of(data, 3), weight_range=_NARROW), repeat)
    pairs = pairwise_seconds(data, subset) * (len(data) / min(subset, len(data))) ** 2
    row(f"{name} {len(data)} x {data.features}, cubic fit", moments_s=ours, pairs_s=pairs,
        pairs_from_rows=min(subset, len(data)), times_faster=pairs / ours)  # fmt: skip


def against_dgemm(name: str, data: Dataset, repeat: int) -> None:
    """Take third-degree moments (both tensors of the fit) and compare with one dgemm's flops."""
    rate = dgemm_rate()
    n = data.features
    flops = 2 * len(data) * n * n * (n + 1) / 2
    ours = best_time(lambda: moments_of(data, 3), repeat)
    row(f"{name} {len(data)} x {n}, degree 3", seconds=ours, dgemm_s=flops / rate,
        dgemm_gflops=rate / 1e9, ratio=ours * rate / flops)  # fmt: skip


def main() -> None:
    """Run on adult9 and covertype, or on small synthetic data."""
    chosen = options(__doc__)
    if chosen.tiny:
        data = read("synthetic:examples=2000")
        against_pairs("synthetic", data, 500, 1)
        against_dgemm("synthetic", data, 1)
        return
    for name, positive in (("adult9", None), ("covtype", 1.0)):
        path: Path | None = data_file(name)
        if path is None:
            continue
        data = read(path, positive=positive)
        against_pairs(name, data, 10_000, chosen.repeat)
        against_dgemm(name, data, chosen.repeat)
        against_dgemm(f"{name} as dense rows", from_arrays(data.x.toarray(), data.y), chosen.repeat)
        row(
            f"{name}, reading and fitting",
            peak_GB=peak_memory(cubic_fit, str(path), positive) / 1e9,
        )


if __name__ == "__main__":
    main()
