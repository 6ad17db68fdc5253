"""Evaluate polynomials of bits, many samples at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.runtime.threads import ordered

if TYPE_CHECKING:
    from qcompile.stages.artifacts import Floats, Pubo

__all__ = ["polynomial_energies"]

_LANES = 64


def polynomial_energies(pubo: Pubo, samples: ArrayLike) -> Floats:
    """Give E(q) for each row q of 0/1 values: O(terms) a sample, whatever the data were."""
    from qcompile.objective.expand_kernel import add_energies

    rows = np.atleast_2d(np.asarray(samples))
    if rows.ndim != 2 or rows.shape[1] != pubo.variables:
        raise InputError(f"samples of shape {rows.shape}; expected (any, {pubo.variables})")
    if not np.isin(rows, (0, 1)).all():
        raise InputError("samples with values other than 0 and 1")

    def evaluate(start: int) -> Floats:
        columns = np.ascontiguousarray(rows[start : start + _LANES].T, dtype=np.float64)
        energies = np.full(columns.shape[1], pubo.constant)
        for indices, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
            add_energies(columns, indices, coefficients, energies)
        return energies

    blocks = list(ordered(evaluate, range(0, len(rows), _LANES)))
    return np.concatenate(blocks) if blocks else np.zeros(0)
