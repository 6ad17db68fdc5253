"""One run of minorminer in a process of its own, which can be stopped at any time.

It reads a task as JSON from standard input and writes chains as JSON to standard output. It is a
process because minorminer cannot be interrupted in a thread.
"""

from __future__ import annotations

import json
import sys
from typing import IO, Any

__all__ = ["run"]


def run(task: dict[str, Any]) -> list[list[int]]:
    """Return a chain for each variable, or an empty list if no embedding was found."""
    import minorminer
    import networkx as nx

    problem = nx.Graph()
    problem.add_nodes_from(range(task["variables"]))
    problem.add_edges_from(task["pairs"])
    machine = nx.Graph(task["couplers"])
    machine.add_nodes_from(range(task["qubits"]))
    found = minorminer.find_embedding(
        problem, machine, random_seed=task["seed"], timeout=task["seconds"], threads=1
    )
    return [sorted(found[v]) for v in range(task["variables"])] if found else []


def _main(source: IO[str], target: IO[str]) -> None:
    json.dump(run(json.load(source)), target)


if __name__ == "__main__":
    _main(sys.stdin, sys.stdout)
