"""Convert problem, machine and chains to the arrays of the chain kernels, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime import memory
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["LONG_CHAIN", "KernelInput", "Owner", "chains_of", "settle_chains", "trimmed"]


Owner = NDArray[np.int32]
Rows = tuple[NDArray[np.int32], NDArray[np.int32]]
# Qubits of a chain from which it breaks so often on a machine that a longer one costs more.
LONG_CHAIN = 7
# Bytes of each pair of variables: tables of pairs for the strips and for several tries at once.
_PAIR_COST = 32
# Up to this share of variables without a chain it is worth searching for free qubits.
_MOST_UNPLACED = 0.1


class KernelInput:
    """The problem and the machine as the kernels need them."""

    def __init__(self, qubo: Qubo, machine: Machine) -> None:
        memory.require(
            _PAIR_COST * qubo.variables**2,
            f"embedding {qubo.variables:,} variables",
            "use a smaller problem",
            announce=False,
        )
        self.qubo, self.machine = qubo, machine
        self.graph = _rows(len(machine.nodes), *machine.edges.T)
        self.problem = _rows(qubo.variables, qubo.first, qubo.second)
        self.variables, self.qubits = qubo.variables, len(machine.nodes)

    def cost(self, owner: Owner, prefer: str) -> tuple[int, int]:
        """Return the two numbers to make small, the more important first.

        "balanced" adds to the qubits the square of those of each chain beyond `LONG_CHAIN`.
        """
        lengths = np.bincount(owner[owner >= 0], minlength=self.variables)
        total, longest = int(lengths.sum()), int(lengths.max(initial=0))
        if prefer == "chain":
            return longest, total
        if prefer == "balanced":
            total += int((np.maximum(0, lengths - LONG_CHAIN) ** 2).sum())
        return total, longest


def settle_chains(inputs: KernelInput, owner: Owner, order: NDArray[np.int32]) -> Owner | None:
    """Place missing chains, connect broken ones and trim; return None if that is impossible."""
    from qcompile.embedding.chain_kernels import layout_of, settle, trim_all

    unplaced = inputs.variables - len(np.unique(owner[owner >= 0]))
    if unplaced > _MOST_UNPLACED * inputs.variables:
        return None
    layout = layout_of(inputs.graph, inputs.problem, owner)
    if settle(layout, order, 4, 1):
        return None
    trim_all(layout, 1)
    return layout.owner.copy()


def trimmed(inputs: KernelInput, chains: Sequence[Sequence[int] | NDArray[np.int64]]) -> Owner:
    """Return the chains without the qubits that they do not need."""
    from qcompile.embedding.chain_kernels import layout_of, trim_all

    owner = np.full(inputs.qubits, -1, dtype=np.int32)
    for variable, chain in enumerate(chains):
        owner[np.asarray(chain)] = variable
    layout = layout_of(inputs.graph, inputs.problem, owner)
    trim_all(layout, 1)
    return layout.owner.copy()


def chains_of(owner: Owner, inputs: KernelInput) -> tuple[tuple[int, ...], ...]:
    """Return the chain of each variable."""
    if not inputs.variables:
        return ()
    used = np.flatnonzero(owner >= 0)
    order = np.argsort(owner[used], kind="stable")
    cuts = np.searchsorted(owner[used][order], np.arange(1, inputs.variables))
    parts = np.split(inputs.machine.nodes[used[order]], cuts)
    return tuple(tuple(part.tolist()) for part in parts)


def _rows(size: int, first: NDArray[Any], second: NDArray[Any]) -> Rows:
    """Return an undirected graph as compressed rows."""
    one, two = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((two, one))
    starts = np.searchsorted(one[order], np.arange(size + 1))
    return starts.astype(np.int32), two[order].astype(np.int32)
