"""The cost of a submission, estimated before it is sent: qubits, reads, seconds of solver time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from qcompile.errors import InputError
from qcompile.leap.annealing import check_annealing
from qcompile.leap.nonlinear import NonlinearProblem
from qcompile.stages.embedded import Embedded
from qcompile.stages.qubo import Qubo
from qcompile.stages.record import Record

__all__ = ["MOST_PARTS", "Cost", "hybrid_cost", "nonlinear_cost", "qpu_cost"]


MOST_PARTS = 1000  # of one job


@dataclass(frozen=True)
class Cost(Record):
    """What is asked of a solver, and what that is likely to cost.

    `reads` has one number for each problem. There is more than one problem if the solver limits the
    reads of each, for gauges, and to try chain strengths. `copies` counts the copies of the problem
    in each, `qubits` the qubits of all of them. `seconds` is the time that will be billed: QPU
    access time, or the time limit of a hybrid solver. It is None if the solver has no timing model.
    `limit` is the longest time that the solver allows for one problem. By key it reads as in its
    record: ``cost["seconds_billed"]``.
    """

    solver: str
    solver_type: str
    variables: int
    qubits: int | None
    longest_chain: int | None
    reads: tuple[int, ...]
    seconds: float | None
    limit: float | None
    load: float | None
    notes: tuple[str, ...] = ()
    copies: int = 1

    @property
    def samples(self) -> int:
        """The number of samples: those of every read, one for each copy."""
        return self.copies * sum(self.reads)

    @property
    def problems(self) -> int:
        """The number of problems that are sent."""
        return max(1, len(self.reads))

    def to_dict(self) -> dict[str, Any]:
        """Return the record that is written and shown."""
        return {
            "solver": self.solver,
            "solver_type": self.solver_type,
            "variables": self.variables,
            "qubits": self.qubits,
            "longest_chain": self.longest_chain,
            "reads": sum(self.reads) if self.reads else None,
            **({"copies": self.copies, "samples": self.samples} if self.copies > 1 else {}),
            "problems": self.problems,
            "seconds_billed": self.seconds,
            "seconds_allowed_per_problem": self.limit,
            "load": self.load,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cost:
        """Return the cost of a record; a value that is missing or invalid counts as unknown.

        A cost is only shown. A damaged one must not keep a job that was paid for from being
        resumed.
        """
        reads = _whole(values.get("reads")) or 0
        problems = min(_whole(values.get("problems")) or 1, MOST_PARTS)
        notes = values.get("notes")
        return cls(
            solver=str(values.get("solver", "")),
            solver_type=str(values.get("solver_type", "")),
            variables=_whole(values.get("variables")) or 0,
            qubits=_whole(values.get("qubits")),
            longest_chain=_whole(values.get("longest_chain")),
            reads=_share(reads, problems) if reads else (),
            seconds=_number(values.get("seconds_billed")),
            limit=_number(values.get("seconds_allowed_per_problem")),
            load=_number(values.get("load")),
            notes=tuple(map(str, notes)) if isinstance(notes, list) else (),
            copies=_whole(values.get("copies")) or 1,
        )


def _whole(value: Any) -> int | None:
    plain = isinstance(value, int) and not isinstance(value, bool)
    return value if plain and value >= 0 else None


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain and math.isfinite(value) else None


def qpu_cost(
    solver: Any,
    embedded: Embedded,
    reads: int,
    parameters: Mapping[str, Any],
    *,
    copies: int = 1,
    qubits: int | None = None,
    gauges: int | None = None,
    trials: Sequence[int] = (),
) -> Cost:
    """Split the reads according to the solver's limits, and estimate the QPU access time.

    `qubits` are those of all `copies`. Some of the reads may go to `trials`, which are problems of
    their own; the others are shared by at least `gauges` problems.
    """
    _check_reads(reads, gauges, trials)
    size = len(embedded.qubits) if qubits is None else qubits
    limit = _run_limit(solver)
    notes: list[str] = []
    check_annealing(solver, parameters, reverse=_is_reverse(parameters))
    _check_one_read(solver, size, parameters, limit, notes)
    most = _most_reads(solver, size, parameters, limit)
    rest = reads - sum(trials)
    number = max(-(-rest // most), gauges or 1)
    if number + len(trials) > MOST_PARTS or max(trials, default=0) > most:
        raise InputError(
            f"{reads} reads; {solver.name} takes {most} at a time, and a job has up to "
            f"{MOST_PARTS} problems: use at most reads={MOST_PARTS * most}"
        )
    parts = _share(rest, number)
    if -(-rest // most) > 1:
        notes.append(f"{solver.name} takes up to {most} reads at a time: {number} problems")
    if gauges:
        notes.append(f"{gauges} gauges: the machine is programmed for each")
    if trials:
        tried = f"{len(trials)} problems of {sum(trials)} reads try chain strengths"
        notes.append(f"{tried}; the best one gets the other {rest} reads")
    times = [_access_time(solver, size, count, parameters) for count in (*trials, *parts)]
    known = [t for t in times if t is not None]
    return Cost(
        solver=solver.name,
        solver_type="qpu",
        variables=embedded.qubo.variables,
        qubits=size,
        longest_chain=embedded.embedding.longest,
        reads=(*trials, *parts),
        seconds=sum(known) if len(known) == len(times) else None,
        limit=limit,
        load=_load(solver),
        notes=tuple(notes),
        copies=copies,
    )


def _check_reads(reads: int, gauges: int | None, trials: Sequence[int]) -> None:
    if reads < 1:
        raise InputError(f"{reads} reads; expected at least 1")
    if gauges is not None and gauges < 1:
        raise InputError(f"{gauges} gauges; expected at least 1")
    if reads - sum(trials) < (gauges or 1):
        raise InputError(
            f"{reads} reads; expected at least {sum(trials) + (gauges or 1)}, one for each gauge "
            "and each chain strength to try"
        )


def _check_one_read(
    solver: Any,
    qubits: int,
    parameters: Mapping[str, Any],
    limit: float | None,
    notes: list[str],
) -> None:
    """Raise InputError if a single read takes too long; note why its time is not known."""
    single = _access_time(solver, qubits, 1, parameters)
    if single is None:
        reason = _why_unknown(solver, qubits, parameters)
        notes.append(f"the time of a read is not known: {reason}")
    elif limit is not None and single > limit:
        raise InputError(
            f"one read takes {single:.4g} s and {solver.name} allows {limit:.4g} s a problem; use "
            'a shorter parameters["annealing_time"]'
        )


def _is_reverse(parameters: Mapping[str, Any]) -> bool:
    """Whether the anneal starts from a known state, which is filled in when it is sent."""
    return "initial_state" in parameters or "reinitialize_state" in parameters


def _timed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters for the timing model, which wants to see a state if there is one."""
    others = {k: v for k, v in parameters.items() if k != "num_reads"}
    return {**others, "initial_state": [1]} if _is_reverse(parameters) else others


