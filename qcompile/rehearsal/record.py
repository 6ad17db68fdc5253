"""What a rehearsal tells: records of its draws, its chain strengths, its reads and its bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qcompile.stages.record import Record

__all__ = ["BitsRehearsed", "Draw", "Figure", "Rehearsal", "StrengthRehearsed", "figure_of"]


@dataclass(frozen=True)
class Figure(Record):
    """The mean over draws of the errors, and the standard deviation from draw to draw."""

    mean: float
    spread: float


def figure_of(values: Sequence[float]) -> Figure:
    """Return mean and spread.

    >>> figure_of([1.0, 3.0])
    Figure(mean=2.0, spread=1.0)
    """
    return Figure(float(np.mean(values)), float(np.std(values)))


@dataclass(frozen=True)
class Draw(Record):
    """The reads of one draw of the errors.

    `best` is the share of reads in the best known state, `broken` the mean share of broken chains.
    `mean_above` and `lowest_above` are energies above that of the best state: of all reads, and of
    the lowest one. `error_above` is the classification error of the lowest read above that of the
    best state; None without rows.
    """

    best: float
    broken: float
    mean_above: float
    lowest_above: float
    error_above: float | None = None


@dataclass(frozen=True)
class StrengthRehearsed(Record):
    """The draws at one inverse temperature and one chain strength, `factor` times the usual one.

    `reads_for_best` is the number of reads of which one is in the best state with a chance of 99%,
    and `reads_within` the number for an energy within the tolerance; None if no number was found.
    `lowest_by_reads` pairs numbers of reads with the energy above the best that their lowest is
    expected to have.
    """

    beta: float
    factor: float
    chain_strength: float
    scale_factor: float
    draws: tuple[Draw, ...]
    reads_for_best: int | None
    reads_within: int | None
    lowest_by_reads: tuple[tuple[int, float], ...]

    @property
    def best(self) -> Figure:
        """The share of reads in the best known state."""
        return self._over(lambda draw: draw.best)

    @property
    def broken(self) -> Figure:
        """The share of broken chains."""
        return self._over(lambda draw: draw.broken)

    @property
    def mean_above(self) -> Figure:
        """The mean energy of the reads above the best known one."""
        return self._over(lambda draw: draw.mean_above)

    @property
    def lowest_above(self) -> Figure:
        """The lowest energy of the reads above the best known one."""
        return self._over(lambda draw: draw.lowest_above)

    @property
    def error_above(self) -> Figure | None:
        """What the errors cost in classification error; None without rows."""
        known = [draw.error_above for draw in self.draws if draw.error_above is not None]
        return figure_of(known) if known else None

    def _over(self, value: Callable[[Draw], float]) -> Figure:
        return figure_of([value(draw) for draw in self.draws])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key: figures over the draws, and the draws."""
        values = super().to_dict()
        draws = values.pop("draws")
        figures = {
            "share_in_best_state": self.best,
            "share_of_chains_broken": self.broken,
            "mean_energy_above_best": self.mean_above,
            "lowest_energy_above_best": self.lowest_above,
            "error_above_best": self.error_above,
        }
        return {**values, **figures, "draws": draws}


@dataclass(frozen=True)
class BitsRehearsed(Record):
    """The same data compiled with another number of bits a weight, on the same machine.

    `best_error` is that of the best known state, `error` that of the lowest reads.
    """

    bits: int
    variables: int
    qubits: int
    best_error: float
    error: Figure


@dataclass(frozen=True)
class Rehearsal(Record):
    """What a simulated machine with errors makes of a problem; no real machine was used.

    `best_energy` is the lowest energy that is known, found by `best_by`. `span` is the mean energy
    of random states above it, and `tolerance` the share of it that counts as near the best. `tried`
    has all inverse temperatures and chain strengths in order, and `chosen` for each temperature the
    strength whose lowest read is expected to be the lowest. `bits` compares other numbers of bits,
    if that was asked for. `interrupted` says that fewer draws were made than asked for.
    """

    machine: str
    variables: int
    qubits: int
    longest_chain: int
    working_qubits: int
    engine: str
    sweeps: int
    reads: int
    draws: int
    sigma_h: float
    sigma_j: float
    errors_source: str
    betas: tuple[float, ...]
    beta_sources: tuple[str, ...]
    best_energy: float
    best_by: str
    best_error: float | None
    span: float
    tolerance: float
    tried: tuple[StrengthRehearsed, ...]
    bits: tuple[BitsRehearsed, ...] = ()
    interrupted: bool = False

    @property
    def chosen(self) -> tuple[StrengthRehearsed, ...]:
        """For each inverse temperature the strength whose lowest read is the lowest on average.

        Of equals that with the lower mean energy is taken.
        """
        return tuple(
            min(
                (one for one in self.tried if one.beta == beta),
                key=lambda one: (one.lowest_by_reads[-1][1], one.mean_above.mean),
            )
            for beta in self.betas
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key; the chosen strengths among them."""
        return {**super().to_dict(), "chosen": self.chosen}
