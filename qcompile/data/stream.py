"""Rows of a file in pieces, for data that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qcompile.data.frame_reader import FrameReader
from qcompile.data.rows import (
    check_classes,
    check_limits,
    featureless,
    index_base_of,
    matrix_of,
    no_rows,
    source_of,
    stacked,
)
from qcompile.data.svmlight import Piece, SvmlightReader
from qcompile.data.table_reader import TablePiece
from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, Matrix
from qcompile.stages.labels import RowLabel, label_text, sorted_labels
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source

__all__ = ["LateIndexZeroError", "RowStream", "TableStream"]


_BATCH_BYTES = 1 << 26


class LateIndexZeroError(InputError):
    """Index 0 in a file that seemed to count from 1; reading it as counting from 0 works."""


class RowStream:
    """Read an svmlight file piece by piece, in bounded memory, once.

    Iterating gives (rows, signs). Until the file is exhausted nobody can know which of its labels
    is the larger one: signs are relative to the first label seen, and `flip` tells at the end
    whether they must be turned round. `preparation` and `source` are known at the end too.
    Rows are prepared by `unit_norm` and `bias`, or as a `preparation` says, with labels of their
    own. Of a part of the data nothing is demanded: it may have one class only, or no row at all.
    """

    def __init__(
        self,
        source: str | Path | SvmlightReader | FrameReader,
        *,
        positive: RowLabel | None = None,
        rows: int | None = None,
        index_base: int | None = None,
        num_features: int | None = None,
        unit_norm: bool = False,
        bias: bool = False,
        preparation: Preparation | None = None,
        is_part: bool = False,
    ) -> None:
        check_limits(rows, index_base, num_features)
        if bias and num_features is None:
            raise InputError("a bias column in a stream needs the number of features beforehand")
        self._reader: Any = source
        if isinstance(source, str | Path):
            self._reader = SvmlightReader(source)
        self._is_part = is_part
        self._positive, self._rows = positive, rows
        self._base, self._num_features = index_base, num_features
        self._guessed = index_base is None
        self._unit_norm, self._bias, self._given = unit_norm, bias, preparation
        self._seen: list[RowLabel] = []
        self._count = self._width = 0

    def __iter__(self) -> Iterator[tuple[Matrix, Floats]]:
        for pieces in self._batches():
            x = self._matrix(pieces)
            signs = np.concatenate([self._signs(piece) for piece in pieces])
            self._count += len(signs)
            self._width = max(self._width, x.shape[1])
            yield self._prepared(x.shape[1]).apply(x), signs
        self._check_end()

    def _matrix(self, pieces: list[Any]) -> Matrix:
        """Return the rows of some pieces."""
        if self._base is None:
            self._base = index_base_of(pieces)
        if self._guessed and index_base_of(pieces) < self._base:
            raise LateIndexZeroError(
                f"{self._reader.name}: index 0 after {self._count:,} rows without it; "
                "expected a 1-based file (pass index_base=0 if it is 0-based)"
            )
        return matrix_of(pieces, base=self._base, num_features=self._num_features)

    def _batches(self) -> Iterator[list[Any]]:
        """Join small pieces, to spread the fixed cost of a batch."""
        batch: list[Any] = []
        found = 0
        for piece in self._reader:
            batch.append(piece if self._rows is None else piece.take(self._rows - found))
            found += len(batch[-1])
            if found == self._rows:
                break
            if sum(part.nbytes for part in batch) >= _BATCH_BYTES:
                yield batch
                batch = []
        if batch:
            yield batch

    @property
    def name(self) -> str:
        """The name of the file, for errors."""
        return str(self._reader.name)

    @property
    def labels(self) -> tuple[RowLabel, ...]:
        """Labels in the order in which they were seen."""
        return tuple(self._seen)

    @property
    def index_base(self) -> int | None:
        """First index of the file; None if there was no row to tell."""
        return self._base

    @property
    def flip(self) -> bool:
        """Whether the first label seen turned out to be the negative one."""
        return self._positive is None and sorted_labels(self._seen)[0] == self._seen[0]

    @property
    def preparation(self) -> Preparation:
        """What was done to the rows, with the final labels and number of features."""
        return self._prepared(self._width)

    @property
    def source(self) -> Source:
        """Where the rows came from."""
        return source_of(self._reader, self._count, self._base or 0)

    @property
    def digest(self) -> str | None:
        """SHA-256 of the file, once it was read."""
        return self._reader.digest  # type: ignore[no-any-return]

    def _prepared(self, width: int) -> Preparation:
        positive, negative = self._positive, None
        if positive is None:
            seen = sorted_labels(self._seen)
            positive, negative = seen[-1], seen[0] if len(seen) > 1 else None
        if self._given is not None:
            return replace(self._given, positive=positive, negative=negative)
        return Preparation(
            raw_features=width,
            positive=positive,
            negative=negative,
            unit_norm=self._unit_norm,
            bias=self._bias,
            scaling="unit-norm" if self._unit_norm else None,
        )

    def _signs(self, piece: Piece | TablePiece) -> Floats:
        _, first = np.unique(piece.labels, return_index=True)
        for row in np.sort(first):
            value = piece.labels[row]
            label = value if isinstance(value, str) else float(value)
            if label not in self._seen and (len(self._seen) < 100 or label == self._positive):
                self._seen.append(label)
            if self._positive is None and len(self._seen) == 3:
                one, two = map(label_text, self._seen[:2])
                raise InputError(
                    f"{self._reader.name}, line {piece.lines[row]}: label {label_text(label)} is a "
                    f"third class after {one} and {two}; expected two: "
                    "choose one against the rest with positive=LABEL"
                )
        positive = self._seen[0] if self._positive is None else self._positive
        return np.where(piece.labels == positive, 1.0, -1.0)

    def _check_end(self) -> None:
        if self._is_part:
            return
        if self._count == 0:
            raise no_rows(self._reader.name)
        if self._width == 0:
            raise featureless(self._reader.name)
        check_classes(self._seen, self._positive, self._reader.name)


class TableStream(RowStream):
    """Read a table piece by piece, as the schema of its reader says."""

    def _matrix(self, pieces: list[Any]) -> Matrix:
        """Return the rows of some pieces, which are all of one width."""
        return stacked([piece.x for piece in pieces])
