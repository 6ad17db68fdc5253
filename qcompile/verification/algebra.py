"""Checks by algebra: the terms of a QUBO with its ancillas substituted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats, sum_by
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Fingerprint, Qubo, fixed_point, row_marks
from qcompile.verification.check import ROUNDING, Check

__all__ = ["check_fingerprint", "check_integrity", "check_structure", "check_terms", "substituted"]


def check_structure(qubo: Qubo) -> Check:
    """Check that factors come before their product, pairs are distinct and numbers finite."""
    factors = qubo.ancillas.factors
    own = np.arange(qubo.logical, qubo.variables)
    problem = ""
    if len(factors) != qubo.variables - qubo.logical:
        problem = f"{len(factors)} products for {qubo.variables - qubo.logical} ancillas"
    elif len(factors) and not (factors.min() >= 0 and (factors.max(axis=1) < own).all()):
        problem = "an ancilla has a factor that does not come before it"
    elif (factors[:, 0] == factors[:, 1]).any():
        problem = "an ancilla has the same factor twice"
    elif not (
        np.isfinite(qubo.linear).all()
        and np.isfinite(qubo.quadratic).all()
        and np.isfinite(qubo.offset)
    ):
        problem = "a coefficient is not finite"
    elif len(qubo.first) and not (
        qubo.first.min() >= 0
        and (qubo.first < qubo.second).all()
        and qubo.second.max() < qubo.variables
    ):
        problem = "a pair is not made of two variables in order"
    shown = f"{qubo.logical} bits, {len(factors)} ancillas, {len(qubo.first):,} pairs"
    return Check("structure", not problem, problem or shown)


def check_integrity(qubo: Qubo) -> Check:
    """Compare the coefficients, bit by bit, with the digests in the file."""
    assert qubo.seal is not None
    if not qubo.seal.record_intact:
        detail = "the record of encoding, loss, labels or ancillas, or the offset, was changed"
        return Check("integrity", False, detail)
    found = row_marks(qubo)
    changed = [v for v, (a, b) in enumerate(zip(found, qubo.seal.rows, strict=False)) if a != b]
    if len(found) != len(qubo.seal.rows):
        return Check("integrity", False, "variables were added or taken away")
    if changed:
        v = changed[0]
        partner = ""
        if v >= qubo.logical:
            partner = " = {}*{}".format(*qubo.ancillas.factors[v - qubo.logical].tolist())
        detail = f"a coefficient of variable {v}{partner}, alone or with a smaller one, was changed"
        return Check("integrity", False, f"{detail} ({len(changed)} variables in all)")
    return Check("integrity", True, "every coefficient is as it was written, to the last bit")


def _bits_of(qubo: Qubo) -> NDArray[np.int32]:
    """Return the bits of each variable's product, one row each, padded with the number of bits."""
    size = qubo.logical
    members: list[tuple[int, ...]] = [(i,) for i in range(size)]
    for a, b in qubo.ancillas.factors.tolist():
        members.append(tuple(sorted({*members[a], *members[b]})))
    width = max(map(len, members), default=1)
    padded = [m + (size,) * (width - len(m)) for m in members]
    return np.array(padded, dtype=np.int32).reshape(-1, width)


