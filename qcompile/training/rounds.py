"""Train in rounds: fit a polynomial around the weights, solve it, step, and fit again.

The objective is F(w) = mean Φ(-u·w) + l2/2 |w|² over rows u of unit length: the 0-1 risk of a
classifier drawn around w, which is bounded and not convex. Each round fits a quadratic to F around
the best weights so far, writes a step within a radius in bits, lets a solver look for low
energies, and judges the lowest samples by F itself. A better one is taken, and the radius grows;
otherwise it shrinks. Errors of the solver therefore cost rounds, and do not spoil the result.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.moments.local import local_fit, objective_at, slope_at
from qcompile.moments.unit_rows import UnitRows
from qcompile.objective.step import discretize_step
from qcompile.runtime import processes
from qcompile.runtime.progress import muted, report
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.local_fit import Around, LocalFit
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.record import Record
from qcompile.stages.samples import Samples
from qcompile.stages.step import Step
from qcompile.training.inner import Inner, Place, StepSolver
from qcompile.training.memory import Memory
from qcompile.training.start import scaled_to_lowest

__all__ = ["Found", "Round", "RoundOptions", "Task", "machine_seconds", "run_rounds"]


_log = logging.getLogger("qcompile")

# First radius of a step of all n weights: a length of 4, whatever n is.
_FIRST_LENGTH = 4.0
_FIRST_SHARE = 1 / 16  # of the length of long weights
_FIRST_WIDTH = 0.5
_GROWTH, _SHRINKAGE = 1.3, 0.6
_TRUSTED = 0.5  # of the change that the polynomial promised: the fit holds, and steps may be longer
_LITTLE = 3e-5  # a change of the objective that asks for a narrower fit
_ENOUGH = 0.02  # of the length of the weights: shorter steps are not worth a round
_PATIENCE, _SETTLED = 5, 2e-5  # rounds that together changed the objective by less than this
_MANY = 150  # weights, which come nearer in smaller changes: half of it
_MOST_ROUNDS = 100
_CANDIDATES = 8
_MOST_COPIES = 16
# Reasons for which no other start is tried.
_FINAL = ("interrupted", "time limit", "budget", "cancelled")


@dataclass(frozen=True)
class RoundOptions:
    """How to train in rounds.

    `l2` is the price of the weights; None chooses it without a search (`default_l2`). `bits` is
    None for one bit a weight (stay or step), else the bits of the levels of a step. `block` is the
    most weights that a round may change; None lets the machine decide. `rounds` and `time_limit`
    (seconds) end the training. `starts` is the number of trainings from different weights, of
    which the best is kept: the least-squares classifier, 0, then at random. `radius` and `width`
    are those of the first round. `candidates` of the lowest samples of each round are judged by
    the true objective. With `copies` a round solves so many problems, each with another radius from
    a half to twice the present one, and all samples are judged together.
    """

    l2: float | None = None
    degree: int = 2
    bits: int | None = None
    block: int | None = None
    rounds: int = _MOST_ROUNDS
    time_limit: float = math.inf
    starts: int = 1
    radius: float | None = None
    width: float = _FIRST_WIDTH
    candidates: int = _CANDIDATES
    copies: int = 1

    def __post_init__(self) -> None:
        for name, value in (("radius", self.radius), ("width", self.width)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} {value:g}; expected a number above 0")
        if self.l2 is not None and not (math.isfinite(self.l2) and self.l2 >= 0):
            raise InputError(f"l2 {self.l2:g}; expected a number of 0 or more")
        for name in ("block", "rounds", "starts", "candidates"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"{name} {count}; expected at least 1")
        if not 1 <= self.copies <= _MOST_COPIES:
            raise InputError(f"{self.copies} copies; expected 1 to {_MOST_COPIES} step sizes")
        if self.degree not in (2, 3):
            raise InputError(f"degree {self.degree} of a step; expected 2 or 3")
        if self.bits is not None and not 1 <= self.bits <= 8:
            raise InputError(f"{self.bits} bits of a step; expected 1 to 8")
        if not self.time_limit > 0:
            raise InputError(f"time limit {self.time_limit:g}; expected seconds above 0")


@dataclass(frozen=True)
class Round(Record):
    """One round of a training.

    `objective` is F after the round. `expected` is the change of F that the polynomial promised for
    the lowest sample, `reached` the change of F at the best sample that was judged. `rank` is the
    place of the sample that was taken, from 0 on, or None if all were worse. `broken` is the
    mean share of broken chains. `machine_seconds` is what the machine says it took, if it does.
    """

    start: int
    number: int
    objective: float
    radius: float
    width: float
    weights: int
    expected: float
    reached: float
    rank: int | None
    broken: float
    seconds: float
    machine_seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """The rows, the price of the weights, and how to look for a step."""

    rows: UnitRows
    l2: float
    options: RoundOptions
    solver: SolveOptions
    inner: StepSolver
    data: Dataset
    direction: Floats  # of the least-squares classifier
    after_round: Callable[[Found], None] | None = None  # is given the best so far
    memory: Memory | None = None  # of rows that are gone; `rows` have the rest of the shares
    only_begin: bool = False  # start from the weights that are given, and nowhere else

    def objective(self, weights: Floats) -> Floats:
        """Return F of each row of weights."""
        values = objective_at(self.rows, weights, self.l2)
        return values if self.memory is None else values + self.memory.at(weights)


@dataclass(frozen=True, eq=False)
class Found:
    """The best weights of a training, the trace, and the lowest weights that were judged."""

    weights: Floats
    objective: float
    rounds: tuple[Round, ...]
    lowest: Floats
    values: Floats
    problem: Pubo | Qubo | None = None
    samples: Samples | None = None
    ended: str = ""


@dataclass
class _State:
    """The best weights so far, and the trust region around them."""

    weights: Floats
    objective: float
    radius: float
    width: float
    rounds: list[Round] = field(default_factory=list)
    problem: Pubo | Qubo | None = None
    samples: Samples | None = None


class _Lowest:
    """The lowest distinct weights that were judged."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.weights: list[Floats] = []
        self.values: list[float] = []

    def add(self, weights: Floats, values: Floats) -> None:
        """Add weights, and forget the highest."""
        known = {row.tobytes() for row in self.weights}
        for row, value in zip(weights, values.tolist(), strict=True):
            if row.tobytes() not in known:
                known.add(row.tobytes())
                self.weights.append(row)
                self.values.append(value)
        order = np.argsort(self.values, kind="stable")[: self._keep].tolist()
        self.weights = [self.weights[i] for i in order]
        self.values = [self.values[i] for i in order]


