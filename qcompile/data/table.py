"""Read a whole table: a file of any kind, several files, or a table in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qcompile.data.array_files import NpyReader
from qcompile.data.arrow_files import ARROW_ENDINGS, ArrowReader
from qcompile.data.frame_reader import FrameReader
from qcompile.data.rows import check_limits, stacked
from qcompile.data.svmlight import digest_of_digests, file_names
from qcompile.data.table_layout import TableOptions
from qcompile.data.table_reader import TablePiece, TableReader
from qcompile.data.table_statistics import complete_schema
from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Matrix
from qcompile.stages.cells import rows_of_cells
from qcompile.stages.frame import Frame
from qcompile.stages.source import Source
from qcompile.stages.table import TableSchema

__all__ = ["TableSource", "is_table_file", "open_table", "read_table", "schema_of"]


_TEXT = (".csv", ".tsv", ".tab")
_PACKED = (".gz", ".bz2", ".xz")
TableSource: TypeAlias = Frame | str | Path
AnyTableReader: TypeAlias = TableReader | FrameReader


def is_table_file(source: str | Path) -> bool:
    """Whether a file is a table by its ending: of text, compressed or not, of Arrow or of NumPy.

    >>> is_table_file("part-*.csv.gz"), is_table_file("t.parquet"), is_table_file("rows.svm")
    (True, True, False)
    """
    path = Path(str(source).lower())
    if path.suffix in _PACKED:
        return Path(path.stem).suffix in _TEXT
    return path.suffix in (*_TEXT, *ARROW_ENDINGS, ".npy")


def open_table(source: TableSource, **how: Any) -> AnyTableReader:
    """Return the reader of one file or of a table in memory."""
    if isinstance(source, Frame):
        return FrameReader(source, **how)
    ending = Path(str(source)).suffix.lower()
    if ending in ARROW_ENDINGS:
        return ArrowReader(source, **how)
    return (NpyReader if ending == ".npy" else TableReader)(source, **how)


def schema_of(path: str | Path, options: TableOptions) -> TableSchema:
    """Return the columns of a table from its first piece, as far as this tells them."""
    reader = open_table(path, options=options)
    for _ in reader.pieces():
        break
    return reader.schema


def read_table(
    source: TableSource,
    options: TableOptions | None = None,
    *,
    rows: int | None = None,
    schema: TableSchema | None = None,
    labelled: bool = True,
) -> tuple[Matrix, NDArray[Any], Source, TableSchema]:
    """Return the rows, the labels, where they come from, and the columns of the table.

    A `schema` of other rows says which columns to read; files of several are read like the first.
    """
    check_limits(rows, None, None)
    options = options or TableOptions()
    pieces: list[TablePiece] = []
    digests: list[str | None] = []
    found = used = 0
    complete, known = True, schema
    for part in [source] if isinstance(source, Frame) else file_names(source):
        reader = open_table(part, options=options, schema=known, labelled=labelled)
        for piece in reader.pieces():
            pieces.append(piece if rows is None else piece.take(rows - found))
            found += len(pieces[-1])
            used += piece.nbytes
            memory.require(
                2 * used, f"{reader.name}: holding more than {found:,} rows", "limit rows=",
                announce=False,
            )  # fmt: skip
            if found == rows:
                break
        complete = complete and reader.complete
        digests.append(reader.digest if complete else None)
        known = reader.schema
        if found == rows:
            break
    if not found:
        raise InputError(f"{source}: no rows; expected a table with one example in each line")
    made = complete_schema(pieces, options, reader.name) if schema is None else schema
    x = stacked([rows_of_cells(piece.cells, made) for piece in pieces])
    labels = np.concatenate([piece.labels for piece in pieces])
    return x, labels, _source_of(source, found, digests), made


def _source_of(source: TableSource, rows: int, digests: Sequence[str | None]) -> Source:
    """Return the record of the rows; only a table that was read to its end has a digest."""
    if isinstance(source, Frame):
        return Source(name=source.name if source.name.startswith("openml:") else None, rows=rows)
    known = [digest for digest in digests if digest is not None]
    whole = len(known) == len(digests)
    digest = (known[0] if len(known) == 1 else digest_of_digests(known)) if whole else None
    parts = None if len(digests) == 1 else len(digests)
    return Source(name=Path(str(source)).name, rows=rows, sha256=digest, parts=parts)
