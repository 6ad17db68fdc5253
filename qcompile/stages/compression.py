"""What a QUBO of reduced dynamic range keeps of its polynomial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qcompile.stages.display import Displayed, many

__all__ = ["MOST_BITS", "Compression"]


MOST_BITS = 24  # the claim is proved by all assignments: energies of more take gigabytes


@dataclass(frozen=True, repr=False)
class Compression(Displayed):
    """A minimum that stays without small terms, and how much of the heights above it is left.

    The height of an assignment is its energy less that of the `minimiser`, which holds the logical
    bits of a minimum of the polynomial. In the QUBO, with the best ancillas, every assignment has
    at least `share` times its height in the polynomial.
    """

    minimiser: tuple[int, ...]
    share: float

    def _line(self) -> str:
        return f"{many(len(self.minimiser), 'bit')}, {self.share:.0%} of every height kept"

    def _facts(self) -> Mapping[str, object]:
        return {"bits": len(self.minimiser), "share of heights kept": self.share}
