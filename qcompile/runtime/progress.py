"""A progress bar for a person at a terminal; nothing at all for a program."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Bar", "Progress", "bar", "retitle"]


_PATIENCE = 1.0  # seconds before a bar is worth showing
_titles: list[Callable[[str], None]] = []  # of the bars there are, the innermost last


class Bar(Protocol):
    """Shows how much is done; `news` stands in place of the title."""

    def __call__(self, done: int, total: int | None, news: str = ...) -> None:
        """Bring the bar up to date."""


@contextmanager
def bar(title: str, *, counted: bool = False) -> Iterator[Bar | None]:
    """Return a function that takes (done, total) and perhaps news, or None where nobody looks.

    The bar shows itself after a second, also where nothing is counted: then it only moves. With
    `counted` it waits for the first count: before that, the user may be asked a question.
    """
    if not sys.stderr.isatty() or not _wanted():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)
    task, current = progress.add_task(title, total=None), title
    timer = threading.Timer(_PATIENCE, progress.start)
    timer.daemon = True

    def update(done: int, total: int | None, news: str = "") -> None:
        if timer.ident is None:
            timer.start()
        progress.update(task, completed=done, total=total, description=news or current)

    def name(new: str) -> None:
        nonlocal task, current
        progress.remove_task(task)  # a total cannot be taken back
        task, current = progress.add_task(new, total=None), new

    if not counted:
        timer.start()
    _titles.append(name)
    try:
        yield update
    finally:
        _titles.remove(name)
        timer.cancel()
        if timer.ident is not None:
            timer.join()  # else it could show the bar after it was stopped
        progress.stop()


def retitle(title: str) -> None:
    """Let the bar, if there is one, say which pass is at work and count anew."""
    if _titles:
        _titles[-1](title)


def _wanted() -> bool:
    """Whether the level of the log lets news through (a quiet command does not)."""
    return logging.getLogger("qcompile").getEffectiveLevel() <= logging.INFO


Progress = Callable[[int, int | None], None]
