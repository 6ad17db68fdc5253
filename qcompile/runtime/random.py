"""Compiled random numbers that are the same on every machine and in every thread."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["generator", "uniform"]


@jit
def generator(seed: int) -> NDArray[np.uint64]:
    """Return the state of a 64-bit xorshift generator."""
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed) * np.uint64(2654435761) + np.uint64(88172645463325252)
    return state


@jit
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a number in [0, 1) and advance the state."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0
