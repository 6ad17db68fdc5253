"""What the rows of a table decide about its columns: texts to tell apart, values to fill in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qcompile.data.row_sample import RowSample
from qcompile.data.table_layout import TableOptions
from qcompile.data.table_reader import TablePiece
from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.labels import shown
from qcompile.stages.table import TableColumn, TableSchema

__all__ = ["TableStatistics", "complete_schema"]


_MOST_CATEGORIES = 1000


@dataclass(frozen=True, eq=False)
class TableStatistics:
    """The texts of each text column, and sums and a sample of the columns to fill in.

    Statistics of parts add up. Medians do not: they are those of a sample of at most 20,000 rows.
    """

    schema: TableSchema
    count: int
    texts: tuple[frozenset[str], ...]
    known: Floats
    sums: Floats
    sample: RowSample | None

    @classmethod
    def of(
        cls, piece: TablePiece, *, part: int = 0, start: int = 0, median: bool
    ) -> TableStatistics:
        """Return the statistics of a piece, which begins at row `start` of a part of the table."""
        numbers = piece.cells.numbers[:, _places_to_fill(piece.schema)]
        texts = tuple(frozenset(own.tolist()) - {""} for own in piece.cells.texts)
        found = cls(
            piece.schema,
            len(piece),
            texts,
            np.isfinite(numbers).sum(axis=0).astype(np.float64),
            np.nansum(numbers, axis=0),
            RowSample.of(numbers, part=part, start=start) if median else None,
        )
        return found._checked()

    def __add__(self, other: TableStatistics) -> TableStatistics:
        pairs = zip(self.texts, other.texts, strict=True)
        sample = self.sample + other.sample if self.sample and other.sample else None
        return replace(
            self,
            count=self.count + other.count,
            texts=tuple(one | two for one, two in pairs),
            known=self.known + other.known,
            sums=self.sums + other.sums,
            sample=sample,
        )._checked()

    def flipped(self) -> TableStatistics:
        """Return the statistics with all labels exchanged: they know no labels."""
        return self

    def _checked(self) -> TableStatistics:
        columns = [column for column in self.schema.columns if column.kind == "text"]
        for column, texts in zip(columns, self.texts, strict=True):
            _check_number(column, texts, "the table")
        return self

    def complete(self) -> TableSchema:
        """Return the schema with the texts and what is filled in for missing values."""
        if self.sample is None:
            fills = self.sums / np.maximum(self.known, 1)
        else:
            rows = self.sample.rows.toarray()
            fills = np.array([_middle(column, "median") for column in rows.T])
        numbers = [column for column in self.schema.columns if column.kind == "number"]
        places = _places_to_fill(self.schema)
        names = [numbers[place].name for place in places]
        return _completed(self.schema, dict(zip(names, fills.tolist(), strict=True)), self.texts)


def complete_schema(pieces: Sequence[TablePiece], options: TableOptions, name: str) -> TableSchema:
    """Return the schema of pieces that are all held, by all of their values."""
    schema = pieces[0].schema
    numbers = [column for column in schema.columns if column.kind == "number"]
    texts = [column for column in schema.columns if column.kind == "text"]
    fills: dict[str, float] = {}
    for place in _places_to_fill(schema):
        values = np.concatenate([piece.cells.numbers[:, place] for piece in pieces])
        fills[numbers[place].name] = _middle(values, str(options.missing))
    found = []
    for place, column in enumerate(texts):
        found.append({text for piece in pieces for text in piece.cells.texts[place]} - {""})
        _check_number(column, found[-1], name)
    return _completed(schema, fills, found)


def _places_to_fill(schema: TableSchema) -> list[int]:
    """Return which of the columns of numbers are filled in by what their rows decide."""
    numbers = [column for column in schema.columns if column.kind == "number"]
    return [i for i, own in enumerate(numbers) if own.fill is not None and math.isnan(own.fill)]


def _completed(
    schema: TableSchema, fills: Mapping[str, float], texts: Sequence[Iterable[str]]
) -> TableSchema:
    made: list[TableColumn] = []
    found = iter(texts)
    for column in schema.columns:
        if column.kind == "text":
            own = tuple(sorted(next(found)))
            fill = None if column.fill is None else 0.0
            column = TableColumn(column.name, "text" if own else "ignored", own, fill)
        elif column.name in fills and column.kind == "number":
            column = replace(column, fill=fills[column.name])
        made.append(column)
    return TableSchema(tuple(made))


def _check_number(column: TableColumn, texts: Iterable[str], name: str) -> None:
    number = len(frozenset(texts))
    if number > _MOST_CATEGORIES:
        raise InputError(
            f"{name}, column {shown(column.name)}: {number:,} different texts; expected at "
            f"most {_MOST_CATEGORIES:,}: leave it out with ignore=COLUMN"
        )


def _middle(values: Floats, which: str) -> float:
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0
    return float(np.mean(known) if which == "mean" else np.median(known))
