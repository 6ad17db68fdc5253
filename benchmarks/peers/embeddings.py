"""Embeddings side by side: the same QUBO, the same graph, the same time, several seeds."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import fmean
from typing import Any

from minorminer import busclique
from minorminer import find_embedding as minorminer_embedding

from benchmarks.quadratize_bench import complete, sparse
from qcompile import EmbeddingNotFound, Machine, Qubo, find_embedding, load_machine, quadratize

__all__ = ["embeddings"]

Chains = dict[int, Any]


def _ours(qubo: Qubo, machine: Machine, seed: int, budget: float) -> Chains:
    try:
        found = find_embedding(qubo, machine, seed=seed, time_limit=budget)
    except EmbeddingNotFound:
        return {}
    return dict(enumerate(found.chains))


def _minorminer(qubo: Qubo, machine: Machine, seed: int, budget: float) -> Chains:
    edges = list(qubo.to_bqm().quadratic)
    return dict(
        minorminer_embedding(
            edges, machine.graph, timeout=budget, random_seed=seed, tries=1000, threads=1
        )
    )


def _clique(qubo: Qubo, machine: Machine, seed: int, budget: float) -> Chains:
    return dict(busclique.busgraph_cache(machine.graph).find_clique_embedding(qubo.variables))


_METHODS: dict[str, Callable[[Qubo, Machine, int, float], Chains]] = {
    "qcompile": _ours,
    "minorminer": _minorminer,
    "minorminer's clique": _clique,
}


def embeddings(*, quick: bool, budget: float) -> list[dict[str, Any]]:
    """Return a row for each problem, machine and method: fewest qubits, number of successes."""
    problems = {f"complete cubic, N={n}": complete(n, 3) for n in ((4,) if quick else (8, 16, 20))}
    if not quick:
        problems["sparse cubic, N=40, 100 terms"] = sparse(40, 100)
    machines = ("pegasus4",) if quick else ("advantage", "advantage2")
    seeds = range(1 if quick else 3)
    rows = []
    for machine in map(load_machine, machines):
        for name, pubo in problems.items():
            qubo, ours = quadratize(pubo), 0
            for method, search in _METHODS.items():
                sizes, seconds = [], []
                for seed in seeds if search is not _clique else (0,):
                    start = time.perf_counter()
                    chains = search(qubo, machine, seed, budget)
                    seconds.append(time.perf_counter() - start)
                    if chains:
                        sizes.append(sum(len(chain) for chain in chains.values()))
                ours = min(sizes, default=0) if method == "qcompile" else ours
                best = min(sizes, default=0)
                rows.append(
                    {
                        "problem": name,
                        "machine": machine.name,
                        "method": method,
                        "qubits": best or "",
                        "times_qcompile": best / ours if best and ours else "",
                        "found": len(sizes),
                        "of": len(seconds),
                        "seconds": fmean(seconds),
                    }
                )
                print(f"{name} on {machine.name}: {method:<20} {best or 'none'} qubits, "
                      f"{fmean(seconds):.1f} s", flush=True)  # fmt: skip
    return rows
