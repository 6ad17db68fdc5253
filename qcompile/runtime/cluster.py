"""Work on the machines of a Dask cluster: moments of data in parts, restarts, folds.

Everything a worker needs travels in its tasks or is read by it, so that a task of a worker that
dies is done again by another one. Results come in a fixed order: the answer does not depend on how
many workers there are, nor on which of them did what.
"""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from qcompile.errors import InputError, QcompileError
from qcompile.runtime.text import one_line
from qcompile.runtime.threads import at_most

__all__ = [
    "Progress",
    "cluster",
    "in_order",
    "result_of",
    "submit_task",
    "threads_of",
    "threads_of_worker",
]


Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int | None], None]

LOCAL = "local"
_CONNECT_SECONDS = 8


@contextmanager
def cluster(address: str | None = None) -> Iterator[Any]:
    """Return a client of the scheduler at `address`, or of a cluster of processes made here."""
    distributed = _library()
    # what goes wrong is told once, by us; at its own level it tells of every connection
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address in (None, LOCAL):
        with _local_cluster(distributed) as made, distributed.Client(made) as client:
            yield client
        return
    client = _connected(distributed, str(address))
    with client:
        if not _asked(client.scheduler_info)["workers"]:
            raise InputError(f"the Dask scheduler at {address} has no workers; start some first")
        yield client


def _local_cluster(distributed: Any) -> Any:
    """Start worker processes that leave Ctrl-C to us."""
    main = threading.current_thread() is threading.main_thread()
    # what is ignored now stays ignored in the processes that are started
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        # threads of one process would wait for each other where Python is at work
        return distributed.LocalCluster(
            processes=True,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _connected(distributed: Any, address: str) -> Any:
    """Connect within some seconds; its own limit does not hold where no Dask answers."""
    found: list[Any] = []

    def connect() -> None:
        try:
            found.append(
                distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
            )
        except Exception as error:  # whatever stands there instead of a scheduler
            found.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(2 * _CONNECT_SECONDS)
    client = found[0] if found else TimeoutError("something else answers there")
    if isinstance(client, Exception):
        raise InputError(
            f"no Dask scheduler at {address} ({one_line(client)}); expected an address such as "
            "tcp://host:8786, or none for a cluster on this machine"
        )
    return client


def _library() -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "Dask is not installed; expected it for work on several machines: "
            "pip install 'qcompile[dask]'"
        ) from None
    return distributed


def threads_of_worker() -> int | None:
    """Return the threads that this worker was given for a task; None outside of a worker."""
    import distributed

    try:
        return int(distributed.get_worker().state.nthreads)
    except ValueError:
        return None


def in_order(
    client: Any,
    task: Callable[..., Result],
    items: Sequence[Item],
    *shared: Any,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Return task(item, *shared) for each item, in order; what is shared is sent once."""
    with warnings.catch_warnings():
        # Dask would rather scatter large objects, but what is scattered dies with its worker
        warnings.filterwarnings("ignore", message="Sending large graph")
        held = [submit_task(client, _unchanged, value) for value in shared]
        futures = [submit_task(client, _limited, task, item, *held) for item in items]
    try:
        for done, future in enumerate(futures, 1):
            yield result_of(future)
            if progress is not None:
                progress(done, len(futures))
    finally:
        with suppress(Exception):  # a cluster that is gone has nothing to cancel
            client.cancel(futures)


def submit_task(client: Any, task: Callable[..., Any], *arguments: Any) -> Any:
    """Submit a task to the cluster and return its future."""
    _require_running(client)
    # the same call twice is two tasks: what one of them did is not to be looked up for the other
    return _asked(lambda: client.submit(task, *arguments, pure=False))


def _unchanged(value: Item) -> Item:
    return value


def _limited(task: Callable[..., Result], *arguments: Any) -> Result:
    with at_most(threads_of_worker()):
        return task(*arguments)


def threads_of(client: Any) -> int:
    """Return the number of threads that all workers have together."""
    _require_running(client)
    return max(1, int(sum(_asked(client.nthreads).values())))


def _require_running(client: Any) -> None:
    if client.status != "running":
        raise QcompileError(
            f"the Dask cluster is gone (its client is {client.status}); start it again and repeat "
            "the command"
        )


def result_of(future: Any) -> Any:
    """Return the result of a future, or raise QcompileError if the cluster is gone."""
    return _asked(future.result)


def _asked(question: Callable[[], Any]) -> Any:
    """Ask the cluster; one that gave up is no fault of the task."""
    distributed = _library()
    try:
        return question()
    except distributed.KilledWorker as error:
        raise QcompileError(
            f"every worker that took this task died ({error.task}); probably of too little "
            "memory: give workers more, or make the parts smaller"
        ) from None
    except (distributed.comm.CommClosedError, CancelledError, TimeoutError, OSError) as error:
        raise QcompileError(
            f"the Dask cluster is gone ({one_line(error)}); start it again and repeat the command"
        ) from None
