"""Hints after an error about a file: which command makes it, or which one takes it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path

from qcompile.errors import QcompileError

__all__ = ["next_command"]


# The kinds of file that each option for a file accepts.
_EXPECTED = {
    "data": ("data",),
    "test": ("data",),
    "validation": ("data",),
    "qubo": ("qubo",),
    "pubo": ("pubo",),
    "problem": ("qubo", "pubo"),
    "samples": ("samples",),
    "model": ("model",),
    "embedding": ("embedding",),
    "reuse": ("embedding",),
}
# Some commands write these files.
_WRITTEN = {"submit": ("samples",), "resume": ("samples",)}
_MADE_BY = {
    "qubo": "qcompile compile DATA --emit qubo={}",
    "pubo": "qcompile compile DATA --emit pubo={}",
    "samples": "qcompile solve QUBO -o {}",
    "model": "qcompile train DATA -o {}",
    "embedding": "qcompile embed QUBO -o {}",
}
_TAKEN_BY = {
    "data": "qcompile compile {} --emit qubo.json",
    "moments": "Python (qcompile.load_moments); a QUBO is made by: qcompile compile DATA --emit "
    "qubo.json",
    "loss": "Python (qcompile.load_loss); a QUBO is made by: qcompile compile DATA --emit "
    "qubo.json",
    "qubo": "qcompile solve {} -o samples.json",
    "pubo": "qcompile solve {} -o samples.json",
    "ising": "qcompile quadratize {} -o qubo.json",
    "target": "other programs; here the QUBO and its embedding serve: "
    "qcompile solve QUBO --embedding EMBEDDING --solver neal",
    "written": "other programs; here a .json file serves: qcompile compile DATA --emit qubo.json",
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
    "ising": "a problem of spins",
    "target": "a problem on the qubits of a machine",
    "written": "a QUBO in a form that is only written",
    "samples": "samples",
    "model": "a classifier",
    "embedding": "an embedding",
}
_TYPES = {"BinaryQuadraticModel": "qubo", "SampleSet": "samples"} | {
    f"qcompile.{kind}": kind for kind in ("moments", "loss", "pubo", "qubo", "model", "embedding")
}
# Endings of a QUBO that no command reads, and those that all read.
_ONLY_WRITTEN, _READ = (".bqm", ".lp", ".qubo", ".coo"), (".json", ".npz")
_SPINS = re.compile(rb'"(?:variable_type|vartype)"\s*:\s*"SPIN"')
_TARGET = re.compile(rb'"info"\s*:\s*\{\s*"machine"')
_SVMLIGHT = re.compile(rb"[-+0-9.eE]+([ \t]+[0-9]+:[-+0-9.eE]+)+[ \t]*(#.*)?")


def next_command(error: QcompileError, options: argparse.Namespace, command: str) -> str:
    """Return the hint to append to an error, or nothing if it is not about a known file."""
    if command == "report" and str(error).startswith("job "):
        return f"; no such file or folder either; make one: {_make('qubo', 'qubo.json')}"
    for name, expected in _EXPECTED.items():
        path = getattr(options, name, None)
        if not isinstance(path, str) or name in _WRITTEN.get(command, ()):
            continue
        if path not in ("", "-") and str(error).startswith(path):
            if expected == ("data",) and str(error).startswith(f"{path}: no such file"):
                return "; about named sets: qcompile data --list"
            advice = _advice(path, expected)
            if advice:
                return advice
    return ""


def _advice(path: str, expected: tuple[str, ...]) -> str:
    if not os.path.exists(path):  # noqa: PTH110  # unlike Path, it accepts names of any length
        # it may be a pattern of data files
        return "" if expected == ("data",) else f"; make one: {_make(expected[0], path)}"
    found = _kind(path)
    if found is None or found in expected:
        return ""
    return f"; it holds {_NAMES[found]}, for: {_take(found, path, expected)}"


def _make(kind: str, path: str) -> str:
    """Return the command that makes a file of this kind, with this name if its ending is valid."""
    if kind in ("qubo", "pubo") and not path.endswith(_READ):
        path = f"{kind}.json"
    return _MADE_BY[kind].format(shlex.quote(path))


def _take(kind: str, path: str, expected: tuple[str, ...]) -> str:
    """Return the command that takes a file, if possible one that makes what was expected."""
    if kind == "pubo" and expected == ("qubo",):
        kind = "ising"  # the same command makes a QUBO of both
    return _TAKEN_BY[kind].format(shlex.quote(path))


def _kind(path: str) -> str | None:
    """Return what a file holds, if that can be read off its beginning."""
    from qcompile.files.guarded import kind_of

    try:
        found = _TYPES.get(kind_of(path))
    except QcompileError:
        found = None
    if found not in (None, "qubo"):
        return found
    if Path(path).suffix.lower() in _ONLY_WRITTEN:
        return "written"
    if Path(path).is_fifo():  # reading would wait for a writer, or take what was written
        return None
    try:
        with Path(path).open("rb") as stream:
            text = stream.read(1 << 20)  # the labels of the variables may come first
    except OSError:
        return None
    if found == "qubo" and _SPINS.search(text):
        return "target" if _TARGET.search(text) else "ising"
    if found is None and _SVMLIGHT.fullmatch(text.partition(b"\n")[0][:4096].strip()):
        return "data"
    return found
