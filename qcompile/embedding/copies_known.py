"""Shapes that were found beforehand: chains of small cubics that fill whole cells of a graph.

``dense_shapes.json`` was made by ``python -m benchmarks.dense_shapes_bench``. What it says is
checked before it is used.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import orjson

from qcompile.embedding.copies_shapes import Shape, places_of, shape_of
from qcompile.embedding.kernel_input import KernelInput
from qcompile.files.machines import load_machine
from qcompile.stages.embedded import Embedding, check_embedding, problem_id
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["known_shapes"]


def known_shapes(qubo: Qubo, machine: Machine) -> list[Shape]:
    """Return shapes for a problem of this structure on a machine's kind of graph, often none."""
    window = load_machine(_table()["machine"])
    if machine.topology != window.topology or machine.shape[1:] != window.shape[1:]:
        return []
    name = problem_id(qubo)
    found = []
    for chains in _table()["problems"].get(name, {"chains": []})["chains"]:
        known = Embedding(tuple(map(tuple, chains)), window, name, "copies")
        check_embedding(known, qubo)
        owner = np.full(len(window.nodes), -1, dtype=np.int32)
        for variable, chain in enumerate(known.chains):
            owner[np.searchsorted(window.nodes, chain)] = variable
        found.append(shape_of(owner, KernelInput(qubo, window), places_of(window)))
    return found


@cache
def _table() -> Any:
    return orjson.loads((files("qcompile.embedding") / "dense_shapes.json").read_bytes())
