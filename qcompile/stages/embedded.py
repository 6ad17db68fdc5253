"""Embeddings: chains of qubits for the variables of a QUBO, and the problem on these qubits."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo, to_ising

__all__ = ["Embedded", "Embedding", "check_embedding", "problem_id", "to_embedded"]


_log = logging.getLogger("qcompile")


@dataclass(frozen=True, repr=False)
class Embedding(Displayed):
    """The chain of qubits of each variable of a problem, on a machine.

    `problem` is a digest of which variables are coupled, not of how strongly: problems of the same
    structure share embeddings. `options` are those of the search.
    """

    chains: tuple[tuple[int, ...], ...]
    machine: Machine
    problem: str
    method: str
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def _line(self) -> str:
        size = f"{many(self.qubits, 'qubit')} of {quoted(self.machine.name)}"
        return f"{many(len(self.chains), 'chain')} on {size}, longest {self.longest}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "machine": self.machine.name,
            "chains": len(self.chains),
            "qubits": self.qubits,
            "longest chain": self.longest,
            "method": self.method,
            "seed": self.seed,
        }

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of qubits of each chain."""
        return np.array([len(chain) for chain in self.chains], dtype=np.int64)

    @property
    def qubits(self) -> int:
        """Number of qubits in all chains."""
        return int(self.lengths.sum())

    @property
    def longest(self) -> int:
        """Length of the longest chain."""
        return int(self.lengths.max(initial=0))

    def to_ocean(self) -> dict[int, tuple[int, ...]]:
        """Return the dictionary that Ocean's composites take."""
        return dict(enumerate(self.chains))


@dataclass(frozen=True, eq=False, repr=False)
class Embedded(Displayed):
    """A QUBO on a machine: spins on `qubits`, couplers between positions in that list.

    Couplers marked in `in_chain` hold chains together with `chain_strength`. Energies equal those
    of the QUBO if no chain is broken.
    """

    qubo: Qubo
    embedding: Embedding
    chain_strength: float
    qubits: NDArray[np.int64]
    variable: NDArray[np.int64]
    fields: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    couplings: Floats
    in_chain: NDArray[np.bool_]
    offset: float

    def _line(self) -> str:
        size = f"{many(len(self.qubits), 'qubit')} of {quoted(self.embedding.machine.name)}"
        strength = f"chain strength {self.chain_strength:.4g}"
        return f"{many(self.qubo.variables, 'variable')} on {size}, {strength}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "machine": self.embedding.machine.name,
            "variables": self.qubo.variables,
            "qubits": len(self.qubits),
            "couplers": len(self.couplings),
            "couplers in chains": int(self.in_chain.sum()),
            "longest chain": self.embedding.longest,
            "chain strength": self.chain_strength,
        }

    def to_bqm(self) -> Any:
        """Return a `dimod.BinaryQuadraticModel` of spins labelled by the machine's qubits."""
        import dimod

        bqm = dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.fields, (self.first, self.second, self.couplings), self.offset, dimod.SPIN
        )
        bqm.relabel_variables(dict(enumerate(self.qubits.tolist())))
        return bqm

    def energies(self, spins: Any) -> Floats:
        """Return the energy of each row of -1/+1 values in the order of `qubits`."""
        rows = np.atleast_2d(np.asarray(spins, dtype=np.float64))
        pairs = rows[:, self.first] * rows[:, self.second]
        return np.asarray(rows @ self.fields + pairs @ self.couplings + self.offset)


def problem_id(qubo: Qubo) -> str:
    """Return a digest of the number of variables and of which of them are coupled."""
    digest = hashlib.sha256(f"{qubo.variables} {qubo.logical}".encode())
    digest.update(qubo.first.astype("<i4").tobytes())
    digest.update(qubo.second.astype("<i4").tobytes())
    return digest.hexdigest()[:32]


def check_embedding(embedding: Embedding, qubo: Qubo, machine: Machine | None = None) -> None:
    """Raise InputError, naming the variable, unless the embedding fits the problem and machine."""
    machine = machine or embedding.machine
    if embedding.problem != problem_id(qubo):
        _log.info("this embedding was made for another structure: checking whether it fits")
    if len(embedding.chains) != qubo.variables:
        raise InputError(
            f"an embedding of {len(embedding.chains)} variables; the problem has "
            f"{qubo.variables}: it was made for another problem"
        )
    owner = _owner(embedding, machine)
    first, second = machine.edges.T
    inside = (owner[first] >= 0) & (owner[second] >= 0)
    first, second = first[inside], second[inside]
    _check_chains(embedding, machine, owner, first, second)
    met = np.unique(_keys(owner[first], owner[second]))
    lost = np.flatnonzero(~np.isin(_keys(qubo.first, qubo.second), met))
    if len(lost):
        a, b = int(qubo.first[lost[0]]), int(qubo.second[lost[0]])
        raise InputError(
            f"variables {a} and {b} are coupled in the problem, but no working coupler joins their "
            f"chains on machine {machine.name} ({len(lost)} such pairs): embed again"
        )


