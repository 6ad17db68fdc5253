"""Moments of Dask collections and of files on a cluster's workers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qcompile.data.options import DataOptions
from qcompile.errors import InputError
from qcompile.moments.accumulate import check_order
from qcompile.moments.parts import (
    AnyPart,
    Part,
    TextPart,
    Total,
    Wanted,
    add_up,
    join,
    local_total,
    moments_of_parts,
    sum_part,
)
from qcompile.runtime import cluster
from qcompile.runtime.cluster import result_of, submit_task
from qcompile.runtime.progress import heard, report
from qcompile.runtime.threads import in_this_context
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import RowLabel
from qcompile.stages.moments import Moments

__all__ = ["moments_dask", "total_on"]


def moments_dask(
    collection: Any,
    order: int = 3,
    *,
    labels: Any = None,
    fit: bool | None = None,
    positive: RowLabel | None = None,
    scale: str = "none",
    features: int | None = None,
    bias: bool = False,
    client: Any = None,
) -> Moments:
    """Return the moments of a Dask collection, summed where its partitions are.

    A bag holds svmlight lines (``dask.bag.read_text``) or data sets; an array holds rows, in
    chunks, with an array of `labels` beside it; a sequence of delayed objects holds data sets.
    `scale`, `features` and `bias` prepare the rows as `qcompile.prepare` does, by the statistics
    of all rows; robust scaling looks at 20,000 of them at most. Without a `client`, Dask's current
    client or its default scheduler does the work. The result equals that of `moments_of` on all
    rows up to rounding. The same partitions give the same bits on any number of workers.
    """
    check_order(order)
    pieces = _pieces(collection, labels)
    if not pieces:
        raise InputError("the collection has no partitions; expected rows")
    options = DataOptions(positive=positive, scale=scale, features=features, bias=bias)

    def total(wanted: Wanted) -> Part:
        from dask.delayed import delayed

        summed = delayed(_sum_on_worker, pure=False)
        joined = delayed(join, pure=False)
        tree = add_up(
            len(pieces),
            lambda i: summed(pieces[i], f"partition {i}", wanted, i),
            lambda one, two: joined(one, two, wanted.positive),
        )
        chosen = cluster.current()
        found: Part = tree.compute() if chosen is None else result_of(chosen.compute(tree))
        return found

    fits = order % 2 == 1 if fit is None else fit
    with cluster.using(client):
        return moments_of_parts(total, "a Dask collection", options, order, fit=fits)


def _pieces(collection: Any, labels: Any) -> list[Any]:
    """Return the partitions as delayed objects that `_sum_on_worker` takes."""
    from dask.delayed import Delayed, delayed

    if hasattr(collection, "to_delayed") and hasattr(collection, "chunks"):
        return _chunks(collection, labels)
    if labels is not None:
        raise InputError(
            f"labels= with a {type(collection).__name__}; expected it with a Dask array only"
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
        raise InputError("labels are missing; expected labels= with a Dask array")
    if not hasattr(labels, "rechunk"):
        labels = dask.array.from_array(np.asarray(labels), chunks=-1)
    if np.isnan(rows.shape + labels.shape).any():
        raise InputError(
            "the chunk sizes of a Dask array are unknown; call compute_chunk_sizes() on rows and "
            "labels first"
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


def _pair(x: Any, labels: Any) -> AnyPart:
    """Return a chunk of rows and its labels; a sparse chunk may be of pydata or of SciPy."""
    return (x.to_scipy_sparse() if hasattr(x, "to_scipy_sparse") else x), labels


def _elements(elements: Any, name: str) -> Any:
    """Return a partition of a bag as text or as data sets."""
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


def _sum_on_worker(source: Any, name: str, wanted: Wanted, number: int) -> Part:
    with cluster.as_task():
        if isinstance(source, list):  # data sets of one partition
            return local_total(source, [name] * len(source))(wanted)
        if isinstance(source, str) and not Path(source).is_file():
            raise InputError(
                f"{name}: not found on a worker; expected it on a disk that all workers share, "
                f"as {source}"
            )
        if not isinstance(source, str | TextPart | Dataset | tuple):
            raise InputError(f"{name} is a {type(source).__name__}; expected a data set")
        return sum_part(source, name, wanted, number)


def total_on(client: Any, sources: Sequence[AnyPart], names: Sequence[str]) -> Total:
    """Return the function that sums over the parts on the workers.

    Only sums, samples of rows and the full names of files travel. The function reports how many
    parts are summed.
    """
    sources = [os.path.realpath(part) if isinstance(part, str) else part for part in sources]

    def total(wanted: Wanted) -> Part:
        done = itertools.count(1)
        # Dask calls back in a thread of its own, which has another context
        count = in_this_context(lambda future: report(next(done), len(sources)))

        def leaf(number: int) -> Any:
            future = submit_task(
                client, _sum_on_worker, sources[number], names[number], wanted, number
            )
            if heard():
                future.add_done_callback(count)
            return future

        # no leaf is kept here, so that workers free its sums as soon as they are joined
        def joined(one: Any, two: Any) -> Any:
            return submit_task(client, join, one, two, wanted.positive)

        found: Part = result_of(add_up(len(sources), leaf, joined))
        return found

    return total
