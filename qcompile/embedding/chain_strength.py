"""How strongly chains hold together, and what scaling to a machine's ranges leaves of a problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.errors import InputError
from qcompile.reduction.accounting import to_ising
from qcompile.stages.artifacts import Floats, Qubo
from qcompile.stages.embedded import Embedded

__all__ = ["SWEEP_FACTORS", "Scaling", "scaling_of", "strength_of", "sweep", "with_strength"]

SWEEP_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
# Ocean's prefactor for uniform torque compensation.
_TORQUE = 1.414
_STRONGEST = 1e100


def strength_of(qubo: Qubo, wanted: float | str = "torque") -> float:
    """Give a chain strength in units of the problem's spin couplings.

    "torque" is Ocean's uniform torque compensation, 1.414 · rms(J) · sqrt(mean degree); "scaled"
    is the largest field or coupling. Both are taken of the problem in spins, as the machine sees
    it.
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
    return value or 1.0  # a problem without terms needs any strength at all


def with_strength(embedded: Embedded, strength: float) -> Embedded:
    """Give the same problem with another chain strength."""
    links = int(embedded.in_chain.sum())
    couplings = np.where(embedded.in_chain, -strength, embedded.couplings)
    return replace(
        embedded,
        chain_strength=float(strength),
        couplings=couplings,
        offset=embedded.offset + links * (strength - embedded.chain_strength),
    )


@dataclass(frozen=True)
class Scaling:
    """What is left of a problem when it is scaled into the ranges of a machine.

    `factor` multiplies every coefficient. `limit` names what stops it from being larger.
    `smallest_coupling` and `smallest_field` are the smallest of the scaled problem that are not
    zero; `precision` is the machine's, for fields and couplings; `below` is the share of couplings
    of the problem (not of chains) that are smaller than it.
    """

    factor: float
    limit: str
    smallest_field: float | None
    smallest_coupling: float | None
    precision: tuple[float, float] | None
    below: float | None
    dynamic_range: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
        precision = self.precision
        return {
            "scale_factor": self.factor,
            "scale_limited_by": self.limit,
            "smallest_scaled_field": self.smallest_field,
            "smallest_scaled_coupling": self.smallest_coupling,
            "machine_precision_h": None if precision is None else precision[0],
            "machine_precision_j": None if precision is None else precision[1],
            "share_of_couplings_below_precision": self.below,
            "physical_dynamic_range": self.dynamic_range,
        }


def scaling_of(embedded: Embedded) -> Scaling:
    """Work out how the machine scales the problem, as its auto_scale does."""
    machine = embedded.embedding.machine
    # Where no chain needs it, strong coupling is of no use, but the solver allows it all the same.
    limits = {
        "h range": _overshoot(embedded.fields, machine.h_range),
        "J range": _overshoot(embedded.couplings, machine.strongest_coupling),
    }
    if machine.per_qubit_coupling_range is not None:
        totals = _totals(embedded)
        limits["couplings of one qubit"] = _overshoot(totals, machine.per_qubit_coupling_range)
    if machine.per_group_coupling_range is not None:
        # The groups are not told by the graph. At worst all couplers of a qubit with one sign are
        # in the same group: each sign is held to the limit alone.
        both = np.concatenate([_totals(embedded, -1), _totals(embedded, +1)])
        limits["couplings of one group"] = _overshoot(both, machine.per_group_coupling_range)
    limit, most = max(limits.items(), key=lambda item: item[1])
    factor = 1.0 / most if most else 1.0
    own = np.abs(embedded.couplings[~embedded.in_chain]) * factor
    fields = np.abs(embedded.fields) * factor
    everything = np.concatenate([fields, np.abs(embedded.couplings) * factor])
    precision = machine.precision
    return Scaling(
        factor=factor,
        limit=limit if most else "nothing",
        smallest_field=_smallest(fields),
        smallest_coupling=_smallest(own),
        precision=precision,
        below=None if precision is None or not len(own) else float(np.mean(own < precision[1])),
        dynamic_range=None
        if _smallest(everything) is None
        else float(everything.max()) / float(_smallest(everything) or 1.0),
    )


def _totals(embedded: Embedded, sign: int = 0) -> Floats:
    """Add up the couplings of each qubit, all of them or those of one sign."""
    values = embedded.couplings
    if sign:
        values = np.where(np.sign(values) == sign, values, 0.0)
    totals = np.zeros(len(embedded.qubits))
    np.add.at(totals, embedded.first, values)
    np.add.at(totals, embedded.second, values)
    return totals


def _overshoot(values: Floats, allowed: tuple[float, float]) -> float:
    """Give by what the values would have to be divided to just fit."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return max(low / allowed[0], high / allowed[1], 0.0)


def _smallest(sizes: Floats) -> float | None:
    """Smallest size, zeros and the dust of rounding left out."""
    largest = float(sizes.max(initial=0.0))
    kept = sizes[sizes > 1e-14 * largest]
    return float(kept.min()) if len(kept) else None


def sweep(
    embedded: Embedded,
    *,
    factors: Sequence[float] = SWEEP_FACTORS,
    reads: int = 50,
    seed: int = 0,
    sample: Callable[[Embedded], Any] | None = None,
) -> tuple[Embedded, list[dict[str, Any]]]:
    """Try several chain strengths, multiples of the present one, and give the best with a table.

    `sample` takes an embedded problem and gives a dimod SampleSet over its qubits; by default
    dwave-samplers' simulated annealing, `reads` times. Best is the lowest mean energy on the
    polynomial after majority vote, the weaker strength among equals.
    """
    from qcompile.embedding.unembed import unembed

    if not factors or min(factors) <= 0 or reads < 1:
        raise InputError(
            f"factors {tuple(factors)} and {reads} reads; expected at least one factor above 0 and "
            "at least one read"
        )
    take = sample or _annealer(reads, seed)
    rows: list[dict[str, Any]] = []
    best: tuple[float, Embedded] | None = None
    for factor in sorted(factors):
        tried = with_strength(embedded, factor * embedded.chain_strength)
        samples = unembed(tried, take(tried))
        scaling = scaling_of(tried)
        mean = float(np.average(samples.energies, weights=samples.occurrences))
        rows.append(
            {
                "chain_strength": tried.chain_strength,
                "factor": factor,
                "lowest_energy": float(samples.energies.min()),
                "mean_energy": mean,
                "chain_break_fraction": samples.chain_break_fraction,
                "scale_factor": scaling.factor,
                "share_of_couplings_below_precision": scaling.below,
            }
        )
        if best is None or mean < best[0]:
            best = (mean, tried)
    assert best is not None
    return best[1], rows


def _annealer(reads: int, seed: int) -> Callable[[Embedded], Any]:
    def take(embedded: Embedded) -> Any:
        from dwave.samplers import SimulatedAnnealingSampler

        return SimulatedAnnealingSampler().sample(embedded.to_bqm(), num_reads=reads, seed=seed)

    return take
