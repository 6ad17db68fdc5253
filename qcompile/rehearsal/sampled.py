"""The reads of one draw of the errors, at several temperatures and chain strengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.chain_strength import with_strength
from qcompile.embedding.scaling import scaling_of
from qcompile.embedding.unembed import unembed
from qcompile.solvers.noise import MachineModel, anneal_noisily, draw_errors
from qcompile.stages.arrays import Floats
from qcompile.stages.embedded import Embedded

__all__ = ["Reads", "sample_draw"]


@dataclass(frozen=True, eq=False)
class Reads:
    """The reads of one draw at one setting: energies, the lowest bits, and broken chains."""

    energies: Floats
    lowest: NDArray[np.int8]
    broken: float


def sample_draw(
    embedded: Embedded,
    models: Sequence[MachineModel],
    factors: Sequence[float],
    *,
    reads: int,
    seed: int,
    number: int,
) -> list[Reads]:
    """Return the reads for each model and factor, in order: one draw of the errors for all.

    With the same errors for all settings, settings differ by what they are and not by luck.
    """
    errors = draw_errors(
        np.random.default_rng([seed, number]), len(embedded.fields), len(embedded.couplings)
    )
    pairs = np.stack([embedded.first, embedded.second])
    of_engine = int(np.random.default_rng([seed, number, 1]).integers(2**31))
    found = []
    for model in models:
        for factor in factors:
            tried = with_strength(embedded, factor * embedded.chain_strength)
            scale = scaling_of(tried).factor
            states = anneal_noisily(
                scale * tried.fields,
                pairs,
                scale * tried.couplings,
                errors,
                model,
                reads=reads,
                seed=of_engine,
            )
            samples = unembed(tried, states)
            lowest = samples.bits[int(np.argmin(samples.energies))]
            found.append(Reads(samples.energies, lowest, samples.chain_break_fraction))
    return found
