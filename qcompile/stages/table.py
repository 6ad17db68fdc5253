"""Which columns a table has, and how each of them becomes numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qcompile.errors import InputError
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.labels import first_repeated, shown

__all__ = ["COLUMN_KINDS", "TableColumn", "TableSchema"]


COLUMN_KINDS = ("number", "text", "ignored", "label")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: its name, its kind, and what becomes of its cells.

    `kind` is "number", "text" (one feature of 0 and 1 for each of its `categories`), "ignored" or
    "label". `fill` stands for a missing number; None refuses it. A missing text is none of the
    categories if `fill` is a number.
    """

    name: str
    kind: str = "number"
    categories: tuple[str, ...] = ()
    fill: float | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the column gives.

        >>> TableColumn("colour", "text", ("blue", "red")).features
        ('colour=blue', 'colour=red')
        """
        if self.kind == "number":
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True, eq=False, repr=False)
class TableSchema(Displayed):
    """The columns of a table in its own order, so that another table can be read alike.

    >>> schema = TableSchema((TableColumn("age"), TableColumn("sick", "label")))
    >>> schema.names, schema.label
    (('age',), 'sick')
    """

    columns: tuple[TableColumn, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        twice = first_repeated(names)
        if twice:
            raise InputError(f"column {shown(twice[0])} is there twice; expected different names")
        if sum(column.kind == "label" for column in self.columns) > 1:
            raise InputError("two label columns; expected one")

    def _line(self) -> str:
        made = f"{many(len(self.columns), 'column')} to {many(len(self.names), 'feature')}"
        return made if self.label is None else f"{made}, label {quoted(self.label)}"

    def _facts(self) -> Mapping[str, object]:
        return {column.name: column.kind for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def label(self) -> str | None:
        """Name of the label column; None if there is none."""
        return next((column.name for column in self.columns if column.kind == "label"), None)

    @property
    def used(self) -> tuple[TableColumn, ...]:
        """The columns that give features."""
        return tuple(column for column in self.columns if column.kind in ("number", "text"))

    def with_label(self, name: str) -> TableSchema:
        """Return the same features with another label column.

        >>> TableSchema((TableColumn("age"), TableColumn("sick", "label"))).with_label("ill").label
        'ill'
        """
        if any(column.name == name for column in self.used):
            raise InputError(f"label {shown(name)} is a column that the features are made of")
        kept = [c for c in self.columns if c.kind != "label" and c.name != name]
        return TableSchema((*kept, TableColumn(name, "label")))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {"columns": [_column_to_dict(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, values: Any) -> TableSchema:
        """Return the schema that `to_dict` wrote; raise InputError if it is invalid."""
        columns = values.get("columns") if isinstance(values, Mapping) else None
        if not isinstance(columns, list):
            raise InputError("table: expected a list of columns")
        return cls(tuple(map(_column_from_dict, columns)))


def _column_to_dict(column: TableColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        **({"categories": list(column.categories)} if column.kind == "text" else {}),
        **({} if column.fill is None else {"fill": column.fill}),
    }


def _column_from_dict(values: Any) -> TableColumn:
    if not isinstance(values, Mapping) or not isinstance(values.get("name"), str):
        raise InputError("table: expected a name for each column")
    name, kind, fill = values["name"], values.get("kind"), values.get("fill")
    if kind not in COLUMN_KINDS:
        raise InputError(
            f"table: column {shown(name)} is of kind {shown(kind)}; expected one of "
            f"{', '.join(COLUMN_KINDS)}"
        )
    texts = values.get("categories", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"table: categories of column {shown(name)}: expected a list of texts")
    if first_repeated(texts) or bool(texts) != (kind == "text"):
        raise InputError(f"table: column {shown(name)}: expected different texts for kind text")
    if fill is not None and (
        isinstance(fill, bool) or not isinstance(fill, int | float) or not np.isfinite(fill)
    ):
        raise InputError(f"table: fill of column {shown(name)}: expected a finite number")
    return TableColumn(name, kind, tuple(texts), None if fill is None else float(fill))
