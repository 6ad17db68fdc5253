"""Work on the machines of a Dask cluster.

A caller opens `using(client)` around the work, and a pass that can use a cluster asks for
`current()`. The client is a context variable: it holds for the code inside the `with` block.

Everything that a worker needs is sent with its tasks or read by the worker itself. If a worker
dies, another one can therefore do its tasks again. Results come in a fixed order: they depend
neither on the number of workers nor on which of them did what.
"""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from qcompile.errors import InputError, QcompileError
from qcompile.runtime.progress import muted
from qcompile.runtime.text import one_line
from qcompile.runtime.threads import at_most

__all__ = [
    "as_task",
    "connected",
    "current",
    "hold",
    "in_order",
    "locally",
    "result_of",
    "submit_task",
    "threads_of",
    "using",
]


Item = TypeVar("Item")
Result = TypeVar("Result")

LOCAL = "local"
_CONNECT_SECONDS = 8

_client: ContextVar[Any] = ContextVar("client", default=None)


def current() -> Any:
    """Return the Dask client that the work in this context may use, or None."""
    return _client.get()


@contextmanager
def using(client: Any) -> Iterator[None]:
    """Let the work inside use the cluster of a Dask client; None keeps the client there is."""
    token = _client.set(current() if client is None else client)
    try:
        yield
    finally:
        _client.reset(token)


@contextmanager
def locally() -> Iterator[None]:
    """Let the work inside run in this process, even if there is a current client."""
    token = _client.set(None)
    try:
        yield
    finally:
        _client.reset(token)


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """Return a client of the scheduler at `address`, or of a new cluster on this machine."""
    distributed = _library()
    # Errors are reported once, by qcompile; Dask's own log has a line for every connection.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address in (None, LOCAL):
        with _local_cluster(distributed) as made, distributed.Client(made) as client:
            yield client
        return
    client = _client_at(distributed, str(address))
    with client:
        if not _asked(client.scheduler_info)["workers"]:
            raise InputError(f"the Dask scheduler at {address} has no workers; start some first")
        yield client


def _local_cluster(distributed: Any) -> Any:
    """Start worker processes that ignore Ctrl-C, which this process handles."""
    main = threading.current_thread() is threading.main_thread()
    # processes inherit the signals that are ignored when they are started
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        # threads of one process would wait for the interpreter's lock
        return distributed.LocalCluster(
            processes=True,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _client_at(distributed: Any, address: str) -> Any:
    """Connect within some seconds.

    Dask's own limit does not hold if the server at the address speaks another protocol.
    """
    found: list[Any] = []

    def connect() -> None:
        try:
            found.append(
                distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
            )
        except Exception as error:  # the server may be anything but a scheduler
            found.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(2 * _CONNECT_SECONDS)
    client = found[0] if found else TimeoutError("the server is not a Dask scheduler")
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
            "Dask is not installed; it is needed for work on several machines: "
            "pip install 'qcompile-anneal[dask]'"
        ) from None
    return distributed


@contextmanager
def as_task() -> Iterator[None]:
    """Let the work inside keep to the threads of its worker, report to nobody and submit nothing.

    A worker may be a thread of the process that has the client and the listener.
    """
    with at_most(_threads_of_worker()), muted(), locally():
        yield


def _threads_of_worker() -> int | None:
    """Return the threads that this worker has for a task; None outside of a worker."""
    import distributed

    try:
        return int(distributed.get_worker().state.nthreads)
    except ValueError:
        return None


def in_order(
    client: Any, task: Callable[..., Result], items: Sequence[Item], *shared: Any
) -> Iterator[Result]:
    """Yield task(item, *shared) for each item, in order; the shared values are sent once."""
    with warnings.catch_warnings():
        # Dask advises to scatter large objects, but a scattered object is lost with its worker
        warnings.filterwarnings("ignore", message="Sending large graph")
        held = [submit_task(client, _unchanged, value) for value in shared]
        futures = [submit_task(client, _run_task, task, item, *held) for item in items]
    try:
        yield from map(result_of, futures)
    finally:
        with suppress(Exception):  # a cluster that is gone has nothing to cancel
            client.cancel(futures)


def submit_task(client: Any, task: Callable[..., Any], *arguments: Any) -> Any:
    """Submit a task to the cluster and return its future."""
    _require_running(client)
    # the same call twice is two tasks: Dask must not reuse the result of the first
    return _asked(lambda: client.submit(task, *arguments, pure=False))


def hold(client: Any, value: Any) -> Any:
    """Let a worker hold a value, and return the future of it for use in tasks.

    It is the result of a task, which Dask repeats if its worker is lost.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return submit_task(client, _unchanged, value)


def _unchanged(value: Item) -> Item:
    return value


def _run_task(task: Callable[..., Result], *arguments: Any) -> Result:
    with as_task():
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
    """Ask the cluster, and raise QcompileError if it does not answer any more."""
    distributed = _library()
    try:
        return question()
    except distributed.KilledWorker as error:
        raise QcompileError(
            f"every worker that took this task died ({error.task}), probably for lack of "
            "memory: give the workers more, or make the parts smaller"
        ) from None
    except (distributed.comm.CommClosedError, CancelledError, TimeoutError, OSError) as error:
        raise QcompileError(
            f"the Dask cluster is gone ({one_line(error)}); start it again and repeat the command"
        ) from None