def run_rounds(task: Task, begin: Floats | None = None) -> Found:
    """Train from one start or several, and keep the best.

    The first start is the least-squares classifier. `begin` are weights to start from as well.
    Ctrl-C, the time limit and the limit of rounds end the training with the best weights so far.
    """
    until = time.monotonic() + task.options.time_limit
    if _may_part(task):
        return _in_processes(task, list(_starts(task, begin)), until)
    run = _Run(_Lowest(task.solver.keep))
    ended = "steps became short"
    for number, first in enumerate(_starts(task, begin)):
        state = _begin(task, first)
        run.enter(state)
        try:
            ended = _go(task, run, state, Place(number, 0), until)
        except KeyboardInterrupt:
            if not run.rounds:
                raise
            _log.warning("interrupted: keeping the best weights so far")
            ended = "interrupted"
        if ended in _FINAL:
            break
    return run.found(ended)


def _may_part(task: Task) -> bool:
    """Whether the starts can be made in several processes: here, and nobody hears of rounds."""
    here = isinstance(task.inner, Inner) and task.after_round is None
    return here and not task.rows.held and task.options.starts > 1 and processes.wanted() > 1


def _in_processes(task: Task, starts: Sequence[Floats], until: float) -> Found:
    """Make the starts at the same time, and join them as if they were made in order."""
    run = _Run(_Lowest(task.solver.keep))
    ended = "steps became short"
    for state, weights, values, ended in processes.spread(
        partial(_one_start, task, until), list(enumerate(starts))
    ):
        run.states.append(state)
        run.lowest.add(weights, values)
        if ended in _FINAL:
            break
    return run.found(ended)


def _one_start(
    task: Task, until: float, start: tuple[int, Floats]
) -> tuple[_State, Floats, Floats, str]:
    """Return where one start ended, the lowest weights on its way, and why it ended."""
    number, first = start
    run = _Run(_Lowest(task.solver.keep))
    state = _begin(task, first)
    run.enter(state)
    ended = _go(task, run, state, Place(number, 0), until)
    return state, np.array(run.lowest.weights), np.array(run.lowest.values), ended


