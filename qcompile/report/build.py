"""What a page about a run shows, as plain data: no drawing here, and nothing left to work out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.svmlight import shortest
from qcompile.errors import InputError
from qcompile.report.run import Run
from qcompile.report.svg import many, number
from qcompile.stages.artifacts import Encoding, Floats, Loss, Pubo, Qubo

if TYPE_CHECKING:
    from qcompile.stages.machines import Machine
    from qcompile.stages.samples import Samples

__all__ = ["Report", "report_of"]

_BINS = 24
_MOST_WEIGHTS = 40
_GROUND_BITS = 20
_MOST_FREE, _MOST_LINKS = 8_000, 20_000

# Energies that differ by less are equal: a share of their spread, but no more than of their size.
_SAME, _SAME_SIZE, _ROUNDING = 1e-6, 1e-9, 1e-13
# A graph with this share of all pairs is taken for complete, as the formula for chains does.
_COMPLETE = 0.9
_MOST_ORDER = 8
# Their samples are the lowest states of all reads, each once: nothing counts how often.
_POOLED = ("anneal", "exact")

# What each section needs beyond what a run may hold, for those that are left out.
_NEEDS = {
    "loss": "a loss (a problem compiled from data, or loss.json)",
    "budget": "a problem (qubo.json or pubo.json)",
    "ancillas": "a QUBO (qubo.json)",
    "chip": "an embedding (qcompile embed QUBO -o embedding.json)",
    "energies": "samples (samples.json of solve or submit) and their problem",
    "weights": "a classifier (model.json), or samples and a problem compiled from data",
    "confusion": "data with known labels (--data DATA, --test DATA) and a classifier",
    "risks": "--data DATA, what it was compiled from, with its problem and samples",
}
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
    risks: tuple[tuple[str, float, float], ...]
    notes: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the sections that there are."""
        return tuple(name for name in TITLES if getattr(self, name))


def report_of(run: Run) -> Report:
    """Work out everything that a page about this run can show."""
    report = Report(
        name=run.name,
        facts=tuple(_facts(run)),
        pipeline=tuple(_pipeline(run)),
        loss=_loss(run),
        budget=_budget(run),
        ancillas=_ancillas(run),
        chip=_chip(run),
        energies=_energies(run),
        weights=_weights(run),
        confusion=tuple(_confusion(run)),
        risks=tuple(
            (str(r["classifier"]), float(r["objective"]), float(r["0-1 risk"])) for r in run.risks
        ),
        notes=run.notes,
    )
    missing = tuple(
        (title, _why(run, name)) for name, title in TITLES.items() if not getattr(report, name)
    )
    if not report.shown:
        wanted = [why.removeprefix("needs ") for _, why in missing[:2]]
        raise InputError(f"{run.name}: nothing to show; needs {wanted[0]}, or {wanted[1]}")
    return replace(report, absent=missing)


def _why(run: Run, section: str) -> str:
    if section == "ancillas" and run.qubo is not None:
        return "nothing: this QUBO has no ancillas"
    return "needs " + run.reasons.get(section, _NEEDS[section])


# --- the stages --------------------------------------------------------------------------------


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    """Give the few numbers that one asks for first."""
    yield from run.told.items()
    problem = run.problem
    if run.qubo is not None:
        yield "logical qubits", f"{run.qubo.variables:,}"
    elif run.pubo is not None:
        yield "bits", f"{run.pubo.variables:,}"
    if run.embedding is not None:
        yield "physical qubits", f"{run.embedding.qubits:,}"
    if run.samples is not None and len(run.samples):
        yield "lowest energy", number(float(run.samples.energies.min()))
    if problem is not None and problem.encoding is not None:
        yield "bits a weight", f"{problem.encoding.bits}"
    for confusion in _confusion(run):
        yield f"error, {confusion.part}", f"{confusion.wrong / confusion.rows:.2%}"


