"""Records of what a page shows, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcompile.training.l2_path import L2Trial
from qcompile.training.risks import Risk
from qcompile.training.rounds import Round

if TYPE_CHECKING:
    from qcompile.rehearsal.record import Rehearsal

__all__ = [
    "BINS",
    "HUES",
    "TITLES",
    "AncillaNumbers",
    "Budget",
    "Chain",
    "Chip",
    "Confusion",
    "Copy",
    "Energies",
    "Histogram",
    "LossCurve",
    "MachineRow",
    "Reliability",
    "ReliabilityBin",
    "Report",
    "Stage",
    "SuspectTable",
    "Trace",
    "Weights",
    "counted",
    "histogram_of",
]


BINS = 24
HUES = 10  # colours of chains in the stylesheet
TITLES = {
    "rounds": "the rounds of the training",
    "loss": "the loss against 0-1",
    "budget": "qubits against machines",
    "ancillas": "ancillas and penalties",
    "chip": "the embedding on the chip",
    "energies": "energies of the samples",
    "weights": "weights",
    "confusion": "confusion matrix",
    "calibration": "calibration of the probabilities",
    "suspects": "rows that are likely mislabelled",
    "risks": "where accuracy is lost",
}


@dataclass(frozen=True)
class Stage:
    """A stage of the pipeline: its name, its size, details, and the pass that made it."""

    name: str
    size: str
    details: tuple[str, ...]
    made_by: str


@dataclass(frozen=True)
class Histogram:
    """Counts between edges, for one or more series; `whole`: the values are whole numbers."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class LossCurve:
    """A loss over margins; `margins` are those of the rows, if they are known.

    `slope` is -1 if right answers cost less than wrong ones, 1 if they cost more, 0 if the same.
    To the left of -`turn` the loss falls; `for_good` says that it never rises again there.
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
    """The qubits that a machine has and those that the problem takes.

    `measured` says that they were counted in an embedding, `ideal` that its graph has no dead
    qubits, `whole` that the chains are those of a complete graph, `impossible` that the counts
    prove that no embedding exists.
    """

    name: str
    title: str
    has: int
    takes: int | None
    fits: bool | None
    measured: bool
    ideal: bool = False
    whole: bool = False
    impossible: bool = False


@dataclass(frozen=True)
class Budget:
    """Qubits before embedding, and on each machine.

    `ancillas` is None if not known; `assumed` says that it is the number of a complete polynomial.
    `order` is that of the polynomial, 4 or more if ancillas are coupled. `complete` says that
    (nearly) all terms exist, as the formula for chains assumes. `precision` says what a machine's
    ranges leave of the coefficients.
    """

    bits: int
    ancillas: int | None
    assumed: bool
    order: int
    complete: bool
    machines: tuple[MachineRow, ...] = ()
    precision: tuple[tuple[str, str], ...] = ()

    @property
    def logical(self) -> int:
        """The known number of qubits before embedding."""
        return self.bits + (self.ancillas or 0)

    @property
    def surely(self) -> int:
        """A number of qubits that is needed in any case."""
        return self.bits if self.assumed and not self.complete else self.logical


@dataclass(frozen=True)
class AncillaNumbers:
    """The number of terms that pass through each ancilla, and the strengths of the gates."""

    count: int
    terms: Histogram
    strengths: Histogram | None
    about: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Chain:
    """A chain as it is drawn: places of its qubits, and pairs of places for its couplers.

    `copy` is the number of the copy that it belongs to, counted from 0.
    """

    variable: int
    copy: int
    dots: tuple[tuple[float, float], ...]
    links: tuple[tuple[tuple[float, float], tuple[float, float]], ...]


@dataclass(frozen=True)
class Copy:
    """A copy of the problem on a chip; copies that touch have different shades if possible."""

    chains: int
    qubits: int
    longest: int
    shade: int
    middle: tuple[float, float]


@dataclass(frozen=True)
class Chip:
    """The chains on a chip, of one or more copies of a problem; places of qubits go from 0 to 1.

    `colours` has for each colour the number of chains, their qubits, and the length of the
    shortest and of the longest. `qubits_by_length` belongs to the bars of `lengths`. One in `every`
    qubits of chains is drawn, and one in `every_free` free qubits. `precision` is what the
    machine's ranges leave of the coefficients, chains included.
    """

    machine: str
    qubits: int
    used: int
    free: tuple[tuple[float, float], ...]
    chains: tuple[Chain, ...]
    copies: tuple[Copy, ...]
    spacing: float
    colours: tuple[tuple[int, int, int, int], ...]
    lengths: Histogram
    qubits_by_length: tuple[int, ...]
    longest: int
    mean: float
    every: int = 1
    every_free: int = 1
    closer: tuple[float, float, float] | None = None
    precision: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Energies:
    """Energies of samples, each as often as it was read, without and with broken chains.

    `about` says in words what the samples are; they are counted in `unit`s. `shares` says that all
    reads are among them, so that shares make sense. Counts that the samples do not record are not
    `exact`.
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
class Trace:
    """The rounds of a training, and how the price `l2` of the weights was chosen.

    `objective` is F of the classifier, `descent` what L-BFGS reaches, or None if it was not
    tried. `chained` says that the solver had chains, `by_descent` that it was descent itself.
    """

    rounds: tuple[Round, ...]
    objective: float
    descent: float | None
    l2: float | None
    trials: tuple[L2Trial, ...]
    chained: bool
    by_descent: bool = False

    @property
    def starts(self) -> tuple[tuple[Round, ...], ...]:
        """The rounds of each start that made any."""
        numbers = sorted({own.start for own in self.rounds})
        return tuple(tuple(r for r in self.rounds if r.start == number) for number in numbers)

    @property
    def before(self) -> tuple[float, ...]:
        """F of each of these starts before its first round."""
        first = [rounds[0] for rounds in self.starts]
        return tuple(r.objective - (0.0 if r.rank is None else r.reached) for r in first)

    @property
    def last(self) -> int:
        """The number of the last round, counted from 1; 0 without rounds."""
        return max((own.number + 1 for own in self.rounds), default=0)


