"""Chains for a solver as it is now: found, or moved to a graph that changed."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from qcompile.embedding.embed import embed
from qcompile.errors import InputError, QcompileError
from qcompile.leap.job_store import list_jobs
from qcompile.runtime.progress import muted
from qcompile.stages.embedded import Embedding, check_embedding, problem_id
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["earlier_chains", "find_chains", "move_chains"]


_log = logging.getLogger("qcompile")


def move_chains(embedding: Embedding, qubo: Qubo, machine: Machine) -> Embedding | None:
    """Return the same chains on the machine as it is now, or say why they no longer serve."""
    try:
        check_embedding(embedding, qubo, machine)
    except InputError as error:
        _log.warning("warning: new chains for %s as it is now: %s", machine.name, error)
        return None
    return replace(embedding, machine=machine)


def earlier_chains(qubo: Qubo, machine: Machine, jobs: str | Path | None) -> Embedding | None:
    """Look for chains of an earlier job: same structure, same working graph."""
    wanted = (problem_id(qubo), machine.graph_id)
    for job in reversed(list_jobs(jobs)):
        if job.solver_type != "qpu":
            continue
        try:
            found = job.embedding(job.parts[0])
            if (found.problem, found.machine.graph_id) != wanted:
                continue
            check_embedding(found, qubo, machine)
        except QcompileError:
            continue
        _log.info("reusing the chains of job %s", job.id)
        return replace(found, machine=machine)
    return None


def find_chains(qubo: Qubo, machine: Machine, seed: int = 0) -> Embedding:
    """Search for chains on a machine."""
    with muted():  # the search counts tries, the job counts parts
        return embed(qubo, machine, seed=seed).embedding
