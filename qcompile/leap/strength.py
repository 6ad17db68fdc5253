"""The chain strength that a sweep on the machine chose, recorded in the job folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from qcompile.embedding.chain_strength import SWEEP_FACTORS
from qcompile.errors import FormatError, LeapError
from qcompile.files import atomic, guarded
from qcompile.leap.job import Job
from qcompile.stages.record import Record
from qcompile.stages.samples import Samples, merged

__all__ = ["Trial", "chosen_strength", "has_choice", "record_choice", "strengths_to_try"]


_FILE = "choice.json"


@dataclass(frozen=True)
class Trial(Record):
    """A chain strength that was tried on the machine, and the samples it led to."""

    chain_strength: float
    reads: int
    lowest_energy: float
    mean_energy: float
    chain_break_fraction: float


def strengths_to_try(strength: float, copies: int) -> list[tuple[float, ...]]:
    """Return the strengths of each problem of a sweep; different copies try different ones.

    >>> strengths_to_try(2.0, 5)
    [(0.5, 1.0, 1.5, 2.0, 3.0), (4.0, 6.0)]
    """
    tried = [factor * strength for factor in SWEEP_FACTORS]
    return [tuple(tried[at : at + copies]) for at in range(0, len(tried), copies)]


def has_choice(job: Job) -> bool:
    """Whether the choice of a job is on disk."""
    return (job.folder / _FILE).exists()


def chosen_strength(job: Job) -> float:
    """Read the chain strength that the sweep of a job chose."""
    path = job.file(_FILE)
    if not path.exists():
        raise LeapError("the sweep of chain strengths has not been answered")
    with guarded.explained(path):
        content = guarded.read_json(path)
        guarded.check_header(content, "job-choice")
        strength = float(content["chain_strength"])
        if not 0 < strength < math.inf:
            raise FormatError("chain_strength: expected a number above 0")
        return strength


def record_choice(job: Job, found: Sequence[tuple[float, Samples]]) -> float:
    """Choose the strength with the lowest mean energy, the weaker of equals, and write it down."""
    trials = [
        _trial(strength, [samples for other, samples in found if other == strength])
        for strength in sorted({strength for strength, samples in found if len(samples)})
    ]
    best = min(trials, key=lambda trial: trial.mean_energy)
    content = {
        **guarded.header_of("job-choice"),
        "chain_strength": best.chain_strength,
        "trials": [trial.to_dict() for trial in trials],
    }
    with atomic.replacing(), atomic.write_atomically(job.folder / _FILE) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    return best.chain_strength


def _trial(strength: float, parts: Sequence[Samples]) -> Trial:
    samples = merged(parts, {})
    return Trial(
        chain_strength=strength,
        reads=int(samples.occurrences.sum()),
        lowest_energy=float(samples.energies.min()),
        mean_energy=float(np.average(samples.energies, weights=samples.occurrences)),
        chain_break_fraction=samples.chain_break_fraction,
    )
