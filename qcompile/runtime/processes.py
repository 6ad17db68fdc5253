"""Independent trainings in several processes, in order; their results do not depend on how many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from qcompile.runtime.progress import muted
from qcompile.runtime.threads import at_most, cores

__all__ = ["spread", "using", "wanted"]


Item = TypeVar("Item")
Result = TypeVar("Result")

_wanted: ContextVar[int] = ContextVar("processes", default=1)


@contextmanager
def using(n_jobs: int | None) -> Iterator[None]:
    """Let the work inside use so many processes; None and negative numbers are those of joblib."""
    from joblib import effective_n_jobs

    token = _wanted.set(int(effective_n_jobs(n_jobs)))
    try:
        yield
    finally:
        _wanted.reset(token)


def wanted() -> int:
    """Return how many processes the work of this moment may use."""
    return _wanted.get()


def spread(task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return task(item) for each item, in order; processes share the cores.

    A task does not start processes itself, unless there is only one.
    """
    jobs = min(wanted(), len(items))
    if jobs <= 1:
        return [task(item) for item in items]
    from joblib import Parallel, delayed

    each = max(1, cores() // jobs)
    made = Parallel(n_jobs=jobs)(delayed(_alone)(task, item, each) for item in items)
    return list(made)


def _alone(task: Callable[[Item], Result], item: Item, number: int) -> Result:
    token = _wanted.set(1)  # a thread of joblib has the context of its caller
    try:
        with at_most(number), muted():
            return task(item)
    finally:
        _wanted.reset(token)
