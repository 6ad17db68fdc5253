"""Options of a search, and what its samples record about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qcompile.stages.record import Record

__all__ = ["ANNEALING", "RESTARTED", "SolveInfo", "SolveOptions"]


# Solvers whose restarts run on a cluster and end early, on the polynomial itself; and those that
# anneal weights or margins where that is better.
RESTARTED = ("auto", "anneal", "memetic")
ANNEALING = ("auto", "anneal")


@dataclass(frozen=True)
class SolveOptions:
    """How to search for the best classifier; see `qcompile.solve`."""

    solver: Any = "anneal"
    reads: int = 100
    keep: int = 50
    sweeps: int | None = None
    seed: int = 0
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class SolveInfo(Record):
    """How samples were found: entries of ``Samples.info``; those that are None are left out."""

    solver: str
    space: str | None = None
    seed: int | None = None
    reads: int | None = None
    sweeps: int | None = None
    seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key, without None."""
        return {key: value for key, value in super().to_dict().items() if value is not None}
