"""Search for the weights with the lowest objective: over their cubic, the margins, or in bits."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.objective.discretize import discretize, memory_needed
from qcompile.objective.judgement import rewarded
from qcompile.objective.weight_space import MOST_FEATURES, cubic_of_moments
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime import cluster
from qcompile.runtime.progress import muted
from qcompile.runtime.timing import passing
from qcompile.solvers.anneal import anneal_cubic
from qcompile.solvers.anneal_margins import anneal_examples
from qcompile.solvers.options import ANNEALING, RESTARTED, SolveInfo, SolveOptions
from qcompile.solvers.solve import solve
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.encoding import Encoding
from qcompile.stages.loss import Loss
from qcompile.stages.machine import Machine
from qcompile.stages.moments import Moments
from qcompile.stages.origin import Origin
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.record import Record
from qcompile.stages.samples import Samples, samples_of
from qcompile.stages.terms import most_terms
from qcompile.training.risks import descend, objective_of

__all__ = [
    "BITS",
    "Clock",
    "Stage",
    "Task",
    "goes_over_margins",
    "search_lowest",
    "weights_with",
]


_log = logging.getLogger("qcompile")

BITS = 4
# Entries of the data that all restarts over the margins may visit together (about two seconds),
# as long as that leaves this many sweeps and at least a fifth of the requested restarts.
_WORK = 5e8
_SWEEPS = (200, 1000)
_FEWEST = 5
# Bytes of a polynomial of bits that a training writes out without being asked, for its report.
_WRITTEN_OUT = 50_000_000
# Entries of the rows that the first search looks at; what it finds is judged and improved on all.
_SAMPLED_ENTRIES = 200_000
# Sweeps around the best weights where there are more entries than that and none were asked for.
_FEW_SWEEPS = 40
# Rounds of the search around the best continuous weights near the lowest state.
_ROUNDS, _ROUND_READS = 3, 4
_NARROWINGS = 5


@dataclass(frozen=True)
class Stage(Record):
    """A stage of a training: how long it took and how large its result is."""

    name: str
    seconds: float
    size: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key."""
        return {"stage": self.name, "seconds": self.seconds, "size": self.size}


