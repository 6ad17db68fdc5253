"""Samplers: time to reach the optimum with 99% probability, side by side.

The annealer on the polynomial against OpenJij's sample_hubo on the same polynomial and neal on the
reduced QUBO, schedules tuned: sweeps on the same grid, for OpenJij also the temperatures; weights
against bits on a compiled problem; and a plain numpy annealer over the margins of a sixth-order
loss.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import data_file, options, row
from benchmarks.quadratize_bench import complete
from qcompile import Dataset, Loss, Pubo, compile, fit_loss, moments_of, quadratize, read, solve
from qcompile.objective.weight_space import weight_cubic
from qcompile.solvers.anneal import anneal, bit_annealer
from qcompile.solvers.anneal_margins import anneal_examples
from qcompile.solvers.landscape import spread_of_bits
from qcompile.solvers.pool_kernel import pool_of
from qcompile.solvers.restarts import temperatures_from
from qcompile.stages.arrays import frozen
from qcompile.stages.encoding import Encoding

SWEEPS = (25, 50, 100, 200, 400, 1000)
# A run of reads: seconds it took in all, and the energy of each read.
Runs = tuple[float, NDArray[np.float64]]


def instance(bits: int, seed: int) -> Pubo:
    """A complete cubic with normal coefficients."""
    rng = np.random.default_rng(seed)
    pubo = complete(bits, 3)
    values = tuple(frozen(rng.normal(size=len(c))) for c in pubo.coefficients)
    return replace(pubo, coefficients=values)


def time_to_target(seconds: float, energies: NDArray[np.float64], target: float) -> float:
    """Seconds until the target is reached with 99% probability, by independent reads."""
    hits = float(np.mean(energies <= target + 1e-9 * abs(target)))
    one = seconds / len(energies)
    if hits == 0:
        return math.inf
    return one * (1.0 if hits >= 0.99 else math.log(0.01) / math.log(1 - hits))


def ours(pubo: Pubo, sweeps: int, reads: int) -> Runs:
    """Our annealer, one thread, one pool a read."""
    run = bit_annealer(pubo)
    energies = np.empty(reads)
    start = time.perf_counter()
    for number in range(reads):
        pool = pool_of(1, pubo.variables)
        run(sweeps, number + 1, pool)
        energies[number] = pool.energies[0]
    return time.perf_counter() - start, energies


def openjij(pubo: Pubo, sweeps: int, reads: int, *, own_betas: bool) -> Runs | None:
    """OpenJij's annealer of polynomials, or None where it is not installed.

    Its own temperatures, or ours, which suit these problems better.
    """
    try:
        import openjij as oj
    except ImportError:
        return None
    terms = {term: value for term, value in pubo.to_dict().items() if term}
    sampler = oj.SASampler()
    hot, cold = temperatures_from(spread_of_bits(pubo))
    betas = {} if own_betas else {"beta_min": 1 / hot, "beta_max": 1 / cold}
    start = time.perf_counter()
    answer = sampler.sample_hubo(
        terms, "BINARY", num_reads=reads, num_sweeps=sweeps, seed=1, **betas
    )
    seconds = time.perf_counter() - start
    # its own clock, where it gives one, leaves out the building of the model
    own = answer.info.get("sampling_time")
    if own:
        seconds = min(seconds, own * 1e-6)
    return seconds, np.asarray(answer.energies, dtype=np.float64) + pubo.constant


def neal(pubo: Pubo, sweeps: int, reads: int) -> Runs:
    """dwave-samplers' annealer on the reduced QUBO; energies on the polynomial."""
    from dwave.samplers import SimulatedAnnealingSampler

    qubo = quadratize(pubo)
    bqm = qubo.to_bqm()
    start = time.perf_counter()
    answer = SimulatedAnnealingSampler().sample(bqm, num_reads=reads, num_sweeps=sweeps, seed=1)
    seconds = time.perf_counter() - start
    return seconds, np.asarray(qubo.score(qubo.restrict(answer.record.sample)[0]))


def tuned(
    sampler: Callable[[Pubo, int, int], Runs | None],
    problems: list[Pubo],
    targets: list[float],
    grid: tuple[int, ...],
    reads: int,
) -> float | None:
    """Median time over the problems at the best number of sweeps of the grid."""
    best = math.inf
    for sweeps in grid:
        times = []
        for pubo, target in zip(problems, targets, strict=True):
            runs = sampler(pubo, sweeps, reads)
            if runs is None:
                return None
            times.append(time_to_target(*runs, target))
        best = min(best, float(np.median(times)))
    return best


