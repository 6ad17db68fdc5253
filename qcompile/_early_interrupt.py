"""Signals that end the command, also while it is still being imported; imported before all else.

A program that imports qcompile keeps its own signals: only the command itself is touched.
"""

import os
import signal
import sys
import threading
import time
from typing import Any

__all__ = ["Terminated", "leaving", "ready"]

_AT_ONCE = 1.0  # seconds


class Terminated(KeyboardInterrupt):
    """SIGTERM was received: whatever handles Ctrl-C handles it, too."""


def _is_command() -> bool:
    """Whether this process is `qcompile` or `python -m qcompile` and has just started."""
    if "numpy" in sys.modules or "multiprocessing" in sys.modules:  # a program, or its worker
        return False
    name = sys.argv[0] if sys.argv else ""
    if name == "-m":
        words = sys.orig_argv
        after = words.index("-m") + 1 if "-m" in words else len(words)
        return words[after : after + 1] == ["qcompile"] or "-mqcompile" in words
    place = name.replace(os.sep, "/").split("/")
    return place[-1] in ("qcompile", "qcompile.exe") or place[-2:] == ["qcompile", "__main__.py"]


def _leave(number: int, frame: Any) -> None:
    how = b"interrupted" if number == signal.SIGINT else b"terminated"
    os.write(2, b"qcompile: " + how + b"\n")
    os._exit(128 + number)  # half-imported modules cannot be trusted to clean up


class _Terminator:
    """Raises Terminated, but not again at once: `timeout` sends the signal twice."""

    def __init__(self) -> None:
        self._last = float("-inf")

    def __call__(self, number: int, frame: Any) -> None:
        before, self._last = self._last, time.monotonic()
        if self._last - before > _AT_ONCE:
            raise Terminated


def ready() -> None:
    """Restore Python's own handling of Ctrl-C: from here on, commands clean up themselves.

    They do the same at SIGTERM.
    """
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is _leave:
        signal.signal(signal.SIGTERM, _Terminator())


def leaving() -> None:
    """Ignore a second SIGTERM from here on: Python forgets its handlers before it has ended."""
    if isinstance(signal.getsignal(signal.SIGTERM), _Terminator):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


if _is_command() and threading.current_thread() is threading.main_thread():
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)
