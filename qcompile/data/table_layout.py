"""Which column of a table stands for what: found out from its first rows, or as a schema says."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qcompile.data.table_format import MISSING_NUMBERS, MISSING_TEXTS, TableFormat, number_in
from qcompile.errors import InputError
from qcompile.stages.labels import first_repeated, shown
from qcompile.stages.table import TableColumn, TableSchema

__all__ = ["MISSING", "Layout", "TableOptions", "layout_like", "new_layout"]


MISSING = ("refuse", "mean", "median")
LABEL_NAMES = ("label", "target", "class", "y")
_NAMED = 6  # names in an error


@dataclass(frozen=True)
class TableOptions:
    """How to read a table: the label column, missing values, text columns, columns to leave out.

    `label` is the name of a column or its number, from 1 on or from -1 back. `missing` is "refuse",
    "mean", "median" or a number to put in the place of missing values.
    """

    label: str | int | None = None
    missing: str | float = "refuse"
    one_hot: bool = False
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        missing = self.missing
        if isinstance(missing, str) and missing not in MISSING:
            number = number_in(missing)
            if number is None or not math.isfinite(number):
                raise InputError(
                    f"missing={missing!r}; expected {', '.join(MISSING)} or a number to fill in"
                )
            object.__setattr__(self, "missing", number)
        elif not isinstance(missing, str) and not math.isfinite(missing):
            raise InputError(f"missing={missing}; expected a finite number to fill in")
        ignore = (self.ignore,) if isinstance(self.ignore, str) else tuple(self.ignore)
        object.__setattr__(self, "ignore", ignore)

    @property
    def learns_from_rows(self) -> bool:
        """Whether all rows must be seen before the first can be turned into numbers."""
        return self.one_hot or self.missing in ("mean", "median")

    @property
    def fill(self) -> float | None:
        """The number for missing values as far as it is known: NaN if the rows decide it."""
        if self.missing == "refuse":
            return None
        return math.nan if isinstance(self.missing, str) else float(self.missing)


@dataclass(frozen=True)
class Layout:
    """The places of a schema's columns in one file; `label` is None if the file has no labels.

    `numbers` and `texts` are (column of the schema, place in the file). `extra` are names of
    columns that the schema does not know.
    """

    schema: TableSchema
    width: int
    names: tuple[str, ...]
    numbers: tuple[tuple[TableColumn, int], ...]
    texts: tuple[tuple[TableColumn, int], ...]
    label: int | None
    numeric_labels: bool = True
    extra: tuple[str, ...] = ()


def new_layout(
    form: TableFormat, sample: Sequence[tuple[int, list[str]]], options: TableOptions, name: str
) -> Layout:
    """Return the layout of a table of which nothing is known but its first records."""
    names = form.names or tuple(f"column {i + 1}" for i in range(form.width))
    twice = first_repeated(names)
    if twice:
        raise InputError(
            f"{name}, line {max(1, form.lines)}: two columns are called {shown(twice[0])}; "
            "expected different names: rename one of them"
        )
    label = _label_place(names, form.names is not None, options.label, name)
    for ignored in options.ignore:
        _place_of(ignored, names, name, "ignore")
    columns = []
    for place, own in enumerate(names):
        if place == label:
            columns.append(TableColumn(own, "label"))
        elif own in options.ignore:
            columns.append(TableColumn(own, "ignored"))
        else:
            columns.append(_new_column(own, place, sample, options, name))
    layout = _placed(TableSchema(tuple(columns)), names, tuple(range(len(names))))
    if not layout.numbers and not layout.texts:
        raise InputError(f"{name}: no column besides the label; expected features")
    return replace(layout, numeric_labels=_are_numbers(sample, label))


def layout_like(
    schema: TableSchema,
    form: TableFormat,
    sample: Sequence[tuple[int, list[str]]],
    name: str,
    *,
    labelled: bool = True,
) -> Layout:
    """Return where the columns of a schema are in another table: by name, or by place."""
    if form.names is None:
        return _like_by_place(schema, form, sample, name, labelled=labelled)
    names = form.names
    twice = first_repeated([own for own in names if own in {c.name for c in schema.columns}])
    if twice:
        raise InputError(f"{name}: two columns are called {shown(twice[0])}; expected one")
    lacking = [c.name for c in schema.used if c.name not in names]
    if labelled and schema.label is not None and schema.label not in names:
        lacking.append(schema.label)
    if lacking:
        more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        raise InputError(
            f"{name}: lacks {len(lacking)} of the {len(schema.used)} columns that the model was "
            f"trained with: {', '.join(map(shown, lacking[:_NAMED]))}{more}; expected them by name"
        )
    places = tuple(names.index(c.name) if c.name in names else -1 for c in schema.columns)
    known = {column.name for column in schema.columns}
    extra = tuple(own for own in names if own not in known)
    layout = replace(_placed(schema, names, places), extra=extra)
    return replace(layout, numeric_labels=_are_numbers(sample, layout.label))


def _like_by_place(
    schema: TableSchema,
    form: TableFormat,
    sample: Sequence[tuple[int, list[str]]],
    name: str,
    *,
    labelled: bool,
) -> Layout:
    all_of_it = len(schema.columns)
    without = [column for column in schema.columns if column.kind != "label"]
    if form.width == all_of_it:
        places = tuple(range(all_of_it))
    elif form.width == len(without) and not labelled:
        order = {column.name: place for place, column in enumerate(without)}
        places = tuple(order.get(column.name, -1) for column in schema.columns)
    else:
        raise InputError(
            f"{name}: {form.width} columns without names; expected {all_of_it} as in training, or "
            "a first line with their names"
        )
    names = tuple(f"column {i + 1}" for i in range(form.width))
    layout = _placed(schema, names, places)
    return replace(layout, numeric_labels=_are_numbers(sample, layout.label))


def _placed(schema: TableSchema, names: tuple[str, ...], places: Sequence[int]) -> Layout:
    pairs = list(zip(schema.columns, places, strict=True))
    label = next((place for column, place in pairs if column.kind == "label"), -1)
    return Layout(
        schema,
        len(names),
        names,
        tuple(pair for pair in pairs if pair[0].kind == "number"),
        tuple(pair for pair in pairs if pair[0].kind == "text"),
        None if label < 0 else label,
    )


def _label_place(names: tuple[str, ...], named: bool, wanted: str | int | None, name: str) -> int:
    if len(names) < 2:
        raise InputError(
            f"{name}: one column only; expected a label and at least one feature, separated by "
            "commas, semicolons, tabs or |"
        )
    if wanted is None:
        usual = [i for i, own in enumerate(names) if named and own.lower() in LABEL_NAMES]
        return usual[0] if len(usual) == 1 else len(names) - 1
    return _place_of(wanted, names, name, "label")


def _place_of(wanted: str | int, names: tuple[str, ...], name: str, option: str) -> int:
    """Return the place of a column by its name, or by its number from 1 on or from -1 back."""
    text = str(wanted).strip()
    if text in names:
        return names.index(text)
    if text.lstrip("-").isdecimal() and text.isascii() and 1 <= abs(int(text)) <= len(names):
        return int(text) - 1 if int(text) > 0 else len(names) + int(text)
    close = difflib.get_close_matches(text, names, 1) if len(names) <= 1000 else []
    hint = f"; did you mean {shown(close[0])}?" if close else ""
    listed = ", ".join(map(shown, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
    raise InputError(
        f"{name}: no column {shown(text)}; expected {option}= one of {listed}, or a number from 1 "
        f"to {len(names)}{hint}"
    )


def _new_column(
    own: str,
    place: int,
    sample: Sequence[tuple[int, list[str]]],
    options: TableOptions,
    name: str,
) -> TableColumn:
    """Return a column of numbers or of texts; raise InputError if texts are not asked for."""
    number = text = None
    for line, cells in sample:
        cell = cells[place] if place < len(cells) else ""
        if cell.strip() in MISSING_NUMBERS:
            continue
        if number_in(cell) is not None:
            number = line, cell
        elif text is None:
            text = line, cell
    if text is None:
        return TableColumn(own, "number", fill=options.fill)
    if options.one_hot:
        return TableColumn(own, "text", fill=options.fill)
    line, cell = text
    if number is not None:
        raise InputError(
            f"{name}, line {line}, column {shown(own)}: {shown(cell)} among numbers; expected a "
            "number: correct it, leave the column out with ignore=COLUMN, or take it as text with "
            "one_hot=True"
        )
    raise InputError(
        f"{name}, line {line}, column {shown(own)}: text {shown(cell)}; expected a number: turn "
        "texts into features with one_hot=True, or leave the column out with ignore=COLUMN"
    )


def _are_numbers(sample: Sequence[tuple[int, list[str]]], place: int | None) -> bool:
    """Whether all cells of the label column that are not missing are numbers."""
    if place is None:
        return True
    cells = (cells[place] for _, cells in sample if place < len(cells))
    return all(number_in(c) is not None for c in cells if c.strip() not in MISSING_TEXTS)
