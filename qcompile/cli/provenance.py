"""What a page says about the command that made it: the command line, its seed and its date."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from qcompile.cli.wording import in_options
from qcompile.report.run import Run

__all__ = ["with_provenance"]


# Options whose values only name what is written.
_OUTPUTS = ("-o", "--output", "--report", "--plot", "--samples", "--emit")


def with_provenance(run: Run, options: argparse.Namespace) -> Run:
    """Return a run with the command, its seed and its date, and with notes that advise options.

    The command is shown without the names of its outputs. The date is that of the run's own record,
    or SOURCE_DATE_EPOCH: the time of day would make the pages of equal runs differ.
    """
    made = {"command": shlex.join(["qcompile", *_without_outputs(options.arguments)])}
    if getattr(options, "seed", None) is not None:
        made["seed"] = str(options.seed)
    date = _date()
    if date is not None:
        made["date"] = date
    notes = tuple(in_options(note, options) for note in run.notes)
    return replace(run, notes=notes, made={**made, **run.made})


def _without_outputs(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line, except the options that name outputs."""
    skip = False
    for word in words:
        name, given, _ = word.partition("=")
        if skip:
            skip = False
        elif name in _OUTPUTS:
            skip = not given
        elif not (word.startswith("-o") and len(word) > 2):
            yield word


def _date() -> str | None:
    """Return the date that SOURCE_DATE_EPOCH states, if it states one."""
    try:
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH", ""))
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