class _Run:
    """All starts of a training so far, the lowest weights, and the best start."""

    def __init__(self, lowest: _Lowest) -> None:
        self.lowest = lowest
        self.states: list[_State] = []

    def enter(self, state: _State) -> None:
        """Begin a start."""
        self.states.append(state)
        self.lowest.add(state.weights[None], np.array([state.objective]))

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of all starts."""
        return tuple(own for state in self.states for own in state.rounds)

    def found(self, ended: str = "") -> Found:
        """Return the best so far; of equal starts the first."""
        best = min(self.states, key=lambda state: state.objective)
        return Found(
            frozen(best.weights),
            best.objective,
            self.rounds,
            np.array(self.lowest.weights),
            np.array(self.lowest.values),
            best.problem,
            best.samples,
            ended,
        )


def _starts(task: Task, begin: Floats | None) -> Iterator[Floats]:
    """Yield the weights to start from: least squares, those given, 0, directions at random."""
    features = task.rows.features
    if not task.only_begin:
        yield scaled_to_lowest(task.rows, task.direction, task.l2)
    if begin is not None:
        yield np.array(begin, dtype=np.float64)
    rng = np.random.default_rng([task.solver.seed, 17])
    for number in range(task.options.starts - 1):
        direction = rng.normal(size=features)
        yield np.zeros(features) if not number else direction / np.linalg.norm(direction)


def _begin(task: Task, weights: Floats) -> _State:
    features = len(weights)
    radius = task.options.radius
    if radius is None:
        first, length = _FIRST_LENGTH, float(np.linalg.norm(weights))
        if length > 0:  # longer steps are of no use, and far shorter ones neither
            first = max(min(first, length), length * _FIRST_SHARE)
        radius = first / math.sqrt(features)
    objective = float(task.objective(weights)[0])
    return _State(weights, objective, radius, _width(radius, features, task.options.width))


def _width(radius: float, features: int, width: float) -> float:
    return min(width, radius * math.sqrt(features) / 2)


def _go(task: Task, run: _Run, state: _State, first: Place, until: float) -> str:
    """Make rounds until steps become short; return why they ended."""
    for number in range(task.options.rounds):
        place = first._replace(number=number)
        if not task.inner.stored(place):  # a round that was begun is ended
            reason = task.inner.ended or _reason(task, state, until) or task.inner.refusal(place)
            if reason:
                return reason
        _round(task, state, place, run.lowest)
        if task.after_round is not None:
            task.after_round(run.found())
        shown = f"round {number + 1}: F {state.objective:.5f}, radius {state.radius:.3g}"
        report(number + 1, task.options.rounds, shown)
    return "limit of rounds"


def _reason(task: Task, state: _State, until: float) -> str:
    """Return why another round is not worth while, or nothing."""
    length = max(float(np.linalg.norm(state.weights)), 1e-3)
    if state.radius * math.sqrt(len(state.weights)) < _ENOUGH * length:
        return "steps became short"
    if _has_settled(state, task.inner.size):
        return "changes became small"
    return "time limit" if time.monotonic() >= until else ""


def _has_settled(state: _State, size: int) -> bool:
    """Whether the last rounds changed the objective by little; blocks need more rounds to tell."""
    count = _PATIENCE * math.ceil(len(state.weights) / size)
    values = [own.objective for own in state.rounds]
    little = _SETTLED if len(state.weights) <= _MANY else _SETTLED / 2
    return len(values) > count and values[-count - 1] - values[-1] < little


def _problems(task: Task, state: _State, place: Place) -> tuple[LocalFit, Sequence[Pubo | Qubo]]:
    """Fit around the weights, and return the fit and the problems of a round.

    The problems of a round that was begun before are those that were sent.
    """
    around = Around(state.width, 1.0, task.options.degree, task.l2)
    known = task.inner.stored(place)
    if known and isinstance(known[0].encoding, Step):
        centre = np.array(known[0].encoding.centre)
        return _fit(task, centre, around, known[0].encoding.members), known
    fit = _fit(task, state.weights, around, _block(task, state, place))
    sizes = [state.radius * share for share in _shares(task.options.copies)]
    return fit, [discretize_step(fit, size, task.options.bits) for size in sizes]


def _shares(copies: int) -> list[float]:
    """Return the step sizes of a round as shares of the radius.

    >>> _shares(1), _shares(3)
    ([1.0], [0.5, 1.0, 2.0])
    """
    return [1.0] if copies == 1 else (2.0 ** np.linspace(-1, 1, copies)).tolist()


@dataclass(frozen=True, eq=False)
class _Judged:
    """The best sample of a round by the true objective, and the problem that it belongs to."""

    value: float
    weights: Floats
    rank: int
    samples: Samples
    problem: Pubo | Qubo


def _judge(
    task: Task, found: Sequence[tuple[Samples, Pubo | Qubo]], state: _State, lowest: _Lowest
) -> _Judged:
    """Judge the lowest samples of every problem of a round; one that stays is no better."""
    best: _Judged | None = None
    for samples, problem in found:
        # the samples are distinct and in order of energy
        weights = problem.decode(samples.bits[: task.options.candidates])
        values = task.objective(weights)
        # its objective may be rounded differently where others are computed with it
        values[(weights == state.weights).all(axis=1)] = state.objective
        lowest.add(weights, values)
        rank = int(np.argmin(values))
        if best is None or values[rank] < best.value:
            best = _Judged(float(values[rank]), weights[rank], rank, samples, problem)
    assert best is not None
    return best


def _round(task: Task, state: _State, place: Place, lowest: _Lowest) -> None:
    """Fit, solve and judge once; move if a sample is better."""
    began = time.perf_counter()
    fit, problems = _problems(task, state, place)
    with muted():
        found = task.inner.sample(
            problems, place, seed=_seed(task, place), keep=task.options.candidates
        )
    best = _judge(task, found, state, lowest)
    reached, radius, width = best.value - state.objective, state.radius, state.width
    taken = reached < 0
    expected = float(best.samples.energies[0]) - fit.constant
    if taken:
        state.weights, state.objective = best.weights, best.value
        state.problem, state.samples = best.problem, best.samples
    if len(found) > 1 and taken and isinstance(best.problem.encoding, Step):
        state.radius = best.problem.encoding.radius  # of several step sizes the best one stays
    elif taken and reached < _TRUSTED * expected:
        state.radius *= _GROWTH
    elif not taken:
        state.radius *= _shrinkage(len(fit.block), len(state.weights))
    if reached > -_LITTLE:  # the lowest point of a wide fit is not that of the objective
        state.width *= _shrinkage(len(fit.block), len(state.weights))
    state.width = _width(state.radius, len(state.weights), state.width)
    state.rounds.append(
        Round(
            start=place.start,
            number=place.number,
            objective=state.objective,
            radius=radius,
            width=width,
            weights=len(fit.block),
            expected=expected,
            reached=reached,
            rank=best.rank if taken else None,
            broken=_broken([samples for samples, _ in found]),
            seconds=time.perf_counter() - began,
            machine_seconds=machine_seconds(best.samples),
        )
    )


def _broken(found: Sequence[Samples]) -> float:
    """Return the mean share of broken chains of all problems of a round."""
    shares = [float(np.mean(own.chain_breaks)) for own in found if len(own)]
    return float(np.mean(shares)) if shares else 0.0


def _shrinkage(moved: int, features: int) -> float:
    """Return the factor of the radius after a round without a better sample.

    A block says little about the other weights, so that the radius shrinks less.
    """
    return float(_SHRINKAGE ** max(moved / features, 0.25))


def machine_seconds(samples: Samples) -> float | None:
    """Return the QPU access time that the answer states, in seconds."""
    timing = samples.info.get("timing")
    stated = timing.get("qpu_access_time") if isinstance(timing, dict) else None
    return float(stated) * 1e-6 if isinstance(stated, int | float) else None


def _seed(task: Task, place: Place) -> int:
    """Return the seed of a round, so that rounds do not repeat each other's errors."""
    drawn = np.random.SeedSequence([task.solver.seed, *place]).generate_state(1)[0]
    return int(drawn) >> 1  # Ocean's samplers take 31 bits


