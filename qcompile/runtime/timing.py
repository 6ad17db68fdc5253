"""Log the seconds and the peak memory of each pass (-v)."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from qcompile.runtime.memory import human
from qcompile.runtime.progress import retitle

__all__ = ["passing"]


_log = logging.getLogger("qcompile")

# Linux: writing _RESET to the first file resets the peak that the second file shows.
_RESET_FILE, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
_RESET = "5"


@dataclass
class _Running:
    """A pass under way, and the most bytes that the process held since it began."""

    peak: int = 0


_running: ContextVar[_Running | None] = ContextVar("running", default=None)


@contextmanager
def passing(name: str) -> Iterator[None]:
    """Name the pass inside to a progress bar, and log its time and memory on the debug level.

    The peak of a pass counts for the passes around it too.
    """
    retitle(name)
    if not _log.isEnabledFor(logging.DEBUG):
        yield
        return
    outer, own = _running.get(), _Running()
    _note_peak(outer)
    token = _running.set(own)
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - began
        _note_peak(own)
        _running.reset(token)
        if outer is not None:
            outer.peak = max(outer.peak, own.peak)
        _log.debug("pass %s: %.3f s, peak memory %s", name, seconds, human(own.peak))


def _note_peak(running: _Running | None) -> None:
    """Credit a pass with the peak so far, and reset the peak."""
    if running is not None:
        running.peak = max(running.peak, _peak())
    with suppress(OSError):  # elsewhere than on Linux the peak is that since the start
        _RESET_FILE.write_text(_RESET)


def _peak() -> int:
    """Return the most bytes that this process held since the peak was reset."""
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
