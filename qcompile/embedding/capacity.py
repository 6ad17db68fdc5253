"""Physical qubits of a cubic problem on a machine, from a formula: no graph, no search.

With N bits, M ancillas, c lines crossed by one qubit and s strips (see `biclique`), an embedding of
the biclique method takes about

    2.15 M N / c + 0.73 M + 0.69 N² / c + 1.03 N + 1.84 (s - 2) N² / c

qubits. An ancilla crosses N lines, a bit crosses M, and every strip beyond the first two takes one
line for each bit. The numbers are a least-squares fit to 93 embeddings of complete cubics on the
graphs C16, P16, Z12, Z15, C4, P4 and Z3 without dead qubits (N from 4 to 51). The root mean square
error is 5%, the largest 12%, except for 31% at the limit of Z3, which is not a real machine
(`python -m benchmarks.embed_bench` repeats the measurement). Dead qubits are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from qcompile.reduction.cover import halves_bound
from qcompile.stages.machine import Machine
from qcompile.stages.record import Record

__all__ = [
    "FORMULA_ERROR",
    "LargestProblem",
    "PhysicalEstimate",
    "largest_bits",
    "largest_problems",
    "likely_qubits",
    "physical_estimate",
]


FORMULA_ERROR = 0.14
_CROSS, _ANCILLA, _SQUARE, _BIT, _STRIP = 2.15, 0.73, 0.69, 1.03, 1.84
# Lines near the edge do not cross all others: so many periods of lines cannot be used. Fitted to
# the largest N that was embedded (21, 43, 45, 51, 12, 16 on C16, P16, Z12, Z15, P4, Z3): within 3.
_RIM = {"chimera": 0.0, "pegasus": 1.5, "zephyr": 1.25}
_MOST_STRIPS = 4


@dataclass(frozen=True)
class PhysicalEstimate(Record):
    """What a problem is expected to need of a machine.

    The last three are None if the formula does not apply. `physical_qubits_error` is the relative
    error of `physical_qubits_about`.
    """

    machine: str
    machine_qubits: int
    physical_qubits_about: int | None
    physical_qubits_error: float | None
    fits: bool | None


@dataclass(frozen=True)
class LargestProblem(Record):
    """The largest complete cubic with so many bits for each weight that is likely to fit."""

    machine: str
    bits_per_weight: int
    features: int
    bits: int
    logical_qubits: int
    physical_qubits_about: int


def likely_qubits(machine: Machine, bits: int, ancillas: int) -> int:
    """Return the number of qubits that an embedding of a cubic is expected to need.

    >>> from qcompile import load_machine
    >>> likely_qubits(load_machine("advantage"), 24, 132)  # 696 when it was embedded
    722
    """
    crossed, _ = _lines(machine)
    extra = (_strips(machine, bits, ancillas) or _MOST_STRIPS) - 2
    square = bits * bits / crossed
    return round(
        _CROSS * ancillas * bits / crossed
        + _ANCILLA * ancillas
        + (_SQUARE + _STRIP * extra) * square
        + _BIT * bits
    )


def largest_bits(machine: Machine) -> int:
    """Return the number of bits of the largest complete cubic that is likely to fit.

    >>> from qcompile import load_machine
    >>> largest_bits(load_machine("advantage"))
    43
    """
    bits = 1
    while _fits(machine, bits + 1):
        bits += 1
    return bits


def physical_estimate(machine: Machine, order: int, bits: int, ancillas: int) -> PhysicalEstimate:
    """Return what a problem is expected to need of a machine.

    Beyond order 3 ancillas are coupled to each other, and the formula does not apply.
    """
    known = order <= 3
    likely = likely_qubits(machine, bits, ancillas) if known else None
    return PhysicalEstimate(
        machine=machine.name,
        machine_qubits=len(machine.nodes),
        physical_qubits_about=likely,
        physical_qubits_error=FORMULA_ERROR if known else None,
        fits=None if likely is None else _enough(machine, bits, ancillas),
    )


def largest_problems(machine: Machine) -> list[LargestProblem]:
    """Return the largest complete cubics that are likely to fit, for 1 to 8 bits a weight.

    >>> from qcompile import load_machine
    >>> [row.features for row in largest_problems(load_machine("advantage"))][:4]
    [43, 21, 14, 10]
    """
    most = largest_bits(machine)
    rows = []
    for depth in range(1, 9):
        features = most // depth
        bits = features * depth
        rows.append(
            LargestProblem(
                machine=machine.name,
                bits_per_weight=depth,
                features=features,
                bits=bits,
                logical_qubits=bits + halves_bound(bits),
                physical_qubits_about=likely_qubits(machine, bits, halves_bound(bits)),
            )
        )
    return rows


def _enough(machine: Machine, bits: int, ancillas: int) -> bool:
    room = _strips(machine, bits, ancillas) is not None
    return room and likely_qubits(machine, bits, ancillas) <= len(machine.nodes)


def _fits(machine: Machine, bits: int) -> bool:
    return _enough(machine, bits, halves_bound(bits))


def _strips(machine: Machine, bits: int, ancillas: int) -> int | None:
    """Return the number of strips that hold the ancillas, or None if no number does."""
    crossed, lines = _lines(machine)
    room = lines - _RIM[machine.topology] * crossed
    for total in range(2, 2 * _MOST_STRIPS + 1):
        for upright in range(max(1, total - _MOST_STRIPS), min(total, _MOST_STRIPS + 1)):
            level = total - upright
            slots = upright * (room - level * bits) + level * (room - upright * bits)
            if upright * bits <= room and level * bits <= room and slots >= ancillas:
                return total
    return None


def _lines(machine: Machine) -> tuple[int, int]:
    """Return the lines that a qubit crosses, and the lines of each orientation."""
    if machine.topology == "chimera":
        rows, columns, tile = machine.sizes
        return tile, min(rows, columns) * tile
    if machine.topology == "pegasus":
        return 12, 12 * machine.sizes[0]
    rows, tile = machine.sizes
    return 4 * tile, (2 * rows + 1) * 2 * tile
