"""Which folder a job belongs to: a copy of the folder must not send the job a second time.

For each job that was sent from here there are two small files in the user's data, named by the
job's id, which every copy has, too. One is locked while the job is sent, the other one records the
job's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from qcompile.errors import InputError, LeapError
from qcompile.files import atomic
from qcompile.leap.folder import JobFolder, data_folder

__all__ = ["alone_with", "belongs_here", "claim", "original_of"]


@contextmanager
def alone_with(job: JobFolder) -> Iterator[None]:
    """Keep processes with a copy of this job from sending it at the same time.

    Where no such file can be written, only the label on the server tells of other processes.
    """
    try:
        _file(job).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = atomic.open_lock(_file(job).with_name(f"{job.id}.lock"))
        alone = atomic.take_lock(handle)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        yield
        return
    if not alone:
        raise LeapError(f"job {job.id}: a copy of it is being sent by another qcompile process")
    try:
        yield
    finally:
        os.close(handle)


def claim(job: JobFolder) -> None:
    """Record that the job belongs to its present folder."""
    with suppress(OSError, RuntimeError, InputError):
        found = job.folder.stat()
        place = str(job.folder.resolve())
        content = {"folder": place, "device": found.st_dev, "inode": found.st_ino}
        with atomic.replacing(), atomic.write_atomically(_file(job)) as stream:
            stream.write(orjson.dumps(content))


def belongs_here(job: JobFolder) -> bool:
    """Whether the job is recorded as belonging to this very folder, and not to another one."""
    found = _recorded(job)
    return found is not None and _is_at(job.folder, found)


def original_of(job: JobFolder) -> Path | None:
    """Return the folder that the job belongs to, if that is another one and still there."""
    found = _recorded(job)
    if found is None or _is_at(job.folder, found):
        return None
    folder = Path(found[0])
    return folder if _is_at(folder, found) and (folder / "job.json").exists() else None


def _file(job: JobFolder) -> Path:
    return data_folder() / "owners" / job.id


def _recorded(job: JobFolder) -> tuple[str, int, int] | None:
    with suppress(OSError, RuntimeError, ValueError, KeyError, TypeError):
        handle = os.open(_file(job), os.O_RDONLY | atomic.NO_LINKS)
        with os.fdopen(handle, "rb") as stream:
            found = orjson.loads(stream.read(1 << 16))
        return str(found["folder"]), int(found["device"]), int(found["inode"])
    return None


def _is_at(folder: Path, recorded: tuple[str, int, int]) -> bool:
    with suppress(OSError):
        found = folder.stat()
        return (found.st_dev, found.st_ino) == recorded[1:]
    return False
