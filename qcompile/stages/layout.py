"""Where the columns of a schema are in a table: found by name, or by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qcompile.errors import InputError
from qcompile.stages.labels import first_repeated, shown
from qcompile.stages.table import TableColumn, TableSchema

__all__ = ["Head", "Layout", "layout_like", "placed"]


_NAMED = 6  # names in an error
_MOST_COLUMNS = 1 << 18  # a column takes some kB while its table is read


@dataclass(frozen=True)
class Head:
    """What is known of a table before its rows: its file, and the names or number of its columns.

    `unit` is what rows are called in errors: lines of text have numbers of their own.
    """

    file: str
    names: tuple[str, ...] | None
    width: int
    unit: str = "line"

    def __post_init__(self) -> None:
        if self.width > _MOST_COLUMNS:
            raise InputError(
                f"{self.file}: {self.width:,} columns; expected at most {_MOST_COLUMNS:,} in a "
                "table: a .npz file or svmlight text take more"
            )


@dataclass(frozen=True)
class Layout:
    """The places of a schema's columns in one table; `label` is None if it has no labels.

    `numbers` and `texts` are (column of the schema, place in the table). `extra` are names of
    columns that the schema does not know.
    """

    schema: TableSchema
    head: Head
    names: tuple[str, ...]
    numbers: tuple[tuple[TableColumn, int], ...]
    texts: tuple[tuple[TableColumn, int], ...]
    label: int | None
    numeric_labels: bool = True
    extra: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns of the table."""
        return len(self.names)

    def error(self, row: int, place: int, message: str) -> InputError:
        """Return the error about a cell: it names the file, the row and the column."""
        column = shown(self.names[place])
        return InputError(f"{self.head.file}, {self.head.unit} {row}, column {column}: {message}")


def placed(
    schema: TableSchema, head: Head, names: tuple[str, ...], places: Sequence[int]
) -> Layout:
    """Return the layout of a table with a column of the schema at each of the places."""
    pairs = list(zip(schema.columns, places, strict=True))
    label = next((place for column, place in pairs if column.kind == "label"), -1)
    return Layout(
        schema,
        head,
        names,
        tuple(pair for pair in pairs if pair[0].kind == "number"),
        tuple(pair for pair in pairs if pair[0].kind == "text"),
        None if label < 0 else label,
    )


def layout_like(schema: TableSchema, head: Head, *, labelled: bool = True) -> Layout:
    """Return where the columns of a schema are in another table: by name, or by place."""
    if head.names is None:
        return _like_by_place(schema, head, labelled=labelled)
    names = head.names
    known = {column.name for column in schema.columns}
    twice = first_repeated([own for own in names if own in known])
    if twice:
        raise InputError(f"{head.file}: two columns are called {shown(twice[0])}; expected one")
    found = {own: place for place, own in enumerate(names)}
    lacking = [c.name for c in schema.used if c.name not in found]
    told = []
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        told.append(
            f"{len(lacking)} of the {len(schema.used)} columns of the first file or of training: "
            f"{', '.join(map(shown, lacking[:_NAMED]))}{more}"
        )
    if labelled and schema.label is not None and schema.label not in found:
        told.append(f"the label column {shown(schema.label)}")
    if told:
        raise InputError(f"{head.file}: lacks {', and '.join(told)}; expected columns by name")
    extra = tuple(own for own in names if own not in known)
    made = placed(schema, head, names, [found.get(c.name, -1) for c in schema.columns])
    return Layout(**{**vars(made), "extra": extra})


def _like_by_place(schema: TableSchema, head: Head, *, labelled: bool) -> Layout:
    all_of_it = len(schema.columns)
    without = [column for column in schema.columns if column.kind != "label"]
    if head.width == all_of_it:
        places = list(range(all_of_it))
    elif head.width == len(without) and not labelled:
        order = {column.name: place for place, column in enumerate(without)}
        places = [order.get(column.name, -1) for column in schema.columns]
    else:
        raise InputError(
            f"{head.file}: {head.width} columns without names; expected {all_of_it} as in "
            "training, or a first line with their names"
        )
    names = tuple(f"column {i + 1}" for i in range(head.width))
    return placed(schema, head, names, places)
