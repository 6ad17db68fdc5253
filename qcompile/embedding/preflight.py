"""Decide before any search whether a problem can fit on a machine, and which problem would.

A chain of k qubits with at most D couplers each has at most k D - 2 (k - 1) couplers to other
chains. A variable with g neighbours therefore needs at least (g - 2) / (D - 2) qubits. If these
counts exceed the machine, no method finds an embedding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from qcompile.embedding.capacity import largest_bits, likely_qubits
from qcompile.embedding.complete import clique_of_whole, largest_clique
from qcompile.errors import QcompileError
from qcompile.files.hybrid import hybrid_limits
from qcompile.files.machines import MachineSource, catalogue, load_machine
from qcompile.files.qubo import QuboSource, qubo_of
from qcompile.reduction.restore import restore
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo
from qcompile.stages.record import Record

__all__ = ["Preflight", "counts_forbid", "least_qubits", "most_bits", "preflight"]


# Pairs of a QUBO up to which its polynomial is made again, to count the coefficients.
_MOST_COUNTED = 1_000_000


@dataclass(frozen=True)
class Preflight(Record):
    """What is known before the search.

    `least` is a number of qubits that every embedding needs. `likely` is the number that one is
    expected to need; it is None unless the problem is a cubic with most of its terms. `surely` says
    that a complete graph of this size has an embedding (None: not tried). `impossible` is proved;
    if it is False, a search may still fail. `message` says why it is impossible, and what would
    fit. `hybrid` says how the problem exceeds the hybrid BQM solver of Leap, if it does, and
    `nonlinear` how its polynomial exceeds the nonlinear solver; that is known up to degree 3.
    """

    variables: int
    couplings: int
    least: int
    likely: int | None
    surely: bool | None
    impossible: bool
    message: str
    hybrid: str = ""
    nonlinear: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key."""
        return {
            "variables": self.variables,
            "couplings": self.couplings,
            "qubits_at_least": self.least,
            "qubits_likely": self.likely,
            "fits_even_if_complete": self.surely,
            "impossible": self.impossible,
            "advice": self.message,
            "exceeds_hybrid": self.hybrid or None,
            "exceeds_nonlinear": self.nonlinear or None,
        }


def preflight(qubo: QuboSource, machine: MachineSource, *, clique: bool = False) -> Preflight:
    """Compare the counts of a problem with a machine; with `clique` also try busclique.

    >>> from qcompile import Pubo, quadratize
    >>> pairs = {(i, j): 1.0 for i in range(40) for j in range(i)}
    >>> preflight(quadratize(Pubo.from_dict(pairs)), "chimera4").impossible
    True
    """
    qubo, machine = qubo_of(qubo), load_machine(machine)
    reasons = _reasons(qubo, machine)
    likely = None
    if _is_full_cubic(qubo):
        likely = likely_qubits(machine, qubo.logical, len(qubo.ancillas))
    message = ""
    if reasons:
        message = f"{reasons[0]}; {_way_out(qubo, machine)}"
    elif likely is not None and likely > len(machine.nodes):
        message = (
            f"about {likely} qubits would be needed and {machine.name} has {len(machine.nodes)}; "
            f"{_way_out(qubo, machine)}"
        )
    return Preflight(
        variables=qubo.variables,
        couplings=len(qubo.first),
        least=least_qubits(qubo, machine),
        likely=likely,
        surely=_fits_as_clique(qubo, machine) if clique and not reasons else None,
        impossible=bool(reasons),
        message=message,
        hybrid=hybrid_limits().exceeded_by_bqm(qubo.variables, len(qubo.first)),
        nonlinear=_on_nonlinear(qubo),
    )


def _on_nonlinear(qubo: Qubo) -> str:
    """Return how the polynomial over its bits exceeds the nonlinear solver; empty if not known.

    With several bits a weight its model is over the weights, which is smaller.
    """
    bits, ancillas = qubo.logical, len(qubo.ancillas)
    nested = ancillas and qubo.ancillas.factors.max() >= bits
    if nested or (qubo.encoding is not None and qubo.encoding.bits > 1):
        return ""
    # an ancilla is coupled to its two factors, and to the third bit of each of its terms
    mixed = int(((qubo.first >= bits) ^ (qubo.second >= bits)).sum())
    pairs = int(((qubo.first < bits) & (qubo.second < bits)).sum())
    terms = (bits, pairs, max(0, mixed - 2 * ancillas))
    return hybrid_limits().exceeded_by_nonlinear(bits, terms)


