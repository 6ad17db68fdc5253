"""Tell how long each pass takes and how much memory is in use at most while it runs (-v)."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qcompile.runtime import progress
from qcompile.runtime.memory import human

__all__ = ["passing"]


_log = logging.getLogger("qcompile")

# Linux: forget the highest use of memory so far, and read the highest since then.
_FORGET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_HIGHEST = "5"
# The peaks of the passes under way, the innermost last: each counts for those around it.
_peaks: list[int] = []


@contextmanager
def passing(name: str) -> Iterator[None]:
    """Name a pass to whoever looks at the bar, and log its time and memory on the debug level."""
    progress.retitle(name)
    if not _log.isEnabledFor(logging.DEBUG):
        yield
        return
    _note_peak()
    _peaks.append(0)
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - began
        _note_peak()
        peak = _peaks.pop()
        if _peaks:
            _peaks[-1] = max(_peaks[-1], peak)
        _log.debug("pass %s: %.3f s, peak memory %s", name, seconds, human(peak))


def _note_peak() -> None:
    """Credit the innermost pass with the peak so far, and begin a new one."""
    if _peaks:
        _peaks[-1] = max(_peaks[-1], _peak())
    with suppress(OSError):  # not on this system: then the peak is that since the start
        _FORGET.write_text(_HIGHEST)


def _peak() -> int:
    """Bytes that this process held at most since the peak was last forgotten."""
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # Windows has none, and keeps the peak among what is in use
        import psutil

        used = psutil.Process().memory_info()
        return int(getattr(used, "peak_wset", used.rss))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
