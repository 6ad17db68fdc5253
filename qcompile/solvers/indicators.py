"""Search over the weights alone where indicators (ℓ0) follow from them.

An indicator v costs v (c + Σ d_t q_t) for the bits q_t of its weight, so its best value is known
once the bits are. States that differ in indicators only are one classifier: they would fill the
places of other classifiers among the lowest states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.problem import Problem
from qcompile.stages.pubo import Pubo
from qcompile.stages.samples import Samples

__all__ = ["Indicators", "with_best_indicators"]


# The polynomial of the least cost of an indicator has a term for each set of its bits.
_MOST_BITS = 8


@dataclass(frozen=True, eq=False)
class Indicators:
    """The indicators of a polynomial: what each costs alone, and with each bit."""

    first: int
    alone: Floats
    pairs: Floats

    @classmethod
    def of(cls, pubo: Pubo) -> Indicators | None:
        """Return the indicators; None if there are none, or variables that are something else."""
        encoding = pubo.encoding
        if encoding is None or not pubo.l0 or pubo.variables <= encoding.variables:
            return None
        first = encoding.variables
        number = pubo.variables - first
        if any((rows >= first).any() for rows in pubo.indices[2:]):
            return None
        alone, pairs = np.zeros(number), np.zeros((number, first))
        rows, values = pubo.of_degree(1)
        own = rows[:, 0] >= first
        alone[rows[own, 0] - first] = values[own]
        rows, values = pubo.of_degree(2)
        own = rows[:, 1] >= first
        if (rows[own, 0] >= first).any():
            return None
        pairs[rows[own, 1] - first, rows[own, 0]] = values[own]
        if np.count_nonzero(pairs, axis=1).max(initial=0) > _MOST_BITS:
            return None
        return cls(first, alone, pairs)

    def best(self, bits: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return rows of bits with the indicators that cost least; 0 where both cost the same."""
        weights = bits[:, : self.first]
        on = self.alone + weights @ self.pairs.T < 0
        return np.hstack([weights, on.astype(np.int8)])

    def eliminated(self, pubo: Pubo) -> Pubo:
        """Return the polynomial of the bits whose energies are the least over the indicators."""
        rows, values = [], []
        for own, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
            kept = ~(own >= self.first).any(axis=1)
            rows.append(frozen(own[kept], np.int32))
            values.append(frozen(coefficients[kept]))
        plain = replace(pubo, variables=self.first, indices=tuple(rows), coefficients=tuple(values))
        extra: dict[tuple[int, ...], float] = {}
        for alone, pairs in zip(self.alone.tolist(), self.pairs, strict=True):
            members = np.flatnonzero(pairs).tolist()
            costs = {
                chosen: min(0.0, alone + sum(float(pairs[q]) for q in chosen))
                for size in range(len(members) + 1)
                for chosen in combinations(members, size)
            }
            for chosen, value in _as_polynomial(costs).items():
                extra[chosen] = extra.get(chosen, 0.0) + value
        return plain.with_terms(plain + Pubo.from_dict(extra, variables=self.first))


def _as_polynomial(costs: Mapping[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """Return the coefficients of a function of sets (Möbius): Σ over subsets, signs alternating."""
    found: dict[tuple[int, ...], float] = {}
    for chosen in costs:
        parts = (
            (-1) ** (len(chosen) - size) * costs[inner]
            for size in range(len(chosen) + 1)
            for inner in combinations(chosen, size)
        )
        found[chosen] = sum(parts)
    return found


def with_best_indicators(problem: Problem, pubo: Pubo, found: Samples) -> Samples:
    """Return samples whose indicators cost least; equal classifiers become equal samples."""
    known = Indicators.of(pubo)
    if known is None or not len(found):
        return found
    bits = known.best(np.asarray(found.bits))
    return replace(found, bits=frozen(bits, np.int8), energies=frozen(problem.score(bits)))
