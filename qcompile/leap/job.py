"""A job: one submission, recorded in a folder that outlives every crash."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError, QcompileError
from qcompile.files import atomic, guarded, pubo, qubo
from qcompile.files.embedding import load_embedding, save_embedding
from qcompile.leap.copies import copies_file, load_copies, save_copies
from qcompile.leap.cost import MOST_PARTS, Cost
from qcompile.leap.folder import JOB_ID, JobFolder, data_folder, digest_of, jobs_folder
from qcompile.leap.records import (
    ANSWERED,
    CANCELLED,
    DONE,
    FAILED,
    MOST_COPIES,
    OVER,
    SENT,
    STAGES,
    Part,
    Solver,
    State,
)
from qcompile.stages.display import many, quoted
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["JOB_ID", "Job", "data_folder", "digest_of", "jobs_folder", "problem_file"]


_log = logging.getLogger("qcompile")


@dataclass(frozen=True, kw_only=True, repr=False)
class Job(JobFolder):
    """A submission: what was asked for, of which solver, and the folder that keeps it.

    The fields other than `folder` are the content of ``job.json`` in its order; they never change.
    How far the parts have come is read from the folder each time it is asked for. `account` is a
    keyed digest of the token, `digests` has the SHA-256 of the files that must not change. `copies`
    is the number of copies of the problem on a QPU, `post` what is done to the samples. If copies
    are `different`, each is a problem of its own: ``problem.npz``, ``problem-2.npz`` and so on.
    """

    folder: Path
    id: str
    label: str
    created: str
    solver_type: str
    solver: Solver
    endpoint: str
    account: str
    repair: str
    chain_strength: float | None
    digests: Mapping[str, str]
    source: str = ""
    profile: str = ""
    region: str = ""
    cost: Cost
    parts: tuple[Part, ...]
    copies: int = 1
    post: str = "none"
    different: bool = False

    def _line(self) -> str:
        return f"{quoted(self.id)}, {many(len(self.parts), 'part')} for {quoted(self.solver.name)}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "label": self.label,
            "created": self.created,
            "solver": self.solver.name,
            "data": self.source or None,
            "parts": len(self.parts),
            "folder": self.folder,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the content of job.json as plain values."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        del content["folder"]
        for name, default in (("copies", 1), ("post", "none"), ("different", False)):
            if content[name] == default:  # earlier versions did not have it
                del content[name]
        return content | {
            "solver": self.solver.to_dict(),
            "digests": dict(self.digests),
            "cost": self.cost.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], folder: Path) -> Job:
        """Return the job that a folder records, or raise FormatError if the record is invalid."""
        if not isinstance(values["id"], str) or not JOB_ID.fullmatch(values["id"]):
            raise FormatError("invalid job id")
        strength = values["chain_strength"]
        return cls(
            folder=folder,
            id=values["id"],
            label=str(values["label"]),
            created=str(values["created"]),
            solver_type=str(values["solver_type"]),
            solver=Solver.from_dict(values["solver"]),
            endpoint=str(values["endpoint"]),
            account=str(values["account"]),
            repair=str(values["repair"]),
            chain_strength=None if strength is None else float(strength),
            digests=guarded.as_record(values["digests"]),
            source=str(values["source"]),
            profile=str(values["profile"]),
            region=str(values["region"]),
            cost=Cost.from_dict(guarded.as_record(values["cost"])),
            parts=_parts_from(values["parts"], values["id"]),
            copies=_copies_from(values.get("copies", 1)),
            post=str(values.get("post", "none")),
            different=values.get("different") is True,
        )

    # --- what was asked for ----------------------------------------------------------------

    def problem(self, number: int = 1) -> Pubo | Qubo:
        """Read a problem, or raise FormatError if it is not the one that was submitted."""
        path = self.file(problem_file(number))
        self.check_digest(path)
        if guarded.kind_of(path) == "qcompile.pubo":
            return pubo.load_pubo(path)
        return qubo.load_qubo(path)[0]

    def qubos(self) -> tuple[Qubo, ...]:
        """Read the problems that a QPU is sent: one, or one for each copy if they are different."""
        count = self.copies if self.different else 1
        found = [self.problem(number) for number in range(1, count + 1)]
        return tuple(own for own in found if isinstance(own, Qubo))  # a QPU is sent nothing else

    def embedding(self, part: Part) -> Embedding:
        """Read the chains that a part was sent with: those of its first copy."""
        path = self.file(self.state(part).embedding)
        self.check_digest(path)
        return load_embedding(path)

    def embeddings(self, part: Part) -> tuple[Embedding, ...]:
        """Read the chains of all copies that a part was sent with."""
        state, first = self.state(part), self.embedding(part)
        count = self.copies if state.copies is None else state.copies
        if count == 1:
            return (first,)
        path = self.file(copies_file(state.embedding))
        self.check_digest(path)
        return load_copies(path, first, count)

    # --- how far it has come ---------------------------------------------------------------

    def state(self, part: Part) -> State:
        """Read how far a part has come; if that record is damaged, the part may have been sent."""
        name = f"part-{part.number}.json"
        if not os.path.lexists(self.folder / name):
            return State()
        try:
            path = self.file(name)
            with guarded.explained(path):
                content = guarded.read_json(path)
                guarded.check_header(content, "job-part")
                return State.from_dict(content)
        except QcompileError as error:
            _log.warning("warning: %s; the part is looked up by its label", error)
            return State(stage=SENT, sent="?", doubts=1, message="its record is damaged")

    def record(self, part: Part, **changes: Any) -> State:
        """Change the state of a part; when this returns, the change has reached the disk."""
        state = replace(self.state(part), **changes)
        content = {**guarded.header_of("job-part"), **state.to_dict()}
        path = self.folder / f"part-{part.number}.json"
        with atomic.replacing(), atomic.write_atomically(path) as stream:
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        return state

    def reembed(self, part: Part, embeddings: Sequence[Embedding]) -> None:
        """Replace the chains of one part, one for each copy; the other parts keep theirs."""
        name = f"embedding-{part.number}-{secrets.token_hex(4)}.json"
        with atomic.replacing():
            save_embedding(embeddings[0], self.folder / name)
            if len(embeddings) > 1:
                save_copies(embeddings, self.folder / copies_file(name))
        count = None if len(embeddings) == self.copies else len(embeddings)
        self.record(part, embedding=name, copies=count)

    def answer_path(self, part: Part, ending: str = ".json") -> Path:
        """Return the file that keeps the answer of a part."""
        return self.folder / f"answer-{part.number}{ending}"

    @property
    def states(self) -> list[State]:
        """How far each part has come."""
        return [self.state(part) for part in self.parts]

    @property
    def stage(self) -> str:
        """How far the job has come: the stage of the part that is furthest behind, or done."""
        stages = [state.stage for state in self.states]
        if all(stage in OVER for stage in stages):
            if ANSWERED not in stages:
                return FAILED if FAILED in stages else CANCELLED
            return DONE if (self.folder / "samples.json").exists() else ANSWERED
        return min(stages, key=STAGES.index)


def problem_file(number: int) -> str:
    """Return the name of the file with one of the problems of a job.

    >>> problem_file(1), problem_file(2)
    ('problem.npz', 'problem-2.npz')
    """
    return "problem.npz" if number == 1 else f"problem-{number}.npz"


def _copies_from(value: Any) -> int:
    plain = isinstance(value, int) and not isinstance(value, bool)
    if not plain or not 1 <= value <= MOST_COPIES:
        raise FormatError(f"copies: expected a number from 1 to {MOST_COPIES}")
    return int(value)


def _parts_from(values: Any, job: str) -> tuple[Part, ...]:
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_PARTS:
        raise FormatError(f"parts: expected a list of 1 to {MOST_PARTS}")
    parts = tuple(map(Part.from_dict, values))
    for number, part in enumerate(parts, 1):
        # any other label could be that of somebody else's problem
        if part.number != number or not part.label.endswith(f" {job}.{number}"):
            raise FormatError(f"part {number}: not a part of this job")
    return parts
