"""What a training on Leap will cost, by the solver's own timing model, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qcompile.embedding.complete import complete_qubo, largest_clique
from qcompile.embedding.copies import complete_copies, largest_of_copies
from qcompile.errors import InputError
from qcompile.leap.client import Leap, described_by_server
from qcompile.leap.cost import Cost, qpu_cost
from qcompile.leap.plan import check_parameters
from qcompile.leap.rounds import ROUNDS
from qcompile.solvers.options import SolveOptions
from qcompile.stages.embedded import to_embedded
from qcompile.stages.record import Record
from qcompile.training.inner import step_size
from qcompile.training.rounds import RoundOptions

__all__ = ["TrainingCost", "check_budget", "cost_of_round", "rounds_on", "size_on", "training_cost"]


@dataclass(frozen=True)
class TrainingCost(Record):
    """What a training asks of a QPU, and what that is likely to cost.

    `rounds` is the most rounds that it makes; it may settle earlier. A round has `copies` problems,
    on `qubits` of the machine together. `seconds_per_round` and
    `seconds` are QPU access time by the solver's timing model, None if it has none. `budget` is the
    most seconds that may be spent, and `rounds_within_budget` the rounds that it pays for.
    """

    solver: str
    weights: int
    step_bits: int
    blocks: int
    qubits: int | None
    longest_chain: int | None
    reads: int
    rounds: int
    seconds_per_round: float | None
    seconds: float | None
    budget: float | None
    rounds_within_budget: int | None
    load: float | None
    notes: tuple[str, ...] = ()
    copies: int = 1

    @property
    def exceeds_budget(self) -> bool:
        """Whether all rounds together are likely to cost more than the budget."""
        return self.rounds_within_budget is not None and self.rounds_within_budget < self.rounds

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingCost:
        """Return the cost of a record; it is only shown, and what is missing is not known."""
        known = {name: values.get(name) for name in cls.__dataclass_fields__}
        notes = known["notes"] if isinstance(known["notes"], list) else []
        own = {"notes": tuple(map(str, notes)), "copies": known["copies"] or 1}
        return cls(**{**known, **own})  # type: ignore[arg-type]


def size_on(connection: Leap, features: int, options: RoundOptions) -> int:
    """Return the most weights that a round may change on a QPU in its present state."""
    machine, copies, bits = connection.machine, options.copies, options.bits or 1
    wanted = (features if options.block is None else min(options.block, features)) * bits
    return step_size(
        features,
        largest_clique(machine) if copies == 1 else largest_of_copies(machine, copies, wanted),
        bits=bits,
        block=options.block,
        place=machine.name if copies == 1 else f"{machine.name} with {copies} copies",
    )


def rounds_on(features: int, size: int) -> int:
    """Return the rounds of a training where nothing is said: as many for each block."""
    return int(ROUNDS * math.ceil(features / size))


def cost_of_round(connection: Leap, bits: int, solver: SolveOptions, copies: int = 1) -> Cost:
    """Return the cost of one round: copies of a complete graph of so many bits."""
    parameters = dict(solver.parameters or {})
    with described_by_server():
        check_parameters(connection.solver, parameters)
    chains = complete_copies(connection.machine, bits, copies=copies)
    complete = to_embedded(complete_qubo(bits), chains[0], 1.0)
    qubits = sum(own.qubits for own in chains)
    with described_by_server():
        return qpu_cost(
            connection.solver, complete, solver.reads, parameters, copies=copies, qubits=qubits
        )


def training_cost(
    connection: Leap,
    features: int,
    options: RoundOptions,
    solver: SolveOptions,
    budget: float | None,
) -> TrainingCost:
    """Return the cost of a training with so many weights."""
    size = size_on(connection, features, options)
    bits = size * (options.bits or 1)
    one = cost_of_round(connection, bits, solver, options.copies)
    each, count = one.seconds, options.rounds * options.starts
    within = None if budget is None or not each else int(budget / each * (1 + 1e-12))
    return TrainingCost(
        solver=one.solver,
        weights=features,
        step_bits=bits,
        blocks=math.ceil(features / size),
        qubits=one.qubits,
        longest_chain=one.longest_chain,
        reads=solver.reads,
        rounds=count,
        seconds_per_round=each,
        seconds=None if each is None else count * each,
        budget=budget,
        rounds_within_budget=within,
        load=one.load,
        notes=one.notes,
        copies=options.copies,
    )


def check_budget(cost: TrainingCost) -> None:
    """Raise InputError if not even one round is within the budget, or if no time is known."""
    if cost.budget is None:
        return
    if cost.seconds_per_round is None:
        raise InputError(
            f"budget {cost.budget:g} s: {cost.solver} states no timing, so that it cannot be kept; "
            "leave out budget= and limit rounds="
        )
    if not cost.rounds_within_budget:
        raise InputError(
            f"budget {cost.budget:g} s; one round takes {cost.seconds_per_round:.4g} s of QPU "
            f"access time on {cost.solver}: use fewer reads=, or a larger budget="
        )
