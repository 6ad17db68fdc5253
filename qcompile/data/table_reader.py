"""Read the text of tables in pieces, as svmlight text is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.svmlight import SvmlightReader
from qcompile.data.table_arrow import parse_with_arrow
from qcompile.data.table_cells import parse_cells
from qcompile.data.table_format import TableFormat, decoded, find_format, records
from qcompile.data.table_layout import TableOptions, are_numbers, new_layout
from qcompile.errors import InputError
from qcompile.stages.arrays import Matrix
from qcompile.stages.cells import Cells, rows_of_cells
from qcompile.stages.layout import Head, Layout, layout_like
from qcompile.stages.table import TableSchema

__all__ = ["TablePiece", "TableReader", "layout_of", "sampled_rows"]


_SAMPLE_ROWS, _SAMPLE_CELLS, _FEWEST = 1000, 200_000, 20


@dataclass(frozen=True, eq=False)
class TablePiece:
    """Some rows of a table: cells, and the numbers they stand for once the schema is complete."""

    cells: Cells
    schema: TableSchema

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, NaN where the table has none."""
        return self.cells.labels

    @property
    def lines(self) -> NDArray[np.int64]:
        """The line on which each row begins."""
        return self.cells.lines

    @property
    def x(self) -> Matrix:
        """The rows as numbers."""
        return rows_of_cells(self.cells, self.schema)

    def take(self, rows: int) -> TablePiece:
        """Return the first rows only."""
        own = self.cells
        texts = tuple(text[:rows] for text in own.texts)
        cut = Cells(own.numbers[:rows], texts, own.labels[:rows], own.lines[:rows])
        return replace(self, cells=cut)

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take, about."""
        return self.cells.numbers.nbytes + 80 * len(self) * (1 + len(self.cells.texts))


class TableReader(SvmlightReader):
    """Iterate over the pieces of a table; its columns are known after the first piece.

    A `schema` says which columns to read; without it they are found out by the `options`.
    """

    _kind = "a table"
    _piece_bytes = 1 << 24

    def __init__(
        self,
        path: str | Path,
        *,
        options: TableOptions | None = None,
        schema: TableSchema | None = None,
        **how: Any,
    ) -> None:
        super().__init__(path, **how)
        self._options = options or TableOptions()
        self._given = schema
        self._form: TableFormat | None = None
        self.layout: Layout | None = None

    @property
    def schema(self) -> TableSchema:
        """The columns of the table."""
        if self.layout is None:
            raise InputError(f"{self.name}: no rows; expected a table")
        return self.layout.schema

    def pieces(self) -> Iterator[TablePiece]:
        """Yield the pieces, which those of the text are here."""
        for piece in self:
            assert isinstance(piece, TablePiece)
            yield piece

    def _cut(self, text: bytes) -> int:
        """Return the end of the last record that is whole: a line that ends outside of quotes."""
        end = text.rfind(b"\n") + 1
        if b'"' not in text:
            return end
        quotes = text.count(b'"', 0, end)
        while end and quotes % 2:
            before = text.rfind(b"\n", 0, end - 1) + 1
            quotes -= text.count(b'"', before, end)
            end = before
        return end

    def _parse(self, text: bytes) -> Any:
        line = self._line
        if self._form is None:
            form = self._begin(text)
            text = text.split(b"\n", form.lines)[-1] if form.lines else text
            line += form.lines
        assert self._form is not None and self.layout is not None
        found = parse_with_arrow(text, self._form.delimiter, self.layout)
        if found is None:
            plain = decoded(text, self.name, line)
            found = parse_cells(plain, self._form.delimiter, self.layout, line)
        else:
            found = replace(found, lines=found.lines + line)
        return TablePiece(found, self.layout.schema)

    def _begin(self, text: bytes) -> TableFormat:
        """Find out the format and the columns from the first piece."""
        plain = decoded(text, self.name)
        ending = Path(self.name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")).suffix
        form = find_format(plain, self.name, tabs=ending.lower() in (".tsv", ".tab"))
        head = Head(self.name, form.names, form.width)
        sample: list[tuple[int, list[str]]] = []
        most = sampled_rows(form.width)
        for record in records(plain, form.delimiter):
            sample.append(record)
            if len(sample) > most:
                break
        sample = sample[1:] if form.names else sample
        if not sample:
            raise InputError(f"{self.name}: a header without rows; expected at least one row")
        self.layout = layout_of(head, sample, self._options, self._given, labelled=self._labelled)
        self._form = form
        return form


def sampled_rows(width: int) -> int:
    """Return how many rows of a table are looked at to find out its columns."""
    return max(_FEWEST, min(_SAMPLE_ROWS, _SAMPLE_CELLS // width))


def layout_of(
    head: Head,
    sample: Sequence[tuple[int, Sequence[str]]],
    options: TableOptions,
    schema: TableSchema | None,
    *,
    labelled: bool,
) -> Layout:
    """Return the layout that the options or the schema give a table that begins with a sample."""
    if schema is None:
        return new_layout(head, sample, options)
    layout = layout_like(schema, head, labelled=labelled)
    return replace(layout, numeric_labels=are_numbers(sample, layout.label))
