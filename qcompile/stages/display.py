"""How stages print: one short line as `repr`, a small table in notebooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from html import escape

__all__ = ["Displayed", "many", "quoted"]


# Characters of a line, of a cell, and of a name from outside.
_LINE, _CELL, _NAME = 119, 200, 40


def many(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> many(1, "state"), many(1200, "state")
    ('1 state', '1,200 states')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def quoted(name: object) -> str:
    """Return a name in quotes: one line, printable, of at most 40 characters.

    >>> quoted("rows.svm"), quoted("two\\nlines"), len(quoted("x" * 99))
    ("'rows.svm'", "'two\\\\nlines'", 40)
    """
    text = repr(str(name)[:_NAME])
    return text if len(text) <= _NAME else f"{text[: _NAME - 4]}...{text[-1]}"


class Displayed:
    """The base of objects that print well; a dataclass needs ``repr=False`` for it."""

    @abstractmethod
    def _line(self) -> str:
        """Return what `repr` shows between the parentheses."""

    @abstractmethod
    def _facts(self) -> Mapping[str, object]:
        """Return the rows of the table; those that are None are left out."""

    def __repr__(self) -> str:
        text = f"{type(self).__name__}({self._line()})"
        return text if len(text) <= _LINE else f"{text[: _LINE - 4]}...)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{_cell(name)}</th>'
            f'<td style="text-align:left">{_cell(value)}</td></tr>'
            for name, value in self._facts().items()
            if value is not None
        )
        return f"<table><caption><b>{_cell(type(self).__name__)}</b></caption>{rows}</table>"


def _cell(value: object) -> str:
    """Return a value as text of a table: numbers with few digits, all else printable, escaped."""
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, int):
        text = f"{value:,}"
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        text = "".join(c if c.isprintable() else "\ufffd" for c in str(value)[: _CELL + 1])
    return escape(text if len(text) <= _CELL else f"{text[: _CELL - 1]}…")
