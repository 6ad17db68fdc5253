"""Problem -> Plan: what will be sent to a solver in its present state, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.unembed import REPAIRS
from qcompile.errors import InputError, QcompileError
from qcompile.files.guarded import check_depth
from qcompile.leap.anneal_options import AnnealOptions
from qcompile.leap.chains import (
    copies_of,
    earlier_chains,
    find_chains,
    move_chains,
    move_copies,
)
from qcompile.leap.client import Leap, described_by_server
from qcompile.leap.cost import MOST_PARTS, Cost, hybrid_cost, nonlinear_cost, qpu_cost
from qcompile.leap.job_store import list_jobs
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.programs import build_program
from qcompile.leap.published_cost import Published
from qcompile.leap.records import CANCELLED, DONE, FAILED, Part
from qcompile.leap.refinement import known_state
from qcompile.leap.strength import strengths_to_try
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime.text import one_line
from qcompile.stages.embedded import Embedding
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = [
    "POSTS",
    "Plan",
    "Request",
    "Sent",
    "check_label",
    "check_parameters",
    "check_post",
    "check_repair",
    "make_plan",
    "refuse_duplicate_job",
]


POSTS = ("descent", "none")
_LONGEST_LABEL = 200
_TRIAL_READS = 50  # of each problem that tries chain strengths
# Parameters of solvers that are parameters of `submit` itself.
_OWN_PARAMETERS = {"num_reads": "reads", "time_limit": "time_limit"}


@dataclass(frozen=True)
class Request:
    """What the user asks for: the solver, its parameters, and how to embed and decode.

    `solver`, `profile` and `region` are as in Ocean's configuration. `embeddings` are chains to
    use, one for each copy. They, `reads`, `chain_strength`, `repair` and `anneal` are for QPUs,
    `time_limit` (seconds) is for hybrid solvers. `parameters` are sent to the solver unchanged.
    `seed` is for the search for chains and for gauges. `post` says what is done to the samples: a
    descent, or nothing.
    """

    solver: str | None = None
    solver_type: str = "qpu"
    profile: str | None = None
    region: str | None = None
    reads: int = 1000
    label: str = "qcompile"
    embeddings: tuple[Embedding, ...] = ()
    chain_strength: float | str = "torque"
    repair: str = "majority"
    time_limit: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    anneal: AnnealOptions = field(default_factory=AnnealOptions)
    post: str = "none"

    def __post_init__(self) -> None:
        check_label(self.label)
        check_repair(self.repair)
        check_post(self.post)
        if self.solver_type != "qpu" and self.anneal.named:
            raise InputError(
                f"{', '.join(self.anneal.named)}: for QPUs; a hybrid solver takes time_limit="
            )
        for name in ("solver", "profile", "region"):
            text = getattr(self, name)
            if text is not None and not text.isprintable():
                raise InputError(f"{name} {text!r}; expected printable characters")
        if self.time_limit is not None and self.solver_type == "qpu":
            raise InputError("time_limit= is for hybrid solvers; a QPU takes reads=")


@dataclass(frozen=True)
class Sent:
    """One problem on the server: its parameters, and what else a `Part` records."""

    parameters: Mapping[str, Any]
    chain_strengths: tuple[float, ...] = ()
    gauge: int | None = None
    state: str | None = None
    phase: int = 1

    def as_part(self, number: int, label: str) -> Part:
        """Return the part of a job."""
        return Part(
            number=number,
            label=label,
            reads=self.parameters.get("num_reads"),
            parameters=self.parameters,
            chain_strengths=self.chain_strengths,
            gauge=self.gauge,
            state=self.state,
            phase=self.phase,
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be sent: `parts` has one entry for each problem on the server.

    `problem` is in the form that the solver takes. `embeddings` has the chains of each copy on a
    QPU, and is empty for other solvers, which have no `chain_strength`.
    """

    problem: Pubo | Qubo
    parts: tuple[Sent, ...]
    cost: Cost
    embeddings: tuple[Embedding, ...] = ()
    chain_strength: float | None = None


def check_label(label: str) -> None:
    """Raise InputError unless the label can be used to find a job."""
    if not label.strip() or len(label) > _LONGEST_LABEL or not label.isprintable():
        raise InputError(f"label {label!r}; expected 1 to {_LONGEST_LABEL} printable characters")


def check_repair(repair: str) -> None:
    """Raise InputError unless this is a way to treat broken chains."""
    if repair not in REPAIRS:
        raise InputError(f"repair {repair!r}; expected one of {', '.join(REPAIRS)}")


def check_post(post: str) -> None:
    """Raise InputError unless this can be done to samples."""
    if post not in POSTS:
        raise InputError(f"post {post!r}; expected one of {', '.join(POSTS)}")


