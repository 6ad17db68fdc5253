"""Write files all or nothing, in one step, safely beside other processes."""

from __future__ import annotations

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

__all__ = ["all_or_nothing", "check_outputs", "check_writable", "sync_folder", "write_atomically"]


_OPENS_FOLDERS = os.name != "nt"
_LOOK_AGAIN = 0.01  # seconds: others hold the lock only to give files their names
_batch: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("batch", default=None)
_LONGEST_PREFIX = 40


@contextmanager
def write_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when it is complete and on disk."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))  # keep a symbolic link a link
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
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


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Let the files written inside appear only when all of them are complete.

    Of several runs that write the same files one gets all of its own there, never a mixture.
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
            with suppress(OSError):  # after success it is no longer there
                name.unlink()


@contextmanager
def _alone_in(folders: Iterable[Path]) -> Iterator[None]:
    """Wait until no other run gives files their names in these folders."""
    from filelock import lock_descriptor  # late: reading files needs no locks

    with ExitStack() as stack:
        for folder in sorted(folders):  # in the same order everywhere: nobody waits in a circle
            with suppress(OSError):  # some file systems know no locks
                handle = _open_folder(folder, stack)
                stack.callback(os.close, handle)
                lock_descriptor(handle, poll_interval=_LOOK_AGAIN)
        yield


def _open_folder(folder: Path, stack: ExitStack) -> int:
    """Open what stands for a folder in locks: itself, or where none can be opened a file in it.

    That file is removed afterwards, which Windows refuses as long as anyone else has it open.
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
    """Let new names in a folder reach the disk: a file may be there and its name not."""
    with suppress(OSError):  # some file systems cannot, and some folders cannot be read
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_outputs(paths: Iterable[str], *, inputs: Iterable[str | None] = ()) -> None:
    """Refuse, before any work is done, places that cannot be written or are named twice.

    No output may be one of the inputs either.
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
            raise InputError(f"{path}: is read as input; expected another place for the output")
        if place in seen:
            raise InputError(f"{path}: named for two outputs; expected a place of its own for each")
        seen.add(place)


@contextmanager
def _write_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def _permissions(target: Path) -> int:
    """Keep the permissions of a file that is replaced; new files get the usual ones."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_writable(path: str | Path) -> None:
    """Refuse a place that cannot be written before any work is done."""
    if str(path) == "-":
        return
    target = Path(os.path.realpath(path))
    with _write_errors(path):
        if target.is_dir():
            raise InputError(f"{path}: is a folder; expected a file name")
        if not target.parent.is_dir():
            raise InputError(f"{path}: there is no folder {Path(path).parent}; create it first")
        # a file is replaced by a new one, so its folder must be writable too
        places = [target] if target.exists() else []
        if not places or target.is_file():
            places.append(target.parent)
        if not all(os.access(place, os.W_OK) for place in places):
            raise InputError(f"{path}: no permission to write there")
