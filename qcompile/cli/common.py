"""What all commands of the command line share: how they are declared and how they answer."""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields
from typing import Any, NoReturn

__all__ = [
    "BAD_INPUT",
    "EXIT_CODES",
    "FORMATS",
    "GLOSSARY",
    "INTERRUPTED",
    "NOT_PROVED",
    "UNFINISHED",
    "Parser",
    "Worded",
    "add_command",
    "add_dask_option",
    "client_of",
    "grouped",
    "key_of",
    "show",
    "show_rows",
]

NOT_PROVED, BAD_INPUT, UNFINISHED, INTERRUPTED = 1, 2, 3, 130
FORMATS = ("text", "markdown", "csv", "json")
GLOSSARY = "docs/commands.md"  # explains every name that a command prints

_DATA_HELP = """\
DATA is an svmlight (LIBSVM) file, plain or .gz, .bz2, .xz; a pattern of such files in quotes
('part-*.svm.gz'); - for standard input; or a named set
that needs no file: breast-cancer, long-servedio, mease-wyner, synthetic. A named set may take
parameters: synthetic:examples=1000,features=5. Write ./NAME for a file of that name.
"""


EXIT_CODES = {
    0: "done",
    NOT_PROVED: "verify found something wrong, or embed --preflight that it cannot fit",
    BAD_INPUT: "the input or an option cannot be used, or the output is full; one line says why",
    UNFINISHED: "Leap, or a job there; one line says what became of it and how to go on",
    INTERRUPTED: "interrupted before there was anything to keep",
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors fit in one line; `examples` are command lines that run."""

    examples: tuple[str, ...] = ()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Let the command itself refuse what it does not know: its help is the one to see."""
        options, strange = self.parse_known_args(args, namespace)
        if strange:
            known = self.commands()
            command = known.get(getattr(options, "command", ""), self)
            hint = _option_meant(strange[0].partition("=")[0], command, known)
            command.error(f"unrecognized arguments: {' '.join(strange)}{hint}")
        return options

    def error(self, message: str) -> NoReturn:
        """Say it in one line, with what may have been meant, and where help is."""
        meant = _command_meant(message, self)
        self.exit(BAD_INPUT, f"qcompile: error: {message}{meant} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help; unlike argparse, let a full or closed output be an error."""
        if message:
            (file or sys.stderr).write(message)

    def commands(self) -> dict[str, Parser]:
        """Give the parsers of the commands by their names, in order."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}


def _command_meant(message: str, parser: Parser) -> str:
    """Guess the command behind one that is misspelt."""
    found = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
    return _nearest(found.group(1), parser.commands()) if found else ""


def _option_meant(name: str, command: Parser, others: Mapping[str, Parser]) -> str:
    """Guess the option behind one that the command does not have, or say who has it."""
    owners = [other for other, parser in others.items() if name in parser._option_string_actions]
    if owners:
        return f"; it is an option of {', '.join(owners)}"
    return _nearest(name, command._option_string_actions) if name.startswith("--") else ""


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def add_command(
    commands: Any, name: str, *, summary: str, example: str, takes_data: bool = True
) -> argparse.ArgumentParser:
    """Declare a command with its help, its examples and the options that all commands share.

    `example` holds one command line a line; the first stands in the help of qcompile itself.
    """
    examples = tuple(line.strip() for line in example.strip().splitlines())
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.\n\n{_DATA_HELP if takes_data else ''}",
        epilog="Examples:\n"
        + "".join(f"  {line}\n" for line in examples)
        + f"\nWhat the numbers mean: {GLOSSARY}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if isinstance(command, Parser):
        command.examples = examples
    level = command.add_mutually_exclusive_group()
    level.add_argument(
        "-v", "--verbose", action="store_true", help="say what each pass costs: seconds and memory"
    )
    level.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    command.add_argument("--json", action="store_true", help="print the summary as JSON")
    return command


def add_dask_option(command: argparse.ArgumentParser, work: str) -> None:
    """Declare --dask: which work goes to a cluster."""
    command.add_argument(
        "--dask",
        nargs="?",
        const="local",
        type=_dask_address,
        metavar="ADDRESS",
        help=f"{work} on the workers of this Dask scheduler (one made here if none is named)",
    )


def _dask_address(text: str) -> str:
    address = text.rstrip("/")
    found = re.fullmatch(r"((tcp|tls|ws|wss|ucx)://)?[^\s/*]+:([0-9]{1,5})", address)
    if address != "local" and not (found and int(found[3]) < 65536):
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected an address such as tcp://host:8786, or nothing: then write "
            "--dask last, or --dask=local"
        )
    return address


def client_of(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """Give the client that --dask asks for, or None."""
    if options.dask is None:
        return nullcontext()
    from qcompile.moments.dask import cluster

    return cluster(options.dask)


def grouped(kind: type, options: argparse.Namespace) -> Any:
    """Give the options that a dataclass names as one object of it."""
    return kind(**{f.name: getattr(options, f.name) for f in fields(kind)})


@dataclass(frozen=True)
class Worded:
    """A value that people read in other words; programs get it plain, its unit in the key."""

    value: Any
    text: str
    unit: str = ""


def show_rows(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Print a table in the format asked for; a single row as a list of names and values."""
    kind = "json" if options.json else options.format
    if kind == "json":
        _say(_json([_plain(row) for row in rows]))
        return
    if kind == "text" and len(rows) == 1:
        show(rows[0], options)
        return
    if kind == "csv":  # for programs: the keys and the numbers of JSON
        cells = [{key: _csv_cell(value) for key, value in _plain(row).items()} for row in rows]
    else:
        cells = [{_words(name): _text(value) for name, value in row.items()} for row in rows]
    names = list(cells[0])
    table = [names] + [[row[name] for name in names] for row in cells]
    if kind == "csv":
        with suppress(BrokenPipeError):
            csv.writer(sys.stdout, lineterminator="\n").writerows(table)
        return
    if kind == "markdown":
        table.insert(1, ["---"] * len(names))
        lines = ["| " + " | ".join(line) + " |" for line in table]
    else:
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in table
        ]
    _say("\n".join(lines))


def show(
    summary: dict[str, Any], options: argparse.Namespace, *, written: Sequence[str] = ()
) -> None:
    """Print names and values, and which files were written; to stderr if one went to stdout."""
    if options.quiet:
        return
    stream = sys.stderr if "-" in written else sys.stdout
    if options.json:
        _say(_json({**_plain(summary), "written": list(written)}), stream)
        return
    shown = [(_words(name), _text(value)) for name, value in summary.items()]
    shown += [("written", path) for path in written if path != "-"]
    width = max((len(name) for name, _ in shown), default=0)
    # no advice is no line
    _say("\n".join(f"{name:<{width}}  {text}" for name, text in shown if text), stream)


def _say(text: str, stream: Any = None) -> None:
    """Print; a reader that has gone changes neither what was found nor the exit code."""
    with suppress(BrokenPipeError):
        print(text, file=stream)


def key_of(name: str) -> str:
    """Give the key of a name in JSON: lower-case words joined by underscores.

    >>> key_of("algebra, term by term")
    'algebra_term_by_term'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _words(name: str) -> str:
    """Give a name as people see it; a_0 stays the coefficient that it is."""
    return name if re.fullmatch(r"[a-z]_\d+", name) else name.replace("_", " ")


def _json(value: object) -> str:
    """Write JSON of numbers of any size, in ASCII: any terminal takes it."""
    return json.dumps(value, indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    """Give values for programs: keys of one kind, numbers in full, nothing that JSON lacks."""
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
    """Give a value for people: six digits are enough for them."""
    match value:
        case Worded():
            return value.text
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
    return str(value)
