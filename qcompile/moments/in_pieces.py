"""Moments of one file that is read in pieces, twice if its columns must be known first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qcompile.data.robust import robust_scaling
from qcompile.data.row_sample import RowSample
from qcompile.data.rows import check_sizes
from qcompile.data.stream import RowStream
from qcompile.data.svmlight import SvmlightReader, reopened
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.runtime.timing import passing
from qcompile.stages.arrays import frozen
from qcompile.stages.moments import Moments
from qcompile.stages.preparation import Preparation

if TYPE_CHECKING:
    from qcompile.data.options import DataOptions

__all__ = ["moments_in_pieces"]


def moments_in_pieces(path: str, options: DataOptions, order: int, *, fit: bool) -> Moments:
    """Return the moments of a file without holding all of its rows.

    Robust scaling and a bias column need to know the columns: the file is read once for them, and
    once more for the moments. Robust scaling looks at a sample of at most 20,000 rows.
    """
    if not options.need_two_passes:
        unit = options.scale == "unit-norm"
        with passing("read and moments, in pieces"):
            return moments_of(
                _stream(path, options, unit_norm=unit, bias=options.bias), order, fit=fit
            )
    with reopened(path) as (one, two):
        first, preparation = _preparation(one, options)
        again = replace(options, index_base=first.index_base, num_features=preparation.raw_features)
        with passing("read and moments, in pieces"):
            second = _stream(two, again, preparation=preparation)
            moments = moments_of(second, order, fit=fit)
    if second.source != first.source:
        raise InputError(f"{path}: changed while it was read; expected the same rows twice")
    return moments


def _stream(source: str | SvmlightReader, options: DataOptions, **how: Any) -> RowStream:
    return RowStream(
        source,
        positive=options.positive,
        rows=options.rows,
        index_base=options.index_base,
        num_features=options.num_features,
        **how,
    )


def _preparation(reader: SvmlightReader, options: DataOptions) -> tuple[RowStream, Preparation]:
    """Return the preparation of all rows, and the stream in which they were read."""
    stream = _stream(reader, options)
    sample = None
    width = count = 0
    with passing("read columns, in pieces"):
        for x, _ in stream:
            check_sizes(x.data, reader.name)
            width = max(width, x.shape[1])
            if options.scale == "robust":
                taken = RowSample.of(x, start=count)
                sample = taken if sample is None else sample + taken
            count += x.shape[0]
    made = replace(
        stream.preparation,
        unit_norm=options.scale == "unit-norm",
        bias=options.bias,
        scaling=options.scale,
    )
    if sample is not None:
        center, scale = robust_scaling(sample.of_width(width))
        made = replace(made, center=frozen(center), scale=frozen(scale))
    return stream, made
