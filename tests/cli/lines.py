"""Commands read from the parser, and run as a shell would."""

from __future__ import annotations

import argparse
import io
import re
import shlex
import subprocess
import sys

import pytest

from qcompile.cli.app import _parser, main
from qcompile.cli.parsing import Parser
from qcompile.leap.job_store import list_jobs


def run_process(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "qcompile", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )


JOB = re.compile(r"\b2026\d{4}-\d{6}-[0-9a-f]{8}\b")  # the id that stands in examples


def commands() -> dict[str, Parser]:
    """Read the commands from the parser itself."""
    (action,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def examples(name: str) -> list[str]:
    """Read the examples from the help that a user sees."""
    text = commands()[name].format_help().split("Examples:")[1].partition("What the")[0]
    return [line.strip() for line in text.splitlines() if line.strip()]


LEAP = ("train", "submit", "resume", "jobs", "cancel")


def prepare(command: str, request: pytest.FixtureRequest) -> None:
    """Make the files, and a job on the server only for commands that talk about jobs."""
    request.getfixturevalue("at_work" if command in LEAP else "files")


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a line as a shell would: the job is the one there is, > is left to the shell."""
    if JOB.search(line):
        line = JOB.sub(list_jobs()[0].id, line)
    name, *arguments = shlex.split(line.split(" > ")[0])
    assert name == "qcompile"
    monkeypatch.setattr("sys.stdin", Agreeing("y\n"))
    return main(arguments)


class Agreeing(io.StringIO):
    """A person at a terminal who says yes, or something else."""

    def __init__(self, words: str = "y\n") -> None:
        super().__init__(words)

    def isatty(self) -> bool:
        return True
