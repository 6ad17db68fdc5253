"""How far a measured share of wrong rows can be from the true one: exact binomial intervals."""

from __future__ import annotations

from dataclasses import dataclass

from qcompile.errors import InputError
from qcompile.stages.record import Record

__all__ = ["LEVEL", "ErrorInterval", "exact_interval", "with_interval"]


LEVEL = 0.95


def exact_interval(wrong: int, rows: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact binomial interval (Clopper-Pearson) of the share of wrong rows.

    For any true share, the interval holds it in at least `level` of all samples of so many rows
    that are drawn independently of the classifier.

    >>> low, high = exact_interval(3, 114)
    >>> round(low, 4), round(high, 4)
    (0.0055, 0.075)
    """
    from scipy.special import betaincinv

    if not 0 <= wrong <= rows or rows < 1:
        raise InputError(f"{wrong} wrong of {rows} rows; expected 0 to all of at least one row")
    if not 0 < level < 1:
        raise InputError(f"level {level:g}; expected a number between 0 and 1")
    tail = (1 - level) / 2
    low = float(betaincinv(wrong, rows - wrong + 1, tail)) if wrong else 0.0
    high = float(betaincinv(wrong + 1, rows - wrong, 1 - tail)) if wrong < rows else 1.0
    return low, high


@dataclass(frozen=True)
class ErrorInterval(Record):
    """The 95% interval of an error, and the number of rows that it was measured on."""

    rows: int
    low: float
    high: float

    @classmethod
    def of(cls, error: float, rows: int) -> ErrorInterval:
        """Return the interval of a share of wrong rows."""
        return cls(rows, *exact_interval(round(error * rows), rows))

    @property
    def text(self) -> str:
        """The rows and the interval in words."""
        return f"of {self.rows:,} rows, {LEVEL:.0%} interval {self.low:.4f} to {self.high:.4f}"


def with_interval(error: float, rows: int) -> str:
    """Return an error with its rows and its interval, as text.

    >>> with_interval(0.25, 8)
    '0.2500 of 8 rows, 95% interval 0.0319 to 0.6509'
    """
    return f"{error:.4f} {ErrorInterval.of(error, rows).text}"
