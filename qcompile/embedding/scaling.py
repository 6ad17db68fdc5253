"""Scale the coefficients of an embedded problem into a machine's ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats
from qcompile.stages.embedded import Embedded
from qcompile.stages.machine import Machine
from qcompile.stages.record import Record

__all__ = ["Scaling", "scale_to", "scaling_of"]


@dataclass(frozen=True)
class Scaling(Record):
    """A problem scaled into the ranges of a machine.

    `factor` multiplies every coefficient. `limit` names the range that stops it from being larger.
    `smallest_coupling` and `smallest_field` are the smallest of the scaled problem that are not
    zero. `precision` is the machine's, for fields and couplings. `below` is the share of the
    problem's couplings (not those inside chains) that are smaller than it.
    """

    factor: float
    limit: str
    smallest_field: float | None
    smallest_coupling: float | None
    precision: tuple[float, float] | None
    below: float | None
    dynamic_range: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key."""
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
    """Return how the machine scales the problem, as its auto_scale does."""
    machine = embedded.embedding.machine
    pairs = np.stack([embedded.first, embedded.second])
    factor, limit = scale_to(machine, embedded.fields, pairs, embedded.couplings)
    own = np.abs(embedded.couplings[~embedded.in_chain]) * factor
    fields = np.abs(embedded.fields) * factor
    everything = np.concatenate([fields, np.abs(embedded.couplings) * factor])
    precision = machine.precision
    return Scaling(
        factor=factor,
        limit=limit,
        smallest_field=_smallest(fields),
        smallest_coupling=_smallest(own),
        precision=precision,
        below=None if precision is None or not len(own) else float(np.mean(own < precision[1])),
        dynamic_range=None
        if _smallest(everything) is None
        else float(everything.max()) / float(_smallest(everything) or 1.0),
    )


def scale_to(
    machine: Machine, fields: Floats, pairs: NDArray[np.int64], couplings: Floats
) -> tuple[float, str]:
    """Return the largest factor that keeps a problem in a machine's ranges, and what limits it.

    ``pairs[0]`` and ``pairs[1]`` are the positions in `fields` of the qubits that couplers join.
    """
    # The solver allows the extended range of couplings also where no chain needs it.
    limits = {
        "h range": _overshoot(fields, machine.h_range),
        "J range": _overshoot(couplings, machine.strongest_coupling),
    }
    size = len(fields)
    if machine.per_qubit_coupling_range is not None:
        totals = _totals(size, pairs, couplings)
        limits["couplings of one qubit"] = _overshoot(totals, machine.per_qubit_coupling_range)
    if machine.per_group_coupling_range is not None:
        # The graph does not tell the groups. In the worst case all couplers of a qubit with one
        # sign are in one group, so each sign must keep to the limit.
        signs = np.minimum(couplings, 0.0), np.maximum(couplings, 0.0)
        both = np.concatenate([_totals(size, pairs, values) for values in signs])
        limits["couplings of one group"] = _overshoot(both, machine.per_group_coupling_range)
    limit, most = max(limits.items(), key=lambda item: item[1])
    return (1.0 / most, limit) if most else (1.0, "nothing")


def _totals(qubits: int, pairs: NDArray[np.int64], couplings: Floats) -> Floats:
    """Return the sum of the couplings of each qubit."""
    both = np.concatenate([couplings, couplings])
    sums = np.bincount(pairs.reshape(-1), weights=both, minlength=qubits)
    return np.asarray(sums, dtype=np.float64)


def _overshoot(values: Floats, allowed: tuple[float, float]) -> float:
    """Return the number by which the values must be divided to just fit."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return max(low / allowed[0], high / allowed[1], 0.0)


def _smallest(sizes: Floats) -> float | None:
    """Return the smallest size, without zeros and rounding errors."""
    largest = float(sizes.max(initial=0.0))
    kept = sizes[sizes > 1e-14 * largest]
    return float(kept.min()) if len(kept) else None
