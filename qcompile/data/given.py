"""What data can be given as: files, named sets, tables in memory, rows with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qcompile.data.array_files import read_npz_rows
from qcompile.data.named_sets import is_named
from qcompile.data.openml import fetched, is_openml
from qcompile.data.prepare import checked_rows
from qcompile.data.svmlight import file_names
from qcompile.data.table import is_table_file
from qcompile.errors import InputError
from qcompile.stages.expected import kind_name
from qcompile.stages.frame import Frame, frame_of, is_frame
from qcompile.stages.source import Source

__all__ = ["DataSource", "Rows", "arrays_of", "is_path", "kind_of", "table_of"]


# A file, a pattern or a name; a table of pandas, polars or pyarrow, a dictionary of columns, a
# Bunch of scikit-learn, or a pair of rows and labels.
DataSource: TypeAlias = Any
_EXPECTED = (
    "expected a file, a named set, a table (pandas, polars, pyarrow, a dictionary of columns), a "
    "pair (X, y) of rows and labels, or a Dataset"
)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of numbers with labels, which are None where they are not known."""

    x: Any
    labels: Any
    source: Source
    names: tuple[str, ...] | None = None


def kind_of(source: DataSource) -> str:
    """Return "named", "svmlight", "table" or "arrays"; raise InputError for all else.

    >>> kind_of("synthetic"), kind_of("part-*.csv.gz"), kind_of(([[1.0], [2.0]], [0, 1]))
    ('named', 'table', 'arrays')
    """
    if isinstance(source, str | Path):
        if is_named(source):
            return "named"
        if is_openml(source) or is_table_file(source):
            return "table"
        return "arrays" if _ending(source) == ".npz" else "svmlight"
    if isinstance(source, Frame):
        return "table"
    if _is_bunch(source) or _is_pair(source):
        rows, _ = _pair(source)
        return "table" if is_frame(rows) else "arrays"
    if is_frame(source):
        return "table"
    raise InputError(f"data from {kind_name(source)}; {_hint(source)}")


def is_path(source: DataSource) -> bool:
    """Whether data are given by a name: of a file, of several, or of a set."""
    return isinstance(source, str | Path)


def table_of(source: DataSource) -> Frame | str | Path:
    """Return a table in memory as a frame, and labels beside it as its last column."""
    if isinstance(source, str | Path):
        return fetched(str(source)) if is_openml(source) else source
    if isinstance(source, Frame):
        return source
    if not (_is_bunch(source) or _is_pair(source)):
        return frame_of(source, _name_of(source))
    rows, labels = _pair(source)
    frame = frame_of(rows, _name_of(rows))
    if labels is None:
        return frame
    return _with_labels(frame, labels)


def arrays_of(source: DataSource, *, labelled: bool = True) -> Rows:
    """Return rows and labels of a pair, a Bunch or .npz files."""
    if not isinstance(source, str | Path):
        x, labels = _pair(source)
        names = tuple(getattr(source, "feature_names", ())) if _is_bunch(source) else ()
        if labels is None and labelled:
            raise InputError("rows without labels; expected a pair (X, y)")
        rows = checked_rows(x, "data")
        named = tuple(map(str, names)) if len(names) == rows.shape[1] else None
        return Rows(rows, labels, Source(rows=rows.shape[0]), named)
    paths = file_names(source)
    if len(paths) > 1:
        raise InputError(f"{source}: {len(paths)} .npz files; expected one, or parts of a table")
    return Rows(*read_npz_rows(paths[0], labelled=labelled))


def _with_labels(frame: Frame, labels: Any) -> Frame:
    """Return a table with a column of labels at its end, under a name of its own."""
    if hasattr(labels, "columns") and len(labels.columns) == 1:  # a table of one column
        labels = labels[next(iter(labels.columns))]
    own = str(getattr(labels, "name", None) or "label")
    while own in frame.names:
        own += "_"
    values = frame_of({own: labels})
    if len(values) != len(frame):
        raise InputError(
            f"{frame.name}: {len(frame):,} rows with {len(values):,} labels; expected one for each"
        )

    def convert(place: int, part: slice) -> NDArray[Any]:
        if place < len(frame.names):
            return frame.convert(place, part)
        return values.convert(0, part)

    return Frame(frame.name, (*frame.names, own), len(frame), convert, label=own)


def _is_bunch(source: Any) -> bool:
    return any(kind.__name__ == "Bunch" for kind in type(source).__mro__) and "data" in source


def _is_pair(source: Any) -> bool:
    return isinstance(source, tuple) and len(source) == 2 and not isinstance(source[0], str)


def _pair(source: Any) -> tuple[Any, Any]:
    if _is_bunch(source):
        return source["data"], source.get("target")
    return source[0], source[1]


def _name_of(source: Any) -> str:
    kind = type(source).__name__
    return "data" if kind in ("dict", "ndarray", "Bunch") else kind


def _ending(source: str | Path) -> str:
    return Path(str(source)).suffix.lower()


def _hint(source: Any) -> str:
    if isinstance(source, np.ndarray) or hasattr(source, "tocsr"):
        return "expected its labels too: a pair (X, y), or a table with a label column"
    return _EXPECTED
