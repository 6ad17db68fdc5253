"""Memetic search: tabu walks from the crossings of the lowest states, in bits or in spins."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcompile.solvers.anneal import (
    Annealed,
    annealed_weights,
    bit_annealer,
    choices_of,
    spin_annealer,
)
from qcompile.solvers.landscape import Ground, ground_of_bits, ground_of_spins, spins_of
from qcompile.solvers.restarts import (
    DEFAULT_SWEEPS,
    Ending,
    One,
    Search,
    Stop,
    check_counts,
    run_restarts,
)
from qcompile.stages.pubo import Pubo

__all__ = ["searched"]


# States that are crossed. On the problems of `benchmarks.labs` 8 to 100 do equally well.
_STATES = 16
# Steps for which a flip is barred from being undone: up to twice as many, chosen at random.
_TENURE, _MOST_TENURE = 10, 20
# What steps cost, roughly, in the time that it takes to change one number.
_STEP, _VARIABLE, _PROPOSAL, _SHARE_TAKEN = 40.0, 1.0, 4.0, 0.2
# A call of the kernel ends after so much work, about a tenth of a second, to see if it is to stop.
_SLICE = 1e8


def searched(
    pubo: Pubo,
    *,
    solver: str = "auto",
    reads: int = 100,
    sweeps: int | None = None,
    keep: int = 50,
    seed: int = 0,
    ending: Ending | None = None,
) -> Annealed:
    """Search with "memetic" or, for "auto", with it and the annealer by turns.

    "auto" anneals only where the annealer works on weights of more than one bit, which are far
    fewer than their bits.
    """
    ending = ending or Ending()
    check_counts(reads, sweeps, keep)
    if not pubo.variables:
        return Annealed(np.zeros((1, 0), dtype=np.int8), np.array([reads]), "bits", reads)
    keep = min(keep, 1 << min(pubo.variables, 40))
    cubic = choices_of(pubo) if solver == "auto" else None
    if cubic is not None:
        return annealed_weights(cubic, reads, sweeps, keep, seed, None, ending)
    spins = spins_of(pubo)
    problem = (pubo, spins, solver == "auto", sweeps or DEFAULT_SWEEPS, seed, ending.goal)
    found = run_restarts(Search(_over_flips, problem, reads, keep, ending=ending))
    states = found.states.astype(np.int8)
    return Annealed(states, found.occurrences, "bits" if spins is None else "spins", found.made)


def _over_flips(
    pubo: Pubo, spins: Pubo | None, by_turns: bool, sweeps: int, seed: int, goal: float
) -> tuple[One, int]:
    """Return the function that makes one restart, and the size of a state.

    By turns, restarts with even numbers anneal, and the others take as much work.
    """
    ground = ground_of_bits(pubo) if spins is None else ground_of_spins(spins)
    size = ground.variables
    if not by_turns:
        return _walks(ground, sweeps * size, seed, goal), size
    anneal = bit_annealer(pubo) if spins is None else spin_annealer(ground)
    walk = _walks(ground, _as_much(ground, sweeps), seed, goal)

    def one(number: int, pool: Any, stop: Stop) -> None:
        if number % 2:
            walk(number, pool, stop)
        else:
            anneal(sweeps, seed * 1_000_003 + number, pool)

    return one, size


def _as_much(ground: Ground, sweeps: int) -> int:
    """Return the steps that take about as long as a restart of the annealer."""
    taken = _SHARE_TAKEN * (_STEP + ground.work)
    annealing = sweeps * ground.variables * (_PROPOSAL + taken)
    return max(ground.variables, round(annealing / _cost(ground)))


def _cost(ground: Ground) -> float:
    """Return the work of a step."""
    return _STEP + _VARIABLE * ground.variables + ground.work


def _walks(ground: Ground, steps: int, seed: int, goal: float) -> One:
    """Return the function that makes one restart of so many steps."""
    from qcompile.runtime.random import generator
    from qcompile.solvers.memetic_kernels import population_of, search

    tenure = min(_MOST_TENURE, ground.variables // _TENURE)
    portion = max(1, int(_SLICE / _cost(ground)))

    def one(number: int, pool: Any, stop: Stop) -> None:
        at = ground.fresh()
        population = population_of(_STATES, ground.variables, ground.energy)
        random = generator(seed * 1_000_003 + number)
        left = steps
        while left > 0:
            left -= search(at, population, min(left, portion), tenure, goal, random, pool)
            if stop() or pool.lowest[0] <= goal:
                break

    return one
