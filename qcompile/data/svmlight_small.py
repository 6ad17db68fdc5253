"""Read short svmlight text without a compiled parser, which takes longer to compile than to run."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST", "Rows", "parse_plain"]

# About as long as the compiled parser takes to be loaded from disk.
LONGEST = 1 << 20

_NUMBER = rb"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
_PLAIN = re.compile(rb"(?:" + _NUMBER + rb"(?: ++[0-9]{1,9}+:" + _NUMBER + rb")*+ *+\r?+\n)*+")


class Rows(NamedTuple):
    """Labels, where the entries of each row start, and the entries."""

    labels: NDArray[np.float64]
    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]


def parse_plain(text: bytes) -> Rows | None:
    """Return the rows of text in its plainest form; None for any other text, right or wrong.

    Plain text has a row in every line, blanks between the entries, and no comments.
    """
    if len(text) > LONGEST:
        return None
    if not text.endswith(b"\n"):
        text += b"\n"
    if not _PLAIN.fullmatch(text):
        return None
    counts = [line.count(b":") for line in text.split(b"\n")[:-1]]
    numbers = np.array([float(token) for token in text.replace(b":", b" ").split()])
    if not np.isfinite(numbers).all():
        return None
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    firsts = 2 * starts[:-1] + np.arange(len(counts))
    entries = np.delete(numbers, firsts).reshape(-1, 2)
    indices = entries[:, 0].astype(np.int32)
    rising = np.diff(indices) > 0
    rising[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(indices))] - 1] = True
    if not rising.all():
        return None
    return Rows(numbers[firsts], starts, indices, entries[:, 1].copy())
