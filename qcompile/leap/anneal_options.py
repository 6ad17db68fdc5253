"""How experts use a QPU: copies, gauges, refinement, schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from qcompile.errors import InputError
from qcompile.leap.annealing import Points, anneal_parameters
from qcompile.leap.records import MOST_COPIES
from qcompile.leap.refinement import Known

__all__ = ["AnnealOptions"]


@dataclass(frozen=True, eq=False)
class AnnealOptions:
    """What is asked of a QPU beside reads and chains.

    `copies` of the problem are annealed at once: a number, "auto" for all that fit, or None for
    those that are given with their chains, else one. The reads are shared by `gauges` problems,
    each with a spin-reversal transform of its own. `refine` is a known state to anneal from in
    reverse: samples, a classifier or bits; every read starts from it, or with `reinitialize` False
    from the read before. `anneal_schedule` has points of time and s. `fast_anneal` asks for the
    fast protocol, `h_gain` for a gain of all fields.
    """

    copies: int | str | None = None
    gauges: int | None = None
    refine: Known | None = None
    reinitialize: bool = True
    anneal_schedule: Points | None = None
    fast_anneal: bool = False
    h_gain: float | Points | None = None

    def __post_init__(self) -> None:
        wanted = self.copies
        plain = isinstance(wanted, int) and not isinstance(wanted, bool)
        if wanted not in (None, "auto") and not (plain and 1 <= int(wanted or 0) <= MOST_COPIES):
            raise InputError(f"copies {self.copies!r}; expected auto or 1 to {MOST_COPIES}")
        if self.gauges is not None and self.gauges < 1:
            raise InputError(f"{self.gauges} gauges; expected at least 1")
        if not self.reinitialize and self.refine is None:
            raise InputError("reinitialize=False goes with refine= only")

    @property
    def named(self) -> list[str]:
        """The options that are not left at their defaults, as parameters of Python."""
        return [
            f"{field.name}="
            for field in fields(self)
            if getattr(self, field.name) is not field.default
            and not (field.name == "copies" and self.copies == 1)
        ]

    def parameters(self, solver: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a solver for these options and those given, checked."""
        return anneal_parameters(
            solver,
            given,
            anneal_schedule=self.anneal_schedule,
            fast_anneal=self.fast_anneal,
            h_gain=self.h_gain,
            refine=self.refine is not None,
            reinitialize=self.reinitialize,
        )
