"""After an error about a file: which command makes such a file, or which one takes it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path

from qcompile.errors import QcompileError

__all__ = ["next_command"]

# What the options are for that name files: the kinds of file that serve.
_EXPECTED = {
    "data": ("data",),
    "validation": ("data",),
    "qubo": ("qubo",),
    "pubo": ("pubo",),
    "problem": ("qubo", "pubo"),
    "samples": ("samples",),
    "model": ("model",),
    "embedding": ("embedding",),
    "reuse": ("embedding",),
}
# Positional or not, these are written rather than read by some commands.
_WRITTEN = {"submit": ("samples",), "resume": ("samples",)}
_MADE_BY = {
    "data": "qcompile data --list",
    "qubo": "qcompile compile DATA --emit qubo={}",
    "pubo": "qcompile compile DATA --emit pubo={}",
    "samples": "qcompile solve QUBO -o {}",
    "model": "qcompile train DATA -o {}",
    "embedding": "qcompile embed QUBO -o {}",
}
_TAKEN_BY = {
    "data": "qcompile compile {} --emit qubo.json",
    "moments": "qcompile compile DATA --emit qubo.json",
    "loss": "qcompile compile DATA --emit qubo.json",
    "qubo": "qcompile solve {} -o samples.json",
    "pubo": "qcompile solve {} -o samples.json",
    "samples": "qcompile decode {} --problem QUBO -o model.json",
    "model": "qcompile predict {} DATA",
    "embedding": "qcompile solve QUBO --embedding {} --solver neal",
}
_NAMES = {
    "data": "svmlight data",
    "moments": "moments",
    "loss": "a loss",
    "qubo": "a QUBO",
    "pubo": "a polynomial",
    "samples": "samples",
    "model": "a classifier",
    "embedding": "an embedding",
}
_TYPES = {"BinaryQuadraticModel": "qubo", "SampleSet": "samples"} | {
    f"qcompile.{kind}": kind for kind in ("moments", "loss", "pubo", "qubo", "model", "embedding")
}
_SVMLIGHT = re.compile(rb"[-+0-9.eE]+([ \t]+[0-9]+:[-+0-9.eE]+)+[ \t]*(#.*)?")


def next_command(error: QcompileError, options: argparse.Namespace, command: str) -> str:
    """Give what to add to an error's line, or nothing where it is not about a file of ours."""
    for name, expected in _EXPECTED.items():
        path = getattr(options, name, None)
        if not isinstance(path, str) or name in _WRITTEN.get(command, ()):
            continue
        if path not in ("", "-") and str(error).startswith(path):
            advice = _advice(path, expected)
            if advice:
                return advice
    return ""


def _advice(path: str, expected: tuple[str, ...]) -> str:
    shown = shlex.quote(path)
    if not os.path.exists(path):  # noqa: PTH110  # unlike Path it takes names of any length
        # errors about data say already where named sets are listed
        return "" if expected == ("data",) else f"; make one: {_MADE_BY[expected[0]].format(shown)}"
    found = _kind(path)
    if found is None or found in expected:
        return ""
    return f"; it holds {_NAMES[found]}, for: {_TAKEN_BY[found].format(shown)}"


def _kind(path: str) -> str | None:
    """Tell what a file holds, if that is easy."""
    from qcompile.files import kind_of

    try:
        return _TYPES.get(kind_of(path))
    except QcompileError:
        pass
    try:
        with Path(path).open("rb") as stream:
            line = stream.readline(4096).strip()
    except OSError:
        return None
    return "data" if _SVMLIGHT.fullmatch(line) else None
