"""Print results as a table, as JSON or as CSV."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from qcompile.runtime.text import printable

__all__ = ["FORMATS", "Worded", "key_of", "show", "show_rows"]


FORMATS = ("text", "markdown", "csv", "json")


@dataclass(frozen=True)
class Worded:
    """A value with a text for people; JSON gets the plain value, and the unit in the key."""

    value: Any
    text: str
    unit: str = ""


def show_rows(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Print a table in the format asked for; in text, a single row as names and values."""
    kind = "json" if options.json else options.format
    if kind == "json":
        _say(_json([_plain(row) for row in rows]))
        return
    if kind == "text" and len(rows) == 1:
        show(rows[0], options)
        return
    if kind == "csv":  # for programs: keys and numbers as in JSON
        cells = [{key: _csv_cell(value) for key, value in _plain(row).items()} for row in rows]
    else:
        cells = [{_words(name): _text(value) for name, value in row.items()} for row in rows]
    names = list(cells[0])
    table = [names] + [[row[name] for name in names] for row in cells]
    if kind == "csv":
        with suppress(BrokenPipeError):
            shown = [[printable(cell) for cell in line] for line in table]
            csv.writer(sys.stdout, lineterminator="\n").writerows(shown)
        return
    if kind == "markdown":
        table.insert(1, ["---"] * len(names))
        lines = ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in table]
    else:
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in table
        ]
    _say("\n".join(lines))


def show(
    summary: dict[str, Any],
    options: argparse.Namespace,
    *,
    written: Sequence[str] = (),
    brief: Collection[str] | None = None,
) -> None:
    """Print names, values and the files written; on stderr if a file went to stdout.

    With `brief`, people get only the values of these names unless they ask for all with -v.
    """
    if options.quiet:
        return
    stream = sys.stderr if "-" in written else sys.stdout
    if options.json:
        _say(_json({**_plain(summary), "written": list(written)}), stream)
        return
    names = [name for name in summary if brief is None or options.verbose or name in brief]
    shown = [(_words(name), _text(summary[name])) for name in names]
    shown += [("written", printable(path)) for path in written if path != "-"]
    width = max((len(name) for name, _ in shown), default=0)
    # an empty text gets no line
    _say("\n".join(f"{name:<{width}}  {text}" for name, text in shown if text), stream)


def _say(text: str, stream: Any = None) -> None:
    """Print what a terminal can show; a closed pipe does not change the exit code."""
    with suppress(BrokenPipeError):
        print(printable(text, lines=True), file=stream)


def key_of(name: str) -> str:
    """Return the key of a name in JSON: lower-case words joined by underscores.

    >>> key_of("algebra, term by term")
    'algebra_term_by_term'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _words(name: str) -> str:
    """Return a name for people: words instead of underscores, except in a_0, a_1, ..."""
    return name if re.fullmatch(r"[a-z]_\d+", name) else printable(name).replace("_", " ")


def _json(value: object) -> str:
    """Return JSON in ASCII, which every terminal shows, with integers of any size."""
    return json.dumps(value, indent=2, allow_nan=False).replace("\x7f", "\\u007f")


def _plain(value: Any) -> Any:
    """Return a value for JSON: uniform keys, full precision, None for NaN and infinity."""
    if isinstance(value, Mapping):
        plain = {}
        for name, item in value.items():
            unit = item.unit if isinstance(item, Worded) else ""
            plain[key_of(f"{name} {unit}")] = _plain(item)
        return plain
    if isinstance(value, Worded):
        return _plain(value.value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    return _text(value) if isinstance(value, bool) else str(value)


def _text(value: object) -> str:
    """Return a value as text for people, with six digits."""
    match value:
        case Worded():
            return printable(value.text)
        case None:
            return "not known"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.6g}"
        case list() | tuple():
            parts = [_text(part) for part in value]
            numbers = all(isinstance(part, int | float) for part in value)
            return f"[{', '.join(parts)}]" if numbers and parts else ", ".join(parts) or "none"
        case Mapping():
            return " ".join(_text(part) for part in value.values() if part not in (None, ""))
    return printable(value)
