"""Prove that a QUBO is the problem that was asked for, from the numbers in it alone.

Nothing here calls the passes that it checks. (1) Algebra: with each ancilla replaced by its product
the QUBO must be the given polynomial: term by term where the polynomial is at hand, otherwise by
its value and gradient at a fixed point inside the cube, which two different polynomials share only
by an accident of measure zero. (2) Gates: taken one by one, the largest products first, each
ancilla must be best at the product of its factors whatever all other variables do; a bound by the
signs of the coefficients decides. (1) and (2) prove that the minimum over the ancillas is the
polynomial, for every assignment, at any size. (3) For few bits all assignments are tried as well.
(4) With the data at hand, random assignments are compared with the risk computed from the examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.local_fit import Around
from qcompile.stages.loss import Loss
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Fingerprint, Qubo
from qcompile.stages.step import Step
from qcompile.verification.algebra import (
    check_fingerprint,
    check_integrity,
    check_structure,
    check_terms,
    substituted,
)
from qcompile.verification.check import Check, Verification
from qcompile.verification.gates import check_exhaustively, check_gates, few_enough

__all__ = ["verify"]


_EXHAUSTIVE_BITS = 20


def verify(
    qubo: Qubo,
    *,
    pubo: Pubo | None = None,
    reference: Fingerprint | None = None,
    data: Dataset | None = None,
    assignments: int = 200,
    seed: int = 0,
) -> Verification:
    """Check a QUBO against its polynomial, its gates and the data, as far as they are given."""
    if assignments < 1 or seed < 0:
        raise InputError(f"{assignments} assignments, seed {seed}; expected at least 1, and 0")
    checks = [check_structure(qubo)]
    if checks[0].holds and qubo.seal is not None:
        checks.append(check_integrity(qubo))
    if not all(check.holds for check in checks):  # nothing else makes sense
        return Verification(tuple(checks))
    sets, values, room = substituted(qubo)
    if pubo is not None:
        checks.append(check_terms(qubo, sets, values, room, pubo))
    if reference is not None:
        checks.append(check_fingerprint(qubo, sets, values, room, reference))
    checks.append(check_gates(qubo))
    if qubo.truncated is not None:
        checks.append(_truncation(qubo.truncated, qubo.error))
    if qubo.logical <= _EXHAUSTIVE_BITS and few_enough(qubo):
        checks.append(check_exhaustively(qubo))
    if data is not None:
        checks.append(_against_data(qubo, data, assignments, seed))
    return Verification(tuple(checks))


def _truncation(left_out: Pubo, error: float) -> Check:
    """Bound the terms that were left out by the sum of the sizes of their spin coefficients."""
    spins: dict[tuple[int, ...], float] = {}
    for term, value in left_out.to_dict().items():
        for size in range(len(term) + 1):
            for members in combinations(term, size):
                spins[members] = spins.get(members, 0.0) + value / 2.0 ** len(term)
    bound = sum(map(abs, spins.values()))
    holds = bool(bound <= error * (1 + 1e-9) + 1e-12)
    return Check("truncation", holds, f"terms left out change no energy by more than {bound:.6g}")


def _against_data(qubo: Qubo, data: Dataset, assignments: int, seed: int) -> Check:
    """Compare energies of random bits with the objective computed from the examples."""
    name = "data"
    encoding, loss = qubo.encoding, qubo.loss
    if encoding is None or (loss is None and qubo.around is None):
        return Check(name, False, "the QUBO says nothing about the data that it was compiled from")
    if data.features != encoding.features:
        return Check(name, False, f"{data.features} features; expected {encoding.features}")
    if qubo.l0 and encoding.bits > 1 and qubo.logical < encoding.variables + encoding.features:
        return Check(name, False, "an l0 regulariser without its indicators")
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (assignments, qubo.logical))
    found = qubo.score(bits)
    weights = encoding.decode(bits)
    worst = 0.0
    if isinstance(encoding, Step) and qubo.around is not None:
        objective = _objective_of_steps(data, encoding, qubo.around)
    elif loss is not None:
        objective = _objective_of_loss(data, loss)
    else:
        return Check(name, False, "the QUBO of a step without its centre, or without its loss")
    for row, w, energy in zip(bits, weights, found.tolist(), strict=True):
        expected = objective(w) + _l0_charge(qubo, row)
        off = max(0.0, abs(energy - expected) - qubo.dropped)  # what a threshold may change
        worst = max(worst, off / max(1.0, abs(expected)))
    if worst > 1e-8:
        return Check(
            name, False, f"energies differ from the risk of these {len(data):,} rows by {worst:.2g}"
        )
    detail = f"{assignments} random assignments agree with the risk of {len(data):,} rows"
    return Check(name, True, f"{detail} to {worst:.1g}")


def _objective_of_loss(data: Dataset, loss: Loss) -> Callable[[Floats], float]:
    """Return the regularised risk as a function of the weights."""

    def objective(w: Floats) -> float:
        margins = np.asarray(data.x @ w) * data.y
        mean = float(np.mean(np.polyval(loss.coefficients[::-1], margins)))
        return mean + loss.l2 / 2 * float(w @ w)

    return objective


def _objective_of_steps(data: Dataset, step: Step, around: Around) -> Callable[[Floats], float]:
    """Return the polynomial nearest to the smoothed risk around the centre, row by row."""
    square = data.x.multiply(data.x) if hasattr(data.x, "indptr") else data.x * data.x
    lengths = np.sqrt(np.asarray(square.sum(axis=1), dtype=np.float64).ravel())
    seen = lengths > 0
    turn = np.where(seen, data.y / np.where(seen, lengths, 1.0), 0.0)
    centre, variance = np.array(step.centre), around.width**2
    spread = math.sqrt(around.smoothing**2 + variance)
    z = np.asarray(data.x @ centre) * turn / spread
    below = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.tolist()])
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    slope, bend = -density / spread, z * density / spread**2
    twist = (1 - z * z) * density / spread**3 if around.degree == 3 else np.zeros_like(z)

    def objective(w: Floats) -> float:
        d = np.asarray(data.x @ (w - centre)) * turn
        hermite = bend * (d * d - variance * seen) / 2 + twist * (d**3 - 3 * variance * d) / 6
        return float(np.mean(below + slope * d + hermite)) + around.l2 / 2 * float(w @ w)

    return objective


def _l0_charge(qubo: Qubo, row: NDArray[Any]) -> float:
    encoding = qubo.encoding
    if encoding is None or not qubo.l0:
        return 0.0
    own = row[: encoding.variables].reshape(encoding.features, encoding.bits).sum(axis=1)
    if encoding.bits == 1:
        return float(qubo.l0 * own.sum())
    shown = row[encoding.variables : encoding.variables + encoding.features]
    return float(qubo.l0 * (shown + 2 * (1 - shown) * own).sum())
