"""Figures about the result: energies, weights, confusion matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.unembed import chains_id
from qcompile.report.figures import (
    BINS,
    Confusion,
    Energies,
    Histogram,
    Trace,
    Weights,
    histogram_of,
)
from qcompile.report.run import Run
from qcompile.report.words import many
from qcompile.solvers.options import RESTARTED
from qcompile.solvers.solve import solve
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import answers
from qcompile.stages.encoding import Encoding
from qcompile.stages.labels import label_text
from qcompile.stages.step import Step

if TYPE_CHECKING:
    from qcompile.stages.classifier import Classifier
    from qcompile.stages.samples import Samples
    from qcompile.training.trained import Trained

__all__ = [
    "confusions_of",
    "energies_of",
    "has_chains",
    "sampling_of",
    "through_these",
    "trace_of",
    "trace_of_training",
    "weights_of",
]


_MOST_WEIGHTS = 40
_LONGEST_NAME = 24
_GROUND_BITS = 20

# Tolerances for equal energies: a share of their spread, at most a share of their size.
_SAME, _SAME_SIZE, _ROUNDING = 1e-6, 1e-9, 1e-13
# Solvers that return the lowest states of all reads: the page counts states, not reads.
_POOLED = ("exact", *RESTARTED)


def _chained(run: Run) -> bool:
    """Whether the samples record that they were read from chains."""
    return run.samples is not None and has_chains(run.samples)


def has_chains(samples: Samples) -> bool:
    """Whether samples record that they were read from chains."""
    told = samples.info
    timing = told.get("timing")
    # hybrid solvers use the machine too, but not our chains; they record a space
    of_machine = isinstance(timing, dict) and "qpu_access_time" in timing and "space" not in told
    marked = "repair" in told or "embedding_context" in told
    return marked or of_machine or bool((samples.chain_breaks > 0).any())


def through_these(run: Run) -> bool:
    """Whether the samples were read from the chains of this run."""
    if run.samples is None or run.embedding is None or not _chained(run):
        return False
    return run.samples.info.get("chains") in (None, chains_id(run.embedding))


@dataclass(frozen=True)
class _Sampling:
    """How the samples were made and counted, with words for the page and the pipeline."""

    about: str
    stage: tuple[str, ...]
    unit: str
    shares: bool
    total: int
    distinct: int
    discarded: int | None


def sampling_of(run: Run) -> _Sampling:
    """Return what the samples count: reads, or states of solvers that keep each state once."""
    samples = run.samples
    assert samples is not None
    total, distinct = int(_times(samples).sum()), len(np.unique(samples.bits, axis=0))
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


def _times(samples: Samples) -> NDArray[np.int64]:
    """Return how often each sample counts: once if it is a state of all reads."""
    pooled = samples.info.get("solver") in _POOLED
    return np.ones(len(samples), dtype=np.int64) if pooled else samples.occurrences


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def energies_of(run: Run) -> Energies | None:
    """Return the figure of the energies."""
    samples = run.samples
    if samples is None or not len(samples):
        return None
    values, times = samples.energies, _times(samples)
    lowest, highest = float(values.min()), float(values.max())
    ground, how = _ground(run)
    low = lowest if ground is None else min(lowest, ground)
    near = _near(low, highest)
    edges = _energy_edges(low, highest)
    counted, wrong = samples.reads_with_broken_chain, samples.reads_with_wrong_ancilla
    broken = np.where(samples.chain_breaks > 0, times, 0) if counted is None else counted
    series = [np.histogram(values, edges, weights=w)[0] for w in (times - broken, broken)]
    sampling = sampling_of(run)
    return Energies(
        histogram=histogram_of(edges, series),
        about=_of_which_step(run) + sampling.about,
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


def _of_which_step(run: Run) -> str:
    """Return a sentence on the step that the samples of a training are of."""
    if run.trace is None:
        return ""
    kept = " by the start that was kept" if len(run.trace.starts) > 1 else ""
    return f"Of the last step that was taken{kept}. "


def trace_of(run: Run) -> Trace | None:
    """Return the figure of the rounds; None if there were none and no price was chosen."""
    found = run.trace
    return found if found is not None and (found.rounds or found.trials) else None


def trace_of_training(trained: Trained) -> Trace:
    """Return the rounds of a training."""
    # the first risk is that of the classifier, the second that of descent if it was tried
    broken = any(own.broken > 0 for own in trained.rounds)
    return Trace(
        rounds=trained.rounds,
        objective=trained.objective,
        descent=trained.risks[1].objective if len(trained.risks) > 1 else None,
        l2=trained.l2,
        trials=trained.trials,
        chained=broken or (trained.samples is not None and has_chains(trained.samples)),
        by_descent=trained.classifier.source.solver == "descent",
    )


def _breaks(samples: Samples) -> Histogram | None:
    shares = samples.chain_breaks
    if not (shares > 0).any():
        return None
    steps = np.linspace(0, float(shares.max()) * 1.001, BINS + 1)
    return histogram_of(steps, [np.histogram(shares, steps, weights=samples.occurrences)[0]])


def _near(low: float, high: float) -> float:
    """Return the tolerance within which two energies count as equal."""
    size = max(abs(low), abs(high))
    return max(_ROUNDING * size, min(_SAME_SIZE * size, _SAME * (high - low)))


def _energy_edges(low: float, high: float) -> Floats:
    room = (high - low) / (BINS - 1) / 2
    size = max(abs(low), abs(high))
    if room <= _ROUNDING * size:  # equal except for rounding: one bar in the middle
        room = 0.02 * size or 1e-3
    return np.linspace(low - room, high + room, BINS + 1)


def _ground(run: Run) -> tuple[float | None, str]:
    """Return the energy of the ground state, or None, and how it is known."""
    problem = run.problem
    if problem is None or not problem.has_terms:
        return None, "not known"
    bits = problem.logical
    if bits > _GROUND_BITS:
        if run.samples is not None and run.samples.info.get("solver") == "exact":
            return float(run.samples.energies.min()), "by the exact solver"
        return None, f"not known: {bits} bits are too many to try all"
    found = solve(problem, solver="exact", keep=1)
    return float(found.energies[0]), f"of all 2^{bits} states"


def weights_of(run: Run) -> Weights | None:
    """Return the figure of the weights."""
    if run.classifier is None:
        return None
    values, prepared = run.classifier.weights, run.classifier.preparation
    base = run.source.index_base or 0
    chosen = prepared.columns
    columns = range(prepared.raw_features) if chosen is None else chosen.tolist()
    known = prepared.names
    names = [f"x{column + base}" if known is None else _short(known[column]) for column in columns]
    names += ["bias"] * prepared.bias
    order = np.argsort(-np.abs(values), kind="stable")[:_MOST_WEIGHTS].tolist()
    return Weights(
        rows=tuple((names[i], float(values[i])) for i in order),
        total=len(values),
        zeros=int(np.count_nonzero(values == 0)),
        limits=_limits(None if run.problem is None else run.problem.encoding),
        first_column=base,
        has_bias=prepared.bias,
        named=known is not None,
        in_units=() if prepared.unit_norm else _in_units(run.classifier, names, order),
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _in_units(
    model: Classifier, names: Sequence[str], order: Sequence[int]
) -> tuple[tuple[str, float], ...]:
    """Return the same weights in units of the data, and the intercept."""
    raw, intercept = model.raw_weights()
    chosen = model.preparation.columns
    own = raw if chosen is None else raw[chosen]
    units = [(names[i], float(own[i])) for i in order if i < len(own)]
    return (*units, ("intercept", intercept))


def _limits(encoding: Encoding | None) -> tuple[float, float] | None:
    """Return the smallest and the largest weight that the bits can encode."""
    if encoding is None or isinstance(encoding, Step):  # a step has no limits of its own
        return None
    low, high = encoding.level_bounds
    return int(low.min()) * encoding.step, int(high.max()) * encoding.step


def confusions_of(run: Run) -> Iterable[Confusion]:
    """Return a confusion matrix for each part of the data."""
    if run.classifier is None:
        return
    prepared = run.classifier.preparation
    negative = label_text(prepared.negative)
    for name, rows in run.parts:
        if not len(rows):
            continue
        said, true = answers(rows.x @ run.classifier.weights) > 0, rows.y > 0
        yield Confusion(
            part=name,
            positive=label_text(prepared.positive),
            negative=negative,
            true_positive=int(np.count_nonzero(said & true)),
            false_negative=int(np.count_nonzero(~said & true)),
            false_positive=int(np.count_nonzero(said & ~true)),
            true_negative=int(np.count_nonzero(~said & ~true)),
        )
