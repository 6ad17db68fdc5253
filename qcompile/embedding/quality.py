"""How good an embedding is: counts, chains, and what scaling leaves of the coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcompile.embedding.scaling import scaling_of
from qcompile.stages.embedded import Embedded

__all__ = ["quality"]


def quality(embedded: Embedded) -> dict[str, Any]:
    """Return the figures of an embedded problem as plain values.

    >>> from qcompile import Pubo, embed, load_machine, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1): 1.0}))
    >>> quality(embed(qubo, load_machine("chimera4")))["qubits"]
    2
    """
    embedding = embedded.embedding
    machine, lengths = embedding.machine, embedding.lengths
    values, counts = np.unique(lengths, return_counts=True)
    return {
        "machine": machine.name,
        "method": embedding.method,
        "variables": len(lengths),
        "qubits": embedding.qubits,
        "couplers": len(embedded.couplings),
        "share_of_qubits": embedding.qubits / len(machine.nodes),
        "share_of_couplers": len(embedded.couplings) / max(1, len(machine.edges)),
        "mean_chain": float(lengths.mean()) if len(lengths) else 0.0,
        "longest_chain": embedding.longest,
        "chain_lengths": {
            str(v): int(c) for v, c in zip(values.tolist(), counts.tolist(), strict=True)
        },
        "chain_strength": embedded.chain_strength,
        **scaling_of(embedded).to_dict(),
    }
