"""Choose the chain strength: by torque, by scale, by number or by a sweep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.embedding.scaling import scaling_of
from qcompile.embedding.unembed import unembed
from qcompile.errors import InputError
from qcompile.stages.embedded import Embedded
from qcompile.stages.qubo import Qubo, to_ising
from qcompile.stages.record import Record

__all__ = ["SWEEP_FACTORS", "StrengthTrial", "strength_of", "sweep", "with_strength"]


SWEEP_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
# Ocean's prefactor for uniform torque compensation.
_TORQUE = 1.414
_STRONGEST = 1e100


@dataclass(frozen=True)
class StrengthTrial(Record):
    """A chain strength that was tried, and the samples it led to."""

    chain_strength: float
    factor: float
    lowest_energy: float
    mean_energy: float
    chain_break_fraction: float
    scale_factor: float
    share_of_couplings_below_precision: float | None


def strength_of(qubo: Qubo, wanted: float | str = "torque") -> float:
    """Return a chain strength in units of the problem's spin couplings.

    "torque" is Ocean's uniform torque compensation, 1.414 · rms(J) · sqrt(mean degree); "scaled"
    is the largest field or coupling. Both are computed from the problem in spins, as the machine
    gets it.
    """
    h, couplings = to_ising(qubo)
    if not isinstance(wanted, str):
        if not 0 < wanted <= _STRONGEST:
            raise InputError(
                f"chain strength {wanted}; expected a number above 0, up to {_STRONGEST:g}"
            )
        return float(wanted)
    if wanted not in ("torque", "scaled"):
        raise InputError(f"chain strength {wanted!r}; expected torque, scaled or a number above 0")
    if wanted == "torque":
        if not len(couplings):
            return 1.0
        degree = 2 * len(couplings) / qubo.variables
        value = _TORQUE * math.sqrt(float(np.mean(couplings**2)) * degree)
    else:
        value = max(float(np.abs(a).max(initial=0.0)) for a in (h, couplings))
    return value or 1.0  # without terms any strength above 0 will do


def with_strength(embedded: Embedded, strength: float) -> Embedded:
    """Return the same problem with another chain strength."""
    links = int(embedded.in_chain.sum())
    couplings = np.where(embedded.in_chain, -strength, embedded.couplings)
    return replace(
        embedded,
        chain_strength=float(strength),
        couplings=couplings,
        offset=embedded.offset + links * (strength - embedded.chain_strength),
    )


def sweep(
    embedded: Embedded,
    *,
    factors: Sequence[float] = SWEEP_FACTORS,
    reads: int = 50,
    seed: int = 0,
    sample: Callable[[Embedded], Any] | None = None,
) -> tuple[Embedded, list[StrengthTrial]]:
    """Try several multiples of the chain strength; return the best problem and all trials.

    `sample` takes an embedded problem and returns a dimod SampleSet over its qubits; the default is
    dwave-samplers' simulated annealing with `reads` reads. The best strength has the lowest mean
    energy on the polynomial after majority vote; of equals the weaker one is taken.
    """
    if not factors or min(factors) <= 0 or reads < 1:
        raise InputError(
            f"factors {tuple(factors)} and {reads} reads; expected at least one factor above 0 and "
            "at least one read"
        )
    take = sample or _annealer(reads, seed)
    trials: list[StrengthTrial] = []
    best: tuple[float, Embedded] | None = None
    for factor in sorted(factors):
        tried = with_strength(embedded, factor * embedded.chain_strength)
        samples = unembed(tried, take(tried))
        scaling = scaling_of(tried)
        mean = float(np.average(samples.energies, weights=samples.occurrences))
        trials.append(
            StrengthTrial(
                chain_strength=tried.chain_strength,
                factor=factor,
                lowest_energy=float(samples.energies.min()),
                mean_energy=mean,
                chain_break_fraction=samples.chain_break_fraction,
                scale_factor=scaling.factor,
                share_of_couplings_below_precision=scaling.below,
            )
        )
        if best is None or mean < best[0]:
            best = (mean, tried)
    assert best is not None
    return best[1], trials


def _annealer(reads: int, seed: int) -> Callable[[Embedded], Any]:
    def take(embedded: Embedded) -> Any:
        from dwave.samplers import SimulatedAnnealingSampler

        return SimulatedAnnealingSampler().sample(embedded.to_bqm(), num_reads=reads, seed=seed)

    return take
