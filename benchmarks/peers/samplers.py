"""Samplers side by side: time until the same lowest energy is reached with 99% probability."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.anneal_bench import Runs, instance, neal, openjij, ours, tuned
from qcompile import Pubo, solve

__all__ = ["samplers"]


def _qubovert(pubo: Pubo, sweeps: int, reads: int) -> Runs | None:
    """qubovert's annealer of polynomials, or None where it is not installed."""
    try:
        from qubovert import sim
    except ImportError:
        return None
    terms = {term: value for term, value in pubo.to_dict().items() if term}
    start = time.perf_counter()
    answer = sim.anneal_pubo(terms, num_anneals=reads, anneal_duration=sweeps, seed=1)
    seconds = time.perf_counter() - start
    return seconds, np.array([result.value for result in answer]) + pubo.constant


def samplers(*, quick: bool) -> list[dict[str, Any]]:
    """Return a row for each size and sampler, sweeps tuned on the same grid."""
    grid = (50,) if quick else (25, 100, 400, 1000)
    ours(instance(6, 0), 5, 2)  # compiles the kernels
    rows = []
    for bits in (10,) if quick else (20, 30, 60):
        reads = 20 if quick else 100
        problems = [instance(bits, seed) for seed in range(1 if quick else 3)]
        targets = [float(solve(p, reads=2000, sweeps=400, keep=1).energies[0]) for p in problems]
        runs: dict[str, Any] = {
            "qcompile": ours,
            "OpenJij, its temperatures": partial(openjij, own_betas=True),
            "OpenJij, our temperatures": partial(openjij, own_betas=False),
            "qubovert": _qubovert,
        }
        if bits <= 30:  # beyond, its time to target is no longer measurable
            runs["neal on the QUBO"] = neal
        mine = math.nan
        for name, run in runs.items():
            own_grid = (1000,) if run is neal and not quick else grid
            found = tuned(run, problems, targets, own_grid, reads)
            if found is None:
                continue
            mine = found if name == "qcompile" else mine
            rows.append(
                {"bits": bits, "sampler": name, "seconds": found, "times_qcompile": found / mine}
            )
            print(f"complete cubic, N={bits}: {name:<26} {found:.3g} s ({found / mine:.3g}x)",
                  flush=True)  # fmt: skip
    return rows
