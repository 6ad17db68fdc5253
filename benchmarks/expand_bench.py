"""Expansion into bits: against filling arrays of the same size once with constants."""

from __future__ import annotations

import numpy as np

from benchmarks.common import best_time, options, peak_memory, row
from qcompile import Moments, Pubo, discretize, fit_loss
from qcompile.stages import multisets


def moments(features: int) -> Moments:
    """Moments of no data in particular: all products present."""
    rng = np.random.default_rng(0)
    tensors = {(j, 0): rng.normal(size=multisets.count(features, j)) for j in (1, 2, 3)}
    return Moments(features, 3, 1000, 1000.0, tensors)


def build(features: int, bits: int) -> Pubo:
    """Expand a complete cubic."""
    made = moments(features)
    return discretize(
        made, fit_loss(made, coefficients=(0.5, -1, 0.1, 0.2), weight_range=1.0), bits
    )


def measure(features: int, bits: int, repeat: int) -> None:
    """Time the expansion and the filling; measure the memory of a process that does the first."""
    made = moments(features)
    loss = fit_loss(made, coefficients=(0.5, -1, 0.1, 0.2), weight_range=1.0)
    terms = discretize(made, loss, bits).terms

    def fill() -> None:
        for degree, count in enumerate(terms, 1):
            np.full((count, degree), 1, dtype=np.int32)
            np.full(count, 1.0)

    ours = best_time(lambda: discretize(made, loss, bits), repeat)
    filling = best_time(fill, repeat)
    row(f"n={features} d={bits}, {sum(terms):,} terms", expand_s=ours, fill_s=filling,
        ratio=ours / filling, peak_GB=peak_memory(build, features, bits) / 1e9)  # fmt: skip


def main() -> None:
    """Run on the paper's sizes, or on a small one."""
    chosen = options(__doc__)
    for features, bits in ((10, 2),) if chosen.tiny else ((100, 4), (500, 1)):
        measure(features, bits, 1 if chosen.tiny else chosen.repeat)


if __name__ == "__main__":
    main()
