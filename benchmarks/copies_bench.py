"""Copies of one problem on a whole chip, ours and those of minorminer's find_multiple_embeddings.

Usage: python benchmarks/copies_bench.py [--seconds 120] [--seed 0]

The problems are the complete cubic of 8 bits on Zephyr Z12 and the complete graph of 31 variables
on Pegasus P16, without dead qubits. minorminer stops after so many seconds. Kernels are compiled
before anything is measured. All copies are judged by dwave.embedding.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
from dwave.embedding import verify_embedding
from minorminer import find_embedding
from minorminer.utils.parallel_embeddings import find_multiple_embeddings

from qcompile import Machine, Pubo, Qubo, complete_copies, find_copies, load_machine, quadratize


def complete_cubic(bits: int) -> Qubo:
    """Return the QUBO of a cubic with every term of up to 3 of its bits."""
    rng = np.random.default_rng(0)
    sets = [c for size in (1, 2, 3) for c in combinations(range(bits), size)]
    return quadratize(Pubo.from_dict(dict(zip(sets, rng.normal(size=len(sets)), strict=True))))


def _told(
    name: str,
    tool: str,
    problem: nx.Graph,
    machine: Machine,
    find: Callable[[], Iterable[Mapping[int, Any]]],
) -> None:
    """Print copies, CPU seconds and qubits of one search, after a check of all copies."""
    wall, cpu = time.monotonic(), time.process_time()
    found = list(find())
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    used = [q for copy in found for chain in copy.values() for q in chain]
    if len(used) != len(set(used)):
        raise SystemExit(f"{tool}: copies share qubits")
    for copy in found:
        verify_embedding(copy, problem, machine.graph)
    print(
        f"{name:28} {tool:12} copies {len(found):4} CPU {cpu:7.1f} s wall {wall:7.1f} s "
        f"qubits {len(used):5} of {len(machine.nodes)}",
        flush=True,
    )


def main() -> None:
    """Print two lines for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of minorminer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiny", action="store_true", help="small machines, for tests")
    options = parser.parse_args()
    small = options.tiny
    seconds = 5.0 if small else options.seconds
    bits, variables = (4, 5) if small else (8, 31)
    zephyr = load_machine("zephyr3" if small else "advantage2")
    pegasus = load_machine("pegasus4" if small else "advantage")
    find_copies(complete_cubic(4), "zephyr3", copies=2)  # compiles the kernels
    qubo = complete_cubic(bits)
    cubic = nx.Graph(zip(qubo.first.tolist(), qubo.second.tolist(), strict=True))

    def theirs(problem: nx.Graph, machine: Machine) -> Callable[[], list[Mapping[int, Any]]]:
        return lambda: find_multiple_embeddings(
            problem,
            machine.graph,
            max_num_emb=None,
            # the default embedder looks for subgraphs: chains of one qubit
            embedder=find_embedding,
            embedder_kwargs={"random_seed": options.seed, "timeout": seconds},
            one_to_iterable=True,
            timeout=seconds,
            seed=options.seed,
        )

    name = f"cubic of {bits} bits, {zephyr.name}"
    _told(
        name,
        "qcompile",
        cubic,
        zephyr,
        lambda: [copy.to_ocean() for copy in find_copies(qubo, zephyr, seed=options.seed)],
    )
    _told(name, "minorminer", cubic, zephyr, theirs(cubic, zephyr))
    name, complete = f"K{variables}, {pegasus.name}", nx.complete_graph(variables)
    _told(
        name,
        "qcompile",
        complete,
        pegasus,
        lambda: [copy.to_ocean() for copy in complete_copies(pegasus, variables)],
    )
    _told(name, "minorminer", complete, pegasus, theirs(complete, pegasus))


if __name__ == "__main__":
    main()
