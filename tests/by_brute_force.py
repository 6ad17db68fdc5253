"""Energies over all assignments, and Ocean's own check of an embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
from dwave.embedding import verify_embedding
from numpy.typing import NDArray

from qcompile import Embedding, Machine, Pubo, Qubo
from tests import judge
from tests.judge import all_assignments


def ocean_agrees(embedding: Embedding, qubo: Qubo, machine: Machine) -> None:
    """Ask Ocean's own judge."""
    source = nx.Graph()
    source.add_nodes_from(range(qubo.variables))
    source.add_edges_from(zip(qubo.first.tolist(), qubo.second.tolist(), strict=True))
    verify_embedding(embedding.to_ocean(), source, machine.graph)


def energy(polynomial: Mapping[tuple[Any, ...], float], state: Mapping[Any, int]) -> float:
    """Multiply and add: the judge."""
    total = 0.0
    for term, value in polynomial.items():
        product = 1
        for member in term:
            product *= state[member]
        total += value * product
    return total


def minimum_over_ancillas(qubo: Qubo) -> NDArray[np.float64]:
    """Lowest energy for each assignment of the logical bits, by dimod, all ancillas tried."""
    states = judge.all_assignments(qubo.variables)
    energies = qubo.to_bqm().energies((states, list(range(qubo.variables))))
    lowest = np.asarray(energies).reshape(1 << qubo.logical, -1).min(axis=1)
    return np.asarray(lowest)


def brute_force(pubo: Pubo) -> np.ndarray:
    """All energies, straight from the dictionary of terms."""
    states = all_assignments(pubo.variables)
    energies = np.zeros(len(states))
    for term, value in pubo.to_dict().items():
        energies += value * states[:, list(term)].prod(axis=1)
    return energies
