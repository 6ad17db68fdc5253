"""Tell how far the work is: passes report, and whoever listens is told.

A pass calls `report(done, total)` and knows nobody. A caller opens `shown_by(callback)` around the
pass, or `bar(title)` for a person at a terminal. The listener is a context variable: it holds for
the code inside the `with` block, in this thread, and for nothing else. The innermost listener
alone is told. Where a pass counts the runs of other passes, it mutes them with `muted()`.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from qcompile.runtime.text import printable

__all__ = ["News", "Progress", "bar", "heard", "muted", "news_to", "report", "retitle", "shown_by"]


# Called with the count so far and the count in the end, which is None if it is not known.
Progress: TypeAlias = Callable[[int, int | None], None]
# The same, with a line about the work; the line may be empty.
News: TypeAlias = Callable[[int, int | None, str], None]

_PATIENCE = 1.0  # seconds before a bar is worth showing


def _ignore(title: str) -> None:
    """Ignore the title of a pass."""


@dataclass(frozen=True)
class _Listener:
    """Where counts go, and where the titles of passes go."""

    count: News
    title: Callable[[str], None] = _ignore


_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


def report(done: int, total: int | None, news: str = "") -> None:
    """Tell the listener, if there is one, how much is done.

    Call it in the thread that was asked for the work: a thread that was started for a part of it
    has no listener.
    """
    listener = _listener.get()
    if listener is not None:
        listener.count(done, total, news)


def heard() -> bool:
    """Whether there is a listener, where it takes an effort to count."""
    return _listener.get() is not None


def retitle(title: str) -> None:
    """Tell the listener, if there is one, which pass begins. A bar then counts from 0 again."""
    listener = _listener.get()
    if listener is not None:
        listener.title(title)


@contextmanager
def shown_by(callback: Progress | None) -> Iterator[None]:
    """Report the work inside to `callback(done, total)`; None keeps the listener there is.

    >>> seen = []
    >>> with shown_by(lambda done, total: seen.append((done, total))):
    ...     report(1, 2)
    >>> report(2, 2)
    >>> seen
    [(1, 2)]
    """
    if callback is None:
        yield
        return
    with _heard_by(_Listener(lambda done, total, news: callback(done, total))):
        yield


@contextmanager
def news_to(callback: News | None) -> Iterator[None]:
    """Report the work inside to `callback(done, total, news)`; None keeps the listener there is."""
    if callback is None:
        yield
        return
    with _heard_by(_Listener(callback)):
        yield


@contextmanager
def muted() -> Iterator[None]:
    """Let the work inside tell nobody: neither counts nor titles.

    Do not yield inside of it from a generator: a generator has no context of its own, so that
    whoever consumes it would be muted too.
    """
    with _heard_by(None):
        yield


@contextmanager
def _heard_by(listener: _Listener | None) -> Iterator[None]:
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def bar(title: str, *, counted: bool = False) -> Iterator[None]:
    """Show a bar for the work inside, if standard error is a terminal and the log is not quiet.

    The bar appears after a second. Where nothing is counted it only moves. With `counted` it waits
    for the first count, because the user may be asked a question before.
    """
    if not sys.stderr.isatty() or not _wanted():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    # as by default, but a title with [brackets] is no markup: it may come from a server
    text = TextColumn("{task.description}", style="progress.description", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    shown = RichProgress(*columns, console=Console(stderr=True), transient=True)
    task, current = shown.add_task(title, total=None), title
    timer = threading.Timer(_PATIENCE, shown.start)
    timer.daemon = True

    def count(done: int, total: int | None, news: str) -> None:
        if timer.ident is None:
            timer.start()
        shown.update(task, completed=done, total=total, description=printable(news) or current)

    def name(new: str) -> None:
        nonlocal task, current
        shown.remove_task(task)  # the total of a task cannot be removed again
        task, current = shown.add_task(printable(new), total=None), printable(new)

    if not counted:
        timer.start()
    try:
        with _heard_by(_Listener(count, name)):
            yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()  # otherwise it could show the bar after it was stopped
        shown.stop()


def _wanted() -> bool:
    """Whether the log shows messages on the info level: a quiet command does not."""
    return logging.getLogger("qcompile").getEffectiveLevel() <= logging.INFO
