"""Work on the machines of a Dask cluster: moments of data in parts, restarts, folds.

Everything a worker needs travels in its tasks or is read by it, so that a task of a worker that
dies is done again by another one. Results come in a fixed order: the answer does not depend on how
many workers there are, nor on which of them did what.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar

from qcompile.artifacts import Dataset, Moments
from qcompile.errors import InputError, QcompileError
from qcompile.parts import (
    Part,
    Source,
    Total,
    Wanted,
    add_up,
    join,
    local_total,
    moments_of_parts,
    sum_part,
)
from qcompile.pipeline import DataOptions
from qcompile.threads import at_most

__all__ = ["cluster", "in_order", "moments_dask", "total_on"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int | None], None]

LOCAL = "local"
_CONNECT_SECONDS = 8


@contextmanager
def cluster(address: str | None = None) -> Iterator[Any]:
    """Give a client of the scheduler at `address`, or of a cluster of processes made here."""
    distributed = _library()
    # at its own level it tells of every connection
    logging.getLogger("distributed").setLevel(logging.WARNING)
    if address in (None, LOCAL):
        # threads of one process would wait for each other where Python is at work
        own = {
            "processes": True,
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            # what a task found wrong is told once, here, not by its worker too
            "silence_logs": logging.CRITICAL,
        }
        with distributed.LocalCluster(**own) as made, distributed.Client(made) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler at {address} ({error}); expected an address such as "
            "tcp://host:8786, or none for a cluster on this machine"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError(f"the Dask scheduler at {address} has no workers; start some first")
        yield client


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
    """Give the partitions as delayed objects that `sum_part` understands."""
    from dask.delayed import delayed

    if hasattr(collection, "to_delayed") and hasattr(collection, "chunks"):
        return _chunks(collection, labels)
    if labels is not None:
        raise InputError("labels beside a bag or data sets; expected them only beside an array")
    if hasattr(collection, "to_delayed"):
        parts = collection.to_delayed()
        return [delayed(_elements)(part, f"partition {i}") for i, part in enumerate(parts)]
    return list(collection)


def _chunks(rows: Any, labels: Any) -> list[Any]:
    from dask.delayed import delayed

    if labels is None:
        raise InputError("a Dask array without labels; expected an array of them beside it")
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
    import numpy as np
    import scipy.sparse as sp

    if hasattr(x, "to_scipy_sparse"):
        x = x.to_scipy_sparse()
    return (sp.csr_array(x) if sp.issparse(x) else np.asarray(x, dtype=np.float64)), labels


def _elements(elements: Any, name: str) -> Any:
    """Give a partition of a bag as text, or as data sets."""
    held = list(elements)
    if all(isinstance(element, Dataset) for element in held):
        return held
    if all(isinstance(element, str | bytes) for element in held):
        lines = [line.encode() if isinstance(line, str) else line for line in held]
        return name, b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
    kinds = sorted({type(element).__name__ for element in held})
    raise InputError(f"{name} holds {', '.join(kinds)}; expected svmlight lines or data sets")


def _sum_on_worker(source: Any, name: str, wanted: Wanted) -> Part:
    with at_most(_threads_of_worker()):
        if isinstance(source, list):  # data sets of one partition
            return local_total(source, [name] * len(source))(wanted)
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
    """Sum over parts on the workers; only sums travel."""

    def total(wanted: Wanted) -> Part:
        done = itertools.count(1)

        def leaf(number: int) -> Any:
            future = client.submit(
                _sum_on_worker, sources[number], names[number], wanted, pure=False
            )
            if progress is not None:
                future.add_done_callback(lambda _: progress(next(done), len(sources)))
            return future

        # no leaf is held here: workers forget its sums as soon as they are joined
        def joined(one: Any, two: Any) -> Any:
            return client.submit(join, one, two, wanted.positive, pure=False)

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
        held = [client.submit(_unchanged, value, pure=False) for value in shared]
        futures = [client.submit(_limited, task, item, *held, pure=False) for item in items]
    try:
        for done, future in enumerate(futures, 1):
            yield _result(future)
            if progress is not None:
                progress(done, len(futures))
    finally:
        for future in futures:
            future.cancel()


def _unchanged(value: Item) -> Item:
    return value


def _limited(task: Callable[..., Result], *arguments: Any) -> Result:
    with at_most(_threads_of_worker()):
        return task(*arguments)


def _result(future: Any) -> Any:
    """Wait for a result; a cluster that gave up is no fault of the task."""
    distributed = _library()
    try:
        return future.result()
    except distributed.KilledWorker as error:
        raise QcompileError(
            f"every worker that took this task died ({error.task}); probably of too little "
            "memory: give workers more, or make the parts smaller"
        ) from None
    except (distributed.comm.CommClosedError, CancelledError, TimeoutError, OSError) as error:
        raise QcompileError(
            f"the Dask cluster is gone ({type(error).__name__}: {error}); start it again and "
            "repeat the command"
        ) from None
