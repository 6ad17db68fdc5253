"""Numbers as text for pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from qcompile.stages.display import many

__all__ = ["between", "many", "number", "numbers"]


def number(value: float) -> str:
    """Return a number as text: few digits, groups of thousands.

    >>> number(12345.0), number(0.000012345), number(-2.5), number(0.1 + 0.2), number(1234.56)
    ('12,345', '1.23e-05', '-2.5', '0.3', '1,234.6')
    """
    if abs(value) < 1e15 and value == int(value):
        return f"{int(value):,}"
    if 999.5 <= abs(value) < 1e15:
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:.3g}"


def numbers(values: Sequence[float]) -> list[str]:
    """Return numbers as text, with enough digits to tell them apart.

    >>> numbers([0.25, 0.5]), numbers([0.11410, 0.11412])
    (['0.25', '0.5'], ['0.1141', '0.11412'])
    """
    shown = [number(value) for value in values]
    for digits in range(4, 18):
        if len(set(shown)) == len(set(values)):
            break
        shown = [f"{value:.{digits}g}" for value in values]
    return shown


def between(low: float, high: float, *, whole: bool) -> str:
    """Return the range of values between two edges as text.

    >>> between(1.5, 2.5, whole=True), between(1.5, 4.5, whole=True), between(1, 2, whole=False)
    ('2', '2 to 4', '1 to 2')
    """
    if not whole:
        return " to ".join(numbers([low, high]))
    first, last = math.ceil(low), math.floor(high)
    return number(first) if first == last else f"{number(first)} to {number(last)}"
