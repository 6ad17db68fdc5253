"""Tables in memory: of pandas, polars, pyarrow and NumPy, or a dictionary of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.labels import shortest, shown

__all__ = ["Frame", "arrow_column", "frame_of", "is_frame"]


Column = NDArray[Any]  # numbers with NaN where one is missing, or texts with "" there
_REMEDY = "expected numbers or texts: leave it out with ignore=COLUMN, or convert it"


@dataclass(frozen=True, eq=False)
class Frame:
    """The columns of a table: names, and a function that converts part of the column at a place.

    A column becomes float64 numbers with NaN where one is missing, or texts (an array of objects)
    with "" where one is missing. `label` is the column of labels, if that is known.
    """

    name: str
    names: tuple[str, ...]
    rows: int
    convert: Callable[[int, slice], Column]
    part: slice = field(default_factory=lambda: slice(None))
    label: str | None = None

    def __len__(self) -> int:
        return self.rows

    def column(self, place: int) -> Column:
        """Return the column at a place; raise InputError if it holds neither numbers nor texts."""
        found = self.convert(place, self.part)
        if found.shape != (self.rows,):
            raise InputError(
                f"{self.name}, column {shown(self.names[place])}: values of shape {found.shape}; "
                f"expected one for each of {self.rows:,} rows"
            )
        return found

    def take(self, start: int, stop: int) -> Frame:
        """Return the rows of a whole table from `start` to `stop`."""
        rows = max(0, min(stop, self.rows) - start)
        return replace(self, rows=rows, part=slice(start, start + rows))


def is_frame(data: Any) -> bool:
    """Whether data are a table with named columns.

    >>> is_frame({"age": [31, 42], "sick": ["no", "yes"]}), is_frame(np.zeros((2, 2)))
    (True, False)
    """
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    if isinstance(data, Mapping):
        return bool(data) and all(isinstance(key, str) for key in data)
    return _library(data) is not None


def frame_of(data: Any, name: str = "data") -> Frame:
    """Return a table of another library as a `Frame`; values are converted when they are used.

    >>> frame_of({"age": [31, None], "sick": ["no", "yes"]}).column(0)
    array([31., nan])
    """
    if isinstance(data, np.ndarray):
        columns = {own: data[own] for own in data.dtype.names or ()}
        return _frame_of_columns(columns, name)
    if isinstance(data, Mapping):
        return _frame_of_columns(data, name)
    made = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
    return made[str(_library(data))](data, name)


def _library(data: Any) -> str | None:
    """Return the library whose table the data are; none is imported to find out."""
    kinds = {"DataFrame": ("pandas", "polars"), "LazyFrame": ("polars",)}
    kinds |= {"Table": ("pyarrow",), "RecordBatch": ("pyarrow",)}
    for kind in type(data).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in kinds.get(kind.__name__, ()):
            return library
    return None


def _frame_of_columns(columns: Mapping[str, Any], name: str) -> Frame:
    names = tuple(columns)
    values = [_plain(column) for column in columns.values()]
    for own, column in zip(names, values, strict=True):
        if column.ndim != 1 or len(column) != len(values[0]):
            raise InputError(
                f"{name}: column {shown(own)} of shape {column.shape} beside column "
                f"{shown(names[0])} of shape {values[0].shape}; expected columns of one length"
            )

    def convert(place: int, part: slice) -> Column:
        return _numpy(values[place][part], _Place(name, names[place], part.start or 0))

    return Frame(name, names, len(values[0]), convert)


def _plain(column: Any) -> Column:
    if isinstance(column, np.ndarray):
        return column
    held = column if isinstance(column, Sequence) and not isinstance(column, str) else [column]
    if not isinstance(column, Sequence) and hasattr(column, "__array__"):
        return np.asarray(column)
    made = np.empty(len(held), dtype=object)
    made[:] = held
    return made


@dataclass(frozen=True)
class _Place:
    """A column, for errors, and the number of its first row, from 0 on."""

    table: str
    column: str
    start: int = 0

    def error(self, found: str, row: int | None = None) -> InputError:
        where = "" if row is None else f", row {self.start + row + 1}"
        return InputError(f"{self.table}{where}, column {shown(self.column)}: {found}")


def _numpy(values: Column, place: _Place) -> Column:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind == "U":
        return values.astype(object)
    if values.dtype.kind in "OT":
        return _objects(values, place)
    raise place.error(f"values of type {values.dtype}; {_REMEDY}")


def _objects(values: Column, place: _Place) -> Column:
    """Return Python's objects as numbers, or as texts if one of them is a text."""
    found: list[Any] = []
    for row, value in enumerate(values.tolist()):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            found.append(np.nan)
        elif isinstance(value, str | bool | int | float | np.number | np.bool_):
            found.append(value)
        elif type(value).__name__ == "Decimal":
            found.append(float(value))
        else:
            raise place.error(f"a {type(value).__name__}; {_REMEDY}", row)
    made = np.empty(len(found), dtype=object)
    if not any(isinstance(value, str) for value in found):
        try:
            return np.array(found, dtype=np.float64)
        except OverflowError:
            raise place.error("a number above 1e308; expected a finite number") from None
    made[:] = [value if isinstance(value, str) else _as_text(float(value)) for value in found]
    return made


