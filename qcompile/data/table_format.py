"""How the text of a table is written: its delimiter, its header, its records and its cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qcompile.errors import InputError
from qcompile.stages.cells import number_in

__all__ = [
    "TableFormat",
    "decoded",
    "find_format",
    "records",
]


# The rarer one first: a comma is common inside of cells.
_DELIMITERS = ("\t", ";", "|", ",")
_LINE_END = re.compile(r"\r\n?|\n")
_LOOKED_AT = 50  # records
_LONGEST_CELL = 1 << 24
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TableFormat:
    """The delimiter of a table, the names in its header if it has one, and its width.

    `lines` is the number of lines up to the end of the header.
    """

    delimiter: str
    names: tuple[str, ...] | None
    width: int
    lines: int = 0


def decoded(text: bytes, name: str, line: int = 1) -> str:
    """Return text as characters; raise InputError if it is not UTF-8."""
    if text[:2] in _BYTE_ORDER_MARKS or b"\x00" in text[:4096]:
        found = "UTF-16 text" if text[:2] in _BYTE_ORDER_MARKS else "binary data or UTF-16 text"
        raise InputError(
            f"{name}, line {line}: {found}; expected UTF-8: save the table as CSV in UTF-8"
        )
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + text.count(b"\n", 0, error.start)
        raise InputError(
            f"{name}, line {at}: byte {text[error.start]:#04x} is not UTF-8; expected UTF-8: save "
            "the table in it, or convert it from Latin-1 with iconv -f LATIN1 -t UTF-8"
        ) from None


def records(text: str, delimiter: str, line: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record begins, and its cells; blank lines are no records."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(_lines(text), delimiter=delimiter)
    begins = line
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield begins, cells
            begins = line + reader.line_num
    except csv.Error as error:
        raise InputError(f"line {begins}: {error}; expected delimited text") from None


def _lines(text: str) -> Iterator[str]:
    """Yield the lines with their ends, one at a time: mostly the first are wanted only."""
    start = 0
    for found in _LINE_END.finditer(text):
        yield text[start : found.end()]
        start = found.end()
    if start < len(text):
        yield text[start:]


def find_format(text: str, name: str, *, tabs: bool = False) -> TableFormat:
    """Find out the delimiter and the header of a table from its first records."""
    delimiter = "\t" if tabs else _delimiter(text)
    head = _first(text, delimiter)
    if not head:
        raise InputError(f"{name}: no rows; expected a table with one example in each line")
    cells = head[0][1]
    rest = [own for _, own in head[1:]]
    if not _is_header(cells, rest):
        return TableFormat(delimiter, None, len(cells))
    names = tuple(cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells))
    return TableFormat(delimiter, names, len(cells), _lines_of_first(text, delimiter))


def _first(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    found = []
    for record in records(text, delimiter):
        found.append(record)
        if len(found) == _LOOKED_AT:
            break
    return found


def _delimiter(text: str) -> str:
    """Return the delimiter that gives records of one width, the widest otherwise."""
    best, score = ",", (False, 1)
    for delimiter in _DELIMITERS:
        widths = [len(cells) for _, cells in _first(text, delimiter)]
        # the last record may be cut off
        same = len(set(widths[:-1] or widths)) == 1
        if widths and widths[0] > 1 and (same, 0 if same else widths[0]) > score:
            best, score = delimiter, (same, 0 if same else widths[0])
        elif widths and widths[0] > 1 and same and not score[0]:
            best, score = delimiter, (True, 0)
    return best


def _is_header(cells: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first record holds names: no numbers, above numbers or all different."""
    if any(number_in(cell) is not None for cell in cells):
        return False
    if any(number_in(cell) is not None for own in rest for cell in own):
        return True
    return len(set(cells)) == len(cells)


def _lines_of_first(text: str, delimiter: str) -> int:
    reader = csv.reader(_lines(text), delimiter=delimiter)
    for cells in reader:
        if len(cells) > 1 or (cells and cells[0].strip()):
            break
    return reader.line_num
