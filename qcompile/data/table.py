"""Read a whole table: CSV or TSV, plain or compressed, one file or several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.rows import check_limits
from qcompile.data.svmlight import digest_of_digests, file_names
from qcompile.data.table_layout import TableOptions
from qcompile.data.table_reader import TablePiece, TableReader, complete_schema, rows_of_cells
from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Matrix
from qcompile.stages.source import Source
from qcompile.stages.table import TableSchema

__all__ = ["is_table", "read_table"]


_ENDINGS = (".csv", ".tsv", ".tab")
_PACKED = (".gz", ".bz2", ".xz")


def is_table(source: str | Path) -> bool:
    """Whether a file is a table by its ending: .csv, .tsv or .tab, compressed or not.

    >>> is_table("part-*.csv.gz"), is_table("rows.svm")
    (True, False)
    """
    path = Path(str(source).lower())
    return (Path(path.stem) if path.suffix in _PACKED else path).suffix in _ENDINGS


def read_table(
    source: str | Path,
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
    digests: list[str] = []
    found = used = 0
    complete, known = True, schema
    for path in file_names(source):
        reader = TableReader(path, options=options, schema=known, labelled=labelled)
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
        digests.append(reader.digest)
        known = reader.schema
        if found == rows:
            break
    if not found:
        raise InputError(f"{source}: no rows; expected a table with one example in each line")
    made = complete_schema(pieces, options, str(source)) if schema is None else schema
    x = _stacked([rows_of_cells(piece.cells, made) for piece in pieces])
    labels = np.concatenate([piece.labels for piece in pieces])
    digest = digests[0] if len(digests) == 1 else digest_of_digests(digests)
    about = Source(
        name=Path(str(source)).name,
        rows=found,
        sha256=digest if complete else None,
        parts=None if len(digests) == 1 else len(digests),
    )
    return x, labels, about, made


def _stacked(blocks: list[Any]) -> Matrix:
    import scipy.sparse as sp

    if len(blocks) == 1:
        return blocks[0]
    return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.vstack(blocks)
