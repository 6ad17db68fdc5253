"""Checks of gates: no assignment of an ancilla but the product pays."""

from __future__ import annotations

import numpy as np

from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, sum_by
from qcompile.stages.qubo import Qubo
from qcompile.verification.check import Check, rounding

__all__ = ["check_exhaustively", "check_gates", "few_enough"]


# Bytes of a term in the tables of nested gates, besides its own number.
_TERM_COST = 350
_BRUTE_FORCE_VARIABLES = 22


def check_gates(qubo: Qubo) -> Check:
    """Check that each ancilla is best at its product for all values of the other variables."""
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
    """Check ancillas that are not coupled to each other, by sums over their couplings."""
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
    scale = np.abs(alone) + np.abs(left) + np.abs(right) + up - down
    return _verdict(slack, rounding(size) * scale, size)


def _verdict(slack: Floats, allowed: Floats, size: int) -> tuple[float, int | None]:
    worst = int(np.argmin(slack + allowed))
    if slack[worst] < -allowed[worst]:
        return float(slack[worst]), size + worst
    return max(0.0, float(slack.min())), None


def _nested_gates(qubo: Qubo) -> tuple[float, int | None]:
    """Eliminate the ancillas from the last to the first, and keep the remaining polynomial.

    Where an ancilla is best at its product, minimising over it is the same as replacing it. A term
    is kept as its coefficient and the sizes of what was added up to it.
    """
    size = qubo.logical
    memory.require(  # a term is a number with one binary digit for each variable
        len(qubo.first) * (qubo.variables // 8 + _TERM_COST),
        f"checking the gates of {len(qubo.ancillas):,} ancillas that are made of each other",
        "use fewer bits= or features=, or a lower order=",
    )
    terms: dict[int, tuple[float, float]] = {
        1 << i: (v, abs(v)) for i, v in enumerate(qubo.linear.tolist()) if v
    }
    pairs = zip(qubo.first.tolist(), qubo.second.tolist(), qubo.quadratic.tolist(), strict=True)
    for i, j, v in pairs:
        terms[1 << i | 1 << j] = (v, abs(v))
    users: dict[int, set[int]] = {k: set() for k in range(size, qubo.variables)}
    for mask in terms:
        _note(mask, size, users)
    slacks, allowed = [], []
    for own in range(qubo.variables - 1, size - 1, -1):
        a, b = qubo.ancillas.factors[own - size].tolist()
        slack, scale = _gate_slack(terms, users[own], 1 << own, 1 << a, 1 << b)
        slacks.append(slack)
        allowed.append(rounding(len(users[own])) * scale)
        for mask in users[own]:
            value, added = terms.pop(mask)
            for k in _ancillas_in(mask, size):
                if k != own:
                    users[k].discard(mask)
            made = mask ^ (1 << own) | 1 << a | 1 << b
            before, sizes = terms.get(made, (0.0, 0.0))
            terms[made] = (before + value, sizes + added)
            _note(made, size, users)
    return _verdict(np.array(slacks[::-1]), np.array(allowed[::-1]), size)


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
    terms: dict[int, tuple[float, float]], users: set[int], own: int, a: int, b: int
) -> tuple[float, float]:
    """Bound the ancilla's coefficient from below, for each value of its factors.

    Also return the sizes of all that was added up.
    """
    alone = left = right = both = up = down = scale = 0.0
    for mask in users:
        (value, added), rest = terms[mask], mask ^ own
        scale += added
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
    return slack, scale


def check_exhaustively(qubo: Qubo) -> Check:
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
    tolerance = rounding(size) * (np.abs(couplings).sum(axis=0) + np.abs(qubo.linear[size:]))
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


def few_enough(qubo: Qubo) -> bool:
    """Whether the variables are few enough to try all values."""
    return not (qubo.first >= qubo.logical).any() or qubo.variables <= _BRUTE_FORCE_VARIABLES


def _brute_force(qubo: Qubo, name: str) -> Check:
    """Check ancillas that are coupled to each other, by all values of all variables."""
    size, rest = qubo.logical, qubo.variables - qubo.logical
    others = np.arange(1 << rest)[:, None] >> np.arange(rest) & 1
    polynomial = qubo.as_pubo()
    added = abs(qubo.offset) + np.abs(qubo.linear).sum() + np.abs(qubo.quadratic).sum()
    tolerance = rounding(polynomial.num_terms) * added
    for number in range(1 << size):
        bits = number >> np.arange(size) & 1
        right = qubo.energies(qubo.complete(bits))[0]
        states = np.hstack([np.tile(bits, (len(others), 1)), others])
        lowest = polynomial.energies(states).min()
        if right - lowest > tolerance:
            shown = "".join(map(str, bits))
            return Check(name, False, f"wrong ancillas are better for the bits {shown}")
    return Check(name, True, f"all {1 << qubo.variables:,} values of all variables tried")
