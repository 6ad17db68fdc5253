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

from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.reduction.truncate import difference
from qcompile.stages.artifacts import Dataset, Floats, Pubo, Qubo, sum_by

__all__ = ["Check", "Fingerprint", "Verification", "fingerprint", "row_marks", "verify"]

_EXHAUSTIVE_BITS = 20
_BRUTE_FORCE_VARIABLES = 22
_RELATIVE = 1e-10
_ROUNDING = 2e-13  # what adding up in another order may change, against the sizes added


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: whether it holds, and what was proved or where it fails."""

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    """All checks of a QUBO."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing failed."""
        return all(check.holds for check in self.checks)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Value and gradient of a polynomial at a fixed point: small, and tells polynomials apart."""

    value: float
    gradient: Floats


def verify(
    qubo: Qubo,
    *,
    pubo: Pubo | None = None,
    reference: Fingerprint | None = None,
    data: Dataset | None = None,
    assignments: int = 200,
    seed: int = 0,
) -> Verification:
    """Check a QUBO against its polynomial, its gates, and the data, as far as they are given."""
    if assignments < 1 or seed < 0:
        raise InputError(f"{assignments} assignments, seed {seed}; expected at least 1, and 0")
    checks = [_structure(qubo)]
    if checks[0].holds and qubo.seal is not None:
        checks.append(_integrity(qubo))
    if not all(check.holds for check in checks):  # nothing else makes sense
        return Verification(tuple(checks))
    sets, values, room = _substituted(qubo)
    if pubo is not None:
        kept = pubo if qubo.truncated is None else difference(pubo, qubo.truncated)
        checks.append(_same_terms(qubo, sets, values, room, kept))
    if reference is not None:
        checks.append(_same_fingerprint(qubo, sets, values, room, reference))
    checks.append(_gates(qubo))
    if qubo.truncated is not None:
        checks.append(_truncation(qubo.truncated, qubo.error))
    if qubo.logical <= _EXHAUSTIVE_BITS and _few_enough(qubo):
        checks.append(_exhaustive(qubo))
    if data is not None:
        checks.append(_against_data(qubo, data, assignments, seed))
    return Verification(tuple(checks))


def _structure(qubo: Qubo) -> Check:
    """Factors come before their product, pairs are distinct, numbers are finite."""
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


def row_marks(qubo: Qubo) -> tuple[str, ...]:
    """Give a short digest of the coefficients of each variable: its own and its pairs'."""
    starts = np.searchsorted(qubo.second, np.arange(qubo.variables + 1)).tolist()
    first, values = qubo.first.tobytes(), qubo.quadratic.tobytes()
    linear, marks = qubo.linear.tobytes(), []
    for v in range(qubo.variables):
        a, b = starts[v], starts[v + 1]
        content = linear[8 * v : 8 * v + 8] + first[4 * a : 4 * b] + values[8 * a : 8 * b]
        marks.append(blake2b(content, digest_size=6).hexdigest())
    return tuple(marks)


def _integrity(qubo: Qubo) -> Check:
    """Compare the coefficients, to the last bit, with what the file says was written."""
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
    """The bits that each variable stands for, a row each, filled up with the number of bits."""
    size = qubo.logical
    members: list[tuple[int, ...]] = [(i,) for i in range(size)]
    for a, b in qubo.ancillas.factors.tolist():
        members.append(tuple(sorted({*members[a], *members[b]})))
    width = max(map(len, members), default=1)
    padded = [m + (size,) * (width - len(m)) for m in members]
    return np.array(padded, dtype=np.int32).reshape(-1, width)


def _substituted(qubo: Qubo) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Replace ancillas by products: distinct sets of bits, coefficients, and what rounding may do.

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
    first, where = _distinct(sets, size)
    sums = sum_by(where, values, len(first))
    room = sum_by(where, np.abs(values), len(first))
    return sets[first], sums, room