def _fit(task: Task, centre: Floats, around: Around, block: NDArray[np.int64] | None) -> LocalFit:
    members = np.arange(len(centre)) if block is None else block
    found = local_fit(task.rows, centre, around, members)
    if task.memory is not None:
        found = task.memory.added_to(found, centre, members)
    return LocalFit(
        around,
        frozen(centre),
        frozen(members, np.int64),
        found.constant,
        frozen(found.first),
        frozen(found.second),
        found.third,
        task.rows.count,
        task.data.preparation,
        task.data.source,
    )


def _block(task: Task, state: _State, place: Place) -> NDArray[np.int64] | None:
    """Return the weights that a round may change: drawn by the size of their slopes.

    A weight of slope 0 has a chance, too, as the slopes change with the other weights.
    """
    size, features = task.inner.size, len(state.weights)
    if size >= features:
        return None
    slope = slope_at(task.rows, state.weights, Around(state.width, 1.0, 2, task.l2))
    if task.memory is not None:
        slope = slope + task.memory.slope_at(state.weights)
    slope = np.abs(slope)
    chances = slope + max(float(slope.mean()), 1e-12) / 4
    rng = np.random.default_rng([task.solver.seed, *place, 5])
    return np.sort(rng.choice(features, size, replace=False, p=chances / chances.sum()))
