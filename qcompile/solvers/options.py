"""Options of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["SolveOptions"]


@dataclass(frozen=True)
class SolveOptions:
    """How to look for the best classifier; see `qcompile.solve`."""

    solver: Any = "anneal"
    reads: int = 100
    keep: int = 50
    sweeps: int | None = None
    seed: int = 0
    parameters: Mapping[str, Any] | None = None
