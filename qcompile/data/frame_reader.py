"""Read tables in memory, and those that other libraries read from files, in pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qcompile.data.table_layout import TableOptions, are_numbers, new_layout, places_ignored
from qcompile.data.table_reader import TablePiece, sampled_rows
from qcompile.errors import InputError
from qcompile.runtime.progress import report
from qcompile.stages.cells import Cells
from qcompile.stages.frame import Frame
from qcompile.stages.frame_cells import cell_texts, cells_of_frame
from qcompile.stages.layout import Head, Layout, layout_like
from qcompile.stages.table import TableSchema

__all__ = ["FileReader", "FrameReader"]


class FrameReader:
    """Iterate over the pieces of a table; its columns are known after the first piece.

    A `schema` says which columns to read; without it they are found out by the `options`. A table
    without names (`named`) has columns by place.
    """

    named = True

    def __init__(
        self,
        source: Any,
        *,
        options: TableOptions | None = None,
        schema: TableSchema | None = None,
        name: str | None = None,
        labelled: bool = True,
    ) -> None:
        self.source = source
        self.name = str(source.name if name is None else name)
        self.options = options or TableOptions()
        self._schema, self._labelled = schema, labelled
        self.layout: Layout | None = None
        self.complete = False

    def frames(self) -> Iterator[Frame]:
        """Yield the rows as tables in memory, one after the other."""
        yield self.source

    @property
    def digest(self) -> str | None:
        """SHA-256 of the file; None for a table in memory."""
        return None

    @property
    def schema(self) -> TableSchema:
        """The columns of the table."""
        if self.layout is None:
            raise InputError(f"{self.name}: no rows; expected a table")
        return self.layout.schema

    def pieces(self) -> Iterator[TablePiece]:
        """Yield the pieces of the table."""
        first = 1
        for frame in self.frames():
            if self.layout is None:
                self.layout = self._layout_of(frame)
            if len(frame):
                yield TablePiece(self._cells(frame, first), self.layout.schema)
            first += len(frame)
        if self.layout is None or first == 1:
            raise InputError(f"{self.name}: no rows; expected a table with at least one")
        self.complete = True

    def __iter__(self) -> Iterator[TablePiece]:
        return self.pieces()

    def _cells(self, frame: Frame, first: int) -> Cells:
        assert self.layout is not None
        return cells_of_frame(frame, self.layout, first=first)

    def _layout_of(self, frame: Frame) -> Layout:
        """Find out the columns from the first rows."""
        names = frame.names if self.named else None
        head = Head(self.name, names, len(frame.names), "row")
        some = frame.take(0, sampled_rows(max(1, head.width)))
        if self._schema is not None:
            layout = layout_like(self._schema, head, labelled=self._labelled)
            labels = [] if layout.label is None else [layout.label]
            numeric = are_numbers(_sample(some, labels), layout.label)
            return Layout(**{**vars(layout), "numeric_labels": numeric})
        options = self.options
        if options.label is None and frame.label is not None:
            options = replace(options, label=frame.label)
        left_out = places_ignored(head, options)
        wanted = [place for place in range(head.width) if place not in left_out]
        return new_layout(head, _sample(some, wanted), options)


def _sample(frame: Frame, places: Sequence[int]) -> list[tuple[int, list[str]]]:
    """Return the cells of some columns as texts, those of others empty, with numbers of rows."""
    made = [[""] * len(frame.names) for _ in range(len(frame))]
    for place in places:
        for cells, text in zip(made, cell_texts(frame.column(place)), strict=True):
            cells[place] = text
    return list(enumerate(made, 1))


class FileReader(FrameReader):
    """A reader of a file; its digest is that of its bytes."""

    def __init__(self, path: str | Path, **how: Any) -> None:
        super().__init__(str(path), **{"name": str(path), **how})
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        if self._digest is None:
            with Path(self.source).open("rb") as stream:
                self._digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return self._digest

    def _reported(self, frames: Iterator[Frame], rows: int) -> Iterator[Frame]:
        """Yield the tables; report the share of the rows in bytes of the file."""
        size = Path(self.source).stat().st_size
        found = 0
        for frame in frames:
            yield frame
            found += len(frame)
            report(size * found // max(1, rows), size)