def _distinct(sets: NDArray[np.int32], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the first place of each different row, and which of these each row is."""
    if (size + 1) ** sets.shape[1] >= 2**63:  # rows that no number can stand for: slower
        _, first, where = np.unique(sets, axis=0, return_index=True, return_inverse=True)
        return first, where.reshape(-1)
    keys = np.zeros(len(sets), dtype=np.int64)
    for t in range(sets.shape[1]):
        keys = keys * (size + 1) + sets[:, t]
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return first, where


def _tolerance(room: Floats) -> Floats:
    return _ROUNDING * room + 1e-300


def _same_terms(
    qubo: Qubo, sets: NDArray[np.int32], values: Floats, room: Floats, pubo: Pubo
) -> Check:
    """Compare the substituted QUBO with the polynomial, term by term."""
    name = "algebra, term by term"
    if pubo.variables != qubo.logical:
        return Check(name, False, f"{pubo.variables} variables against {qubo.logical} bits")
    size = qubo.logical
    width = max(sets.shape[1], pubo.degree)
    expected_sets, expected = [], []
    for rows, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
        if len(rows):
            padded = np.full((len(rows), width), size, dtype=np.int32)
            padded[:, : rows.shape[1]] = rows
            expected_sets.append(padded)
            expected.append(coefficients)
    found = np.full((len(sets), width), size, dtype=np.int32)
    found[:, : sets.shape[1]] = sets
    joined = np.concatenate([found, *expected_sets])
    keys = np.zeros(len(joined), dtype=np.int64)
    for t in range(width):
        keys = keys * (size + 1) + joined[:, t]
    unique, first, where = np.unique(keys, return_index=True, return_inverse=True)
    signed = np.concatenate([values, *(-np.asarray(c) for c in expected)])
    gap = sum_by(where, signed, len(unique))
    allowed = sum_by(where, np.concatenate([room, *map(np.abs, expected)]), len(unique))
    wrong = np.flatnonzero(np.abs(gap) > _tolerance(allowed))
    if len(wrong):
        term = tuple(int(i) for i in joined[first[wrong[0]]] if i < size)
        return Check(name, False, f"{len(wrong)} terms differ, first {term} by {gap[wrong[0]]:.3g}")
    if abs(qubo.offset - pubo.constant) > _ROUNDING * max(1.0, abs(pubo.constant)):
        return Check(name, False, f"the constant is {qubo.offset!r}, not {pubo.constant!r}")
    return Check(name, True, f"all {len(unique):,} terms and the constant agree")


def _point(size: int) -> Floats:
    """A fixed point inside the cube, every coordinate different: multiples of the golden ratio."""
    golden = 0.6180339887498949
    return np.asarray(0.5 + 0.5 * np.modf(golden * np.arange(1, size + 1, dtype=np.float64))[0])


def fingerprint(pubo: Pubo) -> Fingerprint:
    """Give value and gradient at the fixed point."""
    point = np.append(_point(pubo.variables), 1.0)
    value, gradient = pubo.constant, np.zeros(pubo.variables)
    for rows, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
        value += _add_derivatives(rows, coefficients, point, gradient)
    return Fingerprint(float(value), gradient)


def _add_derivatives(
    rows: NDArray[np.int32], values: Floats, point: Floats, gradient: Floats
) -> float:
    """Add up the terms' values and derivatives; the last coordinate (one) is no variable."""
    if not len(rows):
        return 0.0
    size = len(gradient)
    total = values * np.prod(point[rows], axis=1)
    for t in range(rows.shape[1]):
        slope = values.copy()
        for other in range(rows.shape[1]):
            if other != t:
                slope *= point[rows[:, other]]
        inside = rows[:, t] < size
        gradient += sum_by(rows[inside, t], slope[inside], size)[:size]
    return float(total.sum())


def _same_fingerprint(
    qubo: Qubo, sets: NDArray[np.int32], values: Floats, room: Floats, reference: Fingerprint
) -> Check:
    """Compare value and gradient; the coordinates that differ name a changed term."""
    name = "algebra, at a point"
    size = qubo.logical
    if len(reference.gradient) != size:
        return Check(name, False, f"a reference of {len(reference.gradient)} bits, not {size}")
    point = np.append(_point(size), 1.0)
    gradient, allowed = np.zeros(size), np.zeros(size)
    value = qubo.offset + _add_derivatives(sets, values, point, gradient)
    _add_derivatives(sets, room, point, allowed)
    wrong = np.flatnonzero(np.abs(gradient - reference.gradient) > _tolerance(allowed))
    if len(wrong):
        terms = ", ".join(map(str, wrong[:6].tolist()))
        return Check(
            name,
            False,
            f"a term with the bits {terms} differs from the polynomial that was compiled",
        )
    if abs(value - reference.value) > _tolerance(room).sum() + _ROUNDING * abs(value):
        return Check(name, False, f"the constant is off by {value - reference.value:.3g}")
    return Check(name, True, "value and gradient at a fixed point agree: the same polynomial")


def _gates(qubo: Qubo) -> Check:
    """Each ancilla must be best at its product, whatever all other variables do."""
    if not len(qubo.ancillas):
        return Check("gates", True, "no ancillas")
    nested = bool((qubo.ancillas.factors >= qubo.logical).any())
    coupled = bool((qubo.first >= qubo.logical).any())
    slack, bad = _nested_gates(qubo) if nested or coupled else _flat_gates(qubo)
    if bad is not None:
        a, b = qubo.ancillas.factors[bad - qubo.logical].tolist()
        return Check(
            "gates",
            False,
            f"ancilla {bad} = {a}*{b} can gain {-slack:.3g} by being wrong: too weak a gate",
        )
    return Check(
        "gates", True, f"{len(qubo.ancillas)} gates hold, the closest with {slack:.3g} to spare"
    )


def _flat_gates(qubo: Qubo) -> tuple[float, int | None]:
    """No ancilla meets another: sums over the couplings of each decide."""
    size, number = qubo.logical, len(qubo.ancillas)
    own = qubo.second >= size
    at, other, value = qubo.second[own] - size, qubo.first[own], qubo.quadratic[own]
    factors = qubo.ancillas.factors
    one, two = other == factors[at, 0], other == factors[at, 1]
    rest = ~(one | two)
    up = sum_by(at[rest], np.maximum(value[rest], 0.0), number)
    down = sum_by(at[rest], np.minimum(value[rest], 0.0), number)
    left = sum_by(at[one], value[one], number)
    right = sum_by(at[two], value[two], number)
    alone = qubo.linear[size:]
    slack = np.minimum.reduce(
        [-(alone + left + right + up), alone + down, alone + left + down, alone + right + down]
    )
    return _verdict(slack, np.abs(alone) + np.abs(left) + np.abs(right) + up - down, size)


def _verdict(slack: Floats, scale: Floats, size: int) -> tuple[float, int | None]:
    worst = int(np.argmin(slack + _RELATIVE * scale))
    if slack[worst] < -_RELATIVE * scale[worst]:
        return float(slack[worst]), size + worst
    return float(slack.min()), None


def _nested_gates(qubo: Qubo) -> tuple[float, int | None]:
    """Minimise the ancillas away from the last to the first, keeping the polynomial that is left.

    Where an ancilla is best at its product, minimising over it is the same as replacing it.
    """
    size = qubo.logical
    terms: dict[int, float] = {1 << i: float(v) for i, v in enumerate(qubo.linear) if v}
    pairs = zip(qubo.first.tolist(), qubo.second.tolist(), qubo.quadratic.tolist(), strict=True)
    for i, j, v in pairs:
        terms[1 << i | 1 << j] = v
    users: dict[int, set[int]] = {k: set() for k in range(size, qubo.variables)}
    for mask in terms:
        _note(mask, size, users)
    slacks, scales = [], []
    for own in range(qubo.variables - 1, size - 1, -1):
        a, b = qubo.ancillas.factors[own - size].tolist()
        slack, scale = _gate_slack(terms, users[own], 1 << own, 1 << a, 1 << b)
        slacks.append(slack)
        scales.append(scale)
        for mask in users[own]:
            value = terms.pop(mask)
            for k in _ancillas_in(mask, size):
                if k != own:
                    users[k].discard(mask)
            made = mask ^ (1 << own) | 1 << a | 1 << b
            terms[made] = terms.get(made, 0.0) + value
            _note(made, size, users)
    return _verdict(np.array(slacks[::-1]), np.array(scales[::-1]), size)


def _ancillas_in(mask: int, size: int) -> list[int]:
    rest, found, at = mask >> size, [], size
    while rest:
        step = (rest & -rest).bit_length()
        at += step
        found.append(at - 1)
        rest >>= step
    return found


def _note(mask: int, size: int, users: dict[int, set[int]]) -> None:
    for k in _ancillas_in(mask, size):
        users[k].add(mask)


def _gate_slack(
    terms: dict[int, float], users: set[int], own: int, a: int, b: int
) -> tuple[float, float]:
    """Bound what the ancilla's factor in the polynomial can be, for each value of its factors."""
    alone = left = right = both = up = down = 0.0
    for mask in users:
        value, rest = terms[mask], mask ^ own
        if rest == 0:
            alone += value
        elif rest == a:
            left += value
        elif rest == b:
            right += value
        elif rest == a | b:
            both += value
        elif value > 0:
            up += value
        else:
            down += value
    slack = min(
        -(alone + left + right + both + up), alone + down, alone + left + down, alone + right + down
    )
    return slack, abs(alone) + abs(left) + abs(right) + up - down


def _exhaustive(qubo: Qubo) -> Check:
    """Try all assignments of the bits, each with its best ancillas."""
    name = "all assignments"
    if not len(qubo.ancillas):
        return Check(name, True, "no ancillas")
    if (qubo.first >= qubo.logical).any():
        return _brute_force(qubo, name)
    size = qubo.logical
    own = qubo.second >= size
    couplings = np.zeros((size, len(qubo.ancillas)))
    couplings[qubo.first[own], qubo.second[own] - size] = qubo.quadratic[own]
    tolerance = _RELATIVE * (np.abs(couplings).sum(axis=0) + np.abs(qubo.linear[size:]))
    factors = qubo.ancillas.factors
    for start in range(0, 1 << size, 1 << 12):
        states = np.arange(start, min(start + (1 << 12), 1 << size))[:, None] >> np.arange(size) & 1
        field = states @ couplings + qubo.linear[size:]
        right = states[:, factors[:, 0]] & states[:, factors[:, 1]]
        gain = right * field - np.minimum(field, 0.0)
        if (gain > tolerance).any():
            row, k = map(int, np.argwhere(gain > tolerance)[0])
            bits = "".join(map(str, states[row]))
            return Check(name, False, f"ancilla {size + k} is better wrong for the bits {bits}")
    return Check(name, True, f"all {1 << size:,} tried: the right ancillas are the best ones")


def _few_enough(qubo: Qubo) -> bool:
    """Ancillas that meet each other must all be tried together: only if they are few."""
    return not (qubo.first >= qubo.logical).any() or qubo.variables <= _BRUTE_FORCE_VARIABLES


def _truncation(left_out: Pubo, error: float) -> Check:
    """Bound what was left out by the sum of the sizes of its coefficients in spins."""
    spins: dict[tuple[int, ...], float] = {}
    for term, value in left_out.to_dict().items():
        for size in range(len(term) + 1):
            for members in combinations(term, size):
                spins[members] = spins.get(members, 0.0) + value / 2.0 ** len(term)
    bound = sum(map(abs, spins.values()))
    holds = bool(bound <= error * (1 + 1e-9) + 1e-12)
    return Check("truncation", holds, f"terms left out change no energy by more than {bound:.6g}")


def _brute_force(qubo: Qubo, name: str) -> Check:
    """Ancillas that meet each other: try all values of all variables."""
    size, rest = qubo.logical, qubo.variables - qubo.logical
    others = np.arange(1 << rest)[:, None] >> np.arange(rest) & 1
    polynomial = qubo.as_pubo()
    for number in range(1 << size):
        bits = number >> np.arange(size) & 1
        right = qubo.energies(qubo.complete(bits))[0]
        states = np.hstack([np.tile(bits, (len(others), 1)), others])
        lowest = polynomial.energies(states).min()
        if right - lowest > _RELATIVE * (1 + np.abs(qubo.quadratic).sum()):
            shown = "".join(map(str, bits))
            return Check(name, False, f"wrong ancillas are better for the bits {shown}")
    return Check(name, True, f"all {1 << qubo.variables:,} values of all variables tried")


def _against_data(qubo: Qubo, data: Dataset, assignments: int, seed: int) -> Check:
    """Compare energies of random bits with the objective computed from the examples."""
    name = "data"
    encoding, loss = qubo.encoding, qubo.loss
    if encoding is None or loss is None:
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
    for row, w, energy in zip(bits, weights, found.tolist(), strict=True):
        margins = np.asarray(data.x @ w) * data.y
        expected = float(np.mean(np.polyval(loss.coefficients[::-1], margins)))
        expected += loss.l2 / 2 * float(w @ w) + _l0_charge(qubo, row)
        off = max(0.0, abs(energy - expected) - qubo.dropped)  # what a threshold may change
        worst = max(worst, off / max(1.0, abs(expected)))
    if worst > 1e-8:
        return Check(
            name, False, f"energies differ from the risk of these {len(data):,} rows by {worst:.2g}"
        )
    detail = f"{assignments} random assignments agree with the risk of {len(data):,} rows"
    return Check(name, True, f"{detail} to {worst:.1g}")


def _l0_charge(qubo: Qubo, row: NDArray[Any]) -> float:
    encoding = qubo.encoding
    if encoding is None or not qubo.l0:
        return 0.0
    own = row[: encoding.variables].reshape(encoding.features, encoding.bits).sum(axis=1)
    if encoding.bits == 1:
        return float(qubo.l0 * own.sum())
    shown = row[encoding.variables : encoding.variables + encoding.features]
    return float(qubo.l0 * (shown + 2 * (1 - shown) * own).sum())
