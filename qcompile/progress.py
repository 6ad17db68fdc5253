"""A progress bar for a person at a terminal; nothing at all for a program."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["bar"]

_PATIENCE = 1.0  # seconds before a bar is worth showing


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Give a function that takes (done, total), or None where nobody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)
    task = progress.add_task(title, total=None)
    began = time.monotonic()

    def update(done: int, total: int | None) -> None:
        if not progress.live.is_started and time.monotonic() - began > _PATIENCE:
            progress.start()
        progress.update(task, completed=done, total=total)

    def rename(title: str) -> None:
        progress.update(task, description=title)

    update.rename = rename  # type: ignore[attr-defined]
    try:
        yield update
    finally:
        progress.stop()