def _why_unknown(solver: Any, qubits: int, parameters: Mapping[str, Any]) -> str:
    """Return the reason why the solver's timing model gives no time."""
    try:
        solver.estimate_qpu_access_time(qubits, num_reads=1, **_timed(parameters))
    except Exception as error:
        return str(error).strip("'\"") or type(error).__name__
    return "the solver gives no reason"


def _share(reads: int, problems: int) -> tuple[int, ...]:
    """Return the reads of each problem: equal shares, the larger ones first.

    >>> _share(2500, 3)
    (834, 833, 833)
    """
    return tuple(reads // problems + (i < reads % problems) for i in range(problems))


def _access_time(
    solver: Any, qubits: int, reads: int, parameters: Mapping[str, Any]
) -> float | None:
    """Return the seconds of QPU access by the solver's timing model, or None if it has none."""
    try:
        timed = _timed(parameters)
        return float(solver.estimate_qpu_access_time(qubits, num_reads=reads, **timed)) / 1e6
    except (KeyError, ValueError, TypeError):
        return None


def _run_limit(solver: Any) -> float | None:
    allowed = solver.properties.get("problem_run_duration_range")
    return float(allowed[1]) / 1e6 if allowed else None


def _most_reads(
    solver: Any, qubits: int, parameters: Mapping[str, Any], limit: float | None
) -> int:
    """Return the most reads of one problem that the limits on number and time allow."""
    most = int(solver.properties.get("num_reads_range", (1, 10_000))[1])
    with suppress(
        KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError
    ):  # the solver lacks a property
        most = max(1, min(most, int(solver.max_num_reads(**parameters))))
    if limit is None or (_access_time(solver, qubits, most, parameters) or 0.0) <= limit:
        return most
    low, high = 1, most  # one read is allowed, `most` reads exceed the limit
    while high - low > 1:
        middle = (low + high) // 2
        fits = (_access_time(solver, qubits, middle, parameters) or 0.0) <= limit
        low, high = (middle, high) if fits else (low, middle)
    return low


def hybrid_cost(solver: Any, qubo: Qubo, time_limit: float | None) -> Cost:
    """Return the cost at the hybrid BQM solver: by default its least time limit."""
    from dwave.system import LeapHybridSampler

    most = solver.properties.get("maximum_number_of_variables")
    if most is not None and qubo.variables > most:
        raise InputError(f"{qubo.variables} variables; {solver.name} takes up to {most}")
    # Ocean's own rule; it reads only the properties
    least = LeapHybridSampler.min_time_limit(
        SimpleNamespace(properties=solver.properties), SimpleNamespace(num_variables=qubo.variables)
    )
    return _hybrid("hybrid", solver, qubo.variables, float(least), time_limit)


def nonlinear_cost(solver: Any, problem: NonlinearProblem, time_limit: float | None) -> Cost:
    """Return the cost at the nonlinear solver: by default its least time limit."""
    from dwave.system.samplers import LeapHybridNLSampler

    least = LeapHybridNLSampler.estimated_min_time_limit(
        SimpleNamespace(properties=solver.properties), problem.model
    )
    (decision,) = problem.model.iter_decisions()
    return _hybrid("nl", solver, int(decision.size()), float(least), time_limit)


def _hybrid(kind: str, solver: Any, variables: int, least: float, time_limit: float | None) -> Cost:
    limit = solver.properties.get("maximum_time_limit")
    wanted = least if time_limit is None else time_limit
    if not least <= wanted < math.inf:
        raise InputError(f"time_limit={wanted:g}; this problem needs at least {least:.4g} s")
    hours = solver.properties.get("maximum_time_limit_hrs")
    longest = float(limit) if limit is not None else None if hours is None else 3600 * float(hours)
    if longest is not None and wanted > longest:
        raise InputError(f"time_limit={wanted:g}; {solver.name} allows {longest:g} s")
    return Cost(
        solver=solver.name,
        solver_type=kind,
        variables=variables,
        qubits=None,
        longest_chain=None,
        reads=(),
        seconds=wanted,
        limit=longest,
        load=_load(solver),
    )


def _load(solver: Any) -> float | None:
    """Return the load of a solver; None if what the server states is no number."""
    return _number(getattr(solver, "avg_load", None))
