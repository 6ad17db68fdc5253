"""Problem -> Plan: what exactly will be asked of a solver as it is now, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from qcompile.embedding.chain_strength import strength_of
from qcompile.errors import InputError, QcompileError
from qcompile.leap.chains import earlier_chains, find_chains, move_chains
from qcompile.leap.job import CANCELLED, DONE, FAILED
from qcompile.leap.job_store import list_jobs
from qcompile.leap.nonlinear import nonlinear
from qcompile.reduction.quadratize import quadratize
from qcompile.stages.embedded import Embedded, Embedding, to_embedded
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

if TYPE_CHECKING:
    from qcompile.leap.client import Leap
    from qcompile.leap.cost import Cost

__all__ = ["Plan", "Request", "make_plan", "refuse_twins"]


# Solver parameters that have a parameter of their own here.
_OWN_PARAMETER = {"num_reads": "reads", "time_limit": "time_limit"}


@dataclass(frozen=True)
class Request:
    """What the user may ask of a solver.

    `reads` and the chains are for QPUs, `time_limit` (seconds) for hybrid solvers; `parameters`
    are handed to the solver as they are. `seed` is for the search for chains.
    """

    reads: int = 1000
    embedding: Embedding | None = None
    chain_strength: float | str = "torque"
    time_limit: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Plan:
    """What is about to be submitted: one entry of `parts`, reads and parameters, a problem."""

    problem: Pubo | Qubo
    embedded: Embedded | None
    parts: list[tuple[int | None, Mapping[str, Any]]]
    cost: Cost


def make_plan(line: Leap, problem: Pubo | Qubo, wishes: Request, jobs: str | Path | None) -> Plan:
    """Settle what will be sent, and what it costs."""
    from qcompile.leap import cost as costs

    given = dict(wishes.parameters)
    _check_request(line, wishes)
    if not problem.variables:
        raise InputError("a problem without variables: pruning has solved it, there is no search")
    if line.solver_type == "nl":
        cost = costs.nonlinear_cost(line.solver, nonlinear(problem), wishes.time_limit)
        return Plan(problem, None, [(None, {**given, "time_limit": cost.seconds})], cost)
    qubo = quadratize(problem) if isinstance(problem, Pubo) else problem
    if line.solver_type == "hybrid":
        cost = costs.hybrid_cost(line.solver, qubo, wishes.time_limit)
        return Plan(qubo, None, [(None, {**given, "time_limit": cost.seconds})], cost)
    embedded = _put_on(line.machine, qubo, wishes, jobs)
    cost = costs.qpu_cost(line.solver, embedded, wishes.reads, given)
    parts = [(count, {**given, "num_reads": count}) for count in cost.reads]
    return Plan(qubo, embedded, [*parts], cost)


def _check_request(line: Leap, wishes: Request) -> None:
    if wishes.time_limit is not None and line.solver_type == "qpu":
        raise InputError("time_limit= is for hybrid solvers; a QPU takes reads=")
    solver = line.solver
    try:
        orjson.dumps(dict(wishes.parameters))
        finite = "NaN" not in json.dumps(dict(wishes.parameters))
    except (TypeError, ValueError) as error:
        raise InputError(f"parameters that cannot be sent ({error})") from None
    if not finite:
        raise InputError("a parameter that is not a number")
    for name in wishes.parameters:
        if name in _OWN_PARAMETER:
            raise InputError(f"{name} among the parameters; use {_OWN_PARAMETER[name]}= instead")
        if name not in solver.parameters and not name.startswith("x_"):
            known = ", ".join(sorted(solver.parameters))
            raise InputError(f"{solver.name} has no parameter {name!r}; expected one of {known}")


def _put_on(machine: Machine, qubo: Qubo, wishes: Request, jobs: str | Path | None) -> Embedded:
    """Reuse the chains given or those of an earlier job if they serve; else look for new ones."""
    strength = strength_of(qubo, wishes.chain_strength)
    chains = None
    if wishes.embedding is not None:
        chains = move_chains(wishes.embedding, qubo, machine)
    if chains is None:
        chains = earlier_chains(qubo, machine, jobs) or find_chains(qubo, machine, wishes.seed)
    return to_embedded(qubo, chains, strength)


def refuse_twins(order: Plan, jobs: str | Path | None) -> None:
    """Refuse to pay twice for the same search by mistake."""
    asked = [dict(parameters) for _, parameters in order.parts]
    for job in list_jobs(jobs):
        if job.stage in (DONE, FAILED, CANCELLED) or job.cost.get("solver") != order.cost.solver:
            continue
        if [dict(part.parameters) for part in job.parts] != asked:
            continue
        try:
            same = _same(job.problem(), order.problem)
        except QcompileError:
            continue
        if same:
            raise InputError(
                f"job {job.id} asks for the same and is not finished ({job.stage}): go on with "
                f"`qcompile resume {job.id}`, drop it with `qcompile cancel {job.id}`, or submit "
                "a second one with again=True"
            )


def _same(one: Pubo | Qubo, two: Pubo | Qubo) -> bool:
    """Compare two problems number by number."""
    arrays = [_arrays(one), _arrays(two)]
    return [a.shape for a in arrays[0]] == [a.shape for a in arrays[1]] and all(
        np.array_equal(a, b) for a, b in zip(*arrays, strict=True)
    )


def _arrays(problem: Pubo | Qubo) -> list[Any]:
    if isinstance(problem, Pubo):
        return [np.array(problem.constant), *problem.indices, *problem.coefficients]
    pairs = (problem.first, problem.second, problem.quadratic)
    return [np.array(problem.offset), problem.linear, *pairs]
