"""Moments of data in parts: files, or the partitions of a collection.

Each part is summed by itself, and sums are joined in pairs along a tree that depends only on the
number of parts. So the same parts give the same moments, bit for bit, on one machine and on many.
A part needs no knowledge of the others: its signs are relative to the first label in it and are
flipped when it is joined. It may have fewer features than others, only one class, or no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qcompile.data.column_statistics import ColumnStatistics
from qcompile.data.row_sample import RowSample
from qcompile.data.rows import canonical, check_classes, check_sizes, featureless, no_rows
from qcompile.data.stream import LateIndexZeroError, RowStream, TableStream
from qcompile.data.svmlight import SvmlightReader, digest_of_digests
from qcompile.data.table import open_table
from qcompile.data.table_statistics import TableStatistics
from qcompile.errors import InputError
from qcompile.moments import products
from qcompile.moments.accumulate import check_order, moments_of, moments_of_rows
from qcompile.runtime.progress import muted, report
from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import RowLabel, label_text, row_labels, sorted_labels
from qcompile.stages.moments import Moments
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source
from qcompile.stages.table import TableSchema

if TYPE_CHECKING:
    from qcompile.data.options import DataOptions

__all__ = [
    "AnyPart",
    "Part",
    "TextPart",
    "Total",
    "Wanted",
    "add_up",
    "join",
    "local_total",
    "moments_of_parts",
    "sum_part",
]


Handle = TypeVar("Handle")
_MOST_LABELS = 100
ANY_WIDTH = 0  # raw_features of a preparation that treats each row by itself


@dataclass(frozen=True)
class Wanted:
    """What to sum over the rows of a part; `columns` asks for the statistics for scaling.

    `sample` adds a sample of the rows to them. `table` says which columns of a table to read;
    `learn` asks for what its rows decide, with "median" or "mean" for what is filled in.
    """

    order: int
    fit: bool
    positive: RowLabel | None = None
    index_base: int | None = None
    num_features: int | None = None
    preparation: Preparation | None = None
    columns: bool = False
    sample: bool = False
    table: TableSchema | None = None
    learn: str | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """Sums over the rows of one part, or of several that were joined.

    `labels` maps each label to the part in which it was first seen. The first label counts as +1
    unless `Wanted.positive` names one.
    """

    name: str
    sums: Any  # Moments or ColumnStatistics: both have + and flipped()
    labels: Mapping[RowLabel, str]
    index_base: int | None
    digests: tuple[str, ...] | None


@dataclass(frozen=True)
class TextPart:
    """Svmlight text in memory."""

    text: bytes


AnyPart = str | TextPart | Dataset | tuple[Matrix, Any]


def sum_part(source: AnyPart, name: str, wanted: Wanted, number: int = 0) -> Part:
    """Return the sums over a part: a file, svmlight text, a data set, or rows and labels.

    The number of the part decides which of its rows are sampled.
    """
    # one core for matrix products, here and on workers, as their rounding depends on it
    with products.single_threaded_blas():
        if isinstance(source, Dataset):
            return _sum_dataset(source, name, wanted)
        if isinstance(source, tuple):
            return _sum_arrays(source[0], source[1], name, wanted, number)
        return _sum_text(source, name, wanted, number)


def _sum_text(source: str | TextPart, name: str, wanted: Wanted, number: int) -> Part:
    if wanted.learn is not None:
        return _learnt(str(source), name, wanted, number)
    stream = _stream_of(source, name, wanted)
    total = _nothing(wanted)
    for x, signs in stream:
        total = total + _sums(x, signs, name, wanted, (number, total.count))
    labels = dict.fromkeys(stream.labels, stream.name)
    digests = (str(stream.digest),) if isinstance(source, str) else None
    return Part(stream.name, total, labels, stream.index_base, digests)


def _stream_of(source: str | TextPart, name: str, wanted: Wanted) -> RowStream:
    if wanted.table is not None and isinstance(source, str):
        reader = open_table(source, name=name, schema=wanted.table)
        return TableStream(reader, positive=wanted.positive, is_part=True)
    if isinstance(source, str):
        text = SvmlightReader(source, name=name)
    else:
        text = SvmlightReader(name, text=source.text)
    return RowStream(
        text,
        positive=wanted.positive,
        index_base=wanted.index_base,
        num_features=wanted.num_features,
        is_part=True,
    )


def _learnt(path: str, name: str, wanted: Wanted, number: int) -> Part:
    """Return what the rows of a table decide about its columns."""
    median = wanted.learn == "median"
    total: TableStatistics | None = None
    for piece in open_table(path, name=name, schema=wanted.table).pieces():
        start = 0 if total is None else total.count
        found = TableStatistics.of(piece, part=number, start=start, median=median)
        total = found if total is None else total + found
    return Part(name, total, {}, None, None)


def _sum_dataset(data: Dataset, name: str, wanted: Wanted) -> Part:
    """Return the sums over rows that already have signs."""
    if wanted.columns or wanted.preparation is not None or wanted.positive is not None:
        raise InputError(
            f"{name}: a data set cannot be scaled or relabelled in parts; expected lines or "
            "arrays: use prepare() on all rows before, or leave these options out"
        )
    sums = moments_of(data, wanted.order, fit=wanted.fit)
    return Part(name, sums, {1.0: name, -1.0: name}, None, None)


def _sum_arrays(x: Any, labels: Any, name: str, wanted: Wanted, number: int) -> Part:
    import scipy.sparse as sp

    try:
        if np.iscomplexobj(x):
            raise TypeError
        values = row_labels(labels, name)
        rows: Any = canonical(x) if sp.issparse(x) else np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: invalid rows; expected real numbers") from None
    if rows.ndim != 2 or values.shape != (rows.shape[0],):
        raise InputError(
            f"{name}: rows of shape {rows.shape} with labels of shape {values.shape}; expected "
            "a label for each row"
        )
    stored = rows.data if sp.issparse(rows) else rows
    if not (np.isfinite(stored).all() and (values.dtype.kind == "U" or np.isfinite(values).all())):
        raise InputError(f"{name}: a value is NaN or infinite; expected finite numbers")
    seen = _kept(dict.fromkeys(values.tolist(), name), wanted.positive)
    positive = next(iter(seen), 1.0) if wanted.positive is None else wanted.positive
    signs = np.where(values == positive, 1.0, -1.0)
    return Part(name, _sums(rows, signs, name, wanted, (number, 0)), seen, None, None)


def _kept(labels: Mapping[RowLabel, str], positive: RowLabel | None) -> dict[RowLabel, str]:
    """Return the first labels, and the positive one if it was seen at all."""
    kept = dict(itertools.islice(labels.items(), _MOST_LABELS))
    if positive is not None and positive in labels:
        kept[positive] = labels[positive]
    return kept


def _sums(x: Matrix, signs: Floats, name: str, wanted: Wanted, place: tuple[int, int]) -> Any:
    """Return the sums over rows; `place` is the number of their part and that of the first."""
    check_sizes(x.data if hasattr(x, "indptr") else x, name)
    if wanted.columns:
        return _statistics(x, signs, wanted, place)
    prepared = wanted.preparation
    if prepared is not None:
        if prepared.raw_features == ANY_WIDTH:
            prepared = replace(prepared, raw_features=x.shape[1])
        x = prepared.apply(_widened(x, prepared.raw_features))
    return moments_of_rows(x, signs, wanted.order, fit=wanted.fit)


def _statistics(
    x: Matrix, signs: Floats, wanted: Wanted, place: tuple[int, int]
) -> ColumnStatistics:
    part, start = place
    sample = RowSample.of(x, part=part, start=start) if wanted.sample else None
    return ColumnStatistics.of(x, signs, sample)


def _nothing(wanted: Wanted) -> Any:
    empty = np.zeros((0, 0)), np.zeros(0)
    if wanted.columns:
        return _statistics(*empty, wanted, (0, 0))
    return moments_of_rows(*empty, wanted.order, fit=wanted.fit)


def _widened(x: Matrix, width: int) -> Matrix:
    """Append columns of zeros for features that this part does not have."""
    if x.shape[1] == width:
        return x
    if not hasattr(x, "indptr"):
        raise InputError(f"rows of {x.shape[1]} features; expected {width} as in other parts")
    wider: Any = x.copy()
    wider.resize((x.shape[0], width))
    return wider


def join(one: Part, two: Part, positive: RowLabel | None) -> Part:
    """Return the sum of two parts, after making their signs agree."""
    if None not in (one.index_base, two.index_base) and one.index_base != two.index_base:
        raise LateIndexZeroError(
            f"{one.name} and {two.name}: only one of them uses index 0; expected all files to "
            "count from the same index (pass index_base=0 if they are 0-based)"
        )
    later = {label: name for label, name in two.labels.items() if label not in one.labels}
    labels = _kept({**one.labels, **later}, positive)
    if positive is None and len(labels) > 2:
        third = list(labels)[2]
        first, second, found = map(label_text, itertools.islice(labels, 3))
        raise InputError(
            f"{labels[third]}: label {found} is a third class after {first} and {second}; expected "
            "two: choose one against the rest with positive=LABEL"
        )
    turn = positive is None and bool(two.labels) and next(iter(two.labels)) != next(iter(labels))
    digests = None
    if one.digests is not None and two.digests is not None:
        digests = one.digests + two.digests
    return Part(
        one.name,
        one.sums + (two.sums.flipped() if turn else two.sums),
        labels,
        one.index_base if two.index_base is None else two.index_base,
        digests,
    )


def add_up(
    count: int, leaf: Callable[[int], Handle], joined: Callable[[Handle, Handle], Handle]
) -> Handle:
    """Join leaves 0, 1, ... in pairs, holding at most log2(count) sums at a time.

    >>> add_up(5, str, lambda a, b: f"({a}{b})")
    '(((01)(23))4)'
    """

    def between(start: int, stop: int) -> Handle:
        if stop - start == 1:
            return leaf(start)
        half = 1 << (stop - start - 1).bit_length() - 1
        left = between(start, start + half)
        return joined(left, between(start + half, stop))

    return between(0, count)


Total = Callable[[Wanted], Part]


def moments_of_parts(
    total: Total,
    name: str,
    options: DataOptions,
    order: int,
    *,
    fit: bool,
    table: TableSchema | None = None,
) -> Moments:
    """Return the moments of all parts; `total` sums over them, here or on a cluster.

    Scaling by columns, choosing features and a bias column need an extra pass first. `table` says
    what the columns of files are that are tables; what their rows decide needs one more pass.
    """
    check_order(order)
    _refuse_what_needs_all_rows(options)
    wanted = Wanted(
        order=order,
        fit=fit,
        positive=options.positive,
        index_base=options.index_base,
        num_features=options.num_features,
        table=table,
    )
    if table is not None and options.table.learns_from_rows:
        how = "mean" if options.missing == "mean" else "median"
        wanted = replace(wanted, table=total(replace(wanted, learn=how)).sums.complete())
    try:
        return _moments(total, name, options, wanted)
    except LateIndexZeroError:
        if options.index_base is not None:
            raise
        return _moments(total, name, options, replace(wanted, index_base=0))


def _moments(total: Total, name: str, options: DataOptions, wanted: Wanted) -> Moments:
    if options.scale == "unit-norm" and options.features is None and not options.bias:
        alone = Preparation(
            raw_features=ANY_WIDTH, negative=None, unit_norm=True, scaling=options.scale
        )
        wanted = replace(wanted, preparation=alone)
    elif options.features is not None or options.scale != "none" or options.bias:
        found = total(replace(wanted, columns=True, sample=options.scale == "robust"))
        labels = _labels(found, name, options.positive)
        prepared = found.sums.preparation(
            labels, scale=options.scale, features=options.features, bias=options.bias
        )
        wanted = replace(wanted, preparation=prepared, num_features=found.sums.features)
    found = total(wanted)
    moments: Moments = found.sums
    labels = _labels(found, name, options.positive)
    if moments.preparation is not None:  # data sets that were prepared before
        return replace(moments, source=Source(name=name, rows=moments.row_count))
    about = Source(name=name, rows=moments.row_count, index_base=found.index_base)
    if found.digests is not None and len(found.digests) > 1:
        digest = digest_of_digests(found.digests)
        about = replace(about, sha256=digest, parts=len(found.digests))
    elif found.digests is not None:  # the same record as of a file that is read here
        about = replace(about, name=Path(found.name).name, sha256=found.digests[0])
    prepared = labels if wanted.preparation is None else wanted.preparation
    any_width = prepared.raw_features == ANY_WIDTH
    prepared = replace(
        prepared,
        raw_features=moments.features if any_width else prepared.raw_features,
        positive=labels.positive,
        negative=labels.negative,
        names=None if wanted.table is None else wanted.table.names,
        table=wanted.table,
    )
    moments = replace(moments, preparation=prepared, source=about)
    # signs are relative to the first label seen, and the larger label must be +1
    turn = options.positive is None and next(iter(found.labels)) != labels.positive
    return moments.flipped() if turn else moments


def _labels(part: Part, name: str, positive: RowLabel | None) -> Preparation:
    """Return which label is positive, after checking that there are rows and two classes."""
    if not part.sums.count:
        raise no_rows(name)
    if not part.sums.features:
        raise featureless(name)
    check_classes(tuple(part.labels), positive, name)
    if positive is not None:
        return Preparation(raw_features=part.sums.features, positive=positive, negative=None)
    smaller, larger = sorted_labels(part.labels)
    return Preparation(raw_features=part.sums.features, positive=larger, negative=smaller)


def _refuse_what_needs_all_rows(options: DataOptions) -> None:
    given = {"shuffle": options.shuffle, "noise": options.noise > 0, "rows": options.rows}
    for name, is_given in given.items():
        if is_given:
            raise InputError(
                f"{name}= with Dask or data in several parts: no part knows the rows of the "
                "others; apply it to all rows at once, or leave it out"
            )


def local_total(sources: Sequence[AnyPart], names: Sequence[str]) -> Total:
    """Return the function that sums over the parts here, one after the other.

    Each part uses all cores. The function reports how many parts are summed.
    """

    def total(wanted: Wanted) -> Part:
        def leaf(number: int) -> Part:
            if len(sources) == 1:  # it counts its bytes itself
                return sum_part(sources[0], names[0], wanted)
            with muted():
                part = sum_part(sources[number], names[number], wanted, number)
            report(number + 1, len(sources))
            return part

        return add_up(len(sources), leaf, lambda one, two: join(one, two, wanted.positive))

    return total
