"""Write files atomically: complete or not at all, safe with several processes at once."""

from __future__ import annotations

import errno
import glob
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from qcompile.errors import InputError

__all__ = [
    "NO_LINKS",
    "all_or_nothing",
    "check_outputs",
    "check_writable",
    "open_lock",
    "replacing",
    "sync_folder",
    "take_lock",
    "write_atomically",
]


_OPENS_FOLDERS = os.name != "nt"
_LOOK_AGAIN = 0.01  # seconds between attempts: the lock is held only while files are renamed
# Flags for os.open: fail at a link, and do not wait for the other end of a pipe.
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_replaces: ContextVar[bool] = ContextVar("replaces", default=False)
_batch: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("batch", default=None)
_LONGEST_PREFIX = 40


@contextmanager
def write_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that gets the name `path` once it is complete and on disk."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = _target(path)
    # a device or a pipe that the user has named cannot be replaced
    if not _replaces.get() and target.exists() and not target.is_file():
        check_writable(path)
        with _write_errors(path), target.open("wb") as stream:
            yield stream
        return
    with _write_errors(path):
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:_LONGEST_PREFIX]}.", suffix=".part", dir=target.parent
        )
    try:
        with _write_errors(path):
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(_permissions(target))
            batch = _batch.get()
            if batch is None:
                Path(name).replace(target)
                sync_folder(target.parent)
            else:
                batch.append((Path(name), target))
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _target(path: str | Path) -> Path:
    """Return what is written: behind a symbolic link, unless links are to be replaced."""
    if _replaces.get():
        return Path(os.path.realpath(Path(path).parent)) / Path(path).name
    return Path(os.path.realpath(path))


@contextmanager
def replacing() -> Iterator[None]:
    """Replace links, pipes and devices by the files written inside, and never write through them.

    For files of qcompile's own in a folder that may come from somebody else.
    """
    token = _replaces.set(True)
    try:
        yield
    finally:
        _replaces.reset(token)


def open_lock(path: Path) -> int:
    """Open a file to be locked, without following a link, or raise OSError."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, "not a file", str(path))


def take_lock(handle: int, *, waits: bool = False) -> bool:
    """Lock an open file, or close it and return False if another process has the lock.

    The lock ends when the file is closed, and with the process, however that ends. The file stays:
    a lock on a file that was deleted and created again would exclude nobody.
    """
    from filelock import lock_descriptor  # imported late: reading needs no locks

    taken = False
    try:
        taken = lock_descriptor(handle, blocking=waits, poll_interval=_LOOK_AGAIN)
    finally:
        if not taken:
            os.close(handle)
    return taken


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Rename the files written inside only after all of them are complete.

    If several processes write the same files, all of them come from one process, never a mixture.
    """
    batch: list[tuple[Path, Path]] = []
    token = _batch.set(batch)
    try:
        yield
        with _alone_in({target.parent for _, target in batch}):
            for name, target in batch:
                with _write_errors(target):
                    name.replace(target)
                    sync_folder(target.parent)
    finally:
        _batch.reset(token)
        for name, _ in batch:
            with suppress(OSError):  # already renamed if all went well
                name.unlink()


@contextmanager
def _alone_in(folders: Iterable[Path]) -> Iterator[None]:
    """Wait until no other process renames files in these folders, and lock them."""
    from filelock import lock_descriptor  # imported late: reading needs no locks

    with ExitStack() as stack:
        for folder in sorted(folders):  # always the same order, so that processes cannot deadlock
            with suppress(OSError):  # some file systems have no locks
                handle = _open_folder(folder, stack)
                stack.callback(os.close, handle)
                lock_descriptor(handle, poll_interval=_LOOK_AGAIN)
        yield


def _open_folder(folder: Path, stack: ExitStack) -> int:
    """Open what represents a folder in locks: the folder, or on Windows a file in it.

    The file is removed afterwards. Windows refuses that while another process has it open.
    """
    if _OPENS_FOLDERS:
        return os.open(folder, os.O_RDONLY)
    own = folder / ".qcompile.lock"
    stack.callback(_remove, own)
    return os.open(own, os.O_RDWR | os.O_CREAT)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk: a file can be on disk before its name is."""
    with suppress(OSError):  # not supported everywhere, and some folders cannot be read
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_outputs(paths: Iterable[str], *, inputs: Iterable[str | None] = ()) -> None:
    """Raise InputError, before any work is done, if an output cannot be written.

    The outputs must differ from each other and from the inputs.
    """
    named = [path for path in inputs if path is not None and path != "-"]
    read = {os.path.realpath(path) for path in named}
    for pattern in named:  # such as 'part-*.svm'
        read.update(map(os.path.realpath, glob.glob(pattern)))  # noqa: PTH207
    seen = set()
    for path in paths:
        check_writable(path)
        place = path if path == "-" else os.path.realpath(path)
        if place in read:
            raise InputError(f"{path}: is also an input; expected another file for the output")
        if place in seen:
            raise InputError(f"{path}: given for two outputs; expected a different file for each")
        seen.add(place)


@contextmanager
def _write_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def _permissions(target: Path) -> int:
    """Return the permissions of the file to be replaced, or the default ones for a new file."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_writable(path: str | Path) -> None:
    """Raise InputError if a file cannot be written at this path."""
    if str(path) == "-":
        return
    target = Path(os.path.realpath(path))
    with _write_errors(path):
        if target.is_dir():
            raise InputError(f"{path}: is a folder; expected a file name")
        if not target.parent.is_dir():
            raise InputError(f"{path}: folder {Path(path).parent} not found; create it first")
        # the file is replaced by a new one, so its folder must be writable, too
        places = [target] if target.exists() else []
        if not places or target.is_file():
            places.append(target.parent)
        if not all(os.access(place, os.W_OK) for place in places):
            raise InputError(f"{path}: no permission to write")
