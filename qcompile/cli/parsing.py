"""The command line parser: help, exit codes, and errors that suggest the nearest option."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from qcompile.cli.commands import COMMANDS
from qcompile.cli.glossary import ShowNames
from qcompile.errors import InputError
from qcompile.runtime.text import printable

__all__ = [
    "BAD_INPUT",
    "EXIT_CODES",
    "INTERRUPTED",
    "NOT_PROVED",
    "TERMINATED",
    "UNFINISHED",
    "Parser",
    "UsageError",
    "add_command",
]


NOT_PROVED, BAD_INPUT, UNFINISHED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143

_DATA_HELP = """\
DATA is a table (.csv, .tsv, .parquet, .feather, .arrow) or an svmlight (LIBSVM) file, text plain or
compressed (.gz, .bz2, .xz), an array file (.npz, .npy), a quoted pattern of files
('part-*.svm.gz'), - for standard input, openml:NAME, or a named set: breast-cancer, long-servedio,
mease-wyner, synthetic. A named set may have parameters: synthetic:examples=1000,features=5. For a
file with the name of a set, write ./NAME.
"""

EXIT_CODES = {
    0: "done",
    NOT_PROVED: "verify found an error, or embed --preflight found that the problem cannot fit",
    BAD_INPUT: "invalid input or option, or standard output is full; one line says why",
    UNFINISHED: "a Leap job did not finish; one line gives its state and how to resume it",
    INTERRUPTED: "interrupted before there was a result to keep",
    TERMINATED: "terminated (SIGTERM) before there was a result to keep",
}


class UsageError(InputError):
    """An option that cannot be used as given; the message already names options."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; `examples` are command lines that work."""

    examples: tuple[str, ...] = ()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Report unknown options from the subcommand's parser, so that errors point to its help."""
        options, strange = self.parse_known_args(args, namespace)
        if strange:
            known = self.commands()
            command = known.get(getattr(options, "command", ""), self)
            hint = _option_meant(strange[0].partition("=")[0], command, known)
            command.error(f"unrecognized arguments: {' '.join(strange)}{hint}")
        options.parser = self
        options.arguments = list(sys.argv[1:] if args is None else args)
        return options

    def error(self, message: str) -> NoReturn:
        """Exit with a one-line error that suggests a correction and names the help."""
        meant = _command_meant(message, self)
        self.exit(BAD_INPUT, f"qcompile: error: {message}{meant} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help; unlike in argparse, a full or closed output is an error."""
        if message:
            (file or sys.stderr).write(printable(message, lines=True))

    def commands(self) -> dict[str, Parser]:
        """Return the parsers of the commands by name, in order."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def shown_actions(self) -> list[argparse.Action]:
        """Return the options and values that help shows: not the old names of options."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]


def _command_meant(message: str, parser: Parser) -> str:
    """Suggest the command that was misspelt in an error message, if any."""
    found = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
    return _nearest(found.group(1), parser.commands()) if found else ""


def _option_meant(name: str, command: Parser, others: Mapping[str, Parser]) -> str:
    """Suggest an option for one that the command does not have, or name commands that have it."""
    owners = [other for other, parser in others.items() if name in parser._option_string_actions]
    if owners:
        return f"; it is an option of {', '.join(owners)}"
    shown = [option for action in command.shown_actions() for option in action.option_strings]
    return _nearest(name, shown) if name.startswith("--") else ""


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def add_command(commands: Any, name: str) -> argparse.ArgumentParser:
    """Declare a command with its help, its examples and the options that all commands share."""
    about = COMMANDS[name]
    data_help = _DATA_HELP if about.takes_data else ""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about.summary,
        description=f"{about.summary[0].upper()}{about.summary[1:]}.\n\n{data_help}",
        epilog="Examples:\n"
        + "".join(f"  {line}\n" for line in about.examples)
        + f"\nWhat the numbers mean: qcompile {name} --names",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if isinstance(command, Parser):
        command.examples = about.examples
    level = command.add_mutually_exclusive_group()
    level.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="report time and memory of each pass, and every line of a summary",
    )
    level.add_argument("-q", "--quiet", action="store_true", help="print only warnings and errors")
    command.add_argument("--json", action="store_true", help="print the summary as JSON")
    command.add_argument(
        "--names", action=ShowNames, help="explain the names that the command prints, and exit"
    )
    return command
