"""Compare a QUBO with the objective that is computed from the rows.

Rounding is measured by what was added up: each energy is a sum of products of features, bit values
and coefficients, and so is the objective. The sum of their sizes, signs ignored, bounds the
rounding error of both, however far they cancel.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.encoding import Encoding
from qcompile.stages.local_fit import Around
from qcompile.stages.loss import Loss
from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.step import Step
from qcompile.verification.algebra import Terms
from qcompile.verification.check import TELLING, Check, rounding
from qcompile.verification.record import indicator_terms, prepared_alike

__all__ = ["check_data"]


_NAME = "data"
_NUMBERS_AT_ONCE = 1 << 20


def check_data(
    qubo: Qubo, terms: Terms, data: Dataset, assignments: int, seed: int | None
) -> Check:
    """Compare energies of random bits with the objective computed from the examples.

    Bits come from the computer's source of randomness, or from `seed`. If small terms were dropped,
    all terms are compared as well. `terms` are those of the QUBO and what was left out of it.
    """
    encoding = qubo.encoding
    if encoding is None or (qubo.loss is None and qubo.around is None):
        return _failed("the QUBO says nothing about the data that it was compiled from")
    if qubo.preparation is not None and data.preparation.is_identity:
        data = _prepared(data, qubo.preparation)
    if data.features != encoding.features:
        return _failed(f"{data.features} features; expected {encoding.features}")
    if qubo.preparation is not None and not prepared_alike(qubo.preparation, data.preparation):
        return _failed("the QUBO names labels or columns otherwise than these rows have them")
    if max((i for term in indicator_terms(qubo) for i in term), default=-1) >= qubo.logical:
        return _failed("an l0 regulariser without its indicators")
    if qubo.source.rows not in (None, len(data)):
        return _failed(f"{len(data):,} rows; it was compiled from {qubo.source.rows:,}")
    objective = _objective(qubo, encoding, data)
    if objective is None:
        return _failed("the QUBO of a step without its centre, or without its loss")
    chosen = secrets.randbits(32) if seed is None else seed
    bits = _random_bits(qubo.logical, assignments, np.random.default_rng(chosen))
    expected, sizes = objective.at(bits)
    charges = Pubo.from_dict(indicator_terms(qubo), variables=qubo.logical)
    found = qubo.score(bits) - charges.energies(bits)
    added = sizes + _sizes(qubo).score(bits) + _positive(charges).energies(bits)
    allowed = rounding(len(data) + qubo.variables + len(qubo.first)) * added
    largest = max(abs(terms.constant), float(np.abs(found - terms.constant).max(initial=0.0)))
    if allowed.max(initial=0.0) > TELLING * largest:
        return _failed("numbers so much larger than the energies that rounding hides these")
    if not qubo.dropped:
        gap = np.abs(found - expected)
        if not (gap <= allowed).all():
            worst = int(np.argmax(gap - allowed))
            off = f"by {gap[worst]:.2g}, where rounding explains {allowed[worst]:.2g}"
            return _failed(
                f"energies differ from the risk of these {len(data):,} rows {off} (seed {chosen})"
            )
        detail = f"{assignments} random assignments agree with the risk of {len(data):,} rows"
        return Check(_NAME, True, f"{detail}, up to rounding")
    if qubo.loss is None:
        return _failed("terms of a step are never dropped")
    order = max(qubo.loss.order, 2 if qubo.loss.l2 else 1)
    return _check_all_terms(qubo, terms, objective, charges, order)


def _prepared(data: Dataset, preparation: Preparation) -> Dataset:
    """Prepare raw rows as the record says; rows of another width stay as they are."""
    raw = data.preparation
    if raw.raw_features != preparation.raw_features or preparation.is_identity:
        return data
    named = replace(preparation, positive=raw.positive, negative=raw.negative)
    return replace(data, x=preparation.apply(data.x), preparation=named)


def _failed(detail: str) -> Check:
    return Check(_NAME, False, detail)


def _random_bits(size: int, number: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return rows of bits, half of them with more ones, where terms of many bits count."""
    ones = np.where(np.arange(number) % 2, rng.uniform(0.5, 1.0, number), 0.5)
    return (rng.random((number, size)) < ones[:, None]).astype(np.int8)


def _sizes(qubo: Qubo) -> Qubo:
    """Return the QUBO with all coefficients positive: energies are sums of sizes."""
    return replace(
        qubo,
        offset=abs(qubo.offset),
        linear=np.abs(qubo.linear),
        quadratic=np.abs(qubo.quadratic),
        truncated=None if qubo.truncated is None else _positive(qubo.truncated),
    )


def _positive(pubo: Pubo) -> Pubo:
    values = tuple(np.abs(c) for c in pubo.coefficients)
    return replace(pubo, constant=abs(pubo.constant), coefficients=values)


