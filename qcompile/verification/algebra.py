"""Checks by algebra: the terms of a QUBO with its ancillas substituted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, sum_by
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Fingerprint, Qubo, fixed_point, row_marks
from qcompile.verification.check import TELLING, Check, rounding

__all__ = [
    "Terms",
    "check_fingerprint",
    "check_integrity",
    "check_structure",
    "check_terms",
    "check_truncation",
    "substituted",
]


# Bytes of a pair for each bit that a variable may stand for, measured.
_PAIR_COST = 72
# Bytes of a subset of the bits of a term that was left out.
_SUBSET_COST = 150
# Bits of all products together: more take gigabytes.
_MOST_MEMBERS = 50_000_000


@dataclass(frozen=True, eq=False)
class Terms:
    """A polynomial of bits: distinct terms, their coefficients, and what these were added up from.

    A row of `sets` has the bits of a term in order, padded with the number of bits. `sizes` are the
    sums of the sizes of all numbers that were added up.
    """

    bits: int
    constant: float
    sets: NDArray[np.int32]
    values: Floats
    sizes: Floats

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of bits of each term."""
        return np.asarray(np.count_nonzero(self.sets < self.bits, axis=1), dtype=np.int64)

    def plus(self, pubo: Pubo, sign: float = 1.0) -> Terms:
        """Return the sum with a polynomial, or the difference; terms that cancel stay."""
        width = max(self.sets.shape[1], pubo.degree)
        rows, values, sizes = [_padded(self.sets, width, self.bits)], [self.values], [self.sizes]
        for members, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
            if len(members):
                rows.append(_padded(members, width, self.bits))
                values.append(sign * coefficients)
                sizes.append(np.abs(coefficients))
        constant = self.constant + sign * pubo.constant
        joined = np.concatenate(rows), np.concatenate(values), np.concatenate(sizes)
        return _collected(self.bits, constant, *joined)


def _collected(
    bits: int, constant: float, sets: NDArray[np.int32], values: Floats, sizes: Floats
) -> Terms:
    first, where = _distinct(sets)
    sums = (sum_by(where, part, len(first)) for part in (values, sizes))
    return Terms(bits, constant, sets[first], *sums)


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
    total = size
    for a, b in qubo.ancillas.factors.tolist():
        members.append(tuple(sorted({*members[a], *members[b]})))
        total += len(members[-1])
        if total > _MOST_MEMBERS:
            raise InputError(f"products of more than {_MOST_MEMBERS:,} bits in all")
    width = max(map(len, members), default=1)
    memory.require(12 * width * len(members), f"products of up to {width:,} bits", "use fewer bits")
    padded = [m + (size,) * (width - len(m)) for m in members]
    return np.array(padded, dtype=np.int32).reshape(-1, width)


