"""The records in a job folder: its solver, its parts, and how far each part has come."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from qcompile.errors import FormatError
from qcompile.files.guarded import as_record
from qcompile.stages.record import Record

__all__ = [
    "ANSWERED",
    "CANCELLED",
    "DONE",
    "FAILED",
    "MOST_COPIES",
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
MOST_COPIES = 10_000  # of a problem on one machine
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
    """One problem that a job sends. Its label is unique among all problems of all users.

    `chain_strengths` are those of its copies, in turn; if there are none, the strength is that of
    the job. `gauge` is the seed of its gauge. `state` has the bits from which it anneals in
    reverse, as 0 and 1. A part of a later `phase` is sent after the answers of the earlier ones.
    """

    number: int
    label: str
    reads: int | None
    parameters: Mapping[str, Any]
    chain_strengths: tuple[float, ...] = ()
    gauge: int | None = None
    state: str | None = None
    phase: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without those that earlier versions did not have and need not."""
        return _without_defaults(self, "chain_strengths", "gauge", "state", "phase")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Part:
        """Return the part of a record."""
        return cls(
            number=int(values["number"]),
            label=str(values["label"]),
            reads=None if values["reads"] is None else int(values["reads"]),
            parameters=as_record(values["parameters"]),
            chain_strengths=_strengths(values.get("chain_strengths", ())),
            gauge=_count(values.get("gauge"), 0, 1 << 63),
            state=_bits(values.get("state")),
            phase=_count(values.get("phase", 1), 1, 3) or 1,
        )


def _without_defaults(record: Any, *names: str) -> dict[str, Any]:
    """Return the fields of a record as plain values, the named ones only if they are set."""
    defaults = {field.name: field.default for field in fields(record)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(record).items()
        if name not in names or value != defaults[name]
    }


def _strengths(value: Any) -> tuple[float, ...]:
    found = tuple(map(float, value)) if isinstance(value, list | tuple) else None
    if found is None or not all(0 < strength < math.inf for strength in found):
        raise FormatError("chain_strengths: expected numbers above 0")
    return found


def _count(value: Any, least: int, most: int) -> int | None:
    plain = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (plain and least <= value < most):
        raise FormatError(f"found {value!r}; expected a whole number from {least} on")
    return value if plain else None


def _bits(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and set(value) <= {"0", "1"}):
        return value
    raise FormatError("state: expected text of 0 and 1")


@dataclass(frozen=True)
class State:
    """How far a part has come.

    `sent` is the time (UTC) just before it was last sent. From then on the part may be on the
    server, even if no `id` is known. `doubts` counts the requests whose outcome stayed unknown;
    if there are any, the part may be on the server more than once. `data_id` names uploaded data,
    `embedding` the file with the chains. `copies` counts them if they differ from those of the job.
    """

    stage: str = READY
    sent: str | None = None
    id: str | None = None
    doubts: int = 0
    data_id: str | None = None
    embedding: str = "embedding.json"
    message: str = ""
    copies: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without those that earlier versions did not have and need not."""
        return _without_defaults(self, "copies")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> State:
        """Return the state of a record, or raise FormatError if a value is invalid."""
        old = {name: values[name] for name in cls.__dataclass_fields__ if name != "copies"}
        state = cls(**old, copies=_count(values.get("copies"), 1, MOST_COPIES + 1))
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
