"""The command line's entry point: parser, streams, exit codes."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from qcompile import _early_interrupt
from qcompile._version import __version__
from qcompile.cli import hints
from qcompile.cli.commands import COMMANDS
from qcompile.cli.parsing import (
    BAD_INPUT,
    EXIT_CODES,
    INTERRUPTED,
    TERMINATED,
    UNFINISHED,
    Parser,
    UsageError,
    add_command,
)
from qcompile.cli.wording import in_options
from qcompile.errors import LeapError, QcompileError
from qcompile.runtime.text import printable

__all__ = ["main"]


# Arguments that need the options of no command.
_ABOUT_ALL = ("-h", "--help", "--version")
# The commands from data to classifier, the shortcut, the real machine; the rest follows.
_WAYS = {
    "Stages, in order": (
        "data", "loss", "compile", "verify", "embed", "solve", "decode", "predict"
    ),
    "All stages at once": ("train", "explain", "export"),
    "On the real machine, in place of embed, solve and decode": (
        "rehearse", "submit", "resume", "jobs", "cancel"
    ),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 done, 1 a check failed, 2 invalid input, 3 a Leap job did not finish (the message says how to
    resume it), 130 interrupted, 143 terminated.
    """
    _open_streams()
    try:
        return _run(arguments)
    except BrokenPipeError:
        # the reader of the output has closed it: no error, but Python would report one at exit
        _forget_output()
        return 0
    except OSError as error:
        if not _is_about_output(error):
            raise
        _forget_output()
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        _complain(f"error: cannot write to standard output: {why}")
        return BAD_INPUT


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code; errors of the output pass through."""
    try:
        words = sys.argv[1:] if arguments is None else arguments
        if not words:
            _overview().print_help(sys.stderr)
            return BAD_INPUT
        parser = _overview() if words[0] in _ABOUT_ALL else _parser()
        options = parser.parse_args(words)
    except SystemExit:
        sys.stdout.flush()  # help that could not be written is an error
        raise
    _early_interrupt.ready()  # the modules of the command have been imported
    _start_log(options)
    try:
        code = int(options.run(options) or 0)
        _flush()
    except QcompileError as error:
        text = str(error) if isinstance(error, UsageError) else in_options(str(error), options)
        _complain(f"error: {text}{hints.next_command(error, options, options.command)}")
        return UNFINISHED if isinstance(error, LeapError) else BAD_INPUT
    except MemoryError:
        _complain("error: out of memory; use fewer rows, features or bits")
        return BAD_INPUT
    except KeyboardInterrupt as error:
        ended = isinstance(error, _early_interrupt.Terminated)
        how, code = ("terminated", TERMINATED) if ended else ("interrupted", INTERRUPTED)
        if ended:
            _early_interrupt.leaving()
        _complain(f"{how}; no incomplete file was left behind")
        return code
    return code


def _flush() -> None:
    """Flush the output; a closed pipe does not change the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()


def _complain(text: str) -> None:
    with suppress(OSError):  # standard error is closed, too
        print(f"qcompile: {printable(text)}", file=sys.stderr)


def _open_streams() -> None:
    """Replace standard streams that the shell has closed (>&-)."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123  # open until the process ends
    if sys.stdout is None:  # read-only, so that writing raises an error
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123


def _is_about_output(error: OSError) -> bool:
    """Whether an error means that standard output is full or closed; others name a file."""
    if error.filename is not None:
        return False
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT)


def _forget_output() -> None:
    """Discard unwritten output, or Python would try again at exit and report an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _start_log(options: argparse.Namespace) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(options))
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger("qcompile").setLevel(_log_level(options))


class _Formatter(logging.Formatter):
    """Formats log records, with options in place of the parameters that they name."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__("qcompile: %(message)s")
        self._options = options

    def format(self, record: logging.LogRecord) -> str:
        text = in_options(super().format(record), self._options)
        # a message is one line; a traceback has more
        return printable(text, lines=bool(record.exc_text))


def _log_level(options: argparse.Namespace) -> int:
    if options.quiet:
        return logging.WARNING
    return logging.DEBUG if options.verbose else logging.INFO


def _overview() -> Parser:
    """Return a parser that knows of each command what `qcompile --help` shows."""

    def declare(commands: Any) -> None:
        for name in COMMANDS:
            add_command(commands, name)

    return _parser_of([declare])


def _parser() -> Parser:
    """Return the parser with all options of all commands."""
    modules = dict.fromkeys(about.module for about in COMMANDS.values())
    return _parser_of([import_module(f"qcompile.cli.{name}").add_commands for name in modules])


def _parser_of(groups: Iterable[Callable[[Any], None]]) -> Parser:
    parser = Parser(
        prog="qcompile",
        description="Compile the training of a robust binary classifier for a quantum annealer.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"qcompile {__version__}")
    commands = parser.add_subparsers(
        required=True, dest="command", metavar="COMMAND", parser_class=Parser
    )
    for add_commands in groups:
        add_commands(commands)
    parser.epilog = "\n\n".join([*_ways(), _exit_codes()])
    return parser


def _ways() -> Iterator[str]:
    """Yield the groups of commands in order of use, with one example of each command."""
    placed = [name for names in _WAYS.values() for name in names]
    rest = tuple(name for name in COMMANDS if name not in placed)
    for title, names in {**_WAYS, "Other commands": rest}.items():
        yield f"{title}:\n" + "\n".join(f"  {COMMANDS[name].examples[0]}" for name in names)


def _exit_codes() -> str:
    lines = [f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()]
    kept = "       (embed, solve and train keep the best result so far, say so, and exit with 0)"
    more = [
        "Each command: qcompile COMMAND --help",
        "What the numbers mean: qcompile COMMAND --names",
    ]
    return "\n".join(["Exit codes:", *lines, kept, "", *more])
