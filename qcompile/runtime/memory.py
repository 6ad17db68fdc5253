"""Say what a step will cost before it is paid, and refuse in time what would not fit in memory."""

import logging
import os
from pathlib import Path

from qcompile.errors import InputError, MemoryLimitError

__all__ = ["available", "human", "parse_size", "require"]


_log = logging.getLogger("qcompile")

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Leave room for the interpreter and its libraries.
_USABLE_SHARE = 0.85
_WORTH_SAYING = 10**8


def human(size: float) -> str:
    """Show a number of bytes.

    >>> human(1_500_000)
    '1.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"


def parse_size(text: str) -> int:
    """Read a size such as ``2GB`` or ``500M``.

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
    """Bytes that may be used: QCOMPILE_MEMORY if set, else what the system can spare."""
    limit = os.environ.get("QCOMPILE_MEMORY")
    if limit:
        return parse_size(limit)
    return int(_USABLE_SHARE * min(_system_memory(), _container_memory()))


def require(size: float, what: str, way_out: str, *, announce: bool = True) -> None:
    """Raise MemoryLimitError if `size` bytes for `what` exceed what is available.

    A large cost that can be paid is announced in the log, smaller ones on the debug level.
    """
    limit = available()
    if size > limit:
        raise MemoryLimitError(
            f"{what} needs {human(size)} of memory and {human(limit)} may be used: {way_out}"
        )
    if not announce:
        return
    level = logging.INFO if size >= _WORTH_SAYING else logging.DEBUG
    _log.log(level, "%s needs %s of memory", what, human(size))


def _system_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _container_memory() -> int:
    """Return the limit of the control group, where there is one."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):
        return 1 << 62
