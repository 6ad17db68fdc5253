"""A sample of rows that parts of the data can be asked for, and that joins to that of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.row_hash import mixed
from qcompile.stages.arrays import Matrix

__all__ = ["MOST_ROWS", "RowSample"]


MOST_ROWS = 20_000
_MOST_BYTES = 1 << 28
_ENTRY_BYTES, _ROW_BYTES = 12, 16  # of a stored value and its column; of a row besides
_PART_BITS = 40  # a row's number in its part fits below


@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows with the smallest hash of their number: of part and row, so the same every time.

    At most 20,000 rows and 256 MB are kept; all rows if there are fewer. Whether a row is kept
    depends on the rows with smaller hashes only. So the sample of joined parts is that of all rows
    in whatever order they are joined.
    """

    keys: NDArray[np.uint64]
    rows: Matrix  # sparse, in the order of the keys

    @classmethod
    def of(cls, x: Matrix, *, part: int = 0, start: int = 0) -> RowSample:
        """Return the sample of some rows, which begin at row `start` of a part of the data."""
        import scipy.sparse as sp

        keys = _mixed(np.arange(start, start + x.shape[0], dtype=np.uint64), part)
        chosen = np.argsort(keys)[:MOST_ROWS]
        return cls(keys[chosen], sp.csr_array(x[chosen]))._cut()

    def __add__(self, other: RowSample) -> RowSample:
        import scipy.sparse as sp

        width = max(self.rows.shape[1], other.rows.shape[1])
        both = [self.of_width(width), other.of_width(width)]
        keys = np.concatenate([self.keys, other.keys])
        chosen = np.argsort(keys)[:MOST_ROWS]
        return RowSample(keys[chosen], sp.vstack(both, format="csr")[chosen])._cut()

    def of_width(self, width: int) -> Matrix:
        """Return the rows with columns of zeros appended."""
        if self.rows.shape[1] == width:
            return self.rows
        wider: Any = self.rows.copy()
        wider.resize((wider.shape[0], width))
        return wider

    def _cut(self) -> RowSample:
        """Return the first rows that fit in the memory allowed, at least one."""
        sizes = _ENTRY_BYTES * np.diff(self.rows.indptr).astype(np.int64) + _ROW_BYTES
        kept = int(np.searchsorted(np.cumsum(sizes), _MOST_BYTES, side="right"))
        if kept >= len(self.keys):
            return self
        kept = max(1, kept)
        return RowSample(self.keys[:kept], self.rows[:kept])


def _mixed(numbers: NDArray[np.uint64], part: int) -> NDArray[np.uint64]:
    """Return a different random-looking number for each row of each part (SplitMix64)."""
    return mixed(numbers + np.uint64((part << _PART_BITS) % 2**64))
