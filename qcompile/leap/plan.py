"""Problem -> Plan: what will be sent to a solver in its present state, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.unembed import REPAIRS
from qcompile.errors import InputError, QcompileError
from qcompile.files.guarded import check_depth
from qcompile.leap.chains import earlier_chains, find_chains, move_chains
from qcompile.leap.client import Leap, described_by_server
from qcompile.leap.cost import Cost, hybrid_cost, nonlinear_cost, qpu_cost
from qcompile.leap.job_store import list_jobs
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.published_cost import Published
from qcompile.leap.records import CANCELLED, DONE, FAILED
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime.text import one_line
from qcompile.stages.embedded import Embedded, Embedding, to_embedded
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = [
    "Plan",
    "Request",
    "check_label",
    "check_repair",
    "make_plan",
    "refuse_duplicate_job",
]


_LONGEST_LABEL = 200
# Parameters of solvers that are parameters of `submit` itself.
_OWN_PARAMETERS = {"num_reads": "reads", "time_limit": "time_limit"}


@dataclass(frozen=True)
class Request:
    """What the user asks for: the solver, its parameters, and how to embed and decode.

    `solver`, `profile` and `region` are as in Ocean's configuration. `reads`, the chains and
    `repair` are for QPUs, `time_limit` (seconds) is for hybrid solvers. `parameters` are sent to
    the solver unchanged. `seed` is for the search for chains.
    """

    solver: str | None = None
    solver_type: str = "qpu"
    profile: str | None = None
    region: str | None = None
    reads: int = 1000
    label: str = "qcompile"
    embedding: Embedding | None = None
    chain_strength: float | str = "torque"
    repair: str = "majority"
    time_limit: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        check_label(self.label)
        check_repair(self.repair)
        for name in ("solver", "profile", "region"):
            text = getattr(self, name)
            if text is not None and not text.isprintable():
                raise InputError(f"{name} {text!r}; expected printable characters")
        if self.time_limit is not None and self.solver_type == "qpu":
            raise InputError("time_limit= is for hybrid solvers; a QPU takes reads=")


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be sent: `parameters` has one entry for each problem on the server.

    `problem` is in the form that the solver takes; `embedded` is None unless that is a QPU.
    """

    problem: Pubo | Qubo
    embedded: Embedded | None
    parameters: tuple[Mapping[str, Any], ...]
    cost: Cost

    @property
    def embedding(self) -> Embedding | None:
        """The chains of the problem on a QPU."""
        return None if self.embedded is None else self.embedded.embedding

    @property
    def chain_strength(self) -> float | None:
        """The chain strength on a QPU."""
        return None if self.embedded is None else self.embedded.chain_strength


def check_label(label: str) -> None:
    """Raise InputError unless the label can be used to find a job."""
    if not label.strip() or len(label) > _LONGEST_LABEL or not label.isprintable():
        raise InputError(f"label {label!r}; expected 1 to {_LONGEST_LABEL} printable characters")


def check_repair(repair: str) -> None:
    """Raise InputError unless this is a way to treat broken chains."""
    if repair not in REPAIRS:
        raise InputError(f"repair {repair!r}; expected one of {', '.join(REPAIRS)}")


def make_plan(
    connection: Leap | Published,
    problem: Pubo | Qubo,
    request: Request,
    jobs: str | Path | None,
) -> Plan:
    """Return what will be sent for a request, and its cost."""
    solver, given = connection.solver, request.parameters
    with described_by_server():
        _check_parameters(solver, given)
    if not problem.variables:
        raise InputError("the problem has no variables: pruning has solved it already")
    if request.solver_type == "nl":
        model = nonlinear(problem)
        with described_by_server():
            cost = nonlinear_cost(solver, model, request.time_limit)
        return Plan(problem, None, ({**given, "time_limit": cost.seconds},), cost)
    qubo = quadratize(problem) if isinstance(problem, Pubo) else problem
    if request.solver_type == "hybrid":
        with described_by_server():
            cost = hybrid_cost(solver, qubo, request.time_limit)
        return Plan(qubo, None, ({**given, "time_limit": cost.seconds},), cost)
    embedded = _embedded(qubo, connection.machine, request, jobs)
    with described_by_server():
        cost = qpu_cost(solver, embedded, request.reads, given)
    return Plan(qubo, embedded, tuple({**given, "num_reads": n} for n in cost.reads), cost)


def _check_parameters(solver: Any, given: Mapping[str, Any]) -> None:
    """Raise InputError if the solver does not take a parameter, or JSON cannot hold its value."""
    try:
        check_depth(dict(given))
        orjson.dumps(dict(given))
        finite = "NaN" not in json.dumps(dict(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"parameters cannot be sent ({one_line(error)})") from None
    if not finite:
        raise InputError("a parameter is not a number")
    for name in given:
        if name in _OWN_PARAMETERS:
            raise InputError(f"{name} among the parameters; use {_OWN_PARAMETERS[name]}= instead")
        if name not in solver.parameters and not name.startswith("x_"):
            known = one_line(", ".join(sorted(solver.parameters)))
            raise InputError(
                f"{one_line(solver.name)} has no parameter {name!r}; expected one of {known}"
            )


def _embedded(qubo: Qubo, machine: Machine, request: Request, jobs: str | Path | None) -> Embedded:
    """Reuse the chains given, or those of an earlier job, if possible; else search for chains."""
    strength = strength_of(qubo, request.chain_strength)
    chains = None
    if request.embedding is not None:
        chains = move_chains(request.embedding, qubo, machine)
    if chains is None:
        chains = earlier_chains(qubo, machine, jobs) or find_chains(qubo, machine, request.seed)
    return to_embedded(qubo, chains, strength)


def refuse_duplicate_job(plan: Plan, jobs: str | Path | None, known: Collection[str]) -> None:
    """Raise InputError if an unfinished job asks for the same: it would be paid for twice.

    So would a job that another process submitted at the same time, even if it is finished by now:
    one that is not among the `known`, which were there when this submission began.
    """
    wanted = [dict(parameters) for parameters in plan.parameters]
    for job in list_jobs(jobs):
        stage = job.stage
        if stage in (FAILED, CANCELLED) or (stage == DONE and job.folder.name in known):
            continue
        if job.cost.solver != plan.cost.solver:
            continue
        if [dict(part.parameters) for part in job.parts] != wanted:
            continue
        try:
            same = _same(job.problem(), plan.problem)
        except QcompileError:
            continue
        if same:
            why = "was submitted at the same time" if stage == DONE else "is not finished"
            raise InputError(
                f"job {job.id} asks for the same and {why} ({stage}): continue it "
                f"with `qcompile resume {job.id}`, end it with `qcompile cancel {job.id}`, or "
                "submit a second one with again=True"
            )


def _same(one: Pubo | Qubo, two: Pubo | Qubo) -> bool:
    """Whether two problems have equal numbers."""
    arrays = [_arrays(one), _arrays(two)]
    return [a.shape for a in arrays[0]] == [a.shape for a in arrays[1]] and all(
        np.array_equal(a, b) for a, b in zip(*arrays, strict=True)
    )


def _arrays(problem: Pubo | Qubo) -> list[Any]:
    if isinstance(problem, Pubo):
        return [np.array(problem.constant), *problem.indices, *problem.coefficients]
    pairs = (problem.first, problem.second, problem.quadratic)
    return [np.array(problem.offset), problem.linear, *pairs]
