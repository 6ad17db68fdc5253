"""Compiled evaluation of a polynomial of bits."""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = ["add_energies"]


@jit
def add_energies(
    columns: NDArray[np.float64],
    indices: NDArray[np.int32],
    coefficients: NDArray[np.float64],
    energies: NDArray[np.float64],
) -> None:
    """Add Σ coefficient Π columns[i, s] to energies[s]; samples lie side by side, for SIMD."""
    lanes = columns.shape[1]
    degree = indices.shape[1]
    product = np.empty(lanes)
    for term in range(len(coefficients)):
        for s in range(lanes):
            product[s] = coefficients[term]
        for t in range(degree):
            row = indices[term, t]
            for s in range(lanes):
                product[s] *= columns[row, s]
        for s in range(lanes):
            energies[s] += product[s]
