"""L-BFGS on the objective of the rounds: what a laptop reaches without bits."""

from __future__ import annotations

import numpy as np

from qcompile.moments.local import risk_and_slope
from qcompile.moments.unit_rows import UnitRows, one_core_blas
from qcompile.stages.arrays import Floats
from qcompile.training.memory import Memory
from qcompile.training.start import least_squares, scaled_to_lowest

__all__ = ["descend_smoothly"]


# The objective is a risk: its seventh digit is of no use.
_LIMITS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-7}


def descend_smoothly(
    rows: UnitRows,
    l2: float,
    *,
    direction: Floats | None = None,
    starts: int = 1,
    seed: int = 0,
    begin: Floats | None = None,
    only_begin: bool = False,
    memory: Memory | None = None,
) -> tuple[Floats, float]:
    """Return the weights with the lowest F that L-BFGS finds from several starts, and that F.

    The starts are those of the rounds: the least-squares classifier (`direction`, which is found if
    it is not given), `begin`, 0, and directions at random; with `only_begin` not the first of them.
    `memory` stands for rows that are gone.
    """
    from scipy.optimize import minimize

    def value(weights: Floats) -> tuple[float, Floats]:
        risk, slope = risk_and_slope(rows, weights)
        if memory is not None:
            risk += float(memory.at(weights[None])[0])
            slope = slope + memory.slope_at(weights)
        return risk + l2 / 2 * float(weights @ weights), slope + l2 * weights

    firsts = []
    if not only_begin:
        known = least_squares(rows) if direction is None else direction
        firsts.append(scaled_to_lowest(rows, known, l2))
    if begin is not None:
        firsts.append(begin)
    rng = np.random.default_rng([seed, 23])
    for number in range(starts - 1):
        drawn = rng.normal(size=rows.features)
        firsts.append(
            np.zeros(rows.features) if not number else 2.0 * drawn / np.linalg.norm(drawn)
        )
    best: tuple[Floats, float] | None = None
    for first in firsts:
        with one_core_blas():  # threads for its small matrices take longer than all else
            found = minimize(value, first, jac=True, method="L-BFGS-B", options=_LIMITS)
        if best is None or float(found.fun) < best[1]:
            best = np.asarray(found.x, dtype=np.float64), float(found.fun)
    assert best is not None
    return best
