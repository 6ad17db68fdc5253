"""Ctrl-C while the command is still being imported: one line, as later; imported before all else.

A program that imports qcompile keeps its own signals: only the command itself is touched.
"""

import os
import signal
import sys
import threading
from typing import Any

__all__ = ["ready"]


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
    os.write(2, b"qcompile: interrupted\n")
    os._exit(130)  # half-imported modules cannot be trusted to clean up


def ready() -> None:
    """Restore Python's own handling of Ctrl-C: from here on, commands clean up themselves."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if (
    _is_command()
    and threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, _leave)
