"""Work on several cores whose result does not depend on how many there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import ParamSpec, TypeVar

from qcompile.runtime.progress import muted

__all__ = ["at_most", "cores", "in_this_context", "ordered"]


Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def cores() -> int:
    """Return the number of cores that this process, and this task of it, may use."""
    if _limit.get() == 1:  # asking the system takes milliseconds
        return 1
    from joblib import cpu_count  # its import is slow, and --help does not need it

    there = int(cpu_count())  # respects the affinity and the quota of a container
    return min(there, _limit.get() or there)


@contextmanager
def at_most(number: int | None) -> Iterator[None]:
    """Limit the work inside to `number` cores; None sets no limit."""
    token = _limit.set(number)
    try:
        yield
    finally:
        _limit.reset(token)


def in_this_context(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function for use in other threads, with the context variables of this moment.

    A new thread begins with empty ones: no limit of cores, no listener, no cluster.
    """
    context = copy_context()

    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        # a context cannot be entered by two threads at once, a copy of it can
        return context.copy().run(function, *args, **kwargs)

    return call


def ordered(
    task: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    workers: int | None = None,
    again: bool = False,
    stop: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """Yield task(item) for each item, in order, with at most one result per worker waiting.

    Floating-point sums over the results are the same for any number of workers. Tasks keep to the
    limits of the caller. What they report is not heard: whoever consumes the results counts them.
    With `again` the threads are kept for the next call: starting them takes as long as short tasks.
    Running tasks are waited for, also after Ctrl-C; `stop` is called first, and may shorten them.
    """

    def quiet(item: Item) -> Result:
        with muted():
            return task(item)

    workers = cores() if workers is None else workers
    if workers == 1:
        yield from map(quiet, items)
        return
    run = in_this_context(quiet)
    pool = _kept_pool(os.getpid(), workers) if again else ThreadPoolExecutor(workers)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(run, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if stop is not None:
            stop()
        if again:
            running = [future for future in waiting if not future.cancel()]
            wait(running)
        else:
            pool.shutdown(cancel_futures=True)


@lru_cache(4)
def _kept_pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Return threads for calls to come; a process that was forked off has none of its parent's."""
    return ThreadPoolExecutor(workers)
