"""A progress bar for a person at a terminal; nothing at all for a program."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Bar", "bar"]

_PATIENCE = 1.0  # seconds before a bar is worth showing


class Bar(Protocol):
    """Shows how much is done; `news` stands in place of the title."""

    def __call__(self, done: int, total: int | None, news: str = ...) -> None:
        """Bring the bar up to date."""


@contextmanager
def bar(title: str) -> Iterator[Bar | None]:
    """Give a function that takes (done, total) and perhaps news, or None where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)
    task = progress.add_task(title, total=None)
    began = time.monotonic()

    def update(done: int, total: int | None, news: str = title) -> None:
        if not progress.live.is_started and time.monotonic() - began > _PATIENCE:
            progress.start()
        progress.update(task, completed=done, total=total, description=news)

    try:
        yield update
    finally:
        progress.stop()
