"""Compiled svmlight parser: one pass over the bytes, every entry checked.

Numbers of up to 15 digits and small exponents are converted exactly here (both the digits and
the power of ten are exact doubles, so one division or product is correctly rounded); the few
others are handed back by position and converted by Python.
"""

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime.jit import jit

__all__ = [
    "BAD_INDEX",
    "BAD_LABEL",
    "BAD_VALUE",
    "LARGE_INDEX",
    "NEGATIVE_INDEX",
    "OK",
    "UNSORTED_INDEX",
    "parse",
]


OK, BAD_LABEL, BAD_INDEX, NEGATIVE_INDEX, LARGE_INDEX, UNSORTED_INDEX, BAD_VALUE = range(7)

_POWERS = 10.0 ** np.arange(23)
_NEWLINE, _HASH, _COLON, _PLUS, _MINUS, _DOT, _NINE, _ZERO = 10, 35, 58, 43, 45, 46, 57, 48
_MAX_MANTISSA = 1 << 53
_MAX_INDEX = 2**31 - 2


@jit
def _is_blank(byte: int) -> bool:
    return byte == 32 or byte == 9 or byte == 13 or byte == 11 or byte == 12


@jit
def _number(text: NDArray[np.uint8], at: int) -> tuple[int, float, bool]:
    """Read a decimal number; return (end or -1, value, whether the value is exact)."""
    size = len(text)
    negative = False
    if at < size and (text[at] == _PLUS or text[at] == _MINUS):
        negative = text[at] == _MINUS
        at += 1
    mantissa = np.int64(0)
    digits, exponent, exact = 0, 0, True
    while at < size and _ZERO <= text[at] <= _NINE:
        if mantissa < 10**17:
            mantissa = mantissa * 10 + (text[at] - _ZERO)
        else:
            exponent += 1
            exact = False
        digits += 1
        at += 1
    if at < size and text[at] == _DOT:
        at += 1
        while at < size and _ZERO <= text[at] <= _NINE:
            if mantissa < 10**17:
                mantissa = mantissa * 10 + (text[at] - _ZERO)
                exponent -= 1
            else:
                exact = False
            digits += 1
            at += 1
    if digits == 0:
        return -1, 0.0, False
    if at < size and (text[at] == 101 or text[at] == 69):  # e, E
        at += 1
        sign = 1
        if at < size and (text[at] == _PLUS or text[at] == _MINUS):
            sign = -1 if text[at] == _MINUS else 1
            at += 1
        if at >= size or not _ZERO <= text[at] <= _NINE:
            return -1, 0.0, False
        power = 0
        while at < size and _ZERO <= text[at] <= _NINE:
            if power < 100000:
                power = power * 10 + (text[at] - _ZERO)
            at += 1
        exponent += sign * power
    value = float(mantissa)
    if mantissa > _MAX_MANTISSA or exponent > 22 or exponent < -22:
        exact = exact and mantissa == 0
    elif exponent >= 0:
        value *= _POWERS[exponent]
    else:
        value /= _POWERS[-exponent]
    return at, -value if negative else value, exact


@jit
def _index(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Read an index up to its colon; return (position after the colon, index) or (-code, 0)."""
    size = len(text)
    negative = False
    if at < size and (text[at] == _PLUS or text[at] == _MINUS):
        negative = text[at] == _MINUS
        at += 1
    index = np.int64(0)
    start = at
    while at < size and _ZERO <= text[at] <= _NINE:
        if index <= _MAX_INDEX:
            index = index * 10 + (text[at] - _ZERO)
        at += 1
    if at == start or at >= size or text[at] != _COLON:
        return -BAD_INDEX, 0
    if negative and index > 0:
        return -NEGATIVE_INDEX, 0
    if index > _MAX_INDEX:
        return -LARGE_INDEX, 0
    return at + 1, int(index)


@jit
def _ends_token(text: NDArray[np.uint8], at: int) -> bool:
    return at >= len(text) or _is_blank(text[at]) or text[at] == _NEWLINE or text[at] == _HASH


@jit
def parse(
    text: NDArray[np.uint8],
    labels: NDArray[np.float64],
    row_lines: NDArray[np.int64],
    starts: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    inexact: NDArray[np.int64],
) -> tuple[int, int, int, int, int]:
    """Fill the arrays from whole lines; return (status, where, rows, entries, inexact numbers).

    ``inexact`` gets pairs (row as -1 - row or entry, position in the text).
    """
    size, at, line, rows, entries, doubts = len(text), 0, 0, 0, 0, 0
    starts[0] = 0
    while at < size:
        while at < size and _is_blank(text[at]):
            at += 1
        if at < size and text[at] != _NEWLINE and text[at] != _HASH:
            end, value, exact = _number(text, at)
            if end < 0 or not _ends_token(text, end):
                return BAD_LABEL, at, rows, entries, doubts
            if not exact:
                inexact[2 * doubts], inexact[2 * doubts + 1] = -1 - rows, at
                doubts += 1
            labels[rows] = value
            row_lines[rows] = line
            at = end
            last, first = -1, True
            while True:
                while at < size and _is_blank(text[at]):
                    at += 1
                if at >= size or text[at] == _NEWLINE or text[at] == _HASH:
                    break
                token = at
                if first and at + 4 <= size and text[at] == 113 and text[at + 1] == 105:
                    first = False
                    if text[at + 2] == 100 and text[at + 3] == _COLON:  # qid:
                        while not _ends_token(text, at):
                            at += 1
                        continue
                first = False
                at, index = _index(text, at)
                if at < 0:
                    return -at, token, rows, entries, doubts
                if index <= last:
                    return UNSORTED_INDEX, token, rows, entries, doubts
                last = index
                end, value, exact = _number(text, at)
                if end < 0 or not _ends_token(text, end):
                    return BAD_VALUE, token, rows, entries, doubts
                if not exact:
                    inexact[2 * doubts], inexact[2 * doubts + 1] = entries, at
                    doubts += 1
                indices[entries] = index
                values[entries] = value
                entries += 1
                at = end
            rows += 1
            starts[rows] = entries
        while at < size and text[at] != _NEWLINE:
            at += 1
        at += 1
        line += 1
    return OK, 0, rows, entries, doubts