def substituted(qubo: Qubo) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Replace ancillas by products; return distinct sets of bits, coefficients and sizes.

    The last are sums of the sizes of what was added up.
    """
    bits = _bits_of(qubo)
    size, width = qubo.logical, bits.shape[1]
    alone = np.full((qubo.variables, 2 * width), size, dtype=np.int32)
    alone[:, :width] = bits
    both = np.concatenate([bits[qubo.first], bits[qubo.second]], axis=1)
    both.sort(axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = size
    both.sort(axis=1)
    sets = np.concatenate([alone, both])
    values = np.concatenate([qubo.linear, qubo.quadratic])
    used = int((sets != size).sum(axis=1).max(initial=1))
    sets = sets[:, :used]
    first, where = _distinct(sets)
    sums = sum_by(where, values, len(first))
    room = sum_by(where, np.abs(values), len(first))
    return sets[first], sums, room


def _distinct(sets: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first place of each different row, and the number of each row among these.

    Rows are compared member by member: a number that packs a row may overflow, and then two
    different terms would pass for one.
    """
    wide = sets.astype(np.int64)
    if wide.shape[1] % 2:
        wide = np.concatenate([wide, np.zeros((len(wide), 1), dtype=np.int64)], axis=1)
    pairs = (wide[:, ::2] << 32) + wide[:, 1::2]  # exact: a member has less than 32 bits
    order = np.lexsort(pairs.T[::-1])
    ordered = sets[order]
    new = np.ones(len(sets), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number = np.empty(len(sets), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return order[new], number


def _tolerance(room: Floats) -> Floats:
    return ROUNDING * room + 1e-300


def check_terms(
    qubo: Qubo, sets: NDArray[np.int32], values: Floats, room: Floats, pubo: Pubo
) -> Check:
    """Compare the substituted QUBO, and what was left out of it, with the polynomial."""
    name = "algebra, term by term"
    if pubo.variables != qubo.logical:
        return Check(name, False, f"{pubo.variables} variables against {qubo.logical} bits")
    size = qubo.logical
    # what the QUBO has, plus what was left out, minus what the polynomial has, must be nothing
    signed = [(pubo, -1.0)] if qubo.truncated is None else [(pubo, -1.0), (qubo.truncated, 1.0)]
    width = max(sets.shape[1], *(polynomial.degree for polynomial, _ in signed))
    rows, gaps, sizes = [_padded(sets, width, size)], [values], [room]
    for polynomial, sign in signed:
        for members, coefficients in zip(polynomial.indices, polynomial.coefficients, strict=True):
            if len(members):
                rows.append(_padded(members, width, size))
                gaps.append(sign * coefficients)
                sizes.append(np.abs(coefficients))
    joined = np.concatenate(rows)
    first, where = _distinct(joined)
    gap = sum_by(where, np.concatenate(gaps), len(first))
    allowed = sum_by(where, np.concatenate(sizes), len(first))
    wrong = np.flatnonzero(np.abs(gap) > _tolerance(allowed))
    if len(wrong):
        term = tuple(int(i) for i in joined[first[wrong[0]]] if i < size)
        return Check(name, False, f"{len(wrong)} terms differ, first {term} by {gap[wrong[0]]:.3g}")
    constant = qubo.offset + (0.0 if qubo.truncated is None else qubo.truncated.constant)
    if abs(constant - pubo.constant) > ROUNDING * max(1.0, abs(pubo.constant), abs(qubo.offset)):
        return Check(name, False, f"the constant is {constant!r}, not {pubo.constant!r}")
    return Check(name, True, f"all {len(first):,} terms and the constant agree")


def _padded(rows: NDArray[np.int32], width: int, fill: int) -> NDArray[np.int32]:
    """Return rows of `width` members, filled up with a number that is no variable."""
    made = np.full((len(rows), width), fill, dtype=np.int32)
    made[:, : rows.shape[1]] = rows
    return made


def check_fingerprint(
    qubo: Qubo, sets: NDArray[np.int32], values: Floats, room: Floats, reference: Fingerprint
) -> Check:
    """Compare value and gradient; the coordinates that differ name a changed term."""
    name = "algebra, at a point"
    size = qubo.logical
    if len(reference.gradient) != size:
        return Check(name, False, f"a reference of {len(reference.gradient)} bits, not {size}")
    point = np.append(fixed_point(size), 1.0)
    value, gradient = _value_and_gradient(sets, values, point)
    value += qubo.offset
    _, allowed = _value_and_gradient(sets, room, point)
    wrong = np.flatnonzero(np.abs(gradient - reference.gradient) > _tolerance(allowed))
    if len(wrong):
        terms = ", ".join(map(str, wrong[:6].tolist()))
        return Check(
            name,
            False,
            f"a term with the bits {terms} differs from the polynomial that was compiled",
        )
    if abs(value - reference.value) > _tolerance(room).sum() + ROUNDING * abs(value):
        return Check(name, False, f"the constant is off by {value - reference.value:.3g}")
    return Check(name, True, "value and gradient at a fixed point agree: the same polynomial")


def _value_and_gradient(
    sets: NDArray[np.int32], values: Floats, point: Floats
) -> tuple[float, Floats]:
    """Return the sum of the terms and its gradient; the last coordinate is 1 and no variable.

    No coordinate of the point is 0: a term divided by one of its variables is its derivative.
    """
    terms = values.copy()
    for members in sets.T:
        terms *= point[members]
    gradient = np.zeros(len(point))
    for members in sets.T:
        np.add.at(gradient, members, terms / point[members])
    return float(terms.sum()), gradient[:-1]
