"""What a page about a run shows, as plain data: no drawing here, and nothing left to work out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcompile.artifacts import Floats, Loss, Pubo, Qubo
from qcompile.errors import InputError
from qcompile.run_files import Run
from qcompile.svg import number
from qcompile.svmlight import shortest

if TYPE_CHECKING:
    from qcompile.machines import Machine

__all__ = ["Report", "report_of"]

_BINS = 24
_MOST_WEIGHTS = 40
_GROUND_BITS = 20
_MOST_FREE, _MOST_LINKS = 8_000, 20_000

_SAME = 1e-9

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
    """A loss over margins; `margins` are those of the rows, where they are known."""

    points: tuple[tuple[float, float], ...]
    reach: float
    order: int
    fit: str
    coefficients: tuple[float, ...]
    turn: float | None
    margins: Histogram | None = None
    outside: int = 0


@dataclass(frozen=True)
class MachineRow:
    """What a machine has and what the problem takes of it; `measured` by an embedding."""

    name: str
    title: str
    has: int
    takes: int | None
    fits: bool | None
    measured: bool


@dataclass(frozen=True)
class Budget:
    """Qubits before embedding, and on each machine; `assumed`: as of a complete polynomial."""

    bits: int
    ancillas: int
    assumed: bool
    machines: tuple[MachineRow, ...]

    @property
    def logical(self) -> int:
        """Qubits before embedding."""
        return self.bits + self.ancillas


@dataclass(frozen=True)
class AncillaNumbers:
    """How many terms pass through an ancilla, and how strong the gates are."""

    count: int
    terms: Histogram
    strengths: Histogram | None
    about: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Chip:
    """Places of qubits from 0 to 1 and the chains on them; `drawn` is every how many-th."""

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
    closer: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Energies:
    """Energies of samples, each as often as it was read; whole chains and broken ones apart."""

    histogram: Histogram
    reads: int
    distinct: int
    lowest: float
    at_lowest: int
    ground: float | None
    ground_from: str
    chained: bool
    broken_reads: int
    break_fraction: float
    breaks: Histogram | None
    wrong_ancillas: int


@dataclass(frozen=True)
class Weights:
    """The largest weights by column; `zeta` is the largest that can be."""

    rows: tuple[tuple[str, float], ...]
    total: int
    zeros: int
    zeta: float | None
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
        raise InputError(f"{run.name}: nothing to show; needs {missing[0][1]}, or {missing[1][1]}")
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
    rows, features = _data_size(run)
    name = str(run.source.get("name", "data"))
    if rows is not None or features is not None:
        sizes = [f"{rows:,} rows"] if rows is not None else []
        sizes += [f"{features:,} features"] if features is not None else []
        yield Stage("data", " × ".join(sizes), (name,), "")
    if run.moments is not None:
        sums = sum(len(tensor) for tensor in run.moments.tensors.values())
        yield Stage("moments", f"{sums:,} sums", (f"order {run.moments.order}",), "sum")
    if run.loss is not None:
        details = (f"fit: {run.loss.fit}", f"weights up to {number(run.loss.zeta)}")
        yield Stage("loss", f"order {run.loss.order}", details, "fit")
    if run.pubo is not None:
        yield _pubo_stage(run.pubo)
    if run.qubo is not None:
        details = (
            f"{run.qubo.logical:,} bits + {len(run.qubo.ancillas):,} ancillas",
            f"{len(run.qubo.first):,} pairs",
        )
        yield Stage("QUBO", f"{run.qubo.variables:,} qubits", details, "quadratize")
    if run.embedding is not None:
        chip = run.embedding
        details = (chip.machine.name, f"longest chain {chip.longest}")
        yield Stage("embedding", f"{chip.qubits:,} physical qubits", details, "embed")
    if run.samples is not None:
        reads, distinct = int(run.samples.occurrences.sum()), len(run.samples)
        solver = str(run.samples.info.get("solver", "solver not named"))
        yield Stage("samples", f"{reads:,} samples", (f"{distinct:,} distinct", solver), "sample")
    if run.classifier is not None:
        weights = run.classifier.weights
        used = f"{int(np.count_nonzero(weights)):,} not 0"
        yield Stage("classifier", f"{len(weights):,} weights", (used,), "decode")


def _data_size(run: Run) -> tuple[int | None, int | None]:
    rows: int | None = None
    training = [part for name, part in run.parts if name in ("train", "training rows")]
    said = run.source.get("rows")
    if run.moments is not None:
        rows = run.moments.count
    elif training:
        rows = len(training[0])
    elif isinstance(said, int) and not isinstance(said, bool) and said > 0:
        rows = said
    features = None if run.preparation is None else run.preparation.features
    return rows, features


def _pubo_stage(pubo: Pubo) -> Stage:
    if not pubo.num_terms:  # annealed over the margins
        details: tuple[str, ...] = ("never written out:", "annealed over the margins")
    else:
        counts = [f"{count:,} of degree {j}" for j, count in enumerate(pubo.terms, 1) if count]
        details = (f"{pubo.num_terms:,} terms:", *counts)
    return Stage("polynomial", f"{pubo.variables:,} bits", details, "discretize")


# --- the sections ------------------------------------------------------------------------------


def _loss(run: Run) -> LossCurve | None:
    loss = run.loss
    if loss is None:
        return None
    turn = _turn(loss)
    reach = 1.6 * _scale(loss, turn)
    margins = _margins(run)
    if margins is not None and len(margins):
        # most rows should be seen, but the loss must not become a needle
        reach = min(4 * reach, max(reach, 1.05 * float(np.quantile(np.abs(margins), 0.98))))
    grid = np.linspace(-reach, reach, 241)
    with np.errstate(over="ignore", invalid="ignore"):
        values = loss(grid).tolist()
    histogram, outside = None, 0
    if margins is not None and len(margins):
        inside = margins[np.abs(margins) <= reach]
        outside = len(margins) - len(inside)
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
        turn=turn,
        margins=histogram,
        outside=outside,
    )


def _turn(loss: Loss) -> float | None:
    """Give where the loss turns round; None where it does not, or where that is no use."""
    with np.errstate(all="ignore"):
        try:
            turn = loss.turn
        except np.linalg.LinAlgError:  # coefficients of absurd sizes
            return None
    return turn if 1e-9 < turn < 1e9 else None


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
    bits, ancillas, assumed = _needed(run)
    if bits is None:
        return None
    return Budget(bits, ancillas, assumed, tuple(_machines(run, bits, ancillas)))


def _needed(run: Run) -> tuple[int | None, int, bool]:
    """Give bits and ancillas; where there is no QUBO, as many as a complete polynomial needs."""
    from qcompile.estimate import estimate

    if run.qubo is not None:
        return run.qubo.logical, len(run.qubo.ancillas), False
    pubo = run.pubo
    if pubo is None or not pubo.variables:
        return None, 0, False
    order = pubo.degree or (0 if run.loss is None else run.loss.order)
    if order <= 2:
        return pubo.variables, 0, False
    return pubo.variables, estimate(order, pubo.variables, 1).ancillas, True


def _order(run: Run) -> int | None:
    if run.loss is not None:
        return run.loss.order
    return None if run.pubo is None else run.pubo.degree


@cache
def _published() -> tuple[Machine, ...]:
    """Give the machines whose working qubits are published; their graphs are made once."""
    from qcompile.machines import catalogue

    return tuple(machine for machine in catalogue().values() if machine.qubits is not None)


def _machines(run: Run, bits: int, ancillas: int) -> Iterable[MachineRow]:
    """Say for each published machine, and for the one embedded on, what is needed of it."""
    from qcompile.physical import physical_estimate

    order, embedding = _order(run), run.embedding
    known = {machine.name: machine for machine in _published()}
    if embedding is not None and embedding.machine.name not in known:
        known[embedding.machine.name] = embedding.machine
    for name, machine in known.items():
        if embedding is not None and embedding.machine.name == name:
            has = len(embedding.machine.nodes)
            yield MachineRow(name, machine.title, has, embedding.qubits, True, True)
            continue
        has = machine.qubits or len(machine.nodes)
        told = physical_estimate(machine, 9 if order is None else order, bits, ancillas)
        takes, fits = told["physical_qubits_about"], told["fits"]
        if bits + ancillas > has:
            fits = False  # not even one qubit for each variable
        elif fits is not None:
            fits = bool(fits) and takes <= has
        yield MachineRow(name, machine.title, has, takes, fits, False)


def _ancillas(run: Run) -> AncillaNumbers | None:
    if run.qubo is None or not len(run.qubo.ancillas):
        return None
    table = run.qubo.ancillas
    terms = _counted(table.terms)
    about = [
        ("terms through an ancilla", _spread(table.terms)),
        ("penalty of 0 where both factors are 1", _spread(table.on)),
        ("penalty of 1 where a factor is 0", _spread(table.off)),
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
    """Count penalties; over many orders of magnitude on a logarithmic scale."""
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
    from qcompile.plot import layout

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
    every = max(1, -(-len(own) // _MOST_LINKS), -(-len(used) // _MOST_LINKS))
    every = max(every, -(-len(free) // _MOST_FREE))
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
        free=tuple(_point(place[q]) for q in free[::every].tolist()),
        chains=tuple((dots.get(v, []), links.get(v, [])) for v in range(len(chains))),
        spacing=1 / math.sqrt(len(place)),
        lengths=_counted(lengths),
        longest=run.embedding.longest,
        mean=float(lengths.mean()) if len(lengths) else 0.0,
        every=every,
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
    lowest = float(values.min())
    ground, how = _ground(run)
    near = _SAME * max(1.0, float(np.abs(values).max()))
    edges = _energy_edges(min(lowest, lowest if ground is None else ground), float(values.max()))
    broken = samples.chain_breaks > 0
    series = [np.histogram(values[m], edges, weights=times[m])[0] for m in (~broken, broken)]
    breaks = None
    if broken.any():
        steps = np.linspace(0, float(samples.chain_breaks.max()) * 1.001, _BINS + 1)
        counts = np.histogram(samples.chain_breaks, steps, weights=times)[0]
        breaks = _histogram(steps, [counts])
    return Energies(
        histogram=_histogram(edges, series),
        reads=int(times.sum()),
        distinct=len(samples),
        lowest=lowest,
        at_lowest=int(times[values <= lowest + near].sum()),
        ground=ground,
        ground_from=how,
        chained=run.embedding is not None or bool(broken.any()),
        broken_reads=int(times[broken].sum()),
        break_fraction=samples.chain_break_fraction,
        breaks=breaks,
        wrong_ancillas=int(times[samples.violations > 0].sum()),
    )


def _energy_edges(low: float, high: float) -> Floats:
    room = (high - low) / (_BINS - 1) / 2
    size = max(abs(low), abs(high))
    if room <= 1e-9 * size:  # all the same but for rounding: one bar in the middle
        room = 0.02 * size or 1e-3
    return np.linspace(low - room, high + room, _BINS + 1)


def _ground(run: Run) -> tuple[float | None, str]:
    """Give the ground state's energy where it can be known, and how."""
    from qcompile.solve import solve

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
    zeta = None if run.loss is None else run.loss.zeta
    return Weights(
        rows=tuple((names[i], float(values[i])) for i in order),
        total=len(values),
        zeros=int(np.count_nonzero(values == 0)),
        zeta=zeta,
        first_column=base,
        has_bias=prepared.bias,
    )


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
