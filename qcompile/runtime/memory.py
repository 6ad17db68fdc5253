"""Check that a step fits in memory before it begins, and log what it needs."""

import logging
import os
from pathlib import Path

from qcompile.errors import InputError, MemoryLimitError

__all__ = ["available", "human", "in_use", "parse_size", "require"]


_log = logging.getLogger("qcompile")

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Leave room for the interpreter and its libraries.
_USABLE_SHARE = 0.85
_WORTH_LOGGING = 10**8  # bytes
# Asking the system what is in use takes as long as a step that needs less than this.
_WORTH_ASKING = 64 * 10**6
_NO_LIMIT = 1 << 62
_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def human(size: float) -> str:
    """Return a number of bytes in words.

    >>> human(1_500_000)
    '1.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def parse_size(text: str) -> int:
    """Return the bytes of a size such as ``2GB`` or ``500M``.

    >>> parse_size("2GB")
    2000000000
    """
    cleaned = text.strip().upper().removesuffix("B")
    number, unit = (cleaned[:-1], cleaned[-1]) if cleaned[-1:] in "KMGT" else (cleaned, "")
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, OverflowError, KeyError):
        size = 0
    if size <= 0:
        raise InputError(f"memory limit {text!r}: expected a size such as 500MB or 2GB")
    return size


def available() -> int:
    """Return the bytes that this process may use in all, those in use included.

    They are QCOMPILE_MEMORY if it is set, else what the system can spare.
    """
    limit = os.environ.get("QCOMPILE_MEMORY")
    if limit:
        return parse_size(limit)
    return int(_USABLE_SHARE * min(_system_memory(), _container_memory(), _address_space()))


def require(size: float, what: str, way_out: str, *, announce: bool = True) -> None:
    """Raise MemoryLimitError if `size` more bytes for `what` exceed the available memory.

    `size` is the most that the step holds at a time, besides what the process holds already. A
    large size that fits is logged on the info level, a small one on the debug level.
    """
    limit = available()
    held = in_use() if size >= _WORTH_ASKING else 0
    if size + held > limit:
        beside = f" beside the {human(held)} in use" if held and size <= limit else ""
        raise MemoryLimitError(
            f"{what} needs {human(size)} of memory{beside} and {human(limit)} may be used: "
            f"{way_out}"
        )
    if not announce:
        return
    level = logging.INFO if size >= _WORTH_LOGGING else logging.DEBUG
    together = f", {human(size + held)} with what is in use" if held else ""
    _log.log(level, "%s needs %s of memory%s", what, human(size), together)


def in_use() -> int:
    """Return the bytes that this process holds, the interpreter and its libraries included."""
    import psutil  # its import takes a while, and most short commands do not need it

    return int(psutil.Process().memory_info().rss)


def _system_memory() -> int:
    """Return what the system can spare, and what this process holds of it."""
    import psutil

    return int(psutil.virtual_memory().available) + in_use()


def _address_space() -> int:
    """Return how much this process may hold under its limit of addresses (``ulimit -v``)."""
    try:
        import resource
    except ImportError:  # not on this system
        return _NO_LIMIT
    import psutil

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return _NO_LIMIT
    taken = psutil.Process().memory_info()
    return max(0, limit - int(taken.vms) + int(taken.rss))  # libraries reserve more than they hold


def _container_memory() -> int:
    """Return the least limit of this process's control group and of those around it."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except (OSError, ValueError):  # not Linux, or the file cannot be read
        lines = []
    limits = [_NO_LIMIT]
    # the group that is mounted as the root may be that of a container
    for line in [*lines, "0::/", "0:memory:/"]:
        _, _, rest = line.partition(":")
        controllers, _, own = rest.partition(":")
        if controllers == "":
            tops, name = (_GROUPS, _GROUPS / "unified"), "memory.max"
        elif "memory" in controllers.split(","):
            tops, name = (_GROUPS / "memory", _GROUPS / controllers), "memory.limit_in_bytes"
        else:
            continue
        # a container may see the path on its host, of which only some folders exist inside
        inner = [part for part in own.split("/") if part not in ("", ".", "..")]
        for top in tops:
            for depth in range(len(inner) + 1):
                limits.append(_limit_in(top.joinpath(*inner[:depth], name)))
    return min(limits)


def _limit_in(path: Path) -> int:
    """Return the limit in a file, or no limit if the file is missing or says ``max``."""
    try:
        limit = int(path.read_text())
    except (OSError, ValueError):
        return _NO_LIMIT
    return limit if limit > 0 else _NO_LIMIT