def _as_text(value: float) -> str:
    if np.isnan(value):
        return ""
    return shortest(value) if np.isfinite(value) else str(value)


def _pandas(table: Any, name: str) -> Frame:
    names = tuple(map(_column_name, table.columns))

    def convert(place: int, part: slice) -> Column:
        series = table.iloc[part, place]
        where = _Place(name, names[place], part.start or 0)
        kind = getattr(series.dtype, "kind", "O")
        if hasattr(series.dtype, "categories"):
            return _objects(series.astype(object).to_numpy(), where)
        if kind in "biuf":
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        if kind in "OUT":
            return _objects(series.to_numpy(dtype=object), where)
        raise where.error(f"values of type {series.dtype}; {_REMEDY}")

    return Frame(name, names, len(table), convert)


def _column_name(name: Any) -> str:
    return "/".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _polars(table: Any, name: str) -> Frame:
    if hasattr(table, "collect"):
        table = table.collect()
    names = tuple(table.columns)

    def convert(place: int, part: slice) -> Column:
        series = table.to_series(place)[part]
        where = _Place(name, names[place], part.start or 0)
        kind = str(series.dtype)
        if series.dtype.is_numeric() or kind == "Boolean":
            return np.asarray(series.cast(float).to_numpy(), dtype=np.float64)
        if kind.split("(")[0] in ("String", "Utf8", "Categorical", "Enum", "Object", "Null"):
            return _objects(_plain(series.to_list()), where)
        raise where.error(f"values of type {kind}; {_REMEDY}")

    return Frame(name, names, table.height, convert)


def _arrow(table: Any, name: str) -> Frame:
    names = tuple(table.schema.names)
    return Frame(
        name,
        names,
        table.num_rows,
        lambda place, part: arrow_column(table.column(place)[part], name, names[place]),
    )


def arrow_column(column: Any, name: str, own: str) -> Column:
    """Return a column of pyarrow as numbers or texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        column, kind = pc.cast(column, kind.value_type), kind.value_type
    numeric = (
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        or types.is_boolean(kind) or types.is_null(kind)
    )  # fmt: skip
    if numeric:
        numbers = pc.cast(column, pa.float64(), safe=False)
        return np.asarray(numbers.to_numpy(**_may_copy(numbers)), dtype=np.float64)
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        made = np.empty(len(column), dtype=object)
        made[:] = [value or "" for value in column.to_pylist()]
        return made
    raise _Place(name, own).error(f"values of type {kind}; {_REMEDY}")


def _may_copy(column: Any) -> dict[str, bool]:
    """Return the argument that lets arrays, but not chunked ones, be copied."""
    return {} if hasattr(column, "chunks") else {"zero_copy_only": False}
