"""Simulated annealing on the polynomial itself: over bits, spins or weights."""

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
from qcompile.solvers.landscape import (
    Ground,
    full_tensors,
    ground_of_spins,
    is_dense,
    is_full_quadratic,
    spins_of,
    spread_of_bits,
)
from qcompile.solvers.restarts import (
    DEFAULT_SWEEPS,
    Ending,
    One,
    Search,
    Stop,
    check_counts,
    run_restarts,
    temperatures_from,
)
from qcompile.stages.arrays import Floats
from qcompile.stages.encoding import Encoding
from qcompile.stages.pubo import Pubo
from qcompile.stages.spins import bits_to_spins

__all__ = [
    "SPACES",
    "Annealed",
    "AnnealedWeights",
    "anneal",
    "anneal_cubic",
    "annealed",
    "annealed_weights",
    "bit_annealer",
    "choices_of",
    "spin_annealer",
]


SPACES = ("auto", "bits", "spins", "weights")

_STATES = 400  # random states from which temperatures are taken
# Single flips hardly ever set all bits of a product of so many; no loss has such terms.
_WIDE = 9

# Makes one restart: of so many sweeps, with this seed, into a pool.
Annealer = Callable[[int, int, Any], None]


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
    ending: Ending | None = None,
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
    ending = ending or Ending()
    cubic = choices_of(pubo) if space == "auto" else None
    if space == "weights":
        cubic = choices_of(pubo, needed=True)
    if cubic is not None:
        return annealed_weights(cubic, reads, sweeps, keep, seed, temperatures, ending)
    spins = _spins(pubo, space)
    problem = (pubo, spins, sweeps, seed, temperatures)
    found = run_restarts(Search(_over_flips, problem, reads, keep, ending=ending))
    states = found.states.astype(np.int8)
    return Annealed(states, found.occurrences, "bits" if spins is None else "spins", found.made)


def choices_of(pubo: Pubo, *, needed: bool = False) -> WeightCubic | None:
    """Return the cubic of weights with more than one bit, or None if annealing bits is better.

    Raise InputError if there is no cubic of weights at all and it is `needed`.
    """
    cubic = weight_cubic(pubo)
    if cubic is None and needed:
        raise InputError(
            "this polynomial is not a cubic of weights: its degree exceeds 3, it has indicators or "
            "dropped terms, or it was not compiled from data; use space bits"
        )
    return None if cubic is None or not _has_choices(cubic.encoding) else cubic


def _spins(pubo: Pubo, space: str) -> Pubo | None:
    """Return the polynomial of spins if they are asked for, or are less work."""
    if space == "spins":
        return bits_to_spins(pubo)
    return spins_of(pubo) if space == "auto" else None


def annealed_weights(
    cubic: WeightCubic,
    reads: int,
    sweeps: int | None,
    keep: int,
    seed: int,
    temperatures: tuple[float, float] | None,
    ending: Ending,
) -> Annealed:
    """Anneal weights, and return bits."""
    lowest = anneal_cubic(
        cubic,
        reads=reads,
        sweeps=sweeps,
        keep=keep,
        seed=seed,
        temperatures=temperatures,
        ending=ending,
    )
    bits = cubic.encoding.encode(lowest.weights)
    return Annealed(bits, lowest.occurrences, "weights", lowest.reads)


def anneal_cubic(
    cubic: WeightCubic,
    *,
    l0: float = 0.0,
    reads: int = 100,
    sweeps: int | None = None,
    keep: int = 50,
    seed: int = 0,
    temperatures: tuple[float, float] | None = None,
    ending: Ending | None = None,
) -> AnnealedWeights:
    """Anneal weights of a cubic; return up to `keep` lowest distinct ones, in order.

    `l0` is charged for each weight that is not zero.
    """
    check_counts(reads, sweeps, keep)
    problem = (cubic, l0, sweeps, seed, temperatures)
    search = Search(_over_weights, problem, reads, keep, ending=ending or Ending())
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

    def one(number: int, pool: Any, _stop: Stop) -> None:
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


def _over_flips(
    pubo: Pubo,
    spins: Pubo | None,
    sweeps: int | None,
    seed: int,
    temperatures: tuple[float, float] | None,
) -> tuple[One, int]:
    """Return the function that makes one restart in bits or spins, and the size of a state."""
    if spins is None:
        run = bit_annealer(pubo, temperatures)
    else:
        run = spin_annealer(ground_of_spins(spins), temperatures)

    def one(number: int, pool: Any, _stop: Stop) -> None:
        run(sweeps or DEFAULT_SWEEPS, seed * 1_000_003 + number, pool)

    return one, pubo.variables


def bit_annealer(pubo: Pubo, temperatures: tuple[float, float] | None = None) -> Annealer:
    """Return a function that anneals bits."""
    hot, cold = temperatures or temperatures_from(spread_of_bits(pubo))
    run = _tensors(pubo) if is_full_quadratic(pubo) or is_dense(pubo) else _by_terms(pubo)

    def anneal_once(sweeps: int, seed: int, pool: Any) -> None:
        run(sweeps, hot, cold, seed, pool)

    return anneal_once


def spin_annealer(ground: Ground, temperatures: tuple[float, float] | None = None) -> Annealer:
    """Return a function that anneals on a landscape."""
    from qcompile.solvers.landscape_kernels import anneal_landscape

    hot, cold = temperatures or temperatures_from(ground.spread)

    def anneal_once(sweeps: int, seed: int, pool: Any) -> None:
        anneal_landscape(ground.fresh(), ground.energy, sweeps, hot, cold, seed, pool)

    return anneal_once


def _tensors(pubo: Pubo) -> Callable[..., None]:
    from qcompile.solvers.anneal_kernels import anneal_dense

    first, second, third = full_tensors(pubo)

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
