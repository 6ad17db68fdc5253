"""Jobs on disk: all that is needed to go on after a crash, written before anything is sent.

A job is a folder. `job.json` says what was asked for and never changes; `problem.npz` and
`embedding.json` are the problem; `part-N.json` says how far part N has come and is replaced as a
whole with every step; `answer-N.json` (and `.bin`) is what the machine gave; `samples.json` and
`model.json` are the result. Every file is on disk, and its folder too, before the next step.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError, InputError, LeapError, QcompileError
from qcompile.files import qubo as qubo_files
from qcompile.files import storage as files
from qcompile.files.embedding import load_embedding, save_embedding
from qcompile.stages.artifacts import Pubo, Qubo
from qcompile.stages.embedded import Embedding

__all__ = ["Job", "Part", "State", "create_job", "jobs_folder", "list_jobs", "load_job"]

_log = logging.getLogger("qcompile")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
MOST_PARTS = 1000
_DRAFT, _OLD = ".draft-", 3600.0
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
        if files.kind_of(path) == "qcompile.pubo":
            return files.load_pubo(path)
        return qubo_files.load_qubo(path)[0]

    def embedding(self, part: Part) -> Embedding:
        """Read the chains that a part was sent with."""
        path = self.folder / self.state(part).embedding
        self._check_digest(path)
        return load_embedding(path)

    def _check_digest(self, path: Path) -> None:
        expected = self.digests.get(path.name)
        if expected is not None and _digest(path) != expected:
            raise FormatError(f"{path}: changed since the job was made; it is not used")

    # --- how far it has come ---------------------------------------------------------------

    def state(self, part: Part) -> State:
        """Read how far a part has come; where that is damaged, it may have been sent."""
        path = self.folder / f"part-{part.number}.json"
        if not path.exists():
            return State()
        try:
            with files.explained(path):
                content = files.read_json(path)
                files.check_header(content, "job-part")
                found = State(**{k: content[k] for k in State.__dataclass_fields__})
                _check_state(found)
                return found
        except FormatError as error:
            _log.warning("warning: %s; the part is looked up by its label", error)
            return State(stage=SENT, sent="?", doubts=1, message="its record is damaged")

    def record(self, part: Part, **changes: Any) -> State:
        """Write a step; when this returns it has reached the disk."""
        state = replace(self.state(part), **changes)
        content = {**files.header_of("job-part"), **asdict(state)}
        with files.write_atomically(self.folder / f"part-{part.number}.json") as stream:
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        return state

    def reembed(self, part: Part, embedding: Embedding) -> None:
        """Give a part chains of its own; those of the other parts stay as they are."""
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
        """Work on the job alone: two at once could send it twice."""
        try:
            stream = (self.folder / "lock").open("a")
        except OSError as error:
            raise InputError(
                f"job {self.id}: {self.folder} cannot be written ({error.strerror})"
            ) from None
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise LeapError(
                    f"job {self.id}: another qcompile is at work on it; wait for it, or stop it "
                    f"and run: qcompile resume {self.name}"
                ) from None
            yield

    @property
    def name(self) -> str:
        """What to call the job on the command line: its id, or its folder if that is elsewhere."""
        known = self.folder.parent.resolve() == jobs_folder().resolve()
        return self.id if known else shlex.quote(str(self.folder))

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
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
    """Give the folder of all jobs: the one named, QCOMPILE_JOBS, or one in the user's data."""
    if place is not None:
        return Path(place)
    named = os.environ.get("QCOMPILE_JOBS")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "qcompile" / "jobs"


