"""A job folder: the record of one submission, and the state of its parts."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError, InputError, LeapError
from qcompile.files import atomic, guarded, pubo, qubo
from qcompile.files.embedding import load_embedding, save_embedding
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = [
    "ANSWERED",
    "CANCELLED",
    "DONE",
    "FAILED",
    "JOB_ID",
    "MOST_PARTS",
    "OVER",
    "READY",
    "SENT",
    "WAITING",
    "Job",
    "Part",
    "State",
    "digest_of",
    "jobs_folder",
]


_log = logging.getLogger("qcompile")

JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
MOST_PARTS = 1000
# How far a part has come; what is over never changes again.
READY, SENT, WAITING, ANSWERED, FAILED, CANCELLED = (
    "ready",
    "sent",
    "waiting",
    "answered",
    "failed",
    "cancelled",
)
_STATES = (READY, SENT, WAITING, ANSWERED, FAILED, CANCELLED)
DONE = "done"  # of a job: answered and decoded
OVER = (ANSWERED, FAILED, CANCELLED)


@dataclass(frozen=True)
class Part:
    """What one problem on the server is asked for; its label is unique in the world."""

    number: int
    label: str
    reads: int | None
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class State:
    """How far a part has come.

    `sent` is when it was last about to be sent (UTC): from then on it may be on the server even
    where no `id` is known. `doubts` counts the times that the outcome stayed unknown: then there
    may be more of it on the server than one. `data_id` names uploaded data, `embedding` the file
    with the chains.
    """

    stage: str = READY
    sent: str | None = None
    id: str | None = None
    doubts: int = 0
    data_id: str | None = None
    embedding: str = "embedding.json"
    message: str = ""


@dataclass(frozen=True)
class Job:
    """A submission: what was asked for. How far it has come is read from its folder."""

    folder: Path
    id: str
    label: str
    created: str
    solver_type: str
    solver: Mapping[str, Any]
    endpoint: str
    account: str
    parts: tuple[Part, ...]
    repair: str
    chain_strength: float | None
    digests: Mapping[str, str]
    source: str = ""
    profile: str = ""
    region: str = ""
    cost: Mapping[str, Any] = field(default_factory=dict)

    # --- what was asked for ----------------------------------------------------------------

    def problem(self) -> Pubo | Qubo:
        """Read the problem, and insist that it is the one that was submitted."""
        path = self.folder / "problem.npz"
        self._check_digest(path)
        if guarded.kind_of(path) == "qcompile.pubo":
            return pubo.load_pubo(path)
        return qubo.load_qubo(path)[0]

    def embedding(self, part: Part) -> Embedding:
        """Read the chains that a part was sent with."""
        path = self.folder / self.state(part).embedding
        self._check_digest(path)
        return load_embedding(path)

    def _check_digest(self, path: Path) -> None:
        expected = self.digests.get(path.name)
        if expected is not None and digest_of(path) != expected:
            raise FormatError(f"{path}: changed since the job was made; it is not used")

    # --- how far it has come ---------------------------------------------------------------

    def state(self, part: Part) -> State:
        """Read how far a part has come; where that is damaged, it may have been sent."""
        path = self.folder / f"part-{part.number}.json"
        if not path.exists():
            return State()
        try:
            with guarded.explained(path):
                content = guarded.read_json(path)
                guarded.check_header(content, "job-part")
                found = State(**{k: content[k] for k in State.__dataclass_fields__})
                _check_state(found)
                return found
        except FormatError as error:
            _log.warning("warning: %s; the part is looked up by its label", error)
            return State(stage=SENT, sent="?", doubts=1, message="its record is damaged")

    def record(self, part: Part, **changes: Any) -> State:
        """Write a step; when this returns it has reached the disk."""
        state = replace(self.state(part), **changes)
        content = {**guarded.header_of("job-part"), **asdict(state)}
        with atomic.write_atomically(self.folder / f"part-{part.number}.json") as stream:
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        return state

    def reembed(self, part: Part, embedding: Embedding) -> None:
        """Return a part chains of its own; those of the other parts stay as they are."""
        name = f"embedding-{part.number}-{secrets.token_hex(4)}.json"
        save_embedding(embedding, self.folder / name)
        self.record(part, embedding=name)

    def answer_path(self, part: Part, ending: str = ".json") -> Path:
        """Where the answer of a part is kept."""
        return self.folder / f"answer-{part.number}{ending}"

    @property
    def states(self) -> list[State]:
        """How far each part has come."""
        return [self.state(part) for part in self.parts]

    @property
    def stage(self) -> str:
        """How far the job has come: that of the part that is furthest behind, or done."""
        stages = [state.stage for state in self.states]
        if all(stage in OVER for stage in stages):
            if ANSWERED not in stages:
                return FAILED if FAILED in stages else CANCELLED
            return DONE if (self.folder / "samples.json").exists() else ANSWERED
        return min(stages, key=_STATES.index)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Work on the job alone: two at once could send it twice.

        The system takes the lock back when its holder ends, however it ends; the file stays, as
        a lock on a file that was removed and made again would exclude nobody.
        """
        from filelock import lock_descriptor

        try:
            stream = (self.folder / "lock").open("a")
        except OSError as error:
            raise InputError(
                f"job {self.id}: {self.folder} cannot be written ({error.strerror})"
            ) from None
        with stream:
            try:
                alone = lock_descriptor(stream.fileno(), blocking=False)
            except OSError as error:
                raise InputError(
                    f"job {self.id}: {self.folder} cannot be locked ({error.strerror}), and two at "
                    "work on it could send it twice; keep jobs on another file system (jobs=)"
                ) from None
            if not alone:
                raise LeapError(
                    f"job {self.id}: another qcompile is at work on it; wait for it, or stop it "
                    f"and run: qcompile resume {self.name}"
                )
            yield

    @property
    def name(self) -> str:
        """What to call the job on the command line: its id, or its folder if that is elsewhere."""
        known = self.folder.parent.resolve() == jobs_folder().resolve()
        return self.id if known else shlex.quote(str(self.folder))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        content = {name: getattr(self, name) for name in _PLAIN}
        return {**content, "parts": [asdict(part) for part in self.parts]}


_PLAIN = (
    "id",
    "label",
    "created",
    "solver_type",
    "solver",
    "endpoint",
    "account",
    "repair",
    "chain_strength",
    "digests",
    "source",
    "profile",
    "region",
    "cost",
)


def jobs_folder(place: str | Path | None = None) -> Path:
    """Return the folder of all jobs: the one named, QCOMPILE_JOBS, or one in the user's data."""
    if place is not None:
        return Path(place)
    named = os.environ.get("QCOMPILE_JOBS")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "qcompile" / "jobs"


def _check_state(state: State) -> None:
    ids = (state.id, state.data_id)
    plain = re.fullmatch(r"embedding[A-Za-z0-9-]*\.json", str(state.embedding))
    if (
        state.stage not in _STATES
        or not all(
            name is None or (isinstance(name, str) and _REMOTE.fullmatch(name)) for name in ids
        )
        or not (state.sent is None or isinstance(state.sent, str))
        or not isinstance(state.doubts, int)
        or not plain
    ):
        raise FormatError("not a state of a part")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file of a job."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
