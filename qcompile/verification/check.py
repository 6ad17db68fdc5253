"""The records of a verification."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RELATIVE", "ROUNDING", "Check", "Verification"]


RELATIVE = 1e-10
ROUNDING = 2e-13  # what adding up in another order may change, against the sizes added


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