def create_job(
    place: Path,
    problem: Pubo | Qubo,
    *,
    embedding: Embedding | None,
    parts: list[tuple[int | None, Mapping[str, Any]]],
    label: str,
    fingerprint: Callable[[str], str],
    **known: Any,
) -> Job:
    """Write a job folder; it appears under its name only when all of it has reached the disk.

    `parts` are the reads and the parameters of each problem that will be sent; `fingerprint`
    marks the account, given the id of the job.
    """
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(place)
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=place))
    except OSError as error:
        raise InputError(f"{place}: jobs cannot be kept there ({error.strerror})") from None
    try:
        made = datetime.now(UTC)
        name = f"{made:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        if isinstance(problem, Pubo):
            files.save_pubo(problem, draft / "problem.npz")
        else:
            qubo_files.save_qubo(problem, draft / "problem.npz")
        if embedding is not None:
            save_embedding(embedding, draft / "embedding.json")
        job = Job(
            folder=place / name,
            id=name,
            label=label,
            created=made.isoformat(timespec="seconds"),
            account=fingerprint(name),
            parts=tuple(
                Part(n, f"{label} {name}.{n}", reads, dict(parameters))
                for n, (reads, parameters) in enumerate(parts, 1)
            ),
            digests={path.name: _digest(path) for path in sorted(draft.iterdir())},
            **known,
        )
        with files.write_atomically(draft / "job.json") as stream:
            content = {**files.header_of("job"), **job.to_dict()}
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        draft.rename(job.folder)
        files.sync_folder(place)
        return job
    except OSError as error:
        raise InputError(f"{place}: the job cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # gone by now unless something went wrong


def load_job(name: str | Path, place: str | Path | None = None) -> Job:
    """Read a job by its id, the beginning of its id if only one begins so, or its folder."""
    folder = Path(name)
    if not (folder / "job.json").is_file():
        folder = _folder_of(str(name), jobs_folder(place))
    with files.explained(folder / "job.json"):
        content = files.read_json(folder / "job.json")
        files.check_header(content, "job")
        return _job_from(folder, content)


def _folder_of(name: str, place: Path) -> Path:
    if not _ID.fullmatch(name):
        raise InputError(f"job {name!r}: expected an id of `qcompile jobs` or the job's folder")
    found = [folder for folder in _folders(place) if folder.name.startswith(name)]
    exact = [path for path in found if path.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise InputError(f"job {name!r}: {len(found)} jobs begin so; give more of the id")
    raise InputError(f"job {name!r}: not in {place} (see `qcompile jobs`, or give --jobs FOLDER)")


def _folders(place: Path) -> list[Path]:
    """Give the folders of jobs; drafts that a crash left behind are none."""
    return sorted(p.parent for p in place.glob("*/job.json") if not p.parent.name.startswith("."))


def _sweep(place: Path) -> None:
    """Remove drafts that a crash left behind long ago; nothing of them was ever sent."""
    for draft in place.glob(f"{_DRAFT}*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD:
                shutil.rmtree(draft, ignore_errors=True)


def list_jobs(place: str | Path | None = None) -> list[Job]:
    """Give all jobs, the oldest first; folders that cannot be read are warned about."""
    found = []
    for folder in _folders(jobs_folder(place)):
        try:
            found.append(load_job(folder))
        except QcompileError as error:
            _log.warning("a job that cannot be read: %s", error)
    return found


def _job_from(folder: Path, content: Mapping[str, Any]) -> Job:
    if not isinstance(content["id"], str) or not _ID.fullmatch(content["id"]):
        raise FormatError("an id that is none")
    rows = content["parts"]
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_PARTS:
        raise FormatError("parts: expected a list")
    parts = tuple(
        Part(
            number=int(row["number"]),
            label=str(row["label"]),
            reads=None if row["reads"] is None else int(row["reads"]),
            parameters=files.as_record(row["parameters"]),
        )
        for row in rows
    )
    for number, part in enumerate(parts, 1):
        # a label that is not the job's own could be that of somebody else's work
        if part.number != number or not part.label.endswith(f" {content['id']}.{number}"):
            raise FormatError(f"part {number}: not a part of this job")
    strength = content["chain_strength"]
    texts = ["id", "label", "created", "solver_type", "endpoint", "account", "repair", "source"]
    texts += ["profile", "region"]
    known: dict[str, Any] = {name: str(content[name]) for name in texts}
    known |= {name: files.as_record(content[name]) for name in ("solver", "digests", "cost")}
    return Job(
        folder=folder,
        parts=parts,
        chain_strength=None if strength is None else float(strength),
        **known,
    )


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


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