def _pipeline(run: Run) -> Iterable[Stage]:
    """Give the stages that there are, in order, with their sizes."""
    yield from _data_stage(run)
    if run.moments is not None:
        sums = sum(len(tensor) for tensor in run.moments.tensors.values())
        yield Stage("moments", many(sums, "sum"), (f"order {run.moments.order}",), "sum")
    if run.loss is not None:
        details = (f"fit: {run.loss.fit}", f"weights up to {number(run.loss.zeta)}")
        yield Stage("loss", f"order {run.loss.order}", details, "fit")
    if run.pubo is not None:
        yield _pubo_stage(run.pubo)
    if run.qubo is not None:
        details = (
            f"{many(run.qubo.logical, 'bit')} + {many(len(run.qubo.ancillas), 'ancilla')}",
            many(len(run.qubo.first), "pair"),
        )
        yield Stage("QUBO", many(run.qubo.variables, "qubit"), details, "quadratize")
    # chains that the samples know nothing of stand apart
    apart = run.samples is not None and not _through_these(run)
    if not apart:
        yield from _chain_stage(run, "embed")
    if run.samples is not None:
        size, *details_ = _sampling(run).stage
        solver = str(run.samples.info.get("solver", "solver not named"))
        yield Stage("samples", size, (*details_, solver), "sample")
    if run.classifier is not None:
        weights = run.classifier.weights
        used = f"{int(np.count_nonzero(weights)):,} not 0"
        yield Stage("classifier", many(len(weights), "weight"), (used,), "decode")
    if apart:
        yield from _chain_stage(run, "")


def _data_stage(run: Run) -> Iterable[Stage]:
    rows, prepared = _data_rows(run), run.preparation
    details = [str(run.source.get("name", "data"))]
    sizes = [] if rows is None else [many(rows, "row")]
    if prepared is not None:
        sizes.append(many(prepared.raw_features, "column"))
        chosen = prepared.features - prepared.bias
        if prepared.columns is not None or prepared.bias:
            details.append(f"{chosen:,} chosen" + " + bias" * prepared.bias)
    if sizes:
        yield Stage("data", " × ".join(sizes), tuple(details), "")


def _data_rows(run: Run) -> int | None:
    training = [part for name, part in run.parts if name in ("train", "training rows")]
    if run.moments is not None:
        return run.moments.count
    if training:
        return len(training[0])
    said = run.source.get("rows")
    return said if isinstance(said, int) and not isinstance(said, bool) and said > 0 else None


def _pubo_stage(pubo: Pubo) -> Stage:
    if not pubo.num_terms:  # annealed over the margins
        details: tuple[str, ...] = ("never written out:", "annealed over the margins")
    else:
        counts = [f"{count:,} of degree {j}" for j, count in enumerate(pubo.terms, 1) if count]
        details = (f"{many(pubo.num_terms, 'term')}:", *counts)
    return Stage("polynomial", many(pubo.variables, "bit"), details, "discretize")


def _chain_stage(run: Run, made_by: str) -> Iterable[Stage]:
    chip = run.embedding
    if chip is not None:
        details = [chip.machine.name, f"longest chain {chip.longest}"]
        details += [] if made_by else ["these samples did not use it"]
        size = many(chip.qubits, "physical qubit")
        yield Stage("embedding", size, tuple(details), made_by)


def _chained(run: Run) -> bool:
    """Say whether the samples went through chains, by what they tell themselves."""
    if run.samples is None:
        return False
    told = run.samples.info
    timing = told.get("timing")
    # hybrid solvers name their space; they have time on a machine, but no chains of ours
    of_machine = isinstance(timing, dict) and "qpu_access_time" in timing and "space" not in told
    marked = "repair" in told or "embedding_context" in told
    return marked or of_machine or bool((run.samples.chain_breaks > 0).any())


def _through_these(run: Run) -> bool:
    """Say whether the samples went through the very chains that are at hand."""
    from qcompile.embedding.unembed import chains_id

    if run.samples is None or run.embedding is None or not _chained(run):
        return False
    return run.samples.info.get("chains") in (None, chains_id(run.embedding))


@dataclass(frozen=True)
class _Sampling:
    """What the samples are samples of: words for the page, words for the pipeline."""

    about: str
    stage: tuple[str, ...]
    unit: str
    shares: bool
    total: int
    distinct: int
    discarded: int | None


