"""Before any search: can a problem fit on a machine at all, and what would?

A chain of k qubits, each with at most D couplers, has at most k D - 2 (k - 1) couplers to the
outside, so that a variable with g neighbours needs at least (g - 2) / (D - 2) qubits. What does not
fit by such counts fits by no method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from qcompile.artifacts import Qubo
from qcompile.machines import Machine, catalogue
from qcompile.physical import largest_bits, likely_qubits

__all__ = ["Preflight", "least_qubits", "most_bits", "preflight"]


@dataclass(frozen=True)
class Preflight:
    """What is known before searching.

    `least` is the smallest number of qubits that any embedding needs, `likely` what one is
    expected to need. `impossible` is proved; otherwise a search may or may not succeed. `message`
    says why not and what would fit.
    """

    variables: int
    couplings: int
    least: int
    likely: int
    impossible: bool
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "variables": self.variables,
            "couplings": self.couplings,
            "qubits_at_least": self.least,
            "qubits_likely": self.likely,
            "impossible": self.impossible,
            "advice": self.message,
        }


def preflight(qubo: Qubo, machine: Machine) -> Preflight:
    """Count what a problem asks of a machine.

    >>> from qcompile import Pubo, load_machine, quadratize
    >>> pairs = {(i, j): 1.0 for i in range(40) for j in range(i)}
    >>> preflight(quadratize(Pubo.from_dict(pairs)), load_machine("chimera4")).impossible
    True
    """
    reasons = _reasons(qubo, machine)
    least = least_qubits(qubo, machine)
    advice = "" if not reasons else f"{reasons[0]}; {_way_out(qubo, machine)}"
    likely = likely_qubits(machine, qubo.logical, len(qubo.ancillas))
    if not reasons and likely > len(machine.nodes):
        advice = (
            f"about {likely} qubits would be needed and {machine.name} has {len(machine.nodes)}; "
            f"{_way_out(qubo, machine)}"
        )
    return Preflight(
        variables=qubo.variables,
        couplings=len(qubo.first),
        least=least,
        likely=likely,
        impossible=bool(reasons),
        message=advice,
    )


def least_qubits(qubo: Qubo, machine: Machine) -> int:
    """Give a number of qubits that every embedding needs."""
    most = _most_couplers(machine)
    degrees = _degrees(qubo)
    if most <= 2:  # paths and rings: a chain can have two neighbours only
        return qubo.variables
    return int(np.maximum(1, -(-(degrees - 2) // (most - 2))).sum())


def most_bits(machine: Machine, degree: int = 3) -> int:
    """Bits of the largest complete polynomial that has no more coefficients than the machine.

    Q qubits and C couplers have Q + C + 1 numbers to set (the offset is one): almost no polynomial
    with more coefficients can be put there by any quadratization and any embedding.

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
    """Say what cannot be, the plainest first."""
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
    return reasons


def _most_couplers(machine: Machine) -> int:
    return int(np.bincount(machine.edges.reshape(-1)).max(initial=0))


def _degrees(qubo: Qubo) -> np.ndarray[Any, np.dtype[np.int64]]:
    both = np.concatenate([qubo.first, qubo.second])
    return np.bincount(both, minlength=qubo.variables).astype(np.int64)


def _way_out(qubo: Qubo, machine: Machine) -> str:
    """Say what would fit: a larger machine, fewer bits, fewer features."""
    offers = []
    others = _machines_that_fit(qubo, machine, catalogue())
    if others:
        offers.append(f"--machine {' or '.join(others)}")
    room = largest_bits(machine)
    encoding = qubo.encoding
    if encoding is not None and len(qubo.ancillas):
        for bits in range(encoding.bits - 1, 0, -1):
            if bits * encoding.features <= room:
                offers.append(f"--bits {bits}")
                break
        features = room // encoding.bits
        if 0 < features < encoding.features:
            offers.append(f"--features {features}")
    if not offers:
        return f"{machine.name} takes complete cubics of up to about {room} bits"
    return f"what would fit: {', '.join(offers)}"


def _machines_that_fit(qubo: Qubo, machine: Machine, known: Mapping[str, Machine]) -> list[str]:
    if not len(qubo.ancillas):
        return []
    return [
        name
        for name, other in known.items()
        if name != machine.name and largest_bits(other) >= qubo.logical
    ]
