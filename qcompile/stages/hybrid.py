"""The limits of Leap's hybrid solvers, and which of them a problem exceeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qcompile.stages.record import Record

__all__ = ["HybridLimits", "nonlinear_size"]


@dataclass(frozen=True)
class HybridLimits(Record):
    """What the hybrid BQM solver, the CQM solver and the nonlinear solver take."""

    bqm_variables: int
    bqm_biases: int
    cqm_variables: int
    cqm_biases: int
    nl_nodes: int
    nl_state_bytes: int
    source: str = ""
    date: str = ""

    def exceeded_by_bqm(self, variables: int, couplings: int) -> str:
        """Return how a QUBO exceeds the BQM solver, in words; empty if it does not.

        Every variable has a linear bias, and every coupling a quadratic one.
        """
        biases = variables + couplings
        if variables > self.bqm_variables:
            return f"{variables} variables; the hybrid BQM solver takes {self.bqm_variables}"
        if biases > self.bqm_biases:
            return f"{biases} biases; the hybrid BQM solver takes {self.bqm_biases}"
        return ""

    def exceeded_by_nonlinear(self, variables: int, terms: Sequence[int]) -> str:
        """Return how a polynomial over bits exceeds the nonlinear solver; empty if it does not."""
        nodes, size = nonlinear_size(variables, terms)
        if nodes > self.nl_nodes:
            return f"{nodes} nodes; the nonlinear solver takes {self.nl_nodes}"
        if size > self.nl_state_bytes:
            return f"{size} bytes of states; the nonlinear solver takes {self.nl_state_bytes}"
        return ""


def nonlinear_size(variables: int, terms: Sequence[int]) -> tuple[int, int]:
    """Return the nodes and the bytes of a state of `to_nonlinear` over bits.

    There are `terms` of degree 1, 2, ... All terms of one degree share their nodes: coefficients;
    numbers of bits, bits and products for each factor; a sum, and its addition to the total.

    >>> nonlinear_size(20, (20, 190, 1140))
    (29, 102696)
    """
    nodes, size = 2, 8 * variables + 8
    for degree, count in enumerate(terms, 1):
        if count:
            nodes += 3 + 3 * degree
            size += 8 * count * (1 + 3 * degree) + 16
    return nodes, size
