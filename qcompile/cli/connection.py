"""Options and questions of all commands that talk to Leap."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from typing import Any

from qcompile.cli.parsing import UsageError
from qcompile.leap.retry import Patience
from qcompile.runtime.text import printable

__all__ = [
    "add_connection_options",
    "add_grace_option",
    "add_timeout_option",
    "agreed",
    "patience_of",
]


def add_connection_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say how to connect, and where jobs are kept."""
    group = command.add_argument_group("connection (default: Ocean's configuration)")
    group.add_argument("-p", "--profile", metavar="NAME", help="profile in dwave.conf")
    group.add_argument("--region", metavar="CODE", help="region, for example eu-central-1")
    group.add_argument("--jobs", metavar="FOLDER", help="folder of all jobs (QCOMPILE_JOBS)")


def add_timeout_option(group: Any) -> None:
    """Add --timeout."""
    group.add_argument(
        "--timeout",
        type=float,
        default=3600.0,
        metavar="S",
        help="seconds to wait for the server, all requests together (3600)",
    )


def add_grace_option(group: Any) -> None:
    """Add --grace."""
    group.add_argument(
        "--grace",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds to look for a job of unknown outcome before it is sent again (60)",
    )


def patience_of(options: argparse.Namespace) -> Patience:
    """Return how long to wait for the server."""
    if not 0 <= options.grace < math.inf:
        raise UsageError(f"--grace {options.grace:g}; expected a finite number of seconds")
    return Patience(grace=options.grace)


def agreed(cost: Mapping[str, Any], options: argparse.Namespace) -> bool:
    """Show a cost, ask whether to submit, and return the answer; with --yes it is yes."""
    if not options.quiet:
        for name, value in cost.items():
            print(f"{printable(name):<16}  {printable(value)}", file=sys.stderr)
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("nothing was sent: standard input is not a terminal; add --yes")
    print("Submit? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
