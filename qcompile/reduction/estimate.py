"""Estimate the size of a problem without building it.

Counts are those of complete polynomials: upper bounds for real data. For cubics the number of
ancillas is exact, and no cover by pairs has fewer. For higher degrees it is the size of a family of
subsets that covers every term, and `ancillas_at_least` is a lower bound for any quadratization.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import comb
from typing import Any

from qcompile.errors import InputError
from qcompile.reduction.accounting import counting_bound
from qcompile.reduction.cover import halves_bound
from qcompile.reduction.quadratize import QuboOptions
from qcompile.reduction.subsets import search_memory, search_seconds, split_memory
from qcompile.stages.record import Record
from qcompile.stages.terms import most_terms

__all__ = ["PAPER_SIZES", "Estimate", "PaperRow", "estimate", "paper_table", "seconds_of"]


PAPER_SIZES = ((100, 1), (100, 4), (500, 1), (500, 4), (2500, 1), (2500, 4))
# Terms that are expanded, reduced, split (above degree 3), and read by dimod in a second.
_EXPANDED, _REDUCED, _SPLIT, _TAKEN = 4e7, 1e7, 4e5, 6e6


@dataclass(frozen=True)
class Estimate(Record):
    """The size of a compiled problem."""

    order: int
    features: int
    bits_per_weight: int
    terms: tuple[int, ...]
    ancillas: int
    ancillas_at_least: int

    @property
    def bits(self) -> int:
        """The number of logical bits N."""
        return self.features * self.bits_per_weight

    @property
    def qubits(self) -> int:
        """The number of logical qubits: bits and ancillas."""
        return self.bits + self.ancillas

    @property
    def qubo_pairs(self) -> int:
        """The number of pairs: all pairs of bits, one for each larger term, two for each ancilla.

        A factor of a nested product may be coupled to another ancilla: at most one more pair each.
        """
        nested = self.ancillas if self.order > 3 else 0
        pairs = comb(self.bits, 2) if self.order > 1 else 0
        return pairs + sum(self.terms[2:]) + 2 * self.ancillas + nested

    @property
    def memory(self) -> int:
        """The most bytes that the polynomial, its reduction and the QUBO take together."""
        polynomial = sum(count * (8 + 4 * j) for j, count in enumerate(self.terms, 1))
        work = 32 * self.qubo_pairs + 40 * self.ancillas + 8 * self.qubits
        if self.order > 3:
            searched = search_seconds(self.terms) <= QuboOptions().time_limit
            work = max(work, (search_memory if searched else split_memory)(self.terms))
        return polynomial + work

    @property
    def seconds(self) -> float:
        """A rough time to build the QUBO and give it to dimod."""
        return seconds_of(self.terms) + self.qubo_pairs / _TAKEN

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key, derived ones included."""
        return {
            "order": self.order,
            "features": self.features,
            "bits_per_weight": self.bits_per_weight,
            "bits": self.bits,
            **{f"terms_of_degree_{j}": count for j, count in enumerate(self.terms, 1)},
            "ancillas": self.ancillas,
            "ancillas_at_least": self.ancillas_at_least,
            "qubits": self.qubits,
            "qubo_pairs": self.qubo_pairs,
            "memory_bytes": self.memory,
            "seconds": round(self.seconds, 3),
        }


def seconds_of(terms: Sequence[int], time_limit: float | None = None) -> float:
    """Return a rough time to expand and reduce so many terms of degree 1, 2, ..."""
    count = sum(terms)
    limit = QuboOptions().time_limit if time_limit is None else time_limit
    reduced = count / _REDUCED
    if sum(terms[3:]):
        search = search_seconds(terms)
        reduced = count / _SPLIT + (search if search <= limit else 0.0)
    return count / _EXPANDED + reduced


def estimate(order: int, features: int, bits: int) -> Estimate:
    """Return the size of a complete problem, by formulas that are quick at any size.

    >>> estimate(3, 100, 4).qubits
    40200
    """
    if not (1 <= order <= 8 and features >= 1 and 1 <= bits <= 16):
        raise InputError(
            f"order {order}, {features} features, {bits} bits; expected order 1 to 8, at least one "
            "feature, 1 to 16 bits"
        )
    size = features * bits
    degree = min(order, size)
    ancillas = _ancillas(size, degree)
    least = halves_bound(size) if degree == 3 else 0
    if degree > 3:
        least = counting_bound(size, degree)
    return Estimate(order, features, bits, most_terms(size, order), ancillas, least)


def _ancillas(size: int, degree: int) -> int:
    if degree <= 2:
        return 0
    if degree == 3:
        return halves_bound(size)
    halves = (size // 2, size - size // 2)

    def inside(largest: int, smallest: int = 2) -> int:
        return sum(comb(h, s) for h in halves for s in range(smallest, largest + 1))

    families = [
        inside(degree - 1),
        comb(size, 2) + inside(degree - 2, 3),
        sum(comb(size, s) for s in range(2, -(-degree // 2) + 1)),
    ]
    if degree <= 6:
        text = (files("qcompile.reduction") / "degree6_families.json").read_text()
        families += [len(masks) for n, masks in json.loads(text).items() if int(n) >= size]
    return min(families)


@dataclass(frozen=True)
class PaperRow(Record):
    """A row of the paper's table of qubit requirements, beside two lower bounds."""

    loss: str
    features: int
    bit_depth: int
    qubits: int
    minimum_for_pair_covers: int
    any_quadratization_at_least: int


def paper_table() -> list[PaperRow]:
    """Compute the paper's table of qubit requirements, beside lower bounds.

    >>> [row["qubits"] for row in paper_table()]
    [2550, 40200, 62750, 1001000, 1563750, 25005000]
    """
    rows = []
    for features, bits in PAPER_SIZES:
        size = features * bits
        rows.append(
            PaperRow(
                loss="cubic",
                features=features,
                bit_depth=bits,
                # N bits and N²/4 ancillas, of which N/2 are saved by the two halves' diagonals
                qubits=size + size * size // 4 - size // 2,
                minimum_for_pair_covers=size + halves_bound(size),
                any_quadratization_at_least=size + counting_bound(size, 3),
            )
        )
    return rows