def _owner(embedding: Embedding, machine: Machine) -> NDArray[np.int64]:
    """Return the variable of each working qubit, or -1; raise if chains are missing or overlap."""
    if not embedding.lengths.all():
        raise InputError(f"variable {int(np.argmin(embedding.lengths))} has no qubit")
    variables = np.repeat(np.arange(len(embedding.chains)), embedding.lengths)
    labels = np.array([q for chain in embedding.chains for q in chain], dtype=np.int64)
    place = np.minimum(np.searchsorted(machine.nodes, labels), len(machine.nodes) - 1)
    dead = np.flatnonzero(machine.nodes[place] != labels)
    if len(dead):
        raise InputError(
            f"variable {variables[dead[0]]} uses qubit {labels[dead[0]]}, which does not work on "
            f"machine {machine.name}: embed again"
        )
    owner = np.full(len(machine.nodes), -1, dtype=np.int64)
    owner[place] = variables
    taken = np.flatnonzero(owner[place] != variables)
    if len(taken) or len(np.unique(place)) != len(place):
        counts = np.bincount(place, minlength=len(owner))
        q = int(np.argmax(counts > 1))
        raise InputError(f"qubit {machine.nodes[q]} is used twice, last by variable {owner[q]}")
    return owner


def _check_chains(
    embedding: Embedding,
    machine: Machine,
    owner: NDArray[np.int64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    own = owner[first] == owner[second]
    ones = np.ones(int(own.sum()), dtype=np.int8)
    graph = coo_array((ones, (first[own], second[own])), shape=(len(owner), len(owner)))
    _, piece = connected_components(graph.tocsr(), directed=False)
    used = np.flatnonzero(owner >= 0)
    pieces = np.unique(np.column_stack([owner[used], piece[used]]), axis=0)
    counts = np.bincount(pieces[:, 0], minlength=len(embedding.chains))
    if (counts > 1).any():
        v = int(np.argmax(counts > 1))
        raise InputError(
            f"the chain of variable {v} is in {counts[v]} pieces on machine {machine.name}: embed "
            "again, or name the machine of the chains"
        )


def _keys(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    return np.asarray((high << 32) | low)


def to_embedded(qubo: Qubo, embedding: Embedding, chain_strength: float) -> Embedded:
    """Spread a QUBO over the chains: fields evenly over qubits, couplings evenly over couplers.

    Every working coupler inside a chain holds it together. The offset cancels the energy of these
    couplers in chains that are not broken.
    """
    machine = embedding.machine
    owner = _owner(embedding, machine)
    h, couplings = to_ising(qubo)
    used = np.flatnonzero(owner >= 0)
    position = np.full(len(owner), -1, dtype=np.int64)
    position[used] = np.arange(len(used))
    first, second = machine.edges.T
    inside = (owner[first] >= 0) & (owner[second] >= 0)
    first, second = first[inside], second[inside]
    a, b = owner[first], owner[second]
    pairs = _keys(qubo.first, qubo.second)  # ascending: sorted by second, then first
    keys = _keys(a, b)
    found = np.minimum(np.searchsorted(pairs, keys), max(0, len(pairs) - 1))
    in_chain = a == b
    wanted = ~in_chain & (pairs[found] == keys) if len(pairs) else np.zeros(len(keys), dtype=bool)
    ways = np.bincount(found[wanted], minlength=len(pairs))
    values = np.zeros(len(keys))
    values[wanted] = (couplings / np.maximum(ways, 1))[found[wanted]]
    values[in_chain] = -chain_strength
    kept = wanted | in_chain
    constant = qubo.offset + float(qubo.linear.sum()) / 2 + float(qubo.quadratic.sum()) / 4
    return Embedded(
        qubo=qubo,
        embedding=embedding,
        chain_strength=float(chain_strength),
        qubits=frozen(machine.nodes[used], np.int64),
        variable=frozen(owner[used], np.int64),
        fields=frozen((h / embedding.lengths)[owner[used]]),
        first=frozen(position[first[kept]], np.int64),
        second=frozen(position[second[kept]], np.int64),
        couplings=frozen(values[kept]),
        in_chain=frozen(in_chain[kept], np.bool_),
        offset=constant + chain_strength * int(in_chain.sum()),
    )
