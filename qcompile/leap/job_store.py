"""Create, find and list job folders."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import orjson

from qcompile.errors import InputError, QcompileError
from qcompile.files import atomic, guarded, pubo, qubo
from qcompile.files.embedding import save_embedding
from qcompile.leap.job import JOB_ID, Job, digest_of, jobs_folder
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["create_job", "list_jobs", "load_job", "new_job_id"]


_log = logging.getLogger("qcompile")
_DRAFT = ".draft-"
_OLD = 3600.0  # seconds


def new_job_id(created: datetime) -> str:
    """Return the id of a new job: the time of its creation and 32 random bits."""
    return f"{created:%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def create_job(job: Job, problem: Pubo | Qubo, embedding: Embedding | None) -> Job:
    """Write the folder of a new job, and return the job with the digests of its files.

    The folder appears under its name only after all of it has reached the disk.
    """
    place = job.folder.parent
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_old_drafts(place)
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=place))
    except OSError as error:
        raise InputError(f"{place}: jobs cannot be kept there ({error.strerror})") from None
    try:
        if isinstance(problem, Pubo):
            pubo.save_pubo(problem, draft / "problem.npz")
        else:
            qubo.save_qubo(problem, draft / "problem.npz")
        if embedding is not None:
            save_embedding(embedding, draft / "embedding.json")
        job = replace(job, digests={path.name: digest_of(path) for path in sorted(draft.iterdir())})
        with atomic.write_atomically(draft / "job.json") as stream:
            content = {**guarded.header_of("job"), **job.to_dict()}
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        draft.rename(job.folder)
        atomic.sync_folder(place)
        return job
    except OSError as error:
        raise InputError(f"{place}: the job cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # it still exists only after an error


def load_job(name: str | Path, place: str | Path | None = None) -> Job:
    """Read a job by its id, by an unambiguous beginning of its id, or by its folder."""
    folder = Path(name)
    if not (folder / "job.json").is_file():
        folder = _folder_of(str(name), jobs_folder(place))
    with guarded.explained(folder / "job.json"):
        content = guarded.read_json(folder / "job.json")
        guarded.check_header(content, "job")
        return Job.from_dict(content, folder)


def _folder_of(name: str, place: Path) -> Path:
    if not JOB_ID.fullmatch(name):
        raise InputError(f"job {name!r}: expected an id of `list_jobs()` or the job's folder")
    found = [folder for folder in _folders(place) if folder.name.startswith(name)]
    exact = [path for path in found if path.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise InputError(f"job {name!r}: {len(found)} jobs begin with it; give more of the id")
    raise InputError(f"job {name!r}: not found in {place} (see `list_jobs()`, or give jobs=FOLDER)")


def _folders(place: Path) -> list[Path]:
    """Return the folders of jobs, without the drafts that a crash left behind."""
    return sorted(p.parent for p in place.glob("*/job.json") if not p.parent.name.startswith("."))


def _remove_old_drafts(place: Path) -> None:
    """Remove drafts that a crash left behind long ago; nothing in them was ever sent."""
    for draft in place.glob(f"{_DRAFT}*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD:
                shutil.rmtree(draft, ignore_errors=True)


def list_jobs(place: str | Path | None = None) -> list[Job]:
    """Return all jobs, the oldest first; a folder that cannot be read is logged and left out."""
    found = []
    for folder in _folders(jobs_folder(place)):
        try:
            found.append(load_job(folder))
        except QcompileError as error:
            _log.warning("warning: cannot read a job: %s", error)
    return found
