"""Simulated annealing on the polynomial itself: over bits or over weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.objective.weight_space import WeightCubic, weight_cubic
from qcompile.runtime import cluster
from qcompile.runtime.progress import Progress, shown_by
from qcompile.solvers.incidence import incidence_of
from qcompile.solvers.restarts import (
    DEFAULT_SWEEPS,
    One,
    Search,
    check_counts,
    run_restarts,
    temperatures_from,
)
from qcompile.stages.arrays import Floats
from qcompile.stages.encoding import Encoding
from qcompile.stages.pubo import Pubo

__all__ = ["SPACES", "Annealed", "AnnealedWeights", "anneal", "anneal_cubic", "annealed"]


SPACES = ("auto", "bits", "weights")

# A full third tensor is worth its memory up to so many bits.
_MOST_DENSE = 160
# A full matrix of so many bits takes 128 MB.
_MOST_QUADRATIC = 4000
_STATES = 400  # random states from which temperatures are taken
# Single flips hardly ever set all bits of a product of so many; no loss has such terms.
_WIDE = 9


@dataclass(frozen=True, eq=False)
class Annealed:
    """The lowest distinct states, in order, and the space in which they were found.

    `occurrences` counts the restarts of which each was the lowest state; a state that restarts only
    passed on their way counts once. `reads` is the number of restarts that were made.
    """

    bits: NDArray[np.int8]
    occurrences: NDArray[np.int64]
    space: str
    reads: int


@dataclass(frozen=True, eq=False)
class AnnealedWeights:
    """The lowest distinct weights, in order; the other fields are those of `Annealed`."""

    weights: Floats
    occurrences: NDArray[np.int64]
    reads: int


def anneal(
    pubo: Pubo,
    *,
    reads: int = 100,
    sweeps: int | None = None,
    keep: int = 50,
    seed: int = 0,
    space: str = "auto",
    temperatures: tuple[float, float] | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> tuple[NDArray[np.int8], str]:
    """Return up to `keep` lowest distinct states, and the space in which they were found.

    `temperatures` (first, last) are in units of the energy; by default they follow from the
    changes of energy that single moves make. `progress(done, total)` counts restarts. With a Dask
    `client` its workers make the restarts; the states are the same.
    """
    with shown_by(progress), cluster.using(client):
        found = annealed(
            pubo,
            reads=reads,
            sweeps=sweeps,
            keep=keep,
            seed=seed,
            space=space,
            temperatures=temperatures,
        )
    return found.bits, found.space


def annealed(
    pubo: Pubo,
    *,
    reads: int = 100,
    sweeps: int | None = None,
    keep: int = 50,
    seed: int = 0,
    space: str = "auto",
    temperatures: tuple[float, float] | None = None,
) -> Annealed:
    """Anneal as `anneal` does, and also count the restarts that found each state."""
    if space not in SPACES:
        raise InputError(f"space {space!r}; expected one of {', '.join(SPACES)}")
    check_counts(reads, sweeps, keep)
    if temperatures is not None and not 0 < temperatures[1] <= temperatures[0] < np.inf:
        raise InputError(f"temperatures {temperatures}; expected first >= last > 0")
    if not pubo.variables:
        return Annealed(np.zeros((1, 0), dtype=np.int8), np.array([reads]), "bits", reads)
    keep = min(keep, 1 << min(pubo.variables, 40))
    cubic = weight_cubic(pubo) if space in ("auto", "weights") else None
    if cubic is None and space == "weights":
        raise InputError(
            "this polynomial is not a cubic of weights: its degree exceeds 3, it has indicators or "
            "dropped terms, or it was not compiled from data; use space bits"
        )
    if cubic is not None and _has_choices(cubic.encoding):
        lowest = anneal_cubic(
            cubic, reads=reads, sweeps=sweeps, keep=keep, seed=seed, temperatures=temperatures
        )
        bits = cubic.encoding.encode(lowest.weights)
        return Annealed(bits, lowest.occurrences, "weights", lowest.reads)
    search = Search(_over_bits, (pubo, sweeps, seed, temperatures), reads, keep)
    found = run_restarts(search)
    return Annealed(found.states.astype(np.int8), found.occurrences, "bits", found.made)


def anneal_cubic(
    cubic: WeightCubic,
    *,
    l0: float = 0.0,
    reads: int = 100,
    sweeps: int | None = None,
    keep: int = 50,
    seed: int = 0,
    temperatures: tuple[float, float] | None = None,
) -> AnnealedWeights:
    """Anneal weights of a cubic; return up to `keep` lowest distinct ones, in order.

    `l0` is charged for each weight that is not zero.
    """
    check_counts(reads, sweeps, keep)
    search = Search(_over_weights, (cubic, l0, sweeps, seed, temperatures), reads, keep)
    found = run_restarts(search)
    weights = np.asarray(found.states * cubic.encoding.step, dtype=np.float64)
    return AnnealedWeights(weights, found.occurrences, found.made)


def _has_choices(encoding: Encoding) -> bool:
    """Whether a weight has more than one bit; otherwise annealing bits is simpler and as good."""
    return encoding.variables > encoding.features


def _over_weights(
    cubic: WeightCubic,
    l0: float,
    sweeps: int | None,
    seed: int,
    temperatures: tuple[float, float] | None,
) -> tuple[One, int]:
    """Return the function that makes one restart, and the size of a state."""
    from qcompile.solvers.anneal_kernels import anneal_weights

    encoding = cubic.encoding
    low, high = encoding.level_bounds
    step = encoding.step
    # derivatives at w = 0, where the kernel starts counting
    origin = encoding.offsets
    bend = cubic.third @ origin
    second = cubic.second - bend
    first = cubic.first - cubic.second @ origin + bend @ origin / 2
    constant = cubic.constant - origin @ (
        cubic.first - cubic.second @ origin / 2 + bend @ origin / 6
    )
    hot, cold = temperatures or _weight_temperatures(cubic, low, high)

    def one(number: int, pool: Any) -> None:
        anneal_weights(
            first, second, cubic.third, float(constant), l0, low, high, step,
            sweeps or DEFAULT_SWEEPS, hot, cold, seed * 1_000_003 + number, pool,
        )  # fmt: skip

    return one, encoding.features


def _weight_temperatures(
    cubic: WeightCubic, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[float, float]:
    """Return temperatures that fit the changes of energy by one step at random grid points."""
    rng = np.random.default_rng(0)
    step = cubic.encoding.step
    points = rng.integers(low, high + 1, (_STATES, len(low))) * step - cubic.encoding.offsets
    bend = np.einsum("ra,abc->rbc", points[:64], cubic.third, optimize=True)
    points = points[:64]
    slope = cubic.first + points @ cubic.second + np.einsum("rbc,rc->rb", bend, points) / 2
    return temperatures_from(np.abs(slope) * step)


def _over_bits(
    pubo: Pubo, sweeps: int | None, seed: int, temperatures: tuple[float, float] | None
) -> tuple[One, int]:
    """Return the function that makes one restart, and the size of a state."""
    hot, cold = temperatures or _bit_temperatures(pubo)
    if _is_full_quadratic(pubo):
        run = _quadratic(pubo)
    else:
        run = _dense(pubo) if _is_dense(pubo) else _by_terms(pubo)

    def one(number: int, pool: Any) -> None:
        run(sweeps or DEFAULT_SWEEPS, hot, cold, seed * 1_000_003 + number, pool)

    return one, pubo.variables


def _is_full_quadratic(pubo: Pubo) -> bool:
    """Whether adding a row of a matrix is faster than visiting the terms of a bit."""
    if pubo.degree > 2 or pubo.variables > _MOST_QUADRATIC:
        return False
    pairs = pubo.terms[1] if len(pubo.terms) > 1 else 0
    return 20 * pairs > pubo.variables**2 / 2


def _quadratic(pubo: Pubo) -> Callable[..., None]:
    from qcompile.solvers.anneal_kernels import anneal_dense

    first, second = np.zeros(pubo.variables), np.zeros((pubo.variables, pubo.variables))
    none = np.zeros((0, 0, 0))
    (rows, values), (pairs, couplings) = pubo.of_degree(1), pubo.of_degree(2)
    first[rows[:, 0]] = values
    second[pairs[:, 0], pairs[:, 1]] = second[pairs[:, 1], pairs[:, 0]] = couplings

    def run(sweeps: int, hot: float, cold: float, seed: int, pool: Any) -> None:
        anneal_dense(first, second, none, pubo.constant, sweeps, hot, cold, seed, pool)

    return run


def _is_dense(pubo: Pubo) -> bool:
    if pubo.degree > 3 or pubo.variables > _MOST_DENSE:
        return False
    triples = pubo.terms[2] if len(pubo.terms) > 2 else 0
    return 20 * triples > pubo.variables**3 / 6 or pubo.variables <= 24


def _dense(pubo: Pubo) -> Callable[..., None]:
    from qcompile.solvers.anneal_kernels import anneal_dense

    n = pubo.variables
    first, second, third = np.zeros(n), np.zeros((n, n)), np.zeros((n, n, n))
    for degree, (rows, values) in enumerate(zip(pubo.indices, pubo.coefficients, strict=True), 1):
        if degree == 1:
            first[rows[:, 0]] = values
        elif degree == 2:
            a, b = rows.T
            second[a, b] = second[b, a] = values
        elif degree == 3:
            a, b, c = rows.T
            third[a, b, c] = third[a, c, b] = third[b, a, c] = values
            third[b, c, a] = third[c, a, b] = third[c, b, a] = values

    def run(sweeps: int, hot: float, cold: float, seed: int, pool: Any) -> None:
        anneal_dense(first, second, third, pubo.constant, sweeps, hot, cold, seed, pool)

    return run


def _by_terms(pubo: Pubo) -> Callable[..., None]:
    from qcompile.solvers.anneal_kernels import anneal_terms

    found = incidence_of(pubo, "annealing the terms of this polynomial")
    sizes = np.diff(found.member_starts)
    wide = np.flatnonzero((sizes >= _WIDE) & (found.values < 0)).astype(np.int32)

    def run(sweeps: int, hot: float, cold: float, seed: int, pool: Any) -> None:
        anneal_terms(*found, wide, pubo.constant, sweeps, hot, cold, seed, pool)

    return run


def _bit_temperatures(pubo: Pubo) -> tuple[float, float]:
    """Estimate the spread of local fields at random states from the coefficients.

    A term of degree j acts on a bit when its j - 1 other bits are on: with probability 2^(1-j).
    """
    spread = np.zeros(pubo.variables)
    for degree, (rows, values) in enumerate(zip(pubo.indices, pubo.coefficients, strict=True), 1):
        share = 0.5 ** (degree - 1)
        for column in range(degree):
            spread += np.bincount(rows[:, column], values**2 * share, minlength=pubo.variables)
    return temperatures_from(np.sqrt(spread))