def _is_full_cubic(qubo: Qubo) -> bool:
    """Whether the formula for cubics applies: no nested ancillas, and most couplings exist."""
    bits, ancillas = qubo.logical, len(qubo.ancillas)
    if not ancillas or qubo.ancillas.factors.max() >= bits or (qubo.first >= bits).any():
        return False
    return bool(2 * len(qubo.first) >= bits * (bits - 1) / 2 + ancillas * bits / 2)


def _fits_as_clique(qubo: Qubo, machine: Machine) -> bool | None:
    """Whether busclique can embed a complete graph of this size; None if it cannot be asked."""
    if not machine.dead_qubits and not machine.dead_couplers:
        return clique_of_whole(machine) >= qubo.variables
    try:
        return largest_clique(machine) >= qubo.variables
    except QcompileError:  # it has no place for its cache, or does not take the graph
        return None


def least_qubits(qubo: Qubo, machine: Machine) -> int:
    """Return a number of qubits that every embedding needs."""
    most = _most_couplers(machine)
    degrees = _degrees(qubo)
    if most <= 2:  # paths and rings: a chain has at most two neighbours
        return qubo.variables
    return int(np.maximum(1, -(-(degrees - 2) // (most - 2))).sum())


def most_bits(machine: Machine, degree: int = 3) -> int:
    """Return the bits of the largest complete polynomial with no more numbers than the machine.

    Q qubits and C couplers have Q + C + 1 numbers to set, the offset included. Almost no polynomial
    with more coefficients fits, by any quadratization and any embedding.

    >>> from qcompile import load_machine
    >>> most_bits(load_machine("advantage")), most_bits(load_machine("advantage"), 6)
    (65, 19)
    """
    room = len(machine.nodes) + len(machine.edges) + 1
    bits = 0
    while sum(comb(bits + 1, j) for j in range(degree + 1)) <= room:
        bits += 1
    return bits


def _reasons(qubo: Qubo, machine: Machine) -> list[str]:
    """Return the reasons why the problem cannot fit, the simplest first."""
    qubits, couplers = len(machine.nodes), len(machine.edges)
    least = least_qubits(qubo, machine)
    name = machine.name
    reasons = []
    if qubo.variables > qubits:
        reasons.append(f"{qubo.variables} variables need as many qubits; {name} has {qubits}")
    if len(qubo.first) > couplers:
        reasons.append(f"{len(qubo.first)} couplings need as many couplers; {name} has {couplers}")
    if least > qubits:
        reasons.append(
            f"at least {least} qubits are needed, as a qubit of {name} has at most "
            f"{_most_couplers(machine)} couplers; it has {qubits} qubits"
        )
    if _most_couplers(machine) == 0 and len(qubo.first):
        reasons.append(f"{name} has no working coupler")
    numbers = qubits + couplers + 1
    if reasons and len(qubo.first) <= _MOST_COUNTED and (count := _coefficients(qubo)) > numbers:
        reasons[0] += (
            f" (the polynomial has {count} coefficients, {name} only {numbers} numbers to set: "
            "another reduction would hardly help)"
        )
    return reasons


def _coefficients(qubo: Qubo) -> int:
    """Return the number of coefficients of the polynomial that a QUBO stands for."""
    return 1 + restore(replace(qubo, truncated=None)).num_terms


def _most_couplers(machine: Machine) -> int:
    return int(np.bincount(machine.edges.reshape(-1)).max(initial=0))


def _degrees(qubo: Qubo) -> np.ndarray[Any, np.dtype[np.int64]]:
    both = np.concatenate([qubo.first, qubo.second])
    return np.bincount(both, minlength=qubo.variables).astype(np.int64)


def _way_out(qubo: Qubo, machine: Machine) -> str:
    """Return what would fit, in words: another machine, fewer bits, fewer features."""
    full = _is_full_cubic(qubo)
    others = [
        name
        for name, other in catalogue().items()
        if name != machine.name
        and not counts_forbid(qubo, other)
        and (not full or largest_bits(other) >= qubo.logical)
    ]
    offers = ["machine=" + " or ".join(f'"{name}"' for name in others)] if others else []
    room = largest_bits(machine)
    encoding = qubo.encoding
    if encoding is not None and full:
        for bits in range(encoding.bits - 1, 0, -1):
            if bits * encoding.features <= room:
                offers.append(f"bits={bits}")
                break
        features = room // encoding.bits
        if 0 < features < encoding.features:
            offers.append(f"features={features}")
    if not offers:
        return f"{machine.name} takes complete cubics of up to about {room} bits"
    return f"what {'would' if full else 'may'} fit: {', '.join(offers)}"


def counts_forbid(qubo: Qubo, machine: Machine) -> bool:
    """Whether the counts of qubits and couplers prove that no embedding exists."""
    return least_qubits(qubo, machine) > len(machine.nodes) or len(qubo.first) > len(machine.edges)