class _Rows(Protocol):
    """A function of margins, for blocks of rows."""

    def at(self, rows: slice, values: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Return values at some rows, and the sizes of what they are made of.

        The last two arguments are x·u and |x|·|u| of each row and assignment, where u is what the
        bits add to the weights.
        """


@dataclass(frozen=True, eq=False)
class _Objective:
    """The objective without ℓ0 as a function of the bits, from the rows.

    Weights are `base` + u. If all bits are 0, u is `start`.
    """

    data: Dataset
    encoding: Encoding
    base: Floats
    start: Floats
    l2: float
    rows: _Rows

    def at(self, bits: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the objective of each row of bits, and the sizes of what was added up."""
        encoding = self.encoding
        spread = np.zeros((encoding.variables, encoding.features))
        spread[np.arange(encoding.variables), encoding.bit_features] = encoding.bit_weights
        on = bits[:, : encoding.variables].astype(np.float64)
        moved, most = on @ spread + self.start, on @ np.abs(spread) + np.abs(self.start)
        totals, sizes = np.zeros((2, len(bits)))
        for block in _blocks(len(self.data), len(bits)):
            x = self.data.x[block]
            values, added = np.asarray(x @ moved.T), np.asarray(abs(x) @ most.T)
            one, two = self.rows.at(block, values, added)
            totals, sizes = totals + self._sum(one, block), sizes + self._sum(two, block)
        weights, reach = self.base + moved, np.abs(self.base) + most
        weighed = self.data.weights
        count = len(self.data) if weighed is None else float(np.sum(weighed))
        return (
            totals / count + self.l2 / 2 * (weights**2).sum(axis=1),
            sizes / count + self.l2 / 2 * (reach**2).sum(axis=1),
        )

    def _sum(self, values: Floats, rows: slice) -> Floats:
        """Return the sum over rows, each as often as it counts."""
        weighed = self.data.weights
        if weighed is None:
            return np.asarray(values.sum(axis=0))
        return np.asarray((values * weighed[rows, None]).sum(axis=0))


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, _NUMBERS_AT_ONCE // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, start + step)


@dataclass(frozen=True, eq=False)
class _OfLoss:
    """The loss of the margins."""

    y: Floats
    loss: Loss

    def at(self, rows: slice, values: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        coefficients = np.array(self.loss.coefficients[::-1])
        margins = values * self.y[rows, None]
        return np.polyval(coefficients, margins), np.polyval(np.abs(coefficients), sizes)


@dataclass(frozen=True, eq=False)
class _OfStep:
    """The polynomial nearest to the smoothed risk around the centre, row by row."""

    turn: Floats
    seen: NDArray[np.bool_]
    variance: float
    spread: float
    shape: tuple[Floats, ...]
    reach: Floats

    @classmethod
    def of(cls, data: Dataset, centre: Floats, around: Around) -> _OfStep:
        square = data.x.multiply(data.x) if hasattr(data.x, "indptr") else data.x * data.x
        lengths = np.sqrt(np.asarray(square.sum(axis=1), dtype=np.float64).ravel())
        seen = lengths > 0
        turn = np.where(seen, data.y / np.where(seen, lengths, 1.0), 0.0)
        variance = around.width**2
        spread = math.sqrt(around.smoothing**2 + variance)
        z = np.asarray(data.x @ centre) * turn / spread
        below = np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.tolist()])
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        slope, bend = -density / spread, z * density / spread**2
        twist = (1 - z * z) * density / spread**3 if around.degree == 3 else np.zeros_like(z)
        reach = np.asarray(abs(data.x) @ np.abs(centre)) * np.abs(turn)
        return cls(turn, seen, variance, spread, (below, slope, bend, twist), reach)

    def at(self, rows: slice, values: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        below, slope, bend, twist = (part[rows, None] for part in self.shape)
        seen, variance = self.seen[rows, None], self.variance
        d = values * self.turn[rows, None]
        hermite = bend * (d * d - variance * seen) / 2 + twist * (d**3 - 3 * variance * d) / 6
        total = below + slope * d + hermite
        far, reach = sizes * np.abs(self.turn[rows, None]), self.reach[rows, None]
        # The derivatives at the centre are off by their slopes times the rounding of x·centre;
        # none of these slopes is above 2 in units of the spread.
        steps = far / self.spread
        around = reach / self.spread * (1 + steps + steps**2 + steps**3)
        bent = np.abs(bend) * (far**2 + variance) / 2
        twisted = np.abs(twist) * (far**3 + 3 * variance * far) / 6
        added = 1 + np.abs(slope) * far + bent + twisted + 2 * around
        return total, added


def _objective(qubo: Qubo, encoding: Encoding, data: Dataset) -> _Objective | None:
    none = np.zeros(encoding.features)
    if isinstance(encoding, Step) and qubo.around is not None:
        centre, start = np.array(encoding.centre), none.copy()
        start[encoding.members] = encoding.starts
        step = _OfStep.of(data, centre, qubo.around)
        return _Objective(data, encoding, centre, start, qubo.around.l2, step)
    if qubo.loss is not None and not isinstance(encoding, Step):
        loss = qubo.loss
        return _Objective(data, encoding, none, encoding.offsets, loss.l2, _OfLoss(data.y, loss))
    return None


def _check_all_terms(
    qubo: Qubo, terms: Terms, objective: _Objective, charges: Pubo, order: int
) -> Check:
    """Compare each term with that of the rows: those that are missing must be what was dropped."""
    risk, sizes = _terms_of(objective, qubo.logical, order)
    rows = f"these {len(objective.data):,} rows"
    share = rounding(len(objective.data) + (1 << order))
    if abs(terms.constant - risk.constant) > share * (abs(qubo.offset) + sizes.constant):
        return _failed(f"the constant is not that of {rows}")
    own = terms.plus(charges, -1.0)
    found = own.plus(_without_values(risk))
    nothing = replace(own, values=np.zeros_like(own.values), sizes=np.zeros_like(own.sizes))
    wanted, room = nothing.plus(risk).values, nothing.plus(sizes).values
    allowed = share * (found.sizes + room)
    present = np.abs(found.values) > allowed
    wrong = np.flatnonzero(present & (np.abs(found.values - wanted) > allowed))
    if len(wrong):
        term = tuple(int(i) for i in found.sets[wrong[0]] if i < qubo.logical)
        return _failed(f"the term {term} is not that of {rows}")
    missing = wanted[~present]
    # an indicator's charge is added to terms of one bit after small terms are dropped
    stayed = found.values[present & (found.degrees > 1)] if qubo.l0 else found.values[present]
    smallest = np.abs(stayed).min(initial=np.inf)
    if np.abs(missing).max(initial=0.0) > smallest + allowed.max(initial=0.0):
        return _failed(f"a term of {rows} that is larger than others that stayed is missing")
    dropped = float(max(-missing[missing < 0].sum(), missing[missing > 0].sum()))
    if abs(dropped - qubo.dropped) > allowed[~present].sum():
        return _failed(f"terms that add up to {dropped:.6g} are missing, not {qubo.dropped:.6g}")
    detail = f"all {len(wanted):,} terms are those of {len(objective.data):,} rows"
    return Check(_NAME, True, f"{detail}, but for {dropped:.3g} in all that was dropped")


def _without_values(pubo: Pubo) -> Pubo:
    none = tuple(np.zeros_like(c) for c in pubo.coefficients)
    return replace(pubo, constant=0.0, coefficients=none)


def _terms_of(objective: _Objective, variables: int, order: int) -> tuple[Pubo, Pubo]:
    """Return the polynomial of the rows up to a degree, and what its coefficients are made of.

    A coefficient is a sum over all subsets of its bits: of the objective with these bits on and all
    others off, with a minus for each bit of the term that is off.
    """
    size = objective.encoding.variables
    number = sum(comb(size, j) for j in range(order + 1))
    memory.require(
        8 * number * (order + 4), f"{number:,} terms to compare", "verify without the data"
    )
    chooses = np.array([[comb(i, t) for i in range(size)] for t in range(order + 1)])
    values, sizes, members = [], [], []
    for degree in range(min(order, size) + 1):
        rows = np.array(list(combinations(range(size), degree)), np.int32)
        rows = rows[np.argsort(_places(rows, chooses))]
        both = [objective.at(_bits(part, size)) for part in _parts(rows)]
        values.append(np.concatenate([one for one, _ in both]))
        sizes.append(np.concatenate([two for _, two in both]))
        members.append(rows)
    indices, coefficients, made_of = [], [], []
    for degree, rows in enumerate(members[1:], 1):
        total, room = np.zeros((2, len(rows)))
        for kept in range(degree + 1):
            for some in combinations(range(degree), kept):
                at = _places(rows[:, some], chooses)
                total += (-1.0) ** (degree - kept) * values[kept][at]
                room += sizes[kept][at]
        indices.append(rows)
        coefficients.append(total)
        made_of.append(room)
    risk = Pubo(variables, float(values[0][0]), tuple(indices), tuple(coefficients))
    return risk, Pubo(variables, float(sizes[0][0]), tuple(indices), tuple(made_of))


def _places(rows: NDArray[Any], chooses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each set of bits among all of its size."""
    place = np.zeros(len(rows), dtype=np.int64)
    for t in range(rows.shape[1]):
        place += chooses[t + 1, rows[:, t]]
    return place


def _parts(rows: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    for start in range(0, len(rows), 1 << 10):
        yield rows[start : start + (1 << 10)]


def _bits(rows: NDArray[np.int32], size: int) -> NDArray[np.int8]:
    made = np.zeros((len(rows), size), dtype=np.int8)
    made[np.arange(len(rows))[:, None], rows] = 1
    return made
