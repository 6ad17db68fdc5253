"""L-BFGS on the objective of the rounds: what a laptop reaches without bits."""

from __future__ import annotations

import numpy as np

from qcompile.moments.local import risk_and_slope
from qcompile.moments.unit_rows import UnitRows
from qcompile.stages.arrays import Floats

__all__ = ["descend_smoothly"]


def descend_smoothly(
    rows: UnitRows, l2: float, *, starts: int = 1, seed: int = 0, begin: Floats | None = None
) -> tuple[Floats, float]:
    """Return the weights with the lowest F that L-BFGS finds from several starts, and that F.

    The first start is `begin` (0 by default), the others are directions at random.
    """
    from scipy.optimize import minimize

    def value(weights: Floats) -> tuple[float, Floats]:
        risk, slope = risk_and_slope(rows, weights)
        return risk + l2 / 2 * float(weights @ weights), slope + l2 * weights

    rng = np.random.default_rng([seed, 23])
    best: tuple[Floats, float] | None = None
    for number in range(starts):
        if number == 0:
            first = np.zeros(rows.features) if begin is None else begin
        else:
            first = rng.normal(size=rows.features)
            first *= 2.0 / np.linalg.norm(first)
        found = minimize(
            value, first, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "maxfun": 4000}
        )
        if best is None or float(found.fun) < best[1]:
            best = np.asarray(found.x, dtype=np.float64), float(found.fun)
    assert best is not None
    return best
