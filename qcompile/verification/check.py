"""The records of a verification, and how far rounding may take a sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["TELLING", "UNIT", "Check", "Verification", "rounding"]


UNIT = 2.0**-53  # the largest relative error of one operation

# A comparison in which rounding may hide more than this share of the largest number tells nothing.
TELLING = 1e-4


def rounding(steps: int) -> float:
    """Return the share of what was added up that rounding may have changed.

    What was added up is the sum of the sizes of all numbers, signs ignored. Each of n operations in
    a row is off by up to 2^-53 of it. Their errors have either sign, so that together they come to
    about √n of these; the bound is eight times as large, with some operations to spare. It has no
    part that does not shrink with the numbers.

    >>> rounding(100) < 1e-13
    True
    """
    return 8 * UNIT * (16 + math.sqrt(steps))


@dataclass(frozen=True)
class Check:
    """One check: whether it holds, and what was proved or where it fails."""

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    """All checks of a QUBO."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that failed."""
        return tuple(check.name for check in self.checks if not check.holds)
