"""Work on several cores whose result does not depend on how many there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["at_most", "cores", "ordered"]


Item = TypeVar("Item")
Result = TypeVar("Result")

_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def cores() -> int:
    """Cores that this process, and this task of it, may use."""
    from joblib import cpu_count  # late: it takes a while, and whoever asks for help need not wait

    there = int(cpu_count())  # by affinity, and by the quota of a container
    return min(there, _limit.get() or there)


@contextmanager
def at_most(number: int | None) -> Iterator[None]:
    """Let what is called inside use so many cores at most; None sets no limit."""
    token = _limit.set(number)
    try:
        yield
    finally:
        _limit.reset(token)


def ordered(
    task: Callable[[Item], Result], items: Iterable[Item], *, workers: int | None = None
) -> Iterator[Result]:
    """Return task(item) for each item, in order, at most one result per worker waiting.

    Floating-point sums over the results are the same for any number of workers.
    """
    workers = cores() if workers is None else workers
    if workers == 1:
        yield from map(task, items)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(pool.submit(task, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
