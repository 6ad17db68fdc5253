"""Prove that a QUBO is the problem that was asked for, from the numbers in it alone.

Nothing here calls the passes that it checks. (1) Algebra: with each ancilla replaced by its product
the QUBO must be the given polynomial: term by term where the polynomial is at hand, otherwise by
its value and gradient at a fixed point inside the cube, which two different polynomials share only
by an accident of measure zero. (2) Gates: taken one by one, the largest products first, each
ancilla must be best at the product of its factors whatever all other variables do; a bound by the
signs of the coefficients decides. (1) and (2) prove that the minimum over the ancillas is the
polynomial, for every assignment, at any size. (3) For few bits all assignments are tried as well.
(4) The record (encoding, loss, ℓ0, what was dropped) must fit the terms and itself. (5) With the
data at hand, random assignments are compared with the risk computed from the examples; if small
terms were dropped, all terms are. (6) Where terms were left out around a minimum, all assignments
are tried with and without them: the minimum must stay one, and the others keep their distance.

A file whose maker recomputed digests and fingerprint passes (1) for whatever polynomial it holds.
Only (5), or a polynomial from elsewhere, tells whether it is the right one.
"""

from __future__ import annotations

from qcompile.errors import InputError
from qcompile.stages.dataset import Dataset
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Fingerprint, Qubo
from qcompile.verification.algebra import (
    check_fingerprint,
    check_integrity,
    check_structure,
    check_terms,
    check_truncation,
    substituted,
)
from qcompile.verification.check import Verification
from qcompile.verification.data import check_data
from qcompile.verification.gates import check_exhaustively, check_gates, few_enough
from qcompile.verification.minimum import check_minimum
from qcompile.verification.record import check_record

__all__ = ["verify"]


_EXHAUSTIVE_BITS = 20


def verify(
    qubo: Qubo,
    *,
    pubo: Pubo | None = None,
    reference: Fingerprint | None = None,
    data: Dataset | None = None,
    assignments: int = 200,
    seed: int | None = None,
) -> Verification:
    """Check a QUBO against its polynomial, its gates and the data, as far as they are given.

    The random `assignments` to compare with the data come from the computer's source of randomness,
    so that no maker of a file knows them, or from `seed`.
    """
    if assignments < 1 or (seed is not None and seed < 0):
        raise InputError(f"{assignments} assignments, seed {seed}; expected at least 1, and 0")
    checks = [check_structure(qubo)]
    if checks[0].holds and qubo.seal is not None:
        checks.append(check_integrity(qubo))
    if not all(check.holds for check in checks):  # nothing else makes sense
        return Verification(tuple(checks))
    terms = substituted(qubo)
    if pubo is not None:
        checks.append(check_terms(qubo, terms, pubo))
    if reference is not None:
        checks.append(check_fingerprint(qubo, terms, reference))
    checks.append(check_gates(qubo))
    if qubo.truncated is not None:
        checks.append(check_truncation(qubo, terms))
    if qubo.compression is not None:
        checks.append(check_minimum(qubo, terms))
    if qubo.logical <= _EXHAUSTIVE_BITS and few_enough(qubo):
        checks.append(check_exhaustively(qubo))
    whole = terms if qubo.truncated is None else terms.plus(qubo.truncated)
    record = check_record(qubo, whole, pubo)
    if record is not None:
        checks.append(record)
    if data is not None:
        checks.append(check_data(qubo, whole, data, assignments, seed))
    return Verification(tuple(checks))
