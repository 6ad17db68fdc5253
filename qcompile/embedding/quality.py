"""How good an embedding is: counts, chains, and how far coefficients are scaled down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qcompile.embedding.scaling import Scaling, scaling_of
from qcompile.stages.embedded import Embedded
from qcompile.stages.record import Record

__all__ = ["Quality", "quality"]


@dataclass(frozen=True)
class Quality(Record):
    """The figures of an embedded problem.

    `chains_by_length` pairs each chain length with the number of chains that have it.
    """

    machine: str
    method: str
    variables: int
    qubits: int
    couplers: int
    share_of_qubits: float
    share_of_couplers: float
    mean_chain: float
    longest_chain: int
    chains_by_length: tuple[tuple[int, int], ...]
    chain_strength: float
    scaling: Scaling

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key, those of the scaling among them."""
        return {
            "machine": self.machine,
            "method": self.method,
            "variables": self.variables,
            "qubits": self.qubits,
            "couplers": self.couplers,
            "share_of_qubits": self.share_of_qubits,
            "share_of_couplers": self.share_of_couplers,
            "mean_chain": self.mean_chain,
            "longest_chain": self.longest_chain,
            "chain_lengths": {str(length): count for length, count in self.chains_by_length},
            "chain_strength": self.chain_strength,
            **self.scaling.to_dict(),
        }


def quality(embedded: Embedded) -> Quality:
    """Return the figures of an embedded problem.

    >>> from qcompile import Pubo, embed, load_machine, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1): 1.0}))
    >>> quality(embed(qubo, load_machine("chimera4"))).qubits
    2
    """
    embedding = embedded.embedding
    machine, lengths = embedding.machine, embedding.lengths
    values, counts = np.unique(lengths, return_counts=True)
    return Quality(
        machine=machine.name,
        method=embedding.method,
        variables=len(lengths),
        qubits=embedding.qubits,
        couplers=len(embedded.couplings),
        share_of_qubits=embedding.qubits / len(machine.nodes),
        share_of_couplers=len(embedded.couplings) / max(1, len(machine.edges)),
        mean_chain=float(lengths.mean()) if len(lengths) else 0.0,
        longest_chain=embedding.longest,
        chains_by_length=tuple(zip(values.tolist(), counts.tolist(), strict=True)),
        chain_strength=embedded.chain_strength,
        scaling=scaling_of(embedded),
    )
