"""Pubo -> Qubo of a smaller dynamic range: small terms are left out, and the minimum stays.

Most couplings of a reduced cubic are the coefficients of its terms, and a few large ones set the
scale on a machine; many small ones then drown in its control errors. Here the terms behind them are
left out one by one, as products of spins, the smallest first, as long as every assignment keeps a
given share of its height: its energy less the minimum. So the minimum stays a minimum, no other
assignment becomes one, and none comes closer to it than the share allows. Where several are tied,
at least one stays.

The energies of all assignments decide, which limits the bits; bounds in polynomial time prove next
to nothing here (see "Reduce the dynamic range" in docs/howto.md). A term is tried on the lowest
assignments first. What they allow is then compared on all, and those that object join the lowest.

The way back is that of a truncated QUBO: `Qubo.truncated` holds what was left out, so that
`Qubo.score` and `restore` give the polynomial itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.files.machines import load_machine
from qcompile.reduction.restore import members_of
from qcompile.reduction.truncate import without_products
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, extent
from qcompile.stages.compression import MOST_BITS, Compression
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo, to_ising

__all__ = ["SHARE", "compress_range"]


SHARE = 0.9  # of every height
_ROUNDS = 16
_WATCHED = 1 << 16  # assignments that every term is tried on
_ROUNDING = 2.0**-46  # of the sum of all coefficients' sizes


def compress_range(pubo: Pubo, reduce: Callable[[Pubo], Qubo], *, share: float = SHARE) -> Qubo:
    """Return a QUBO without couplings below a machine's precision, as far as the minimum allows.

    `reduce` makes a QUBO of a polynomial. Every assignment keeps at least `share` of its height
    above the minimum. Ranges and precision are those of the catalogue's default machine.
    """
    if not 0 < share <= 1:
        raise InputError(
            f"compress {share:g}; expected a share of every height, above 0, at most 1"
        )
    if pubo.variables > MOST_BITS:
        raise InputError(
            f"compress with {pubo.variables} bits: the proof tries all assignments, of at most "
            f"{MOST_BITS} bits: use fewer bits= or features=, or max_ancillas= to leave out terms"
        )
    memory.require(
        40 << pubo.variables, f"energies of 2^{pubo.variables} assignments", "use fewer bits="
    )
    machine, heights = load_machine(None), _Heights.of(pubo, share)
    left, error, made = pubo, 0.0, reduce(pubo)
    for _ in range(_ROUNDS):
        fewer, change = _without_small(left, made, machine, heights)
        if not change:
            break
        left, error, made = fewer, error + change, reduce(fewer)
    if left is pubo:
        return made
    kept = Compression(tuple(heights.spins_of(heights.lowest).clip(0).tolist()), share)
    return replace(made, error=error, truncated=pubo - left, compression=kept)


def _without_small(
    left: Pubo, made: Qubo, machine: Machine, heights: _Heights
) -> tuple[Pubo, float]:
    """Leave out terms whose couplings are too small; return the rest, and the sum of their sizes.

    If an assignment that was not watched objects to the result, it is watched from then on.
    """
    limit, small = _small_terms(left, made, machine)
    while True:
        heights.measure(left)
        fewer, total = left, 0.0
        for degree in sorted(small, reverse=True):
            rows, values = fewer.of_degree(degree)
            wanted = np.array([row in small[degree] for row in map(tuple, rows.tolist())], np.bool_)
            wanted &= np.abs(values) < limit  # products of more spins have changed it
            fewer, change = without_products(fewer, degree, heights.allow(rows, values, wanted))
            total += change
        if not total or heights.hold(fewer):
            return fewer, total


def _small_terms(
    pubo: Pubo, qubo: Qubo, machine: Machine
) -> tuple[float, dict[int, set[tuple[int, ...]]]]:
    """Return the size below which a coefficient is lost, and by degree the terms that are smaller.

    A coupling is a term's if it has its variables and its value: those of gates do not.
    """
    h, couplings = to_ising(qubo)
    scale = max(extent(h)[1] / machine.h_range[1], extent(couplings)[1] / machine.j_range[1])
    precision = 0.0 if machine.precision is None else machine.precision[1]
    limit = 4 * precision * scale  # a coupling of bits has a quarter of its size in spins
    members = members_of(qubo)
    small: dict[int, set[tuple[int, ...]]] = {}
    terms = pubo.to_dict()
    for at in np.flatnonzero(np.abs(qubo.quadratic) < limit).tolist():
        both = {*members[qubo.first[at]].tolist(), *members[qubo.second[at]].tolist()}
        term = tuple(sorted(both - {qubo.logical}))
        if terms.get(term) == qubo.quadratic[at]:
            small.setdefault(len(term), set()).add(term)
    return limit, small


@dataclass(eq=False)
class _Heights:
    """Heights of assignments above a minimum: least ones for all, and present ones for some.

    `floor` has the least height of each assignment, `watched` are numbers of assignments, and
    `present` their heights. Bit i of a number is variable i.
    """

    variables: int
    lowest: int
    floor: Floats
    watched: NDArray[np.int64]
    present: Floats

    @classmethod
    def of(cls, pubo: Pubo, share: float) -> _Heights:
        floor = _all_energies(pubo)
        lowest = int(np.argmin(floor))
        floor -= floor[lowest]
        few = min(_WATCHED, len(floor))
        watched = np.sort(np.argpartition(floor, few - 1)[:few])
        floor *= share
        sizes = sum(float(np.abs(values).sum()) for values in pubo.coefficients)
        floor -= _ROUNDING * sizes  # ties are tied up to rounding
        return cls(pubo.variables, lowest, floor, watched, floor[watched])

    def measure(self, pubo: Pubo) -> None:
        """Set the present heights to those in a polynomial."""
        energies = _all_energies(pubo)
        self.present = energies[self.watched] - energies[self.lowest]

    def spins_of(self, numbers: int | NDArray[np.int64]) -> NDArray[np.int8]:
        """Return -1 or 1 for each variable."""
        bits = np.asarray(numbers)[..., None] >> np.arange(self.variables) & 1
        return np.asarray(2 * bits - 1, dtype=np.int8)

    def allow(
        self, rows: NDArray[np.int32], values: Floats, wanted: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which of the wanted terms can go, the smallest first; present heights follow."""
        gone = np.zeros(len(rows), dtype=np.bool_)
        spins, best = self.spins_of(self.watched), self.spins_of(self.lowest)
        least = self.floor[self.watched]
        order = np.argsort(np.abs(values), kind="stable")
        for at in order[wanted[order]].tolist():
            sign = int(best[rows[at]].prod())
            other = spins[:, rows[at]].prod(axis=1) != sign
            change = 2 * sign * values[at] / 2.0 ** rows.shape[1]
            if change >= 0 or (self.present[other] + change >= least[other]).all():
                self.present[other] += change
                gone[at] = True
        return gone

    def hold(self, pubo: Pubo) -> bool:
        """Whether all heights are large enough; the least of those that are not get watched."""
        room = _all_energies(pubo)
        room -= room[self.lowest]
        room -= self.floor
        room[self.watched] = np.inf  # was seen to: what is left there is rounding
        wrong = np.flatnonzero(room < 0)
        if not len(wrong):
            return True
        worst = wrong[np.argsort(room[wrong], kind="stable")[:_WATCHED]]
        self.watched = np.sort(np.concatenate([self.watched, worst]))
        return False


def _all_energies(pubo: Pubo) -> Floats:
    """Return the energy of every assignment: sums of coefficients over subsets, bit by bit."""
    energies = np.zeros(1 << pubo.variables)
    energies[0] = pubo.constant
    for rows, values in zip(pubo.indices, pubo.coefficients, strict=True):
        energies[(1 << rows.astype(np.int64)).sum(axis=1)] += values
    for bit in range(pubo.variables):
        halves = energies.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    return energies