def compare(bits: int, *, instances: int, reads: int, neal_grid: tuple[int, ...]) -> None:
    """Time to target of the three on complete random cubics."""
    problems = [instance(bits, seed) for seed in range(instances)]
    targets = [float(solve(p, reads=3000, sweeps=400, keep=1).energies[0]) for p in problems]
    mine = tuned(ours, problems, targets, SWEEPS, reads)
    tries = [
        tuned(partial(openjij, own_betas=own), problems, targets, SWEEPS, reads)
        for own in (True, False)
    ]
    theirs = None if None in tries else min(t for t in tries if t is not None)
    reduced = tuned(neal, problems, targets, neal_grid, reads) if neal_grid else None
    assert mine is not None
    figures: dict[str, object] = {"anneal_ms": 1e3 * mine}
    if theirs is None:
        figures["openjij"] = "not installed"
    else:
        figures |= {"openjij_ms": 1e3 * theirs, "times_openjij": theirs / mine}
    if reduced is not None:
        figures |= {"neal_s": reduced, "times_neal": reduced / mine}
    row(f"complete cubic, N={bits}", **figures)


def weights_against_bits(features: int, depth: int, reads: int) -> None:
    """The same compiled problem in both spaces: time to the lowest energy either finds."""
    pubo = compile("mease-wyner", bits=depth, features=features, scale="none", bias=False).pubo
    cubic = weight_cubic(pubo)
    assert cubic is not None
    target = float(solve(pubo, reads=1000, sweeps=400, keep=1).energies[0])

    def in_weights(_: Pubo, sweeps: int, count: int) -> Runs:
        energies = np.empty(count)
        start = time.perf_counter()
        for number in range(count):
            found, _space = anneal(pubo, reads=1, sweeps=sweeps, keep=1, seed=number + 1)
            energies[number] = pubo.energies(found)[0]
        return time.perf_counter() - start, energies

    def in_bits(_: Pubo, sweeps: int, count: int) -> Runs:
        energies = np.empty(count)
        start = time.perf_counter()
        for number in range(count):
            found, _space = anneal(pubo, reads=1, sweeps=sweeps, keep=1, seed=number, space="bits")
            energies[number] = pubo.energies(found)[0]
        return time.perf_counter() - start, energies

    by_weights = tuned(in_weights, [pubo], [target], SWEEPS, reads)
    by_bits = tuned(in_bits, [pubo], [target], SWEEPS, reads)
    assert by_weights is not None and by_bits is not None
    row(f"n={features}, d={depth}: weights against bits", weights_ms=1e3 * by_weights,
        bits_ms=1e3 * by_bits, times=by_bits / by_weights)  # fmt: skip


def numpy_margins(data: Dataset, loss: Loss, encoding: Encoding, proposals: int) -> float:
    """Proposals a second of a plain numpy annealer over the margins."""
    rng = np.random.default_rng(0)
    columns = data.x.tocsc() if hasattr(data.x, "tocsc") else None
    weights = np.zeros(data.features)
    margins = np.zeros(len(data))
    start = time.perf_counter()
    for _ in range(proposals):
        a = int(rng.integers(data.features))
        d = encoding.step * rng.choice((-1, 1))
        if columns is not None:
            part = slice(columns.indptr[a], columns.indptr[a + 1])
            rows, values = columns.indices[part], columns.data[part] * data.y[columns.indices[part]]
        else:
            rows, values = np.arange(len(data)), np.asarray(data.x)[:, a] * data.y
        new = margins[rows] + d * values
        change = float(np.sum(loss(new) - loss(margins[rows]))) / len(data)
        if change <= 0 or rng.random() < math.exp(-change / 1e-4):
            margins[rows] = new
            weights[a] += d
    return proposals / (time.perf_counter() - start)


def margins(data: Dataset, name: str, sweeps: int) -> None:
    """Proposals a second over the examples, against plain numpy."""
    loss = fit_loss(moments_of(data, 1, fit=False), 6, l2=0.0)
    encoding = Encoding(data.features, 4, loss.zeta)
    given: dict[str, Any] = {"reads": 1, "keep": 1}
    anneal_examples(data, loss, encoding, sweeps=1, **given)
    start = time.perf_counter()
    anneal_examples(data, loss, encoding, sweeps=sweeps, **given)
    rate = sweeps * data.features / (time.perf_counter() - start)
    plain = numpy_margins(data, loss, encoding, 200 if sweeps > 5 else 20)
    row(f"{name}, order 6 over margins", proposals_a_second=rate, numpy=plain, times=rate / plain)


def main() -> None:
    """Measure everything, or with --tiny one small case of each."""
    tiny = options(__doc__).tiny
    ours(instance(6, 0), 5, 2)  # compiles the kernels
    if tiny:
        compare(10, instances=1, reads=20, neal_grid=(50,))
        weights_against_bits(3, 3, 10)
        margins(read("breast-cancer"), "breast-cancer", 2)
        return
    compare(30, instances=5, reads=200, neal_grid=(1000, 10_000))
    compare(60, instances=5, reads=200, neal_grid=())
    compare(100, instances=1, reads=20, neal_grid=())
    weights_against_bits(12, 4, 100)
    weights_against_bits(20, 4, 50)
    path = data_file("adult9")
    if path is not None:
        margins(read(path), "adult9", 10)


if __name__ == "__main__":
    main()
