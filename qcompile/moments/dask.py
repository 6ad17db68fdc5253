"""Work on the machines of a Dask cluster: moments of data in parts, restarts, folds.

Everything a worker needs travels in its tasks or is read by it, so that a task of a worker that
dies is done again by another one. Results come in a fixed order: the answer does not depend on how
many workers there are, nor on which of them did what.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from qcompile.errors import InputError, QcompileError
from qcompile.moments.accumulate import check_order
from qcompile.moments.parts import (
    Part,
    Source,
    TextPart,
    Total,
    Wanted,
    add_up,
    join,
    local_total,
    moments_of_parts,
    sum_part,
)
from qcompile.pipeline import DataOptions
from qcompile.runtime.threads import at_most
from qcompile.stages.artifacts import Dataset, Moments

__all__ = ["cluster", "in_order", "moments_dask", "threads_of", "total_on"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int | None], None]

LOCAL = "local"
_CONNECT_SECONDS = 8


@contextmanager
def cluster(address: str | None = None) -> Iterator[Any]:
    """Give a client of the scheduler at `address`, or of a cluster of processes made here."""
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
            f"no Dask scheduler at {address} ({_first_line(client)}); expected an address such as "
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


def moments_dask(
    collection: Any,
    order: int = 3,
    *,
    labels: Any = None,
    fit: bool | None = None,
    positive: float | None = None,
    scale: str = "none",
    features: int | None = None,
    bias: bool = False,
    client: Any = None,
) -> Moments:
    """Take the moments of a Dask collection, partition by partition, where the partitions are.

    A bag holds svmlight lines (``dask.bag.read_text``) or data sets; an array holds rows, in
    chunks, with an array of `labels` beside it; a sequence of delayed objects holds data sets.
    `scale`, `features` and `bias` prepare the rows as `qcompile.prepare` does, by the statistics
    of all of them. Without a client, the one that is current or Dask's default scheduler works.
    The result equals that of the rows in one place up to rounding; the same partitions give it
    bit for bit whatever the workers.
    """
    check_order(order)
    pieces = _pieces(collection, labels)
    if not pieces:
        raise InputError("a collection without partitions; expected rows")
    options = DataOptions(positive=positive, scale=scale, features=features, bias=bias)

    def total(wanted: Wanted) -> Part:
        from dask.delayed import delayed

        summed = delayed(_sum_on_worker, pure=False)
        joined = delayed(join, pure=False)
        tree = add_up(
            len(pieces),
            lambda i: summed(pieces[i], f"partition {i}", wanted),
            lambda one, two: joined(one, two, wanted.positive),
        )
        found: Part = tree.compute() if client is None else _result(client.compute(tree))
        return found

    fits = order % 2 == 1 if fit is None else fit
    return moments_of_parts(total, "a Dask collection", options, order, fit=fits)


def _pieces(collection: Any, labels: Any) -> list[Any]:
    """Give the partitions as delayed objects that `_sum_on_worker` understands."""
    from dask.delayed import Delayed, delayed

    if hasattr(collection, "to_delayed") and hasattr(collection, "chunks"):
        return _chunks(collection, labels)
    if labels is not None:
        raise InputError(
            f"labels beside a {type(collection).__name__}; expected them beside a Dask array only"
        )
    if hasattr(collection, "to_delayed"):
        parts = collection.to_delayed()
        return [delayed(_elements)(part, f"partition {i}") for i, part in enumerate(parts)]
    held = [] if isinstance(collection, str | bytes) else list(collection)
    if not all(isinstance(part, Delayed) for part in held) or isinstance(collection, str | bytes):
        raise InputError(
            f"a {type(collection).__name__}; expected a Dask bag, a Dask array or delayed data "
            "sets (compile and moments_of take files and arrays)"
        )
    return held


def _chunks(rows: Any, labels: Any) -> list[Any]:
    import dask.array
    from dask.delayed import delayed

    if labels is None:
        raise InputError("a Dask array without labels; expected an array of them beside it")
    if not hasattr(labels, "rechunk"):
        labels = dask.array.from_array(np.asarray(labels), chunks=-1)
    if np.isnan(rows.shape + labels.shape).any():
        raise InputError(
            "a Dask array whose chunks have unknown sizes; call compute_chunk_sizes() on it and on "
            "its labels first"
        )
    if rows.ndim != 2 or labels.ndim != 1 or rows.shape[0] != labels.shape[0]:
        raise InputError(
            f"rows of shape {rows.shape} with labels of shape {labels.shape}; expected one label "
            "for each row"
        )
    rows = rows.rechunk({1: -1})
    labels = labels.rechunk({0: rows.chunks[0]})
    pairs = zip(rows.to_delayed()[:, 0], labels.to_delayed(), strict=True)
    return [delayed(_pair)(x, y) for x, y in pairs]


def _pair(x: Any, labels: Any) -> Source:
    """Sparse chunks come as scipy or as pydata matrices."""
    return (x.to_scipy_sparse() if hasattr(x, "to_scipy_sparse") else x), labels


def _elements(elements: Any, name: str) -> Any:
    """Give a partition of a bag as text, or as data sets."""
    held = list(elements)
    if held and all(isinstance(element, Dataset) for element in held):
        return held
    if all(isinstance(element, str | bytes) for element in held):
        lines = [
            line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
            for line in held
        ]
        return TextPart(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    kinds = sorted({type(element).__name__ for element in held})
    raise InputError(f"{name} holds {', '.join(kinds)}; expected svmlight lines or data sets")


def _sum_on_worker(source: Any, name: str, wanted: Wanted) -> Part:
    with at_most(_threads_of_worker()):
        if isinstance(source, list):  # data sets of one partition
            return local_total(source, [name] * len(source))(wanted)
        if isinstance(source, str) and not Path(source).is_file():
            raise InputError(
                f"{name}: a worker does not see this file; expected it on a disk that all workers "
                f"share, as {source}"
            )
        if not isinstance(source, str | TextPart | Dataset | tuple):
            raise InputError(f"{name} is a {type(source).__name__}; expected a data set")
        return sum_part(source, name, wanted)


def _threads_of_worker() -> int | None:
    """Give the threads that this worker was given for a task; None outside of a worker."""
    import distributed

    try:
        return int(distributed.get_worker().state.nthreads)
    except ValueError:
        return None


def total_on(
    client: Any, sources: Sequence[Source], names: Sequence[str], progress: Progress | None = None
) -> Total:
    """Sum over parts on the workers; only sums travel, and the full names of files."""
    sources = [os.path.realpath(part) if isinstance(part, str) else part for part in sources]

    def total(wanted: Wanted) -> Part:
        done = itertools.count(1)

        def leaf(number: int) -> Any:
            future = _submitted(client, _sum_on_worker, sources[number], names[number], wanted)
            if progress is not None:
                future.add_done_callback(lambda _: progress(next(done), len(sources)))
            return future

        # no leaf is held here: workers forget its sums as soon as they are joined
        def joined(one: Any, two: Any) -> Any:
            return _submitted(client, join, one, two, wanted.positive)

        found: Part = _result(add_up(len(sources), leaf, joined))
        return found

    return total


def in_order(
    client: Any,
    task: Callable[..., Result],
    items: Sequence[Item],
    *shared: Any,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Give task(item, *shared) for each item, in order; what is shared is sent once."""
    with warnings.catch_warnings():
        # Dask would rather scatter large objects, but what is scattered dies with its worker
        warnings.filterwarnings("ignore", message="Sending large graph")
        held = [_submitted(client, _unchanged, value) for value in shared]
        futures = [_submitted(client, _limited, task, item, *held) for item in items]
    try:
        for done, future in enumerate(futures, 1):
            yield _result(future)
            if progress is not None:
                progress(done, len(futures))
    finally:
        with suppress(Exception):  # a cluster that is gone has nothing to cancel
            client.cancel(futures)


def _submitted(client: Any, task: Callable[..., Any], *arguments: Any) -> Any:
    _require_running(client)
    # the same call twice is two tasks: what one of them did is not to be looked up for the other
    return _asked(lambda: client.submit(task, *arguments, pure=False))


def _unchanged(value: Item) -> Item:
    return value


def _limited(task: Callable[..., Result], *arguments: Any) -> Result:
    with at_most(_threads_of_worker()):
        return task(*arguments)


def threads_of(client: Any) -> int:
    """Give the number of threads that all workers have together."""
    _require_running(client)
    return max(1, int(sum(_asked(client.nthreads).values())))


def _require_running(client: Any) -> None:
    if client.status != "running":
        raise QcompileError(
            f"the Dask cluster is gone (its client is {client.status}); start it again and repeat "
            "the command"
        )


def _result(future: Any) -> Any:
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
            f"the Dask cluster is gone ({_first_line(error)}); start it again and repeat the "
            "command"
        ) from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