def substituted(qubo: Qubo) -> Terms:
    """Return the polynomial of a QUBO whose ancillas are replaced by their products."""
    bits = _bits_of(qubo)
    size, width = qubo.logical, bits.shape[1]
    memory.require(
        _PAIR_COST * width * (len(qubo.first) + qubo.variables),
        f"verifying a QUBO of {len(qubo.first):,} pairs",
        "use fewer bits= or features=",
    )
    alone = np.full((qubo.variables, 2 * width), size, dtype=np.int32)
    alone[:, :width] = bits
    both = np.concatenate([bits[qubo.first], bits[qubo.second]], axis=1)
    both.sort(axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = size
    both.sort(axis=1)
    sets = np.concatenate([alone, both])
    values = np.concatenate([qubo.linear, qubo.quadratic])
    used = int((sets != size).sum(axis=1).max(initial=1))
    return _collected(size, qubo.offset, sets[:, :used], values, np.abs(values))


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


def check_terms(qubo: Qubo, terms: Terms, pubo: Pubo) -> Check:
    """Compare the substituted QUBO, and what was left out of it, with the polynomial."""
    name = "algebra, term by term"
    if pubo.variables != qubo.logical:
        return Check(name, False, f"{pubo.variables} variables against {qubo.logical} bits")
    # what the QUBO has, plus what was left out, minus what the polynomial has, must be nothing
    whole = terms if qubo.truncated is None else terms.plus(qubo.truncated)
    gap = whole.plus(pubo, -1.0)
    largest = max((float(np.abs(c).max(initial=0.0)) for c in pubo.coefficients), default=0.0)
    if rounding(1) * gap.sizes.max(initial=0.0) > TELLING * largest > 0:
        return Check(name, False, "gates so much stronger than the terms that rounding hides them")
    wrong = np.flatnonzero(np.abs(gap.values) > rounding(1) * gap.sizes)
    if len(wrong):
        term = tuple(int(i) for i in gap.sets[wrong[0]] if i < qubo.logical)
        off = gap.values[wrong[0]]
        return Check(name, False, f"{len(wrong)} terms differ, first {term} by {off:.3g}")
    sizes = abs(pubo.constant) + abs(qubo.offset) + abs(whole.constant - qubo.offset)
    if abs(gap.constant) > rounding(1) * sizes:
        return Check(name, False, f"the constant is {whole.constant!r}, not {pubo.constant!r}")
    return Check(name, True, f"all {len(gap.values):,} terms and the constant agree")


def check_truncation(qubo: Qubo, terms: Terms) -> Check:
    """Bound the terms that were left out by the sum of the sizes of their spin coefficients.

    They are the difference of two polynomials, and rounded as these were: by the sizes of what was
    left out and of what is left.
    """
    left_out = qubo.truncated
    assert left_out is not None
    memory.require(
        _SUBSET_COST * sum(number << j for j, number in enumerate(left_out.terms, 1)),
        f"the subsets of {left_out.num_terms:,} terms that were left out",
        "reduce the polynomial again with a larger max_ancillas=",
    )
    spins: dict[tuple[int, ...], float] = {}
    for term, value in left_out.to_dict().items():
        for size in range(len(term) + 1):
            for members in combinations(term, size):
                spins[members] = spins.get(members, 0.0) + value / 2.0 ** len(term)
    bound = sum(map(abs, spins.values()))
    beside = replace(terms, values=np.zeros_like(terms.values)).plus(left_out)
    room = float(beside.sizes[beside.values != 0].sum()) + abs(qubo.offset)
    room += abs(left_out.constant)
    holds = bool(bound <= qubo.error + rounding(len(spins)) * (qubo.error + room))
    return Check("truncation", holds, f"terms left out change no energy by more than {bound:.6g}")


def _padded(rows: NDArray[np.int32], width: int, fill: int) -> NDArray[np.int32]:
    """Return rows of `width` members, filled up with a number that is no variable."""
    made = np.full((len(rows), width), fill, dtype=np.int32)
    made[:, : rows.shape[1]] = rows
    return made


def check_fingerprint(qubo: Qubo, terms: Terms, reference: Fingerprint) -> Check:
    """Compare value and gradient; the coordinates that differ name a changed term."""
    name = "algebra, at a point"
    size = qubo.logical
    if len(reference.gradient) != size:
        return Check(name, False, f"a reference of {len(reference.gradient)} bits, not {size}")
    point = np.append(fixed_point(size), 1.0)
    value, gradient = _value_and_gradient(terms.sets, terms.values, point)
    value += qubo.offset
    # what is left was found by taking from the polynomial what was left out
    sized = terms if qubo.truncated is None else terms.plus(qubo.truncated)
    added, allowed = _value_and_gradient(sized.sets, sized.sizes, point)
    share = rounding(len(terms.values))
    largest = float(np.abs(reference.gradient).max(initial=0.0))
    if share * allowed.max(initial=0.0) > TELLING * largest > 0:
        return Check(name, False, "gates so much stronger than the terms that rounding hides them")
    wrong = np.flatnonzero(np.abs(gradient - reference.gradient) > share * allowed)
    if len(wrong):
        shown = ", ".join(map(str, wrong[:6].tolist()))
        return Check(
            name,
            False,
            f"a term with the bits {shown} differs from the polynomial that was compiled",
        )
    added += abs(qubo.offset) + abs(sized.constant - qubo.offset)
    if abs(value - reference.value) > share * added:
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
