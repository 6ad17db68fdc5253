"""Samples -> Samples: a descent on the polynomial itself, without ancillas or chains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from qcompile.errors import InputError
from qcompile.files.interchange import problem_of
from qcompile.reduction.restore import restore
from qcompile.solvers.incidence import incidence_of
from qcompile.stages.arrays import frozen
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = ["descend"]


# A flip that lowers the energy by a smaller share of the coefficients is a rounding error.
_NOTHING = 1e-12
_MOST_SWEEPS = 1_000_000


def descend(problem: Pubo | Qubo | str | Path, samples: Samples) -> Samples:
    """Flip single bits of each sample as long as that lowers its energy on the polynomial.

    The samples that come back are distinct and in order of energy. `before` has their energies
    before the descent: the mean, if several samples became one.

    >>> from qcompile import Pubo
    >>> from qcompile.stages.samples import samples_of
    >>> pubo = Pubo.from_dict({(0, 1): -2.0, (0,): 1.0, (1,): -0.5})
    >>> found = descend(pubo, samples_of(pubo, [[0, 0], [1, 0]]))
    >>> found.bits.tolist(), found.energies.tolist(), found.before.tolist()
    ([[1, 1]], [-1.5], [0.5])
    """
    from qcompile.solvers.descent_kernel import descend_rows

    problem = problem_of(problem)
    if not problem.has_terms and problem.encoding is not None:
        raise InputError("the terms of this polynomial were not written out: no descent on them")
    if not len(samples):
        return samples
    pubo = problem if isinstance(problem, Pubo) else restore(problem)
    if samples.bits.shape[1] != pubo.variables:
        raise InputError(
            f"samples of {samples.bits.shape[1]} bits; the polynomial has {pubo.variables}"
        )
    start = samples.lowest(len(samples))
    bits = np.array(start.bits, dtype=np.int8, order="C")
    terms = incidence_of(pubo, "a descent on the terms of this polynomial")
    size = np.zeros(pubo.variables)
    for rows, values in zip(pubo.indices, pubo.coefficients, strict=True):
        for column in range(rows.shape[1]):
            size += np.bincount(rows[:, column], np.abs(values), minlength=pubo.variables)
    descend_rows(bits, *terms, _NOTHING * float(size.max(initial=0.0)), _MOST_SWEEPS)
    energies = problem.score(bits)
    # the energy of a sample that is lower only by rounding stays as it is
    kept = energies > start.energies
    bits[kept], energies = start.bits[kept], np.where(kept, start.energies, energies)
    moved = (bits != start.bits).any(axis=1)
    before = start.energies if start.before is None else start.before
    times = start.occurrences
    info = {
        **samples.info,
        "post": "descent",
        "reads_lowered": int(times[moved].sum()),
        "lowest_energy_before": float(start.energies.min()),
        "mean_energy_before": float(np.average(start.energies, weights=times)),
        "mean_energy": float(np.average(energies, weights=times)),
    }
    found = replace(
        start, bits=frozen(bits, np.int8), energies=frozen(energies), before=before, info=info
    )
    return found.lowest(len(found))
