"""What a training in rounds asks of a machine: the largest step, its chains, seconds of QPU access.

A step is a problem over a complete graph: every bit is coupled to every other, and there are no
ancillas. The times are the published ones in the catalogue; a machine that has none is taken to be
as fast as one of the same topology.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qcompile.embedding.complete import complete_chains, largest_clique
from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.leap.published_cost import access_seconds
from qcompile.stages.machine import Machine
from qcompile.stages.machine_facts import Timing
from qcompile.stages.record import Record

__all__ = ["READS", "ROUNDS", "RoundsEstimate", "estimate_rounds", "typical_timing"]


# What a training takes unless told otherwise: rounds for each block, and reads of a round.
ROUNDS = 40
READS = 100
_MOST_READS = 10_000
_MOST = 10**9

# Whose published times stand for those of a machine that has none.
_TYPICAL = {"chimera": "2000q", "pegasus": "advantage", "zephyr": "advantage2"}


@dataclass(frozen=True)
class RoundsEstimate(Record):
    """The largest step of a training in rounds on a machine, and what a training is like.

    `weights` are the features and the bias, `bits` all their bits. If a machine does not take that
    many at once, each round takes one of `blocks`. `step_bits` is the size of a round's problem. If
    no number of features is given, that is the largest step, and the first fields are None. The
    seconds are QPU access time, by the times of the solver `timing_typical_of`.
    """

    machine: str
    machine_qubits: int
    largest_step_bits: int
    features: int | None
    weights: int | None
    bits_per_weight: int | None
    bits: int | None
    blocks: int | None
    step_bits: int
    step_qubits: int
    mean_chain: float
    longest_chain: int
    rounds: int
    reads: int
    qpu_seconds_per_round: float
    qpu_seconds: float
    timing_typical_of: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key, without those that are not known."""
        return {name: value for name, value in super().to_dict().items() if value is not None}


def estimate_rounds(
    machine: MachineSource,
    features: int | None = None,
    *,
    bits: int = 1,
    rounds: int | None = None,
    reads: int = READS,
) -> RoundsEstimate:
    """Return the largest step on a machine, and chains and QPU time of a training.

    A training has `features` weights and a bias, `bits` bits each, and `rounds` rounds (40 for each
    block) of `reads` reads.

    >>> found = estimate_rounds("pegasus4", 50)
    >>> found.largest_step_bits, found.blocks, found.step_bits
    (36, 2, 26)
    """
    machine = load_machine(machine)
    _check(features, bits, rounds, reads)
    largest = largest_clique(machine)
    step, blocks = largest, 1
    weights = None if features is None else features + 1
    if weights is not None:
        if bits > largest:
            raise InputError(
                f"{bits} bits a weight; {machine.name} takes steps of up to {largest} bits: use "
                "fewer bits= or a larger machine="
            )
        blocks = -(-weights // (largest // bits))
        step = -(-weights // blocks) * bits
    chains = complete_chains(machine, step)
    timing = typical_timing(machine)
    each = access_seconds(timing, chains.qubits, reads)
    count = ROUNDS * blocks if rounds is None else rounds
    return RoundsEstimate(
        machine=machine.name,
        machine_qubits=len(machine.nodes),
        largest_step_bits=largest,
        features=features,
        weights=weights,
        bits_per_weight=None if features is None else bits,
        bits=None if weights is None else weights * bits,
        blocks=None if features is None else blocks,
        step_bits=step,
        step_qubits=chains.qubits,
        mean_chain=float(chains.lengths.mean()),
        longest_chain=chains.longest,
        rounds=count,
        reads=reads,
        qpu_seconds_per_round=each,
        qpu_seconds=count * each,
        timing_typical_of=timing.solver,
    )


def _check(features: int | None, bits: int, rounds: int | None, reads: int) -> None:
    """Raise InputError unless the numbers make sense."""
    for name, value in (("features", features), ("bits a weight", bits), ("rounds", rounds)):
        if value is not None and not 1 <= value <= _MOST:
            raise InputError(f"{value} {name}; expected 1 to {_MOST:,}")
    if not 1 <= reads <= _MOST_READS:
        raise InputError(f"{reads} reads of a round; expected 1 to {_MOST_READS:,}")


def typical_timing(machine: Machine) -> Timing:
    """Return the published times of a machine, or else of one of the same topology.

    >>> typical_timing(load_machine("zephyr3")).solver
    'Advantage2_system1'
    """
    timing = machine.timing or load_machine(_TYPICAL[machine.topology]).timing
    assert timing is not None  # these machines have one
    return timing
