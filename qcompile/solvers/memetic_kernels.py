"""Compiled memetic search: tabu walks from the crossings of a population's states.

The kernels are the same for every landscape, and numba compiles them for the one that is used. A
step of a walk flips the variable whose flip costs least and was not flipped lately; a flip that
leads below the lowest state of the walk is always allowed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.runtime.random import uniform
from qcompile.solvers.landscape_kernels import flip
from qcompile.solvers.pool_kernel import Pool, note_lowest, offer, zobrist

__all__ = ["Population", "population_of", "search"]


# A walk has two to four steps a variable.
_SHORTEST, _SPREAD = 2, 2


class Population(NamedTuple):
    """States that walks have found, and the walk that is under way.

    ``counts`` are: how many states there are; walks since one of them was improved. ``energy`` and
    ``mark`` are those of the landscape's present state, ``best`` is the lowest of a walk.
    """

    states: NDArray[np.int32]
    energies: NDArray[np.float64]
    counts: NDArray[np.int64]
    energy: NDArray[np.float64]
    mark: NDArray[np.uint64]
    best: NDArray[np.int32]
    target: NDArray[np.int32]
    barred: NDArray[np.int64]


def population_of(size: int, variables: int, energy: float) -> Population:
    """Return an empty population; `energy` is that of the state in which all bits are 0."""
    return Population(
        np.zeros((size, variables), dtype=np.int32),
        np.full(size, np.inf),
        np.zeros(2, dtype=np.int64),
        np.full(1, energy),
        np.zeros(1, dtype=np.uint64),
        np.zeros(variables, dtype=np.int32),
        np.zeros(variables, dtype=np.int32),
        np.zeros(variables, dtype=np.int64),
    )


@jit
def search(
    at: Any,
    population: Population,
    steps: int,
    tenure: int,
    goal: float,
    random: NDArray[np.uint64],
    pool: Pool,
) -> int:
    """Walk until about `steps` flips are made or an energy is not above `goal`; return the flips.

    A further call goes on with the same population.
    """
    size = len(at.bits)
    made = 0
    while made < steps:
        _choose_start(population, random)
        made += _go_to_start(at, population, pool)
        length = size * _SHORTEST + int(uniform(random) * (size * _SPREAD + 1))
        lowest, taken = _walk(at, population, length, tenure, goal, random, pool)
        made += taken
        _take_in(population, lowest)
        if lowest <= goal:
            break
    return made


@jit
def _choose_start(population: Population, random: NDArray[np.uint64]) -> None:
    """Choose a random state while the population is not full, later a crossing of two."""
    target = population.target
    size = len(target)
    most = len(population.energies)
    if population.counts[0] < most:
        for i in range(size):
            target[i] = 1 if uniform(random) < 0.5 else 0
        return
    first = int(uniform(random) * most)
    second = int(uniform(random) * most)
    change = 1.0 / size
    for i in range(size):
        one = population.states[first, i]
        other = population.states[second, i]
        target[i] = one if one == other or uniform(random) < 0.5 else other
        if uniform(random) < change:
            target[i] = 1 - target[i]


@jit
def _go_to_start(at: Any, population: Population, pool: Pool) -> int:
    """Flip what differs from the start of the next walk; return the number of flips."""
    energy, mark, made = population.energy[0], population.mark[0], 0
    for i in range(len(at.bits)):
        if at.bits[i] != population.target[i]:
            energy += at.rise[i]
            mark ^= zobrist(i, 1)
            flip(at, i)
            made += 1
    population.energy[0] = energy
    population.mark[0] = mark
    offer(pool, energy, mark, at.bits)
    return made


@jit
def _walk(
    at: Any,
    population: Population,
    length: int,
    tenure: int,
    goal: float,
    random: NDArray[np.uint64],
    pool: Pool,
) -> tuple[float, int]:
    """Make a tabu walk; return the lowest energy on it, whose state is ``best``, and its length."""
    size = len(at.bits)
    best, barred = population.best, population.barred
    energy, mark = population.energy[0], population.mark[0]
    for i in range(size):
        best[i] = at.bits[i]
        barred[i] = 0
    lowest = energy
    full = pool.meta[0] == len(pool.energies)
    limit = pool.energies[pool.meta[1]] if full else np.inf
    step = 0
    while step < length and lowest > goal:
        step += 1
        i = _cheapest(at.rise, barred, step, lowest - energy, random)
        if i < 0:
            break
        energy += at.rise[i]
        mark ^= zobrist(i, 1)
        flip(at, i)
        barred[i] = step + tenure + int(uniform(random) * (tenure + 1))
        if energy < lowest:
            lowest = energy
            for j in range(size):
                best[j] = at.bits[j]
        if energy < limit:
            offer(pool, energy, mark, at.bits)
            if pool.meta[0] == len(pool.energies):
                limit = pool.energies[pool.meta[1]]
        else:
            note_lowest(pool, energy, mark)
    population.energy[0] = energy
    population.mark[0] = mark
    return lowest, step


@jit
def _cheapest(
    rise: NDArray[np.float64],
    barred: NDArray[np.int64],
    step: int,
    enough: float,
    random: NDArray[np.uint64],
) -> int:
    """Return the variable whose flip costs least, of equals one at random; -1 if all are barred.

    A flip that is barred counts if it costs less than `enough`.
    """
    size = len(barred)
    least = np.inf
    for i in range(size):
        cost = rise[i]
        if cost < least and (barred[i] < step or cost < enough):
            least = cost
    if least == np.inf:
        return -1
    start = int(uniform(random) * size)
    for i in range(start, size):
        if rise[i] == least and (barred[i] < step or least < enough):
            return i
    for i in range(start):
        if rise[i] == least and (barred[i] < step or least < enough):
            return i
    return -1


@jit
def _take_in(population: Population, lowest: float) -> None:
    """Put the lowest state of a walk in the place of the highest one, if it is lower and new."""
    size = len(population.best)
    most = len(population.energies)
    filled = population.counts[0]
    place = filled
    if filled == most:
        place = 0
        for k in range(most):
            if population.energies[k] > population.energies[place]:
                place = k
        if lowest >= population.energies[place] or _is_there(population, lowest):
            population.counts[1] += 1
            if population.counts[1] > 4 * most:
                population.counts[0] = 0
                population.counts[1] = 0
            return
    else:
        population.counts[0] = filled + 1
    population.counts[1] = 0
    population.energies[place] = lowest
    for i in range(size):
        population.states[place, i] = population.best[i]


@jit
def _is_there(population: Population, lowest: float) -> bool:
    """Whether the state of a walk is in the population."""
    for k in range(len(population.energies)):
        if population.energies[k] == lowest:
            same = True
            for i in range(len(population.best)):
                if population.states[k, i] != population.best[i]:
                    same = False
                    break
            if same:
                return True
    return False
