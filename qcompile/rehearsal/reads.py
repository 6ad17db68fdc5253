"""How many reads are needed: resampling of those that a rehearsal made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qcompile.stages.arrays import Floats

__all__ = ["lowest_of", "reads_for", "steps_up_to"]


_SURE = 0.99
_MOST_READS = 1_000_000


def reads_for(shares: Sequence[float]) -> int | None:
    """Return the reads of one draw of which one is good with a chance of 99%.

    `shares` are the shares of good reads, one for each draw of the errors. A job meets one of these
    draws, so the chance is the mean over them. None if a million reads would be too few: most often
    because no read of a draw was good.

    >>> reads_for([0.5]), reads_for([1.0, 1.0]), reads_for([0.5, 0.0])
    (7, 1, None)
    """
    good = np.asarray(shares, dtype=np.float64)

    def chance(reads: int) -> float:
        return float(np.mean(1.0 - (1.0 - good) ** reads))

    if not len(good) or chance(_MOST_READS) < _SURE:
        return None
    low, high = 0, _MOST_READS  # not enough, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= _SURE else (middle, high)
    return high


def lowest_of(values: Floats, reads: int) -> float:
    """Return the mean of the lowest of so many values that are drawn with replacement.

    >>> lowest_of(np.array([2.0, 0.0]), 1), lowest_of(np.array([2.0, 0.0]), 2)
    (1.0, 0.5)
    """
    ordered = np.sort(values)
    # chance that all reads are at this place of the order or after it
    beyond = ((len(ordered) - np.arange(len(ordered) + 1)) / len(ordered)) ** reads
    return float(ordered @ -np.diff(beyond))


def steps_up_to(reads: int) -> list[int]:
    """Return 1, 10, 100, ... up to the number of reads, which is the last.

    >>> steps_up_to(50)
    [1, 10, 50]
    """
    steps = [10**power for power in range(len(str(reads))) if 10**power < reads]
    return [*steps, reads]
