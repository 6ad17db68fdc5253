"""Compiled pruning of a family of subsets."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["prune"]


@jit
def prune(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    targets: NDArray[np.int64],
    ways: NDArray[np.int64],
    monomials: int,
) -> NDArray[np.bool_]:
    """Remove members, in the given order, as long as every target can still be made.

    Entry e is one way to make target ``targets[e]``; ``entries[starts[m]:starts[m+1]]`` are the
    entries that use member m. Targets below `monomials` must be kept. The others are the members
    themselves, and need no way once they are removed. `ways` counts the ways of each target and is
    updated.
    """
    alive = np.ones(len(targets), dtype=np.bool_)
    kept = np.ones(len(starts) - 1, dtype=np.bool_)
    lost = np.zeros(len(ways), dtype=np.int64)
    for member in order:
        own = monomials + member
        possible = True
        for at in range(starts[member], starts[member + 1]):
            if alive[entries[at]]:
                target = targets[entries[at]]
                lost[target] += 1
                needed = target < monomials or kept[target - monomials]
                if needed and target != own and lost[target] >= ways[target]:
                    possible = False
        for at in range(starts[member], starts[member + 1]):
            entry = entries[at]
            lost[targets[entry]] = 0
            if possible and alive[entry]:
                alive[entry] = False
                ways[targets[entry]] -= 1
        if possible:
            kept[member] = False
    return kept
