"""Which column of a table stands for what: found out from its first rows, or as options say."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qcompile.errors import InputError
from qcompile.stages.cells import MISSING_NUMBERS, MISSING_TEXTS, number_in
from qcompile.stages.labels import first_repeated, shown
from qcompile.stages.layout import Head, Layout, placed
from qcompile.stages.table import TableColumn, TableSchema

__all__ = ["MISSING", "TableOptions", "are_numbers", "names_of", "new_layout", "places_ignored"]


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
    ignore: Sequence[str | int] = ()

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
        object.__setattr__(self, "ignore", names_of(self.ignore))

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


def names_of(columns: Sequence[str | int] | str | int) -> tuple[str | int, ...]:
    """Return the names or numbers of columns, of which one may be given by itself.

    >>> names_of("age"), names_of(["age", -1])
    (('age',), ('age', -1))
    """
    return (columns,) if isinstance(columns, str | int) else tuple(columns)


def new_layout(
    head: Head, sample: Sequence[tuple[int, Sequence[str]]], options: TableOptions
) -> Layout:
    """Return the layout of a table of which nothing is known but its first records."""
    names = _names(head)
    twice = first_repeated(names)
    if twice:
        raise InputError(
            f"{head.file}: two columns are called {shown(twice[0])}; expected different names: "
            "rename one of them"
        )
    label = _label_place(names, head, options.label)
    ignored = places_ignored(head, options)
    by_place = options.label is None and names[label].lower() not in LABEL_NAMES
    advice = f"; the label is {shown(names[label])}, the last: name another with label=COLUMN"
    advice = advice if by_place else ""
    columns = []
    for place, own in enumerate(names):
        if place == label:
            columns.append(TableColumn(own, "label"))
        elif place in ignored:
            columns.append(TableColumn(own, "ignored"))
        else:
            columns.append(_new_column(own, place, sample, options, head, advice))
    layout = placed(TableSchema(tuple(columns)), head, names, range(len(names)))
    if not layout.numbers and not layout.texts:
        raise InputError(f"{head.file}: no column besides the label; expected features")
    return replace(layout, numeric_labels=are_numbers(sample, label))


def places_ignored(head: Head, options: TableOptions) -> set[int]:
    """Return the places of the columns that are left out."""
    names = _names(head)
    return {_place_of(wanted, names, head.file, "ignore") for wanted in options.ignore}


def _names(head: Head) -> tuple[str, ...]:
    return head.names or tuple(f"column {i + 1}" for i in range(head.width))


def _label_place(names: tuple[str, ...], head: Head, wanted: str | int | None) -> int:
    if len(names) < 2:
        raise InputError(
            f"{head.file}: one column only; expected a label and at least one feature"
            + (", separated by commas, semicolons, tabs or |" if head.unit == "line" else "")
        )
    if wanted is None:
        usual = [i for i, own in enumerate(names) if head.names and own.lower() in LABEL_NAMES]
        return usual[0] if len(usual) == 1 else len(names) - 1
    return _place_of(wanted, names, head.file, "label")


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
    sample: Sequence[tuple[int, Sequence[str]]],
    options: TableOptions,
    head: Head,
    advice: str,
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
    where = f"{head.file}, {head.unit} {line}, column {shown(own)}"
    if number is not None:
        raise InputError(
            f"{where}: {shown(cell)} among numbers; expected a "
            "number: correct it, leave the column out with ignore=COLUMN, or take it as text with "
            "one_hot=True"
        )
    raise InputError(
        f"{where}: text {shown(cell)}; expected a number: turn "
        f"texts into features with one_hot=True, or leave the column out with ignore=COLUMN{advice}"
    )


def are_numbers(sample: Sequence[tuple[int, Sequence[str]]], place: int | None) -> bool:
    """Whether all cells of the label column that are not missing are numbers."""
    if place is None:
        return True
    cells = (cells[place] for _, cells in sample if place < len(cells))
    return all(number_in(c) is not None for c in cells if c.strip() not in MISSING_TEXTS)
