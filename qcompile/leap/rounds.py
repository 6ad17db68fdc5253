"""What a training in rounds asks of a machine: the largest step, its chains, seconds of QPU access.

A step is a problem over a complete graph: every bit is coupled to every other, and there are no
ancillas. The times are typical ones, as no machine of the catalogue states its own. They come from
dwave-cloud-client (dwave/cloud/testing/mocks.py): what Advantage_system4.1 and DW_2000Q_6 stated in
August 2022. Ocean's own timing model adds them up.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from qcompile.embedding.complete import complete_chains, largest_clique
from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.stages.record import Record

__all__ = ["READS", "ROUNDS", "RoundsEstimate", "estimate_rounds", "typical_access_seconds"]


# What a training takes unless told otherwise: rounds for each block, and reads of a round.
ROUNDS = 40
READS = 100
_MOST_READS = 10_000
_MOST = 10**9

# Microseconds. The first half of the parameters are logarithms of qubits, the second half those of
# the time to read so many.
_COMMON = {
    "version": "1.0.0",
    "default_programming_thermalization": 1000.0,
    "default_annealing_time": 20.0,
    "readout_time_model": "pwl_log_log",
    "qpu_delay_time_per_sample": 20.54,
    "default_readout_thermalization": 0.0,
    "decorrelation_max_nominal_anneal_time": 2000.0,
    "decorrelation_time_range": [500.0, 10000.0],
    # reverse annealing, which is not used here
    "reverse_annealing_with_reinit_prog_time_delta": 0.0,
    "reverse_annealing_without_reinit_prog_time_delta": 0.0,
    "reverse_annealing_with_reinit_delay_time_delta": 0.0,
    "reverse_annealing_without_reinit_delay_time_delta": 0.0,
}
_TYPICAL: dict[str, dict[str, Any]] = {
    "Advantage_system4.1": {
        "typical_programming_time": 14072.88,
        "readout_time_model_parameters": [
            *(0.0, 0.76996659, 1.72427587, 2.71197546, 3.16390577, 3.75027692),
            *(1.53913171, 1.87266232, 2.12563179, 2.33267234, 2.37160665, 2.37162193),
        ],
    },
    "DW_2000Q_6": {
        "typical_programming_time": 10536.81,
        "readout_time_model_parameters": [0.0, 3.309843, 2.29754167, 2.29754167],
    },
}


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
    solver = "DW_2000Q_6" if machine.topology == "chimera" else "Advantage_system4.1"
    each = typical_access_seconds(solver, chains.qubits, reads)
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
        timing_typical_of=solver,
    )


def _check(features: int | None, bits: int, rounds: int | None, reads: int) -> None:
    """Raise InputError unless the numbers make sense."""
    for name, value in (("features", features), ("bits a weight", bits), ("rounds", rounds)):
        if value is not None and not 1 <= value <= _MOST:
            raise InputError(f"{value} {name}; expected 1 to {_MOST:,}")
    if not 1 <= reads <= _MOST_READS:
        raise InputError(f"{reads} reads of a round; expected 1 to {_MOST_READS:,}")


def typical_access_seconds(solver: str, qubits: int, reads: int) -> float:
    """Return the QPU access time of one problem, by the typical times of a solver.

    >>> round(typical_access_seconds("Advantage_system4.1", 5627, 100), 6)  # as Ocean's manual says
    0.042657
    """
    from dwave.cloud.solver import StructuredSolver

    # Ocean's own model; it reads only the properties
    known = SimpleNamespace(properties={"problem_timing_data": _COMMON | _TYPICAL[solver]})
    return float(StructuredSolver.estimate_qpu_access_time(known, qubits, num_reads=reads)) / 1e6
