"""Qubo x Machine -> disjoint copies of its chains, found one after another."""

from __future__ import annotations

import time
from dataclasses import replace

from qcompile.embedding.embed import EmbeddingNotFound, find_embedding
from qcompile.errors import InputError
from qcompile.stages.embedded import Embedding
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["find_copies"]


def find_copies(
    qubo: Qubo,
    machine: Machine,
    *,
    copies: int | str = "auto",
    seed: int = 0,
    time_limit: float = 60.0,
    embedding: Embedding | None = None,
) -> tuple[Embedding, ...]:
    """Return so many disjoint copies of chains, or with "auto" as many as are found."""
    found = [embedding or find_embedding(qubo, machine, seed=seed)]
    began = time.monotonic()
    while copies == "auto" or len(found) < int(copies):
        used = [q for one in found for chain in one.chains for q in chain]
        left = machine.without(qubits=used)
        if time.monotonic() - began > time_limit or len(used) + qubo.variables > len(machine.nodes):
            break
        try:
            found.append(replace(find_embedding(qubo, left, seed=seed), machine=machine))
        except (EmbeddingNotFound, InputError):
            break
    if copies != "auto" and len(found) < int(copies):
        raise InputError(f"{copies} copies; {machine.name} takes {len(found)} of this problem")
    return tuple(found)
