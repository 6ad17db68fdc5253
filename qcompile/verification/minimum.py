"""Check that small terms were left out around a minimum that stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.compression import MOST_BITS
from qcompile.stages.qubo import Qubo
from qcompile.verification.algebra import Terms
from qcompile.verification.check import TELLING, Check, rounding

__all__ = ["check_minimum"]


_NAME = "minimum"
_ENERGIES_AT_ONCE = 1 << 20


def check_minimum(qubo: Qubo, terms: Terms) -> Check:
    """Try all assignments: each keeps the claimed share of its height above the minimiser.

    `terms` are those of the QUBO with its ancillas replaced. If the gates hold, they are its
    minimum over the ancillas. With what was left out they are the polynomial.
    """
    kept, left_out = qubo.compression, qubo.truncated
    assert kept is not None
    if left_out is None:
        return Check(_NAME, False, "a minimum that was kept, but no terms that were left out")
    if len(kept.minimiser) != qubo.logical or not {*kept.minimiser} <= {0, 1}:
        return Check(_NAME, False, f"a minimiser that is not {qubo.logical} bits")
    if not 0 < kept.share <= 1:
        return Check(_NAME, False, f"{kept.share:g} of every height; expected above 0, at most 1")
    if qubo.logical > MOST_BITS:
        return Check(_NAME, False, f"{qubo.logical} bits; at most {MOST_BITS} can be tried")
    whole = terms.plus(left_out)
    # the constants cancel in heights
    allowed = rounding(len(whole.values)) * 4 * float(whole.sizes.sum())
    own, all_of_it = _Table.of(terms), _Table.of(whole)
    best = sum(bit << i for i, bit in enumerate(kept.minimiser))
    most = 0.0
    own_best, whole_best = own.at(best), all_of_it.at(best)
    for rows in own.blocks():
        heights = all_of_it.energies(rows) - whole_best
        room = own.energies(rows) - own_best - kept.share * heights
        most = max(most, float(heights.max()))
        for problem, values in (("lower", heights), ("closer", room)):
            if values.min() < -allowed:
                number = rows.start * own.low_states + int(values.argmin())
                return Check(_NAME, False, _objection(problem, number, float(values.min()), qubo))
    if allowed > TELLING * most > 0:
        return Check(
            _NAME, False, "numbers so much larger than the heights that rounding hides them"
        )
    detail = f"all {1 << qubo.logical:,} assignments tried: the minimum stays one"
    return Check(_NAME, True, f"{detail}, each keeps {kept.share:.0%} of its height above it")


def _objection(problem: str, number: int, value: float, qubo: Qubo) -> str:
    shown = "".join(str(number >> i & 1) for i in range(qubo.logical))
    if problem == "lower":
        return f"the bits {shown} are lower than the minimum that was kept, by {-value:.3g}"
    assert qubo.compression is not None
    share = f"{qubo.compression.share:.0%} of their height"
    return f"the bits {shown} lack {-value:.3g} of {share} above the minimum"


class _Table:
    """Coefficients by the low and the high bits of a term: energies are products of matrices.

    An energy is the sum of the coefficients whose low bits are among the low bits of the
    assignment, and whose high bits are among its high bits.
    """

    def __init__(self, table: Floats, low: NDArray[np.bool_], high: NDArray[np.bool_]) -> None:
        self._table, self._low, self._high = table, low.astype(np.float64), high
        self.low_states = len(low)

    @classmethod
    def of(cls, terms: Terms) -> _Table:
        low_bits = terms.bits // 2
        real = terms.sets < terms.bits
        powers = np.where(real, 1 << np.minimum(terms.sets, 62).astype(np.int64), 0)
        masks = powers.sum(axis=1)
        lows, low_at = np.unique(masks & ((1 << low_bits) - 1), return_inverse=True)
        highs, high_at = np.unique(masks >> low_bits, return_inverse=True)
        memory.require(
            10 * (len(lows) + len(highs) << (terms.bits - low_bits)) + 8 * len(lows) * len(highs),
            f"energies of 2^{terms.bits} assignments",
            "use fewer bits=",
        )
        table = np.zeros((len(highs), len(lows)))
        np.add.at(table, (high_at.reshape(-1), low_at.reshape(-1)), terms.values)
        return cls(table, _among(lows, low_bits), _among(highs, terms.bits - low_bits))

    def blocks(self) -> list[slice]:
        """Return rows of the high bits, few enough to be computed at once."""
        step = max(1, _ENERGIES_AT_ONCE // self.low_states)
        return [slice(at, at + step) for at in range(0, len(self._high), step)]

    def energies(self, rows: slice) -> Floats:
        """Return the energies of some high bits with all low bits, without the constant."""
        sums = self._high[rows].astype(np.float64) @ self._table
        return np.asarray(sums @ self._low.T).reshape(-1)

    def at(self, number: int) -> float:
        """Return the energy of one assignment, without the constant."""
        high, low = divmod(number, self.low_states)
        return float(self._high[high].astype(np.float64) @ self._table @ self._low[low])


def _among(masks: NDArray[np.int64], bits: int) -> NDArray[np.bool_]:
    """Return for every assignment of the bits which masks are among its ones."""
    states = np.arange(1 << bits, dtype=np.int64)[:, None]
    return np.asarray((states & masks) == masks)
