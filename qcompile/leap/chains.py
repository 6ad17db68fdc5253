"""Find chains of qubits on the present working graph, or reuse chains found before."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from qcompile.embedding.copies import find_copies
from qcompile.embedding.embed import find_embedding
from qcompile.errors import InputError, QcompileError
from qcompile.leap.job_store import list_jobs
from qcompile.runtime.progress import muted
from qcompile.stages.embedded import Embedding, check_embedding, problem_id
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["copies_of", "earlier_chains", "find_chains", "move_chains", "move_copies"]


_log = logging.getLogger("qcompile")


def move_chains(embedding: Embedding, qubo: Qubo, machine: Machine) -> Embedding | None:
    """Return the same chains on the machine's present graph, or None if it lacks some of them."""
    try:
        check_embedding(embedding, qubo, machine)
    except InputError as error:
        _log.warning(
            "warning: searching for new chains on the present graph of %s: %s", machine.name, error
        )
        return None
    return replace(embedding, machine=machine)


def earlier_chains(qubo: Qubo, machine: Machine, jobs: str | Path | None) -> Embedding | None:
    """Return the chains of an earlier job of the same structure on the same working graph."""
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


def copies_of(
    first: Embedding, qubo: Qubo, machine: Machine, wanted: int | str, seed: int = 0
) -> tuple[Embedding, ...]:
    """Return disjoint copies of chains on a machine: so many, or with "auto" all that fit."""
    if wanted == 1:
        return (first,)
    with muted():
        count: int | Literal["auto"] = "auto" if isinstance(wanted, str) else wanted
        found = find_copies(qubo, machine, copies=count, seed=seed, embedding=first)
    if wanted != "auto" and len(found) != wanted:
        raise InputError(f"{wanted} copies; {machine.name} takes {len(found)}: use copies='auto'")
    return found


def move_copies(
    embeddings: Sequence[Embedding], qubo: Qubo, machine: Machine
) -> tuple[Embedding, ...]:
    """Return the same copies on the machine's present graph, or new ones if it lacks some.

    There may be fewer than before.
    """
    if len(embeddings) == 1:
        return (move_chains(embeddings[0], qubo, machine) or find_chains(qubo, machine),)
    moved, lost = [], None
    for embedding in embeddings:
        try:
            check_embedding(embedding, qubo, machine)
            moved.append(replace(embedding, machine=machine))
        except InputError as error:
            lost = error
    if lost is None:
        return tuple(moved)
    _log.warning(
        "warning: searching for new copies on the present graph of %s, which lacks %d of %d: %s",
        machine.name, len(embeddings) - len(moved), len(embeddings), lost,
    )  # fmt: skip
    first = moved[0] if moved else find_chains(qubo, machine)
    found = copies_of(first, qubo, machine, "auto")[: len(embeddings)]
    found = found if len(found) > len(moved) else tuple(moved)
    if len(found) < len(embeddings):
        _log.warning(
            "warning: %d of %d copies fit the present graph of %s",
            len(found),
            len(embeddings),
            machine.name,
        )
    return found


def find_chains(qubo: Qubo, machine: Machine, seed: int = 0) -> Embedding:
    """Search for chains on a machine."""
    with muted():  # the search counts tries, the job counts parts
        return find_embedding(qubo, machine, seed=seed)
