"""Ancilla accounting: what a QUBO is made of, known bounds, and what it needs of a machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from qcompile.files.machines import MachineSource, load_machine
from qcompile.reduction.cover import halves_bound
from qcompile.stages.arrays import Floats, extent
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo, to_ising
from qcompile.stages.record import Record

__all__ = ["Account", "account", "counting_bound", "dimod_ancillas", "paper_bound"]


_PART = 1 << 18  # coefficients


@dataclass(frozen=True)
class Account(Record):
    """Counts of a QUBO, beside the bounds, and what a machine's ranges leave of its coefficients.

    `qubits` are logical: bits and ancillas. `machine_scale` multiplies the spin coefficients to
    bring them into the range of `machine`; it is None if there are none. `dimod_ancillas` is None
    unless it was counted, `share_of_heights_kept` unless the QUBO was compressed.
    """

    logical_bits: int
    product_ancillas: int
    l0_ancillas: int
    qubits: int
    linear_terms: int
    quadratic_terms: int
    cover: str
    cover_is_optimal: bool | None
    cover_lower_bound: int | None
    turan_bound_complete_cubic: int
    paper_bound_complete_cubic: float
    strength_factor: float
    truncation_error: float
    threshold_error: float
    largest_qubo_coefficient: float
    qubo_dynamic_range: float | None
    ising_dynamic_range: float | None
    machine: str
    machine_scale: float | None
    share_of_couplings_below_precision: float
    share_of_heights_kept: float | None = None
    dimod_ancillas: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key; figures of options only if these were given."""
        values = super().to_dict()
        for name in ("share_of_heights_kept", "dimod_ancillas"):
            if values[name] is None:
                del values[name]
        return values


def paper_bound(variables: int) -> float:
    """Return the number of ancillas that the paper allows for a cubic: N²/4."""
    return variables**2 / 4


def counting_bound(variables: int, degree: int) -> int:
    """Return a lower bound on the ancillas of almost all polynomials of this degree.

    It holds for every quadratization: a quadratic over N + A variables has (N+A)(N+A+1)/2 + 1
    coefficients, and the polynomial has the sum of C(N, j) over j <= degree.

    >>> counting_bound(8, 6), counting_bound(100, 3)
    (14, 477)
    """
    wanted = sum(math.comb(variables, j) for j in range(degree + 1))
    # smallest total t with t (t + 1) / 2 + 1 >= wanted
    total = max(0, (math.isqrt(max(0, 8 * (wanted - 1) + 1)) - 1) // 2)
    while total * (total + 1) // 2 + 1 < wanted:
        total += 1
    return max(0, total - variables)


def account(
    qubo: Qubo,
    *,
    pubo: Pubo | None = None,
    with_dimod: bool = False,
    machine: MachineSource | None = None,
) -> Account:
    """Count qubits, ancillas by kind and terms, and compare them with the bounds.

    Coefficients are scaled to a machine (by default the catalogue's default) before embedding:
    chains can only reduce the scale further. `with_dimod` counts the ancillas of dimod for `pubo`.

    >>> from qcompile import quadratize
    >>> account(quadratize(Pubo.from_dict({(0, 1, 2): 1.0}))).product_ancillas
    1
    """
    machine = load_machine(machine)
    bits = qubo.logical if qubo.encoding is None else qubo.encoding.variables
    h, couplings = to_ising(qubo)
    scale, lost = _on_machine(h, couplings, machine)
    return Account(
        logical_bits=bits,
        product_ancillas=len(qubo.ancillas),
        l0_ancillas=qubo.logical - bits,
        qubits=qubo.variables,
        linear_terms=int(np.count_nonzero(qubo.linear)),
        quadratic_terms=len(qubo.first),
        cover=qubo.method,
        cover_is_optimal=qubo.optimal,
        cover_lower_bound=qubo.bound,
        turan_bound_complete_cubic=halves_bound(bits),
        paper_bound_complete_cubic=paper_bound(bits),
        strength_factor=qubo.strength,
        truncation_error=qubo.error,
        threshold_error=qubo.dropped,
        largest_qubo_coefficient=_largest(qubo.linear, qubo.quadratic),
        qubo_dynamic_range=_range(qubo.linear, qubo.quadratic),
        ising_dynamic_range=_range(h, couplings),
        machine=machine.name,
        machine_scale=scale,
        share_of_couplings_below_precision=lost,
        share_of_heights_kept=None if qubo.compression is None else qubo.compression.share,
        dimod_ancillas=dimod_ancillas(pubo) if with_dimod and pubo is not None else None,
    )


def dimod_ancillas(pubo: Pubo) -> int:
    """Return the number of ancillas that `dimod.make_quadratic` would use."""
    import dimod

    return len(dimod.make_quadratic(pubo.to_dimod(), 1.0, dimod.BINARY).info["reduction"])


def _on_machine(h: Floats, couplings: Floats, machine: Machine) -> tuple[float | None, float]:
    """Return the factor that scales into a machine's range, and the share below its precision."""
    scale = max(_largest(h) / machine.h_range[1], _largest(couplings) / machine.j_range[1])
    precision = machine.precision
    lost = 0.0
    if scale and precision is not None and len(couplings):
        small = sum(
            int(np.count_nonzero(np.abs(part) / scale < precision[1])) for part in _parts(couplings)
        )
        lost = small / len(couplings)
    return 1.0 / scale if scale else None, lost


def _parts(values: Floats) -> Iterator[Floats]:
    """Yield the values in pieces, so that what is computed from them takes little memory."""
    for start in range(0, len(values), _PART):
        yield values[start : start + _PART]


def _largest(*arrays: Floats) -> float:
    return max((extent(a)[1] for a in arrays), default=0.0)


def _range(*arrays: Floats) -> float | None:
    """Return largest over smallest coefficient, without zeros and rounding errors."""
    largest = _largest(*arrays)
    smallest = math.inf
    for part in chain.from_iterable(map(_parts, arrays)):
        sizes = np.abs(part)
        smallest = min(smallest, float(sizes[sizes > 1e-14 * largest].min(initial=math.inf)))
    return largest / smallest if math.isfinite(smallest) else None
