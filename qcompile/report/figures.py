"""The records that a page shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.training.risks import Risk

__all__ = [
    "BINS",
    "TITLES",
    "AncillaNumbers",
    "Budget",
    "Chip",
    "Confusion",
    "Energies",
    "Histogram",
    "LossCurve",
    "MachineRow",
    "Report",
    "Stage",
    "Weights",
    "counted",
    "histogram_of",
]


BINS = 24
TITLES = {
    "loss": "the loss against 0-1",
    "budget": "qubits against machines",
    "ancillas": "ancillas and penalties",
    "chip": "the embedding on the chip",
    "energies": "energies of the samples",
    "weights": "weights",
    "confusion": "confusion matrix",
    "risks": "where accuracy is lost",
}


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline: what came out of it and how large that is."""

    name: str
    size: str
    details: tuple[str, ...]
    made_by: str


@dataclass(frozen=True)
class Histogram:
    """Counts between edges, for one or more series; `whole`: of whole numbers, edges between."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class LossCurve:
    """A loss over margins; `margins` are those of the rows, where they are known.

    `slope` says whether right answers cost less than wrong ones (-1), more (1), or the same (0).
    Beyond -`turn` more wrong costs less, `for_good` if the loss never rises again there.
    """

    points: tuple[tuple[float, float], ...]
    reach: float
    order: int
    fit: str
    coefficients: tuple[float, ...]
    slope: int
    turn: float | None
    for_good: bool
    margins: Histogram | None = None
    outside: int = 0


@dataclass(frozen=True)
class MachineRow:
    """What a machine has and what the problem takes of it.

    `measured` by an embedding, and if so whether it was on the `ideal` graph without dead qubits.
    """

    name: str
    title: str
    has: int
    takes: int | None
    fits: bool | None
    measured: bool
    ideal: bool = False


@dataclass(frozen=True)
class Budget:
    """Qubits before embedding, and on each machine.

    `assumed`: as many ancillas as a complete polynomial needs; None where nobody knows. `order` is
    that of the polynomial, 4 or more where ancillas meet; `complete` if (nearly) all terms are
    there, as the formula for chains takes for granted.
    """

    bits: int
    ancillas: int | None
    assumed: bool
    order: int
    complete: bool
    machines: tuple[MachineRow, ...] = ()

    @property
    def logical(self) -> int:
        """Qubits before embedding, as far as they are known."""
        return self.bits + (self.ancillas or 0)

    @property
    def surely(self) -> int:
        """Qubits that it takes whatever is not known."""
        return self.bits if self.assumed and not self.complete else self.logical


@dataclass(frozen=True)
class AncillaNumbers:
    """How many terms pass through an ancilla, and how strong the gates are."""

    count: int
    terms: Histogram
    strengths: Histogram | None
    about: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Chip:
    """Places of qubits from 0 to 1 and the chains on them.

    Of the qubits in chains every `every`-th is drawn, of the free ones every `every_free`-th.
    """

    machine: str
    qubits: int
    used: int
    free: tuple[tuple[float, float], ...]
    chains: tuple[Any, ...]
    spacing: float
    lengths: Histogram
    longest: int
    mean: float
    every: int = 1
    every_free: int = 1
    closer: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Energies:
    """Energies of samples, each as often as it was read; whole chains and broken ones apart.

    `about` says of what there are `reads`, which are `unit`s, and `shares` whether they are all
    that there were. Counts that the samples do not tell for sure are not `exact`.
    """

    histogram: Histogram
    about: str
    unit: str
    shares: bool
    reads: int
    distinct: int
    lowest: float
    at_lowest: int
    ground: float | None
    ground_from: str
    ground_found: bool
    chained: bool
    discarded: int | None
    broken_reads: int
    broken_exact: bool
    break_fraction: float
    breaks: Histogram | None
    wrong_ancillas: int
    wrong_exact: bool


@dataclass(frozen=True)
class Weights:
    """The largest weights by column; `limits` are the smallest and the largest that can be."""

    rows: tuple[tuple[str, float], ...]
    total: int
    zeros: int
    limits: tuple[float, float] | None
    first_column: int
    has_bias: bool


@dataclass(frozen=True)
class Confusion:
    """Answers against truth; labels as they are in the data."""

    part: str
    positive: str
    negative: str
    true_positive: int
    false_negative: int
    false_positive: int
    true_negative: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.right + self.wrong

    @property
    def right(self) -> int:
        """Rows that were answered rightly."""
        return self.true_positive + self.true_negative

    @property
    def wrong(self) -> int:
        """Rows that were not."""
        return self.false_negative + self.false_positive


@dataclass(frozen=True)
class Report:
    """All that the page shows; a section is None or empty where its ingredients are missing."""

    name: str
    facts: tuple[tuple[str, str], ...]
    pipeline: tuple[Stage, ...]
    loss: LossCurve | None
    budget: Budget | None
    ancillas: AncillaNumbers | None
    chip: Chip | None
    energies: Energies | None
    weights: Weights | None
    confusion: tuple[Confusion, ...]
    risks: tuple[Risk, ...]
    notes: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the sections that there are."""
        return tuple(name for name in TITLES if getattr(self, name))


def histogram_of(
    edges: Any, counts: Iterable[Any], *, log: bool = False, whole: bool = False
) -> Histogram:
    """Return the record of a histogram."""
    return Histogram(
        tuple(float(e) for e in edges),
        tuple(tuple(int(c) for c in np.rint(series)) for series in counts),
        log,
        whole,
    )


def counted(values: NDArray[Any]) -> Histogram:
    """Count whole numbers, in steps that are few enough to be seen."""
    low, high = int(values.min()), int(values.max())
    step = -(-(high - low + 1) // BINS)
    count = -(-(high - low + 1) // step)
    edges = low - 0.5 + step * np.arange(count + 1, dtype=np.float64)
    return histogram_of(edges, [np.histogram(values, edges)[0]], whole=True)
