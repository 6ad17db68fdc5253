"""The folder of a job: where jobs are kept, and what all kinds of jobs share."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from qcompile.errors import FormatError, InputError, LeapError
from qcompile.files import atomic, guarded
from qcompile.stages.display import Displayed

__all__ = ["JOB_ID", "JobFolder", "data_folder", "digest_of", "jobs_folder"]


JOB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class JobFolder(Displayed):
    """A folder with the record of a job.

    `endpoint` is where it was submitted, `account` a keyed digest of the token, and `digests` has
    the SHA-256 of files that never change.
    """

    folder: Path
    id: str
    endpoint: str
    account: str
    digests: Mapping[str, str]

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder, or raise FormatError for a link or a pipe.

        The folder may come from somebody else.
        """
        guarded.check_regular(self.folder / name)
        return self.folder / name

    def check_digest(self, path: Path) -> None:
        """Raise FormatError if a file is not the one that the job was created with."""
        expected = self.digests.get(path.name)
        if expected is not None and digest_of(path) != expected:
            raise FormatError(f"{path}: changed since the job was created; it is not used")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from this job: two at once could send it twice."""
        try:
            handle = atomic.open_lock(self.folder / "lock")
        except OSError as error:
            raise InputError(
                f"job {self.id}: {self.folder} cannot be written ({error.strerror})"
            ) from None
        try:
            alone = atomic.take_lock(handle)
        except OSError as error:
            raise InputError(
                f"job {self.id}: {self.folder} cannot be locked ({error.strerror}), and two "
                "processes could send it twice; keep jobs on another file system (jobs=)"
            ) from None
        if not alone:
            raise LeapError(
                f"job {self.id}: in use by another qcompile process; wait for it, or stop it "
                f"and run: qcompile resume {self.name}"
            )
        try:
            yield
        finally:
            os.close(handle)

    @property
    def name(self) -> str:
        """The name for the command line: the id, or the folder if that is in another place."""
        known = False
        with suppress(RuntimeError):  # the user has no home
            known = self.folder.parent.resolve() == jobs_folder().resolve()
        return self.id if known else shlex.quote(str(self.folder))


def jobs_folder(place: str | Path | None = None) -> Path:
    """Return the folder of all jobs: `place`, QCOMPILE_JOBS, or one in the user's data."""
    if place is not None:
        return Path(place)
    named = os.environ.get("QCOMPILE_JOBS")
    if named:
        return Path(named)
    return data_folder() / "jobs"


def data_folder() -> Path:
    """Return the folder of qcompile in the user's data."""
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "qcompile"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file of a job."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None
