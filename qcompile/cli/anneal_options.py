"""Options of `submit` for the whole chip: copies, gauges, refinement, schedules."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Literal

from qcompile.cli.parsing import UsageError
from qcompile.files import guarded
from qcompile.leap.plan import POSTS
from qcompile.leap.refinement import load_known
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["add_anneal_options", "anneal_arguments", "copies_in"]


def add_anneal_options(command: argparse.ArgumentParser) -> None:
    """Add the options for QPUs beside reads and chains."""
    group = command.add_argument_group("annealing on a QPU")
    group.add_argument(
        "--copies",
        metavar="N",
        help="copies of the problem to anneal at once: a number, or auto for all that fit (those "
        "of --embedding, else 1)",
    )
    group.add_argument(
        "--gauges",
        type=int,
        metavar="G",
        help="share the reads over G spin-reversal transforms (default: none)",
    )
    group.add_argument(
        "--refine",
        metavar="FILE",
        help="anneal in reverse from the lowest of these samples, or from this model",
    )
    group.add_argument(
        "--reinitialize",
        choices=("yes", "no"),
        default="yes",
        help="with --refine, start every read from the given state; no: from the last read (yes)",
    )
    group.add_argument(
        "--anneal-schedule",
        metavar="POINTS",
        help="points [[microseconds, s], ...] as JSON or in a file, from s = 0 to 1",
    )
    group.add_argument(
        "--fast-anneal",
        action="store_true",
        help="the fast protocol; fields go through pinned qubits",
    )
    group.add_argument(
        "--h-gain",
        metavar="X",
        help="gain of all fields: a number, or points [[microseconds, gain], ...] as JSON",
    )
    group.add_argument(
        "--post",
        choices=POSTS,
        default="descent",
        help="flip single bits of the samples while that lowers the energy (descent)",
    )


def anneal_arguments(options: argparse.Namespace, problem: Pubo | Qubo) -> dict[str, Any]:
    """Return the parameters of `submit` that these options stand for."""
    schedule, gain = options.anneal_schedule, options.h_gain
    return {
        "copies": None if options.copies is None else copies_in(options.copies),
        "gauges": options.gauges,
        "refine": None if options.refine is None else load_known(options.refine, problem),
        "reinitialize": options.reinitialize == "yes",
        "anneal_schedule": None if schedule is None else _json("--anneal-schedule", schedule),
        "fast_anneal": options.fast_anneal,
        "h_gain": None if gain is None else _json("--h-gain", gain),
        "post": options.post,
    }


def copies_in(text: str) -> int | Literal["auto"]:
    """Return the number of copies that --copies asks for, or "auto"."""
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"--copies {text!r}; expected auto or a number") from None


def _json(option: str, text: str) -> Any:
    """Return JSON from the command line, or from a file if the text names one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not Path(text).exists():
        raise UsageError(
            f"{option} {text!r:.80}; expected JSON such as [[0, 0], [20, 1]] or a file"
        )
    with guarded.explained(text):
        return guarded.read_json(Path(text))
