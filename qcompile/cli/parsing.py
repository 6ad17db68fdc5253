"""The parser of all commands: help, exit codes, and errors that name the nearest option."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from qcompile.errors import InputError

__all__ = [
    "BAD_INPUT",
    "EXIT_CODES",
    "GLOSSARY",
    "INTERRUPTED",
    "NOT_PROVED",
    "UNFINISHED",
    "Parser",
    "UsageError",
    "add_command",
]


NOT_PROVED, BAD_INPUT, UNFINISHED, INTERRUPTED = 1, 2, 3, 130
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


class UsageError(InputError):
    """An option that cannot be used as given; the message already names options."""


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
        options.parser = self
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
        """Return the parsers of the commands by their names, in order."""
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
