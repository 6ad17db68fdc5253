"""Create, find and list job folders."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import orjson

from qcompile.errors import InputError, QcompileError
from qcompile.files import atomic, guarded, pubo, qubo
from qcompile.files.embedding import save_embedding
from qcompile.leap.copies import copies_file, save_copies
from qcompile.leap.folder import JOB_ID, digest_of, jobs_folder
from qcompile.leap.job import Job, problem_file
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = [
    "TRAINING",
    "Damaged",
    "alone_in",
    "create_job",
    "folder_of",
    "is_training",
    "job_folders",
    "job_names",
    "list_jobs",
    "load_job",
    "new_folder",
    "new_job_id",
    "read_job",
    "scan_jobs",
]


_log = logging.getLogger("qcompile")
T = TypeVar("T")

TRAINING = "training"  # the kind of job.json of a training, which is read elsewhere
_DRAFT = ".draft-"
_OLD = 3600.0  # seconds
_OWN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")


@dataclass(frozen=True)
class Damaged:
    """A job folder that cannot be read, and why."""

    folder: Path
    reason: str


def new_job_id(created: datetime) -> str:
    """Return the id of a new job: the time of its creation and 32 random bits."""
    return f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


@contextmanager
def alone_in(place: Path) -> Iterator[None]:
    """Keep other processes from creating jobs in a folder; wait until none of them does."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = atomic.open_lock(place / ".lock")
        atomic.take_lock(handle, waits=True)
    except OSError as error:
        raise InputError(f"{place}: jobs cannot be kept there ({error.strerror})") from None
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a draft to write; it gets its name only after all of it has reached the disk."""
    place = folder.parent
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_old_drafts(place)
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=place))
    except OSError as error:
        raise InputError(f"{place}: jobs cannot be kept there ({error.strerror})") from None
    try:
        yield draft
        draft.rename(folder)
        atomic.sync_folder(place)
    except OSError as error:
        raise InputError(f"{place}: the job cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # it still exists only after an error


def create_job(
    job: Job, problem: Pubo | Qubo | Sequence[Qubo], embeddings: Sequence[Embedding]
) -> Job:
    """Write the folder of a new job, and return the job with the digests of its files.

    `embeddings` are the chains of each copy on a QPU. A job of different copies has a problem for
    each.
    """
    problems = (problem,) if isinstance(problem, Pubo | Qubo) else problem
    with new_folder(job.folder) as draft:
        for number, own in enumerate(problems, 1):
            if isinstance(own, Pubo):
                pubo.save_pubo(own, draft / problem_file(number))
            else:
                qubo.save_qubo(own, draft / problem_file(number))
        if embeddings:
            save_embedding(embeddings[0], draft / "embedding.json")
        if len(embeddings) > 1:
            save_copies(embeddings, draft / copies_file("embedding.json"))
        job = replace(job, digests={path.name: digest_of(path) for path in sorted(draft.iterdir())})
        with atomic.write_atomically(draft / "job.json") as stream:
            content = {**guarded.header_of("job"), **job.to_dict()}
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    return job


def load_job(name: str | Path, place: str | Path | None = None) -> Job:
    """Read a job by its id, by an unambiguous beginning of its id, or by its folder."""
    return read_job(folder_of(name, place))


def folder_of(name: str | Path, place: str | Path | None = None) -> Path:
    """Return the folder of a job, whatever its kind, by its id, its beginning, or the folder."""
    folder = Path(name)
    return folder if os.path.lexists(folder / "job.json") else _named(str(name), jobs_folder(place))


def is_training(folder: Path) -> bool:
    """Whether a folder holds a training, which is a job of many rounds."""
    path = folder / "job.json"
    try:
        guarded.check_regular(path)
        return guarded.kind_of(path) == f"qcompile.{TRAINING}"
    except QcompileError:
        return False  # reading it tells why


def read_job(folder: Path) -> Job:
    """Read the job of a folder."""
    path = folder / "job.json"
    guarded.check_regular(path)
    with guarded.explained(path):
        content = guarded.read_json(path)
        guarded.check_header(content, "job")
        return Job.from_dict(content, folder)


def _named(name: str, place: Path) -> Path:
    if not JOB_ID.fullmatch(name):
        raise InputError(f"job {name!r}: expected an id of `list_jobs()` or the job's folder")
    found = [folder for folder in job_folders(place) if folder.name.startswith(name)]
    exact = [path for path in found if path.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise InputError(f"job {name!r}: {len(found)} jobs begin with it; give more of the id")
    raise InputError(f"job {name!r}: not found in {place} (see `list_jobs()`, or give jobs=FOLDER)")


def job_folders(place: Path) -> list[Path]:
    """Return the folders of jobs, without the drafts that a crash left behind."""
    return sorted(
        folder
        for folder in place.glob("*")
        if not folder.name.startswith(".")
        and (os.path.lexists(folder / "job.json") or _OWN_ID.fullmatch(folder.name))
    )


def job_names(place: str | Path | None = None) -> frozenset[str]:
    """Return the names of the folders of all jobs, without reading them."""
    return frozenset(folder.name for folder in job_folders(jobs_folder(place)))


def _remove_old_drafts(place: Path) -> None:
    """Remove drafts that a crash left behind long ago; nothing in them was ever sent."""
    for draft in place.glob(f"{_DRAFT}*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD:
                shutil.rmtree(draft, ignore_errors=True)


def list_jobs(place: str | Path | None = None) -> list[Job]:
    """Return all jobs of one problem, the oldest first; see `scan_jobs`."""
    found = scan_jobs(place, lambda folder: None if is_training(folder) else read_job(folder))
    return [job for job in found if isinstance(job, Job)]


def scan_jobs(place: str | Path | None, read: Callable[[Path], T]) -> list[T | Damaged]:
    """Return what `read` finds in each folder of a job, the oldest first.

    A folder that cannot be read is logged and does not hide the others.
    """
    found: list[T | Damaged] = []
    for folder in job_folders(jobs_folder(place)):
        try:
            found.append(read(folder))
        except QcompileError as error:
            _log.warning("warning: cannot read a job: %s", error)
            found.append(Damaged(folder, str(error)))
    return found