class Clock:
    """Records the stages of a training one after the other."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._since = time.perf_counter()

    def stage(self, name: str, size: str) -> None:
        """Record the end of a stage."""
        now = time.perf_counter()
        self.stages.append(Stage(name, now - self._since, size))
        self._since = now


@dataclass(frozen=True, eq=False)
class Task:
    """The rows to train on and how to search: over the margins of the rows, or in bits."""

    rows: Dataset
    moments: Moments
    bits: int
    l0: float
    over_margins: bool
    options: SolveOptions
    machine: Machine | None = None


def search_lowest(
    task: Task, loss: Loss, narrow: bool, clock: Clock
) -> tuple[Samples, Pubo | Qubo, Loss]:
    """Find low states; with `narrow`, halve the range while the loss rewards wrong answers."""
    search = _search_for(task, loss)
    for left in reversed(range(_NARROWINGS + 1)):
        samples, problem = search(task, loss, clock)
        if not (narrow and left and rewarded(loss, task.rows, problem.decode(samples.best))):
            break
        loss = _narrower(loss)
    return samples, problem, loss


def weights_with(rows: Dataset, loss: Loss, bits: int, l0: float, options: SolveOptions) -> Floats:
    """Return the weights of the lowest state on rows, with a loss that was fitted to others."""
    over_margins = goes_over_margins(rows, bits, loss.order, options)
    degree = 1 if over_margins and loss.order % 2 == 0 else loss.order
    task = Task(rows, moments_of(rows, degree, fit=False), bits, l0, over_margins, options)
    samples, problem, _ = search_lowest(task, loss, False, Clock())
    return np.asarray(problem.decode(samples.best))


def _search_for(task: Task, loss: Loss) -> Callable[..., tuple[Samples, Pubo | Qubo]]:
    """Return the search that needs the least memory and time."""
    if task.over_margins:
        return _over_margins
    return _over_weights if task.options.solver in ANNEALING and loss.order <= 3 else _in_bits


def _narrower(loss: Loss) -> Loss:
    """Return the loss with half of the range and one note that says so."""
    half = loss.range_ / 2
    start = "the loss rewarded wrong answers within the range that was chosen first"
    notes = [note for note in loss.notes if not note.startswith(start)]
    return replace(loss, range_=half, notes=(*notes, f"{start}: narrowed to {half:.3g}"))


def goes_over_margins(rows: Dataset, bits: int, order: int, options: SolveOptions) -> bool:
    """Whether annealing the examples is cheaper than annealing the polynomial."""
    if options.solver not in ANNEALING or order <= 3:
        # a cubic is annealed over the weights, as long as its third derivative can be held
        return options.solver in ANNEALING and rows.features > MOST_FEATURES
    entries = rows.density * len(rows) * rows.features
    return sum(most_terms(rows.features * bits, order)) > entries


def _in_bits(task: Task, loss: Loss, clock: Clock) -> tuple[Samples, Pubo | Qubo]:
    """Find low states of the polynomial of bits."""
    options = task.options
    with passing("discretize"):
        pubo = discretize(task.moments, loss, task.bits, l0=task.l0)
    clock.stage("pubo", f"{pubo.variables:,} bits, {pubo.num_terms:,} terms")
    problem: Pubo | Qubo = pubo
    if options.solver not in ("exact", *RESTARTED):
        with passing("quadratize"):
            problem = quadratize(pubo)
        clock.stage("qubo", f"{problem.variables:,} qubits, {len(problem.ancillas):,} ancillas")
    name = options.solver if isinstance(options.solver, str) else type(options.solver).__name__
    with passing(f"solve ({name})"):
        found = solve(problem, **vars(options), machine=task.machine)
    clock.stage(str(found.info["solver"]), f"{len(found):,} states")
    return found, problem


def _check_price_and_seed(task: Task) -> None:
    """Raise InputError as `discretize` and `solve` do, which need not be called."""
    if not (math.isfinite(task.l0) and task.l0 >= 0):
        raise InputError(f"l0 {task.l0:g}; expected a number of 0 or more")
    if not 0 <= task.options.seed < 2**32:
        raise InputError(f"seed {task.options.seed}; expected 0 to {2**32 - 1}")


def _over_weights(task: Task, loss: Loss, clock: Clock) -> tuple[Samples, Pubo]:
    """Find low states of the cubic of the weights, which is much smaller than that of their bits.

    The returned problem has terms only if they take little memory; its encoding is enough to
    decode.
    """
    options = task.options
    _check_price_and_seed(task)
    degree = max(loss.order, 2 if loss.l2 else 1)
    if memory_needed(task.moments.features * task.bits, degree) <= _WRITTEN_OUT:
        with passing("discretize"):
            problem = discretize(task.moments, loss, task.bits, l0=task.l0)
        clock.stage("pubo", f"{problem.variables:,} bits, {problem.num_terms:,} terms")
    else:
        problem = _without_terms(task, loss)
    began = time.perf_counter()
    with passing("solve (anneal)"):
        cubic = cubic_of_moments(task.moments, loss, task.bits)
        lowest = anneal_cubic(
            cubic,
            l0=task.l0,
            reads=options.reads,
            sweeps=options.sweeps,
            keep=min(options.keep, 1 << min(cubic.encoding.variables, 40)),
            seed=options.seed,
        )
        weights = lowest.weights
        energies = cubic.energies(weights) + task.l0 * np.count_nonzero(weights, axis=1)
    info = SolveInfo(
        "anneal",
        space="weights",
        seed=options.seed,
        reads=lowest.reads,
        seconds=time.perf_counter() - began,
    )
    bits = cubic.encoding.encode(weights)
    if problem.variables > cubic.encoding.variables:  # an indicator of each weight that is not 0
        bits = np.concatenate([bits, (weights != 0).astype(np.int8)], axis=1)
    samples = samples_of(problem, bits, occurrences=lowest.occurrences, info=info.to_dict())
    clock.stage("anneal", f"{len(samples):,} states")
    return replace(samples, energies=frozen(energies)).lowest(options.keep), problem


def _over_margins(task: Task, loss: Loss, clock: Clock) -> tuple[Samples, Pubo]:
    """Find low states over the margins, without the polynomial of bits, which may be too large.

    The returned problem has no terms; its encoding is enough to decode.
    """
    options = task.options
    encoding = Encoding(task.moments.features, task.bits, loss.zeta)
    sample = _sample(task.rows)
    reads, sweeps = _effort(sample, options)
    with passing("anneal over the margins"):
        weights = anneal_examples(
            sample,
            loss,
            encoding,
            l0=task.l0,
            reads=reads,
            sweeps=sweeps,
            keep=options.keep,
            seed=options.seed,
        )
        # a few restarts: too few to count, and to send the data to workers again
        with muted(), cluster.locally():
            weights, energies = _around(task, loss, encoding, weights)
    problem = _without_terms(task, loss)
    info = SolveInfo("anneal", space="margins", seed=options.seed, reads=reads, sweeps=sweeps)
    samples = samples_of(problem, encoding.encode(weights), info=info.to_dict())
    made = f"{reads:,} restarts of {sweeps:,} sweeps"
    clock.stage("anneal", f"over the margins, {made}, {len(samples)} states")
    return replace(samples, energies=frozen(energies)), problem


def _without_terms(task: Task, loss: Loss) -> Pubo:
    """Return a problem whose polynomial is not written out, to decode states with."""
    encoding = Encoding(task.moments.features, task.bits, loss.zeta)
    return Pubo(
        variables=encoding.variables,
        constant=0.0,
        indices=(),
        coefficients=(),
        origin=Origin(
            encoding=encoding,
            loss=loss,
            l0=task.l0,
            preparation=task.moments.preparation,
            source=task.moments.source,
        ),
    )


def _sample(rows: Dataset) -> Dataset:
    """Return the rows, or some of them, drawn at random, if there are many."""
    share = _SAMPLED_ENTRIES / max(1.0, rows.density * len(rows) * rows.features)
    if share >= 1:
        return rows
    count = max(1, int(share * len(rows)))
    return rows.take(np.sort(np.random.default_rng(0).permutation(len(rows))[:count]))


def _effort(rows: Dataset, options: SolveOptions) -> tuple[int, int]:
    """Return restarts and sweeps: the requested numbers, or fewer if the data are large.

    If sweeps are asked for, both are as asked.
    """
    if options.sweeps is not None:
        return options.reads, options.sweeps
    room = _WORK / max(1.0, rows.density * len(rows) * rows.features)
    fewest, most = _SWEEPS
    sweeps = int(min(max(room / options.reads, fewest), most))
    enough = max(options.reads // _FEWEST, int(room / sweeps), 1)
    return min(options.reads, enough), sweeps


def _around(
    task: Task, loss: Loss, encoding: Encoding, weights: Floats
) -> tuple[Floats, list[float]]:
    """Search for lower states around the best continuous weights near the lowest state.

    A step changes one weight, and such steps from the lowest state do not reach every state near a
    local minimum. Starting from the minimum itself reaches the states around it.
    """
    rows, options = task.rows, task.options

    def energies_of(many: Floats) -> list[float]:
        return [objective_of(rows, loss, w) + task.l0 * np.count_nonzero(w) for w in many]

    sweeps = options.sweeps
    if sweeps is None and rows.density * len(rows) * rows.features > _SAMPLED_ENTRIES:
        sweeps = _FEW_SWEEPS
    energies = energies_of(weights)
    for number in range(_ROUNDS):
        before = min(energies)
        try:
            near = anneal_examples(
                rows,
                loss,
                encoding,
                start=descend(rows, loss, weights[int(np.argmin(energies))]),
                l0=task.l0,
                reads=_ROUND_READS,
                sweeps=sweeps,
                keep=options.keep,
                seed=options.seed + number + 1,
            )
        except KeyboardInterrupt:
            _log.warning("interrupted: keeping the best states so far")
            break
        both = np.unique(np.concatenate([weights, near]), axis=0)
        values = np.array(energies_of(both))
        lowest = np.argsort(values, kind="stable")[: options.keep]
        weights, energies = both[lowest], values[lowest].tolist()
        if not energies[0] < before:
            break
    return weights, energies