def _sampling(run: Run) -> _Sampling:
    """Tell reads from states: some solvers keep the lowest states only, each once."""
    samples = run.samples
    assert samples is not None
    total, distinct = int(samples.occurrences.sum()), len(np.unique(samples.bits, axis=0))
    solver = samples.info.get("solver")
    reads, discarded = _count(samples.info, "reads"), _count(samples.info, "discarded")
    states, kinds = many(distinct, "state"), many(distinct, "distinct state")
    sizes = (total, distinct, discarded if samples.info.get("repair") == "discard" else None)
    if solver == "exact":
        every = f"all 2^{samples.bits.shape[1]} states"
        lowest = f"lowest of {every}"
        return _Sampling(f"The {distinct:,} {lowest}", (states, lowest), "state", False, *sizes)
    if solver in _POOLED or (reads is not None and total + (discarded or 0) != reads):
        made = "all reads" if reads is None else many(reads, "read")
        if solver in _POOLED:
            about = f"The {distinct:,} lowest distinct states of {made}"
            return _Sampling(about, (states, f"lowest of {made}"), "state", False, *sizes)
        about = f"The {distinct:,} lowest distinct states, {total:,} of {made}"
        stage = (many(total, "read"), f"of {reads:,}: {distinct:,} distinct")
        return _Sampling(about, stage, "read", False, *sizes)
    unit = "sample" if reads is None else "read"
    about, stage = f"{many(total, unit)}, {kinds}", (many(total, unit), f"{distinct:,} distinct")
    return _Sampling(about, stage, unit, reads is not None or total > len(samples), *sizes)


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# --- the sections ------------------------------------------------------------------------------


def _loss(run: Run) -> LossCurve | None:
    loss = run.loss
    if loss is None:
        return None
    turn, for_good = _turn(loss)
    reach = 1.6 * _scale(loss, turn)
    margins = _margins(run)
    rows = 0 if margins is None else len(margins)
    if margins is not None:
        margins = margins[np.isfinite(margins)]
    if margins is not None and len(margins):
        # most rows should be seen, but the loss must not become a needle
        reach = min(4 * reach, max(reach, 1.05 * float(np.quantile(np.abs(margins), 0.98))))
    grid = np.linspace(-reach, reach, 241)
    with np.errstate(over="ignore", invalid="ignore"):
        values = loss(grid).tolist()
    histogram, outside = None, 0
    if margins is not None and len(margins):
        inside = margins[np.abs(margins) <= reach]
        outside = rows - len(inside)
        edges = np.linspace(-reach, reach, 41)
        histogram = _histogram(edges, [np.histogram(inside, edges)[0]])
    return LossCurve(
        points=tuple(
            (x, y) for x, y in zip(grid.tolist(), values, strict=True) if math.isfinite(y)
        ),
        reach=reach,
        order=loss.order,
        fit=loss.fit,
        coefficients=loss.coefficients,
        slope=next((int(np.sign(a)) for a in loss.coefficients[1::2] if a), 0),
        turn=turn,
        for_good=for_good,
        margins=histogram,
        outside=outside,
    )


def _turn(loss: Loss) -> tuple[float | None, bool]:
    """Give where the loss stops rising to the left, and whether it never rises again there.

    None where it does not, or where that is no use.
    """
    slopes = np.trim_zeros(np.polynomial.polynomial.polyder(np.array(loss.coefficients)), "b")
    left = -np.sort(-_real_roots(slopes)[_real_roots(slopes) < 0])
    if not len(left):
        return None, False
    # one place between each two roots, and one beyond the last
    places = np.concatenate([left[:1] / 2, (left[:-1] + left[1:]) / 2, 2 * left[-1:]])
    with np.errstate(all="ignore"):
        rises = np.polynomial.polynomial.polyval(places, slopes) < 0
    if not rises[0] or rises.all():
        return None, False
    first = int(np.argmin(rises))  # the first place where it does not
    turn = -float(left[first - 1])
    return (turn, not rises[first:].any()) if 1e-9 < turn < 1e9 else (None, False)


def _real_roots(polynomial: Floats) -> Floats:
    with np.errstate(all="ignore"):
        try:
            roots = np.polynomial.polynomial.polyroots(polynomial)
        except (np.linalg.LinAlgError, ValueError):  # coefficients of absurd sizes, or none
            return np.zeros(0)
    near = np.abs(roots.imag) <= 1e-9 * np.abs(roots)
    return np.asarray(roots[near].real, dtype=np.float64)


def _scale(loss: Loss, turn: float | None) -> float:
    """Give a margin up to which the loss is worth looking at."""
    if turn is not None:
        return turn
    if loss.omega is not None and loss.omega > 0:
        return float(loss.omega ** (-1 / loss.order))
    return 1.0


def _margins(run: Run) -> Floats | None:
    if run.classifier is None or not run.parts:
        return None
    return run.parts[0][1].margins(run.classifier.weights)


def _histogram(
    edges: Any, counts: Iterable[Any], *, log: bool = False, whole: bool = False
) -> Histogram:
    return Histogram(
        tuple(float(e) for e in edges),
        tuple(tuple(int(c) for c in np.rint(series)) for series in counts),
        log,
        whole,
    )


