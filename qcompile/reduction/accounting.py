"""Ancilla accounting: what a QUBO is made of, known bounds, and what it asks of a machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qcompile.files.machines import load_machine
from qcompile.reduction.cover import halves_bound
from qcompile.stages.arrays import Floats
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo, to_ising

__all__ = ["account", "counting_bound", "dimod_ancillas", "paper_bound"]


def paper_bound(variables: int) -> float:
    """Ancillas that the paper allows for a cubic: N²/4."""
    return variables**2 / 4


def counting_bound(variables: int, degree: int) -> int:
    """Ancillas that any quadratization of almost all polynomials of this degree needs at least.

    A quadratic over N + A variables has (N+A)(N+A+1)/2 + 1 coefficients; the polynomial has the
    sum of C(N, j) over j <= degree.

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
    machine: Machine | None = None,
) -> dict[str, Any]:
    """Count qubits, ancillas by kind and terms, beside the bounds; plain values for JSON.

    What is left of the coefficients is told for a machine (the catalogue's default) before any
    chains: they can only make it worse.
    """
    machine = machine or load_machine()
    bits = qubo.logical if qubo.encoding is None else qubo.encoding.variables
    h, couplings = to_ising(qubo)
    counted: dict[str, Any] = {
        "logical_bits": bits,
        "product_ancillas": len(qubo.ancillas),
        "l0_ancillas": qubo.logical - bits,
        "qubits": qubo.variables,
        "linear_terms": int(np.count_nonzero(qubo.linear)),
        "quadratic_terms": len(qubo.first),
        "cover": qubo.method,
        "cover_is_optimal": qubo.optimal,
        "cover_lower_bound": qubo.bound,
        "turan_bound_complete_cubic": halves_bound(bits),
        "paper_bound_complete_cubic": paper_bound(bits),
        "strength_factor": qubo.strength,
        "truncation_error": qubo.error,
        "threshold_error": qubo.dropped,
        "largest_qubo_coefficient": _largest(qubo.linear, qubo.quadratic),
        "qubo_dynamic_range": _range(qubo.linear, qubo.quadratic),
        "ising_dynamic_range": _range(h, couplings),
        **_on_machine(h, couplings, machine),
    }
    if with_dimod and pubo is not None:
        counted["dimod_ancillas"] = dimod_ancillas(pubo)
    return counted


def dimod_ancillas(pubo: Pubo) -> int:
    """Ancillas that `dimod.make_quadratic` would use."""
    import dimod

    return len(dimod.make_quadratic(pubo.to_dimod(), 1.0, dimod.BINARY).info["reduction"])


def _on_machine(h: Floats, couplings: Floats, machine: Machine) -> dict[str, Any]:
    """Say what is left of the coefficients when they are scaled into a machine's range."""
    scale = max(_largest(h) / machine.h_range[1], _largest(couplings) / machine.j_range[1])
    sizes = np.abs(couplings) / scale if scale else np.zeros(0)
    precision = machine.precision
    lost = float(np.mean(sizes < precision[1])) if precision is not None and len(sizes) else 0.0
    return {
        "machine": machine.name,
        "machine_scale": 1.0 / scale if scale else None,
        "share_of_couplings_below_precision": lost,
    }


def _largest(*arrays: Floats) -> float:
    return max((float(np.abs(a).max(initial=0.0)) for a in arrays), default=0.0)


def _range(*arrays: Floats) -> float | None:
    """Largest over smallest coefficient, exact zeros and the dust of rounding left out."""
    largest = _largest(*arrays)
    sizes = [np.abs(a[np.abs(a) > 1e-14 * largest]) for a in arrays]
    smallest = min((float(s.min()) for s in sizes if len(s)), default=0.0)
    return largest / smallest if smallest else None
