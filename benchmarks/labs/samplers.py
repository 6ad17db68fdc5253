"""What reaches the target, and how long it takes: ours by the clock, others by the share of reads.

All times are CPU seconds of one thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, chi2

from qcompile import quadratize
from qcompile.ocean import PuboSampler
from qcompile.runtime.threads import at_most
from qcompile.solvers.landscape import spread_of_bits
from qcompile.solvers.restarts import temperatures_from

from .problems import Problem

__all__ = ["Timing", "beside", "ours"]


_SURE = 0.99
_READS = 10**6
# CPU seconds and energies of the reads of one call.
Reads = tuple[float, NDArray[np.float64]]


@dataclass(frozen=True)
class Timing:
    """Seconds until the target is reached with 99% probability, with a 95% interval.

    `hits` of `runs` reached it; if none did, `t99` is infinite and `low` a bound.
    """

    sampler: str
    runs: int
    hits: int
    t99: float
    low: float
    high: float
    longest: float = math.nan


def ours(problem: Problem, solver: str, runs: int) -> Timing:
    """Run until the target is reached, from a seed each, at least twice.

    The times are taken as exponential above the shortest, which is about that of preparing.
    """
    seconds = np.empty(runs)
    sampler = PuboSampler()
    given: dict[str, Any] = {"solver": solver, "num_reads": _READS, "max_answers": 10}
    with at_most(1):
        sampler.sample_poly(problem.polynomial, solver=solver, num_reads=2, num_sweeps=1)
        for seed in range(runs):
            start = time.process_time()
            answer = sampler.sample_poly(
                problem.polynomial, seed=seed, target=problem.target, **given
            )
            seconds[seed] = time.process_time() - start
            if answer.first.energy > problem.target + _room(problem):
                raise RuntimeError(f"{problem.name}: the target was not reached")
    first, sure = float(seconds.min()), -math.log(1 - _SURE)
    rest, freedom = float((seconds - first).sum()), 2 * runs - 2
    return Timing(
        f"qcompile {solver}",
        runs,
        runs,
        first + sure * rest / (runs - 1),
        first + sure * 2 * rest / float(chi2.ppf(0.975, freedom)),
        first + sure * 2 * rest / float(chi2.ppf(0.025, freedom)),
        float(seconds.max()),
    )


def beside(problem: Problem, budget: float) -> Iterator[Timing]:
    """Yield the best setting of every other sampler that is installed.

    Each setting is run for about `budget` seconds.
    """
    for name, settings in _PEERS.items():
        found = []
        for run in settings:
            try:
                found.append(_measured(name, problem, run, budget))
            except ImportError:
                break
        if found:
            yield min(found, key=lambda one: (one.t99, -one.low))


def _measured(
    name: str, problem: Problem, run: Callable[[Problem, int, int], Reads], budget: float
) -> Timing:
    """Run one setting as often as the budget allows."""
    short, energies = run(problem, 2, 1)
    one = short / 2
    reads = int(min(1000, budget / max(one, 1e-6)))
    if reads > 4:
        seconds, energies = run(problem, reads, 2)
        one = max(seconds - short, 0.0) / (reads - 2)
    fixed = max(0.0, short - 2 * one)
    runs = len(energies)
    hits = int(np.count_nonzero(energies <= problem.target + _room(problem)))
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(beta.ppf(0.975, hits + 1, runs - hits))
    times = (fixed + _t99(one, share) for share in (hits / runs, high, low))
    return Timing(name, runs, hits, *times)


def _room(problem: Problem) -> float:
    return 1e-6 * max(1.0, abs(problem.target))


def _t99(one: float, share: float) -> float:
    """Return the time of as many reads as reach the target with 99% probability, at least one."""
    if share <= 0:
        return math.inf
    return one * (1.0 if share >= _SURE else math.log(1 - _SURE) / math.log(1 - share))


def _openjij(problem: Problem, reads: int, seed: int, *, sweeps: int, own: bool) -> Reads:
    """OpenJij's annealer of polynomials, with its own temperatures or ours."""
    import openjij

    constant = problem.terms.get((), 0.0)
    terms = {term: value for term, value in problem.terms.items() if term}
    hot, cold = temperatures_from(spread_of_bits(problem.pubo))
    betas = {} if own else {"beta_min": 1 / hot, "beta_max": 1 / cold}
    start = time.process_time()
    answer = openjij.SASampler().sample_hubo(
        terms, problem.vartype, num_reads=reads, num_sweeps=sweeps, seed=seed, **betas
    )
    seconds = time.process_time() - start
    return seconds, np.asarray(answer.energies, dtype=np.float64) + constant


def _qubovert(problem: Problem, reads: int, seed: int, *, sweeps: int) -> Reads:
    """qubovert's annealer of polynomials, of spins as spins."""
    from qubovert import sim

    anneal = sim.anneal_puso if problem.vartype == "SPIN" else sim.anneal_pubo
    start = time.process_time()
    answer = anneal(problem.terms, num_anneals=reads, anneal_duration=sweeps, seed=seed)
    seconds = time.process_time() - start
    return seconds, np.array([result.value for result in answer], dtype=np.float64)


def _neal(problem: Problem, reads: int, seed: int, *, sweeps: int) -> Reads:
    """dwave-samplers' annealer on our QUBO; energies on the polynomial."""
    from dwave.samplers import SimulatedAnnealingSampler

    qubo = quadratize(problem.pubo)
    model = qubo.to_bqm()
    start = time.process_time()
    answer = SimulatedAnnealingSampler().sample(
        model, num_reads=reads, num_sweeps=sweeps, seed=seed
    )
    seconds = time.process_time() - start
    columns = [list(answer.variables).index(v) for v in range(qubo.variables)]
    bits = np.asarray(answer.record.sample)[:, columns]
    return seconds, np.asarray(qubo.score(qubo.restrict(bits)[0]))


_PEERS: dict[str, list[Callable[[Problem, int, int], Reads]]] = {
    "OpenJij sample_hubo": [
        partial(_openjij, sweeps=sweeps, own=own) for own in (True, False) for sweeps in (100, 1000)
    ],
    "qubovert": [partial(_qubovert, sweeps=sweeps) for sweeps in (100, 1000)],
    "dwave-samplers SA on our QUBO": [partial(_neal, sweeps=sweeps) for sweeps in (1000, 10_000)],
}
