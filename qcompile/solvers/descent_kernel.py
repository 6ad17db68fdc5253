"""Compiled descent on a polynomial of bits by single flips."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit
from qcompile.solvers.anneal_kernels import flip_terms

__all__ = ["descend_rows"]


@jit
def descend_rows(
    rows: NDArray[np.int8],
    members: NDArray[np.int32],
    member_starts: NDArray[np.int64],
    values: NDArray[np.float64],
    terms: NDArray[np.int32],
    term_starts: NDArray[np.int64],
    least: float,
    most: int,
) -> int:
    """Flip bits of each row in order, while a flip lowers the energy by more than `least`.

    Return the number of flips. No row is swept more than `most` times.
    """
    size = rows.shape[1]
    bits = np.empty(size, dtype=np.int32)
    field = np.empty(size)
    off = np.empty(len(values), dtype=np.int32)
    flips = 0
    for r in range(len(rows)):
        for i in range(size):
            bits[i] = rows[r, i]
            field[i] = 0.0
        for t in range(len(values)):
            off[t] = 0
            for q in range(member_starts[t], member_starts[t + 1]):
                off[t] += 1 - bits[members[q]]
            for q in range(member_starts[t], member_starts[t + 1]):
                j = members[q]
                # a term acts on a bit when all its other members are on
                if off[t] == 0 or (off[t] == 1 and bits[j] == 0):
                    field[j] += values[t]
        for _ in range(most):
            before = flips
            for i in range(size):
                rise = -field[i] if bits[i] else field[i]
                if rise < -least:
                    flip_terms(
                        i, bits, field, off, members, member_starts, values, terms, term_starts
                    )
                    flips += 1
            if flips == before:
                break
        for i in range(size):
            rows[r, i] = bits[i]
    return flips
