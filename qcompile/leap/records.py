"""The records in a job folder: its solver, its parts, and how far each part has come."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from qcompile.errors import FormatError
from qcompile.files.guarded import as_record
from qcompile.stages.record import Record

__all__ = [
    "ANSWERED",
    "CANCELLED",
    "DONE",
    "FAILED",
    "OVER",
    "PROBLEM_ID",
    "READY",
    "SENT",
    "STAGES",
    "WAITING",
    "Part",
    "Solver",
    "State",
]


# The stages of a part, in order.
READY, SENT, WAITING, ANSWERED, FAILED, CANCELLED = STAGES = (
    "ready",
    "sent",
    "waiting",
    "answered",
    "failed",
    "cancelled",
)
OVER = (ANSWERED, FAILED, CANCELLED)  # a part in one of these never changes again
DONE = "done"  # of a job: answered and decoded
# An id becomes part of an address, so it must not hold anything that leads elsewhere.
PROBLEM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
_EMBEDDING_FILE = re.compile(r"embedding[A-Za-z0-9-]*\.json")


@dataclass(frozen=True)
class Solver(Record):
    """The name of a solver, and the version of its working graph, which only QPUs have."""

    name: str
    version: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values as in Leap's API, which leaves out a missing version."""
        if self.version is None:
            return {"name": self.name}
        return {"name": self.name, "version": dict(self.version)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Solver:
        """Return the solver of a record."""
        content = as_record(values)
        version = content.get("version")
        return cls(str(content["name"]), None if version is None else as_record(version))


@dataclass(frozen=True)
class Part:
    """One problem that a job sends. Its label is unique among all problems of all users."""

    number: int
    label: str
    reads: int | None
    parameters: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Part:
        """Return the part of a record."""
        return cls(
            number=int(values["number"]),
            label=str(values["label"]),
            reads=None if values["reads"] is None else int(values["reads"]),
            parameters=as_record(values["parameters"]),
        )


@dataclass(frozen=True)
class State:
    """How far a part has come.

    `sent` is the time (UTC) just before it was last sent. From then on the part may be on the
    server, even if no `id` is known. `doubts` counts the requests whose outcome stayed unknown;
    if there are any, the part may be on the server more than once. `data_id` names uploaded data,
    `embedding` the file with the chains.
    """

    stage: str = READY
    sent: str | None = None
    id: str | None = None
    doubts: int = 0
    data_id: str | None = None
    embedding: str = "embedding.json"
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> State:
        """Return the state of a record, or raise FormatError if a value is invalid."""
        state = cls(**{name: values[name] for name in cls.__dataclass_fields__})
        if (
            state.stage not in STAGES
            or not all(name is None or _is_problem_id(name) for name in (state.id, state.data_id))
            or not (state.sent is None or isinstance(state.sent, str))
            or not isinstance(state.doubts, int)
            or not 0 <= state.doubts < 1 << 31
            or not _EMBEDDING_FILE.fullmatch(str(state.embedding))
        ):
            raise FormatError("invalid state of a part")
        return state


def _is_problem_id(value: Any) -> bool:
    return isinstance(value, str) and PROBLEM_ID.fullmatch(value) is not None
