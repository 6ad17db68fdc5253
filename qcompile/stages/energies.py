"""Evaluation of the terms of a polynomial, compiled where that pays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats

__all__ = ["add_energies"]

# Up to so many products arrays are as fast as a kernel, which has to be compiled or loaded first.
_FEW_PRODUCTS = 1 << 18


def add_energies(
    columns: Floats, indices: NDArray[np.int32], coefficients: Floats, energies: Floats
) -> None:
    """Add Σ coefficient Π columns[i, s] to energies[s], term by term.

    The sums are the same to the last bit, whichever way they are added.
    """
    if len(coefficients) * columns.shape[1] > _FEW_PRODUCTS:
        from qcompile.stages.energy_kernel import add_energies as add_compiled

        add_compiled(columns, indices, coefficients, energies)
        return
    sums = np.empty((len(coefficients) + 1, columns.shape[1]))
    sums[0] = energies
    products = sums[1:]
    products[...] = coefficients[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # infinite, as in the kernel
        for column in indices.T:
            products *= columns[column]
        # a sum of numpy would add in another order than the kernel
        energies[:] = np.add.accumulate(sums, axis=0, out=sums)[-1]
