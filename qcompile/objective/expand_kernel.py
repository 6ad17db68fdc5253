"""Compiled expansion of a polynomial of weights into terms of bits, and its evaluation."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["expand", "expand_all_triples"]


@jit
def expand(
    first: int,
    last: int,
    variables: int,
    degree: int,
    tensors: NDArray[np.float64],
    prefix_parts: NDArray[np.int64],
    prefix_values: NDArray[np.float64],
    threshold: float,
    fill: bool,
    indices: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    dropped: NDArray[np.float64],
) -> int:
    """Count or fill the terms of one degree whose first bit is in [first, last), in order.

    A term is a set of bits; composition c gives its t-th bit an exponent, which adds
    ``prefix_parts[c, t, bit]`` to the position in `tensors` and multiplies by
    ``prefix_values[c, t, bit]``. The coefficient is the sum over the compositions. Terms of size up
    to `threshold` are left out; `dropped` sums up the negative and the positive ones.
    """
    ways = prefix_parts.shape[0]
    bits = np.arange(first, first + degree)
    # positions and factors of the first t bits, for each composition
    places = np.zeros((degree, ways), dtype=np.int64)
    factors = np.ones((degree, ways))
    changed = 0
    kept = 0
    end = degree - 1
    while True:
        for t in range(changed, end):
            for c in range(ways):
                before = places[t - 1, c] if t > 0 else 0
                factor = factors[t - 1, c] if t > 0 else 1.0
                places[t, c] = before + prefix_parts[c, t, bits[t]]
                factors[t, c] = factor * prefix_values[c, t, bits[t]]
        start = bits[end - 1] + 1 if end > 0 else first
        stop = variables if end > 0 else last
        for bit in range(start, stop):
            value = 0.0
            for c in range(ways):
                place = (places[end - 1, c] if end > 0 else 0) + prefix_parts[c, end, bit]
                factor = (factors[end - 1, c] if end > 0 else 1.0) * prefix_values[c, end, bit]
                value += tensors[place] * factor
            if abs(value) > threshold:
                if fill:
                    for t in range(end):
                        indices[kept, t] = bits[t]
                    indices[kept, end] = bit
                    coefficients[kept] = value
                kept += 1
            elif value < 0.0:
                dropped[0] += value
            else:
                dropped[1] += value
        # next choice of all bits but the last
        changed = end - 1
        while changed >= 0 and bits[changed] >= variables - (degree - changed):
            changed -= 1
        if changed < 0 or (changed == 0 and bits[0] + 1 >= last):
            return kept
        bits[changed] += 1
        for t in range(changed + 1, end):
            bits[t] = bits[t - 1] + 1


@jit
def expand_all_triples(
    first: int,
    last: int,
    variables: int,
    tensors: NDArray[np.float64],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
    indices: NDArray[np.int32],
    coefficients: NDArray[np.float64],
) -> int:
    """Do as `expand` for the top degree of a complete cubic; return the number of nonzero terms.

    Every term's place in the output is known beforehand, so that the tensor can be walked in tiles:
    neighbours in it, which are far apart in the output, are used while they are in the cache.
    """
    tile = 8
    kept = 0
    start = variables - first
    base = start * (start - 1) * (start - 2) // 6
    for i0 in range(first, last, tile):
        for j0 in range(i0 + 1, variables - 1, tile):
            for k in range(j0 + 1, variables):
                for i in range(i0, min(i0 + tile, last)):
                    rest = variables - i
                    before = base - rest * (rest - 1) * (rest - 2) // 6
                    for j in range(max(j0, i + 1), min(j0 + tile, k)):
                        gap = j - i - 1
                        at = before + gap * (variables - 1) - gap * (i + j) // 2 + k - j - 1
                        factor = values[0, i] * values[1, j] * values[2, k]
                        value = tensors[places[0, i] + places[1, j] + places[2, k]] * factor
                        indices[at, 0], indices[at, 1], indices[at, 2] = i, j, k
                        coefficients[at] = value
                        kept += value != 0.0
    return kept
