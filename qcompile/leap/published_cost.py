"""What a submission would cost by the published times of a machine: no account, no network.

A `Published` stands for the connection to Leap where a plan is made: it has a machine, and a solver
whose properties are those in the catalogue. Ocean's own timing model adds the times up. Readout
times between one qubit and the whole machine are not published, so the time for the whole is taken,
and the cost is an upper one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.leap.cost import Cost
from qcompile.stages.machine import Machine
from qcompile.stages.machine_facts import Timing

__all__ = ["Published", "access_seconds", "published", "timing_data"]


# Parameters of QPU solvers, by dwave-ocean-sdk, docs/quantum_research/solver_parameters.rst.
_PARAMETERS = (
    "anneal_offsets",
    "anneal_schedule",
    "annealing_time",
    "answer_mode",
    "auto_scale",
    "fast_anneal",
    "flux_biases",
    "flux_drift_compensation",
    "h_gain_schedule",
    "initial_state",
    "label",
    "max_answers",
    "num_reads",
    "programming_thermalization",
    "readout_thermalization",
    "reduce_intersample_correlation",
    "reinitialize_state",
)
_RANGES = (
    "h",
    "j",
    "extended_j",
    "per_qubit_coupling",
    "per_group_coupling",
    "annealing_time",
    "fast_anneal_time",
    "h_gain_schedule",
    "num_reads",
    "problem_run_duration",
)


def timing_data(timing: Timing) -> dict[str, Any]:
    """Return published times in the form of a solver's property `problem_timing_data`.

    The parts of reverse annealing and of intersample correlation are not published: the former
    count as 0, the latter as solver_properties_all.rst shows them.
    """
    qubits, times = list(timing.readout_qubits), list(timing.readout_time)
    model = timing.readout_model
    if model == "range":
        model, qubits, times = "pwl_linear", [0.0, 1.0], [timing.longest_readout] * 2
    elif model == "pwl_log_log":
        qubits, times = [math.log10(q) for q in qubits], [math.log10(t) for t in times]
    deltas = [
        f"reverse_annealing_{reinit}_reinit_{part}_time_delta"
        for reinit in ("with", "without")
        for part in ("prog", "delay")
    ]
    return {
        "version": "1.0.0",
        "typical_programming_time": timing.programming,
        "default_programming_thermalization": timing.thermalization,
        "default_annealing_time": timing.annealing_time,
        "readout_time_model": model,
        "readout_time_model_parameters": [*qubits, *times],
        "qpu_delay_time_per_sample": timing.delay,
        "default_readout_thermalization": 0.0,
        "decorrelation_max_nominal_anneal_time": 2000.0,
        "decorrelation_time_range": [500.0, 10000.0],
        **dict.fromkeys(deltas, 0.0),
    }


def access_seconds(timing: Timing, qubits: int, reads: int, **parameters: Any) -> float:
    """Return the QPU access time of one problem by published times; an upper one for a range.

    >>> times = Timing("mine", programming=9000.0, delay=20.0, readout_time=(10.0, 60.0))
    >>> access_seconds(times, 300, 100)  # 9 + 1 ms, and 100 times 20 + 60 + 20 us
    0.02
    """
    from dwave.cloud.solver import StructuredSolver

    # Ocean's own model; it reads only the properties
    known = SimpleNamespace(properties={"problem_timing_data": timing_data(timing)})
    estimate = StructuredSolver.estimate_qpu_access_time
    return float(estimate(known, qubits, num_reads=reads, **parameters)) / 1e6


@dataclass(frozen=True)
class Published:
    """In the place of a connection: a machine with published times, and a solver made of them."""

    machine: Machine
    timing: Timing

    @cached_property
    def solver(self) -> Any:
        """Ocean's solver with the properties that are published of the machine."""
        from dwave.cloud.solver import StructuredSolver

        machine, timing = self.machine, self.timing
        ranges = {f"{n}_range": getattr(machine, f"{n}_range") for n in _RANGES}
        properties = {
            "chip_id": timing.solver,
            "category": "qpu",
            "supported_problem_types": ["ising", "qubo"],
            "topology": {"type": machine.topology, "shape": list(machine.sizes)},
            "num_qubits": len(machine.whole_graph),
            "qubits": machine.nodes.tolist(),
            "couplers": machine.nodes[machine.edges].tolist(),
            "parameters": dict.fromkeys(_PARAMETERS, "as published"),
            "problem_timing_data": timing_data(timing),
            "default_annealing_time": timing.annealing_time,
            "default_programming_thermalization": timing.thermalization,
            "default_readout_thermalization": 0.0,
            **{name: list(value) for name, value in ranges.items() if value is not None},
        }
        if machine.num_reads_range is not None:
            properties["num_reads_range"] = [int(n) for n in machine.num_reads_range]
        content = {
            "identity": {"name": timing.solver, "version": {"graph_id": machine.graph_id}},
            "status": "ONLINE",
            "properties": properties,
        }
        return StructuredSolver(None, content)

    def with_notes(self, cost: Cost, parameters: Sequence[Mapping[str, Any]]) -> Cost:
        """Return a cost with notes on where its times come from, and what they leave open.

        There are `parameters` for each problem, the reads among them.
        """
        machine, timing = self.machine, self.timing
        at = f", {timing.date}" if timing.date else ""
        notes = [f"published times of {timing.solver}{at}: {timing.source or 'no source named'}"]
        if timing.readout_model == "range":
            fast = replace(timing, readout_time=(timing.shortest_readout,) * 2)
            least = sum(_seconds(fast, given) for given in parameters)
            notes.append(
                f"at least {least:.4g} s: a readout takes {timing.shortest_readout:g} to "
                f"{timing.longest_readout:g} us, and the longest is assumed"
            )
        whole = not (machine.dead_qubits or machine.dead_couplers)
        if whole and machine.qubits is not None and machine.qubits < len(machine.nodes):
            notes.append(
                f"the whole graph of {len(machine.nodes)} qubits was used; {machine.qubits} of "
                f"{timing.solver} work, so that its chains may differ"
            )
        return replace(cost, notes=(*cost.notes, *notes))


def _seconds(timing: Timing, parameters: Mapping[str, Any]) -> float:
    """Return the QPU access time of one problem on one qubit."""
    others = {name: value for name, value in parameters.items() if name != "num_reads"}
    return access_seconds(timing, 1, parameters["num_reads"], **others)


def published(
    machine: MachineSource,
    *,
    solver: str | None = None,
    solver_type: str = "qpu",
    dry_run: bool = True,
) -> Published:
    """Return what stands for a connection to a machine; raise InputError if there are no times."""
    if solver is not None:
        raise InputError("machine= and solver=: name the machine or the live solver, not both")
    if not dry_run:
        raise InputError(
            "machine= is for the cost before there is an account: add dry_run=True, or name the "
            "live solver with solver="
        )
    if solver_type != "qpu":
        raise InputError(f'machine= is a QPU, unlike solver_type="{solver_type}"; leave one out')
    machine = load_machine(machine)
    if machine.timing is None:
        raise InputError(
            f"machine {machine.name} has no published times; expected a table [timing] in its "
            'file, or a machine that has them, such as machine="advantage2"'
        )
    return Published(machine, machine.timing)