@dataclass(frozen=True)
class Weights:
    """The largest weights by column; `limits` are the smallest and the largest possible weight.

    `named` is whether the columns have names. `in_units` are the same weights in units of the data,
    none if rows were brought to unit norm.
    """

    rows: tuple[tuple[str, float], ...]
    total: int
    zeros: int
    limits: tuple[float, float] | None
    first_column: int
    has_bias: bool
    named: bool = False
    in_units: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows of similar probability: its mean, how many are positive, and the interval of that."""

    predicted: float
    positive: int
    count: int
    low: float
    high: float


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities of the positive label against the labels of a part of the data."""

    part: str
    positive: str
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True)
class SuspectTable:
    """Rows that are likely mislabelled: their counts, and the `first` of them.

    Each of them is its number from 1 on, its label, its margin, and the probability that the label
    is wrong. `rates` are the estimated shares of wrong labels, by the true one of `labels`.
    """

    rows: int
    contradicted: int
    given_up: int
    likely: int
    rates: tuple[float, float]
    labels: tuple[str, str]
    first: tuple[tuple[int, str, float, float], ...]


@dataclass(frozen=True)
class Confusion:
    """Counts of answers against true labels; labels are those of the data."""

    part: str
    positive: str
    negative: str
    true_positive: int
    false_negative: int
    false_positive: int
    true_negative: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.right + self.wrong

    @property
    def right(self) -> int:
        """The number of right answers."""
        return self.true_positive + self.true_negative

    @property
    def wrong(self) -> int:
        """The number of wrong answers."""
        return self.false_negative + self.false_positive

    @property
    def baseline(self) -> int:
        """The number of wrong answers of always giving the more common label."""
        positive = self.true_positive + self.false_negative
        return min(positive, self.rows - positive)


@dataclass(frozen=True)
class Report:
    """All sections of the page; one is None or empty if the run lacks what it needs."""

    name: str
    facts: tuple[tuple[str, str], ...]
    pipeline: tuple[Stage, ...]
    loss: LossCurve | None
    budget: Budget | None
    ancillas: AncillaNumbers | None
    chip: Chip | None
    rounds: Trace | None
    energies: Energies | None
    weights: Weights | None
    confusion: tuple[Confusion, ...]
    calibration: tuple[Reliability, ...]
    suspects: SuspectTable | None
    risks: tuple[Risk, ...]
    rehearsal: Rehearsal | None = None
    in_rounds: bool = False
    notes: tuple[str, ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    absent: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the sections that are not missing."""
        return tuple(name for name in TITLES if getattr(self, name))


def histogram_of(
    edges: Any, counts: Iterable[Any], *, log: bool = False, whole: bool = False
) -> Histogram:
    """Return a histogram of plain numbers."""
    return Histogram(
        tuple(float(e) for e in edges),
        tuple(tuple(int(c) for c in np.rint(series)) for series in counts),
        log,
        whole,
    )


def counted(values: NDArray[Any]) -> Histogram:
    """Return a histogram of whole numbers with at most `BINS` bars."""
    low, high = int(values.min()), int(values.max())
    step = -(-(high - low + 1) // BINS)
    count = -(-(high - low + 1) // step)
    edges = low - 0.5 + step * np.arange(count + 1, dtype=np.float64)
    return histogram_of(edges, [np.histogram(values, edges)[0]], whole=True)