def _counted(values: NDArray[Any]) -> Histogram:
    """Count whole numbers, in steps that are few enough to be seen."""
    low, high = int(values.min()), int(values.max())
    step = -(-(high - low + 1) // _BINS)
    count = -(-(high - low + 1) // step)
    edges = low - 0.5 + step * np.arange(count + 1, dtype=np.float64)
    return _histogram(edges, [np.histogram(values, edges)[0]], whole=True)


def _budget(run: Run) -> Budget | None:
    needed = _of_qubo(run.qubo) if run.qubo is not None else _of_polynomial(run)
    return None if needed is None else replace(needed, machines=tuple(_machines(run, needed)))


def _of_qubo(qubo: Qubo) -> Budget:
    bits, ancillas = qubo.logical, len(qubo.ancillas)
    met = bool((qubo.first >= bits).any())  # pairs are in order: then both are ancillas
    nested = bool((qubo.ancillas.factors >= bits).any())
    order = 4 if met or nested else 3 if ancillas else 2
    whole = math.comb(bits, 2) + (math.comb(bits, 3) + 2 * ancillas if order == 3 else 0)
    return Budget(bits, ancillas, False, order, len(qubo.first) >= _COMPLETE * whole)


def _of_polynomial(run: Run) -> Budget | None:
    """Count, where there is no QUBO, as many ancillas as a complete polynomial needs."""
    from qcompile.reduction.estimate import estimate

    pubo = run.pubo
    if pubo is None or not pubo.variables:
        return None
    bits, order = pubo.variables, pubo.degree or (0 if run.loss is None else run.loss.order)
    if order > _MOST_ORDER:
        return Budget(bits, None, True, order, False)
    complete = order < 1 or sum(pubo.terms) >= _COMPLETE * sum(
        math.comb(bits, j) for j in range(1, order + 1)
    )
    if order <= 2:
        return Budget(bits, 0, False, 2, complete)
    return Budget(bits, estimate(order, bits, 1).ancillas, True, order, complete)


@cache
def _published() -> tuple[Machine, ...]:
    """Give the machines whose working qubits are published; their graphs are made once."""
    from qcompile.stages.machines import catalogue

    return tuple(machine for machine in catalogue().values() if machine.qubits is not None)


def _machines(run: Run, needed: Budget) -> Iterable[MachineRow]:
    """Say for each published machine, and for the one embedded on, what is needed of it."""
    embedding = run.embedding
    known = {machine.name: machine for machine in _published()}
    if embedding is not None:
        known[embedding.machine.name] = embedding.machine
    for name, machine in known.items():
        if embedding is not None and embedding.machine.name == name:
            yield _measured(machine, embedding.qubits)
        else:
            yield _estimated(machine, needed)


def _measured(machine: Machine, takes: int) -> MachineRow:
    nodes = len(machine.nodes)
    ideal = machine.qubits is not None and machine.qubits < nodes
    has = machine.qubits if ideal and machine.qubits is not None else nodes
    return MachineRow(machine.name, machine.title, has, takes, takes <= has or None, True, ideal)


def _estimated(machine: Machine, needed: Budget) -> MachineRow:
    """Go by the formula for complete polynomials: an upper estimate for all others."""
    from qcompile.embedding.capacity import physical_estimate

    has = machine.qubits or len(machine.nodes)
    told = physical_estimate(machine, needed.order, needed.bits, needed.ancillas or 0)
    takes: int | None = told["physical_qubits_about"]
    fits: bool | None = None
    if needed.surely > has:
        fits = False  # not even one qubit for each variable
    elif takes is not None and told["fits"] and takes <= has:
        fits = True
    elif takes is not None and needed.complete:
        fits = False
    return MachineRow(machine.name, machine.title, has, takes, fits, False)


def _ancillas(run: Run) -> AncillaNumbers | None:
    if run.qubo is None or not len(run.qubo.ancillas):
        return None
    table = run.qubo.ancillas
    terms = _counted(table.terms)
    about = [
        ("terms through an ancilla", _spread(table.terms)),
        ("gate strength against 0 where both factors are 1", _spread(table.on)),
        ("gate strength against 1 where a factor is 0", _spread(table.off)),
        ("largest coefficient of the QUBO", number(_largest(run.qubo))),
    ]
    return AncillaNumbers(len(table), terms, _strengths(table.on, table.off), tuple(about))


def _largest(qubo: Qubo) -> float:
    return max(float(np.abs(a).max(initial=0.0)) for a in (qubo.linear, qubo.quadratic))


def _spread(values: NDArray[Any]) -> str:
    low, middle, high = (float(np.quantile(values, q)) for q in (0, 0.5, 1))
    if low == high:
        return number(low)
    return f"{number(low)} to {number(high)}, median {number(middle)}"


def _strengths(on: Floats, off: Floats) -> Histogram | None:
    """Count gate strengths; over many orders of magnitude on a logarithmic scale."""
    both = np.concatenate([on, off])
    positive = both[both > 0]
    if not len(positive):
        return None
    low, high = float(positive.min()), float(positive.max())
    log = high > 30 * low and len(positive) == len(both)
    if log:
        edges = np.geomspace(low * 0.999, high * 1.001, _BINS + 1)
    else:
        low = float(both.min())
        room = max((high - low) * 1e-3, 1e-9 * high) if high > low else high * 0.1
        edges = np.linspace(low - room if low else 0.0, high + room, _BINS + 1)
    if not np.isfinite(edges).all():
        return None
    return _histogram(edges, [np.histogram(s, edges)[0] for s in (on, off)], log=log)


def _chip(run: Run) -> Chip | None:
    if run.embedding is None or not run.embedding.qubits:
        return None
    from qcompile.report.plot import layout

    machine, chains = run.embedding.machine, run.embedding.chains
    raw = layout(machine)
    low, high = raw.min(axis=0), raw.max(axis=0)
    size = float((high - low).max()) or 1.0
    place = (raw - low) / size + (1 - (high - low) / size) / 2
    owner = np.full(len(place), -1)
    for variable, chain in enumerate(chains):
        owner[np.searchsorted(machine.nodes, chain)] = variable
    first, second = machine.edges.T
    own = np.flatnonzero((owner[first] >= 0) & (owner[first] == owner[second]))
    free, used = np.flatnonzero(owner < 0), np.flatnonzero(owner >= 0)
    # each kind has its own step: many free qubits must not make chains vanish
    every = max(1, -(-len(own) // _MOST_LINKS), -(-len(used) // _MOST_LINKS))
    every_free = max(1, -(-len(free) // _MOST_FREE))
    links: dict[int, list[Any]] = {}
    for a, b in zip(first[own[::every]].tolist(), second[own[::every]].tolist(), strict=True):
        links.setdefault(int(owner[a]), []).append((_point(place[a]), _point(place[b])))
    dots: dict[int, list[Any]] = {}
    for q in used[::every].tolist():
        dots.setdefault(int(owner[q]), []).append(_point(place[q]))
    lengths = run.embedding.lengths
    return Chip(
        machine=machine.name,
        qubits=len(place),
        used=len(used),
        free=tuple(_point(place[q]) for q in free[::every_free].tolist()),
        chains=tuple((dots.get(v, []), links.get(v, [])) for v in range(len(chains))),
        spacing=1 / math.sqrt(len(place)),
        lengths=_counted(lengths),
        longest=run.embedding.longest,
        mean=float(lengths.mean()) if len(lengths) else 0.0,
        every=every,
        every_free=every_free,
        closer=_closer(place[used]),
    )


def _point(place: Floats) -> tuple[float, float]:
    return round(float(place[0]), 5), round(float(place[1]), 5)


def _closer(used: Floats) -> tuple[float, float, float] | None:
    """Give the square around what is used (left, bottom, side), if it is a small part."""
    if not len(used):
        return None
    low, high = used.min(axis=0), used.max(axis=0)
    side = float((high - low).max()) * 1.08 + 0.01
    if side > 0.6:
        return None
    corner = np.clip((low + high) / 2 - side / 2, -0.01, 1.01 - side)
    return float(corner[0]), float(corner[1]), side


def _energies(run: Run) -> Energies | None:
    samples = run.samples
    if samples is None or not len(samples):
        return None
    values, times = samples.energies, samples.occurrences
    lowest, highest = float(values.min()), float(values.max())
    ground, how = _ground(run)
    low = lowest if ground is None else min(lowest, ground)
    near = _near(low, highest)
    edges = _energy_edges(low, highest)
    counted, wrong = samples.reads_with_broken_chain, samples.reads_with_wrong_ancilla
    broken = np.where(samples.chain_breaks > 0, times, 0) if counted is None else counted
    series = [np.histogram(values, edges, weights=w)[0] for w in (times - broken, broken)]
    sampling = _sampling(run)
    return Energies(
        histogram=_histogram(edges, series),
        about=sampling.about,
        unit=sampling.unit,
        shares=sampling.shares,
        reads=sampling.total,
        distinct=sampling.distinct,
        lowest=lowest,
        at_lowest=int(times[values <= lowest + near].sum()),
        ground=ground,
        ground_from=how,
        ground_found=ground is not None and lowest <= ground + near,
        chained=_chained(run),
        discarded=sampling.discarded,
        broken_reads=int(broken.sum()),
        broken_exact=counted is not None,
        break_fraction=samples.chain_break_fraction,
        breaks=_breaks(samples),
        wrong_ancillas=int((times[samples.violations > 0] if wrong is None else wrong).sum()),
        wrong_exact=wrong is not None,
    )


def _breaks(samples: Samples) -> Histogram | None:
    shares = samples.chain_breaks
    if not (shares > 0).any():
        return None
    steps = np.linspace(0, float(shares.max()) * 1.001, _BINS + 1)
    return _histogram(steps, [np.histogram(shares, steps, weights=samples.occurrences)[0]])


def _near(low: float, high: float) -> float:
    """Give by how much energies may differ that are the same."""
    size = max(abs(low), abs(high))
    return max(_ROUNDING * size, min(_SAME_SIZE * size, _SAME * (high - low)))


def _energy_edges(low: float, high: float) -> Floats:
    room = (high - low) / (_BINS - 1) / 2
    size = max(abs(low), abs(high))
    if room <= _ROUNDING * size:  # all the same but for rounding: one bar in the middle
        room = 0.02 * size or 1e-3
    return np.linspace(low - room, high + room, _BINS + 1)


def _ground(run: Run) -> tuple[float | None, str]:
    """Give the ground state's energy where it can be known, and how."""
    from qcompile.solvers.solve import solve

    problem = run.problem
    if problem is None or (isinstance(problem, Pubo) and not problem.num_terms):
        return None, "not known"
    bits = problem.logical if isinstance(problem, Qubo) else problem.variables
    if bits > _GROUND_BITS:
        if run.samples is not None and run.samples.info.get("solver") == "exact":
            return float(run.samples.energies.min()), "by the exact solver"
        return None, f"not known: {bits} bits are too many to try all"
    found = solve(problem, solver="exact", keep=1)
    return float(found.energies[0]), f"of all 2^{bits} states"


def _weights(run: Run) -> Weights | None:
    if run.classifier is None:
        return None
    values, prepared = run.classifier.weights, run.classifier.preparation
    base = run.source.get("index_base")
    base = base if base in (0, 1) else 0
    columns = range(len(values)) if prepared.columns is None else prepared.columns.tolist()
    names = [f"x{column + base}" for column in columns]
    if prepared.bias:
        names = [*names[: len(values) - 1], "bias"]
    order = np.argsort(-np.abs(values), kind="stable")[:_MOST_WEIGHTS].tolist()
    return Weights(
        rows=tuple((names[i], float(values[i])) for i in order),
        total=len(values),
        zeros=int(np.count_nonzero(values == 0)),
        limits=_limits(None if run.problem is None else run.problem.encoding),
        first_column=base,
        has_bias=prepared.bias,
    )


def _limits(encoding: Encoding | None) -> tuple[float, float] | None:
    """Give the smallest and the largest weight that the bits can say."""
    if encoding is None:
        return None
    if encoding.bounds is None:
        return float(encoding.levels[0]), float(encoding.levels[-1])
    low = min(bound[0] for bound in encoding.bounds)
    high = max(bound[1] for bound in encoding.bounds)
    return low * encoding.step, high * encoding.step


def _confusion(run: Run) -> Iterable[Confusion]:
    if run.classifier is None:
        return
    prepared = run.classifier.preparation
    negative = "all others" if prepared.negative is None else shortest(prepared.negative)
    for name, rows in run.parts:
        if not len(rows):
            continue
        said, true = np.asarray(rows.x @ run.classifier.weights) > 0, rows.y > 0
        yield Confusion(
            part=name,
            positive=shortest(prepared.positive),
            negative=negative,
            true_positive=int(np.count_nonzero(said & true)),
            false_negative=int(np.count_nonzero(~said & true)),
            false_positive=int(np.count_nonzero(said & ~true)),
            true_negative=int(np.count_nonzero(~said & ~true)),
        )
