"""Create, find and list job folders."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError, InputError, QcompileError
from qcompile.files import atomic, guarded, pubo, qubo
from qcompile.files.embedding import save_embedding
from qcompile.leap.job import JOB_ID, MOST_PARTS, Job, Part, digest_of, jobs_folder
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["create_job", "list_jobs", "load_job"]


_log = logging.getLogger("qcompile")
_DRAFT, _OLD = ".draft-", 3600.0


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
            pubo.save_pubo(problem, draft / "problem.npz")
        else:
            qubo.save_qubo(problem, draft / "problem.npz")
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
            digests={path.name: digest_of(path) for path in sorted(draft.iterdir())},
            **known,
        )
        with atomic.write_atomically(draft / "job.json") as stream:
            content = {**guarded.header_of("job"), **job.to_dict()}
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        draft.rename(job.folder)
        atomic.sync_folder(place)
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
    with guarded.explained(folder / "job.json"):
        content = guarded.read_json(folder / "job.json")
        guarded.check_header(content, "job")
        return _job_from(folder, content)


def _folder_of(name: str, place: Path) -> Path:
    if not JOB_ID.fullmatch(name):
        raise InputError(f"job {name!r}: expected an id of `list_jobs()` or the job's folder")
    found = [folder for folder in _folders(place) if folder.name.startswith(name)]
    exact = [path for path in found if path.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise InputError(f"job {name!r}: {len(found)} jobs begin so; give more of the id")
    raise InputError(f"job {name!r}: not in {place} (see `list_jobs()`, or give jobs=FOLDER)")


def _folders(place: Path) -> list[Path]:
    """Return the folders of jobs; drafts that a crash left behind are none."""
    return sorted(p.parent for p in place.glob("*/job.json") if not p.parent.name.startswith("."))


def _sweep(place: Path) -> None:
    """Remove drafts that a crash left behind long ago; nothing of them was ever sent."""
    for draft in place.glob(f"{_DRAFT}*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD:
                shutil.rmtree(draft, ignore_errors=True)


def list_jobs(place: str | Path | None = None) -> list[Job]:
    """Return all jobs, the oldest first; folders that cannot be read are warned about."""
    found = []
    for folder in _folders(jobs_folder(place)):
        try:
            found.append(load_job(folder))
        except QcompileError as error:
            _log.warning("a job that cannot be read: %s", error)
    return found


def _job_from(folder: Path, content: Mapping[str, Any]) -> Job:
    if not isinstance(content["id"], str) or not JOB_ID.fullmatch(content["id"]):
        raise FormatError("an id that is none")
    rows = content["parts"]
    if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_PARTS:
        raise FormatError("parts: expected a list")
    parts = tuple(
        Part(
            number=int(row["number"]),
            label=str(row["label"]),
            reads=None if row["reads"] is None else int(row["reads"]),
            parameters=guarded.as_record(row["parameters"]),
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
    known |= {name: guarded.as_record(content[name]) for name in ("solver", "digests", "cost")}
    return Job(
        folder=folder,
        parts=parts,
        chain_strength=None if strength is None else float(strength),
        **known,
    )