def make_plan(
    connection: Leap | Published,
    problem: Pubo | Qubo,
    request: Request,
    jobs: str | Path | None,
) -> Plan:
    """Return what will be sent for a request, and its cost."""
    solver, given = connection.solver, request.parameters
    with described_by_server():
        check_parameters(solver, given)
    if not problem.variables:
        raise InputError("the problem has no variables: pruning has solved it already")
    if request.solver_type == "nl":
        model = nonlinear(problem)
        with described_by_server():
            cost = nonlinear_cost(solver, model, request.time_limit)
        return Plan(problem, (Sent({**given, "time_limit": cost.seconds}),), cost)
    qubo = quadratize(problem) if isinstance(problem, Pubo) else problem
    if request.solver_type == "hybrid":
        with described_by_server():
            cost = hybrid_cost(solver, qubo, request.time_limit)
        return Plan(qubo, (Sent({**given, "time_limit": cost.seconds}),), cost)
    return _qpu_plan(connection, qubo, request, jobs)


def _qpu_plan(
    connection: Leap | Published, qubo: Qubo, request: Request, jobs: str | Path | None
) -> Plan:
    """Return what will be sent to a QPU; everything is checked before chains are searched."""
    solver, anneal = connection.solver, request.anneal
    state = None
    if anneal.refine is not None:
        state = "".join(map(str, known_state(qubo, anneal.refine).tolist()))
    with described_by_server():
        parameters = anneal.parameters(solver, request.parameters)
        check_parameters(solver, {**parameters, **({"initial_state": []} if state else {})})
    sweep = request.chain_strength == "sweep"
    strength = strength_of(qubo, "torque" if sweep else request.chain_strength)
    embeddings = _chains(qubo, connection.machine, request, jobs)
    program = build_program(
        [qubo],
        embeddings,
        [strength],
        gauge=None if anneal.gauges is None else request.seed,
        pinned=bool(parameters.get("fast_anneal")),
    )
    if len(program.pins):
        check_parameters(solver, {"flux_biases": []})
    tried = strengths_to_try(strength, len(embeddings)) if sweep else []
    each = max(1, min(_TRIAL_READS, request.reads // (2 * max(1, len(tried)))))
    with described_by_server():
        cost = qpu_cost(
            solver,
            program.copies[0],
            request.reads,
            parameters,
            copies=len(embeddings),
            qubits=len(program.qubits),
            gauges=anneal.gauges,
            trials=[each] * len(tried),
        )
    parts = _parts(cost.reads, parameters, tried, request, state)
    return Plan(qubo, parts, cost, embeddings, strength)


def _parts(
    reads: Sequence[int],
    parameters: Mapping[str, Any],
    tried: Sequence[tuple[float, ...]],
    request: Request,
    state: str | None,
) -> tuple[Sent, ...]:
    """Return the problems of a job: those that try chain strengths, then the others."""
    gauges = request.anneal.gauges
    parts = []
    for number, count in enumerate(reads):
        trial = number < len(tried)
        turn = 0 if trial or gauges is None else (number - len(tried)) % gauges
        parts.append(
            Sent(
                {**parameters, "num_reads": count},
                chain_strengths=tried[number] if trial else (),
                gauge=None if gauges is None else request.seed * MOST_PARTS + turn,
                state=state,
                phase=2 if tried and not trial else 1,
            )
        )
    return tuple(parts)


def check_parameters(solver: Any, given: Mapping[str, Any]) -> None:
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


def _chains(
    qubo: Qubo, machine: Machine, request: Request, jobs: str | Path | None
) -> tuple[Embedding, ...]:
    """Return chains for each copy: those given, or of an earlier job, if possible, else new ones.

    Of a single chain given, further copies are searched.
    """
    given, wanted = request.embeddings, request.anneal.copies
    if len(given) > 1:
        if isinstance(wanted, int) and wanted > len(given):
            raise InputError(
                f"copies={wanted}; the embedding holds {len(given)} copies: use at most "
                f"copies={len(given)}, or leave out embedding="
            )
        return move_copies(given[: wanted if isinstance(wanted, int) else None], qubo, machine)
    chains = move_chains(given[0], qubo, machine) if given else None
    if chains is None:
        chains = earlier_chains(qubo, machine, jobs) or find_chains(qubo, machine, request.seed)
    return copies_of(chains, qubo, machine, 1 if wanted is None else wanted, request.seed)


def refuse_duplicate_job(plan: Plan, jobs: str | Path | None, known: Collection[str]) -> None:
    """Raise InputError if an unfinished job asks for the same: it would be paid for twice.

    So would a job that another process submitted at the same time, even if it is finished by now:
    one that is not among the `known`, which were there when this submission began.
    """
    wanted = [part.as_part(0, "").to_dict() for part in plan.parts]
    for job in list_jobs(jobs):
        stage = job.stage
        if stage in (FAILED, CANCELLED) or (stage == DONE and job.folder.name in known):
            continue
        if job.cost.solver != plan.cost.solver:
            continue
        if [{**part.to_dict(), "number": 0, "label": ""} for part in job.parts] != wanted:
            continue
        if job.copies != max(1, len(plan.embeddings)):
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
