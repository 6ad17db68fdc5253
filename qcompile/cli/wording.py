"""Say what an error advises in the words of the command line.

Below `cli`, messages name parameters of Python (`features=`, `scale="standard"`) and functions
(`list_jobs()`), so that a program can follow the advice. Here they become options (`--features`,
`--scale standard`) and commands (`qcompile jobs`), read from the parser itself.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from qcompile.cli.parsing import Parser

__all__ = ["MENTION", "in_options"]


_VALUE = r'"[^"]*"(?:[ ]or[ ]"[^"]*")*|\'[^\']*\'|[-+]?\w(?:[\w.+-]*\w)?'
_QUOTES = re.compile("[\"']")
# `name=`, `name=value`, `parameters["name"]` or `function(...)`, not in the middle of a word
MENTION = re.compile(
    rf"""(?<![^\s(`])(?:
        (?P<name>[a-z]\w*)=(?P<value>{_VALUE})?
        | parameters\["(?P<solver_parameter>\w+)"\]
        | (?P<function>[a-z]\w*)\((?P<arguments>[^()]*)\)
    )(?![\w=/])""",
    re.VERBOSE,
)
# Functions whose commands have other names.
_COMMANDS = {"catalogue": "machines", "list_jobs": "jobs"}


def in_options(text: str, options: argparse.Namespace) -> str:
    """Return a message with options of the command in the place of parameters.

    An option that only other commands have is named as well. What the user wrote stays as it is:
    a file may be called ``bits=3.json``.
    """
    own = sorted(set(_given(options)), key=len, reverse=True)
    pieces = re.split("|".join(f"({re.escape(word)})" for word in own), text) if own else [text]
    return "".join(
        piece if piece in own else MENTION.sub(lambda found: _in_options(found, options), piece)
        for piece in pieces
        if piece is not None
    )


def _given(options: argparse.Namespace) -> Iterator[str]:
    """Yield the user's words that could be taken for a parameter; files also by their last name."""
    for value in vars(options).values():
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str) and "=" in word:
                yield word
                if "=" in Path(word).name:
                    yield Path(word).name


def _in_options(found: re.Match[str], options: argparse.Namespace) -> str:
    commands: dict[str, Parser] = options.parser.commands()
    if found["function"]:
        name = _COMMANDS.get(found["function"], found["function"])
        return _call(name, commands[name], found["arguments"]) if name in commands else found[0]
    # the command's own options come first
    for parser in (commands[options.command], *commands.values()):
        action = _action(found["name"] or found["solver_parameter"], parser)
        if action is not None:
            return _mention(action, found["value"])
    return found[0]


def _call(name: str, parser: Parser, arguments: str) -> str:
    """Return the command line that does what a function call does."""
    words = ["qcompile", name]
    places = iter(action for action in parser._actions if not action.option_strings)
    for argument in filter(None, arguments.split(", ")):
        found = MENTION.fullmatch(argument)
        action = _action(found["name"], parser) if found and found["name"] else None
        if found and action is not None:
            words.append(_mention(action, found["value"]))
        elif argument.startswith('"'):  # a value such as the name of a job
            words.append(argument.strip('"'))
        else:
            words.append(_option_of(next(places)))
    return " ".join(words)


def _action(name: str, parser: Parser) -> argparse.Action | None:
    """Find the place on the command line for a parameter."""
    return {action.dest: action for action in parser.shown_actions()}.get(name)


def _mention(action: argparse.Action, value: str | None) -> str:
    if value is None or (action.nargs == 0 and value == "True"):
        return _option_of(action)
    plain = _QUOTES.sub("", value)
    return f"{_option_of(action)} {plain}"


def _option_of(action: argparse.Action) -> str:
    """Return the long name of an option, or what help calls a value without one."""
    return max(action.option_strings, key=len, default=str(action.metavar or action.dest))
