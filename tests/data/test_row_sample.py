from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from qcompile.data.row_sample import RowSample


def sample_of(x: np.ndarray, ends: list[int]) -> RowSample:
    """Join the samples of pieces, the later ones first."""
    pieces = [RowSample.of(x[a:b], part=3, start=a) for a, b in pairwise(ends)]
    total = pieces.pop()
    while pieces:
        total = total + pieces.pop()
    return total


@pytest.mark.parametrize("ends", [[0, 400], [0, 1, 1, 150, 400], [0, 399, 400]])
def test_pieces_give_the_sample_of_all_rows(
    ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.arange(1.0, 801.0).reshape(400, 2)
    monkeypatch.setattr("qcompile.data.row_sample.MOST_ROWS", 50)
    whole, joined = sample_of(x, [0, 400]), sample_of(x, ends)
    assert len(whole.keys) == 50 and np.all(np.diff(whole.keys.astype(float)) > 0)
    assert np.array_equal(joined.rows.toarray(), whole.rows.toarray())
    monkeypatch.setattr("qcompile.data.row_sample._MOST_BYTES", 20 * 40 + 39)
    assert len(sample_of(x, ends).keys) == 20  # two values of 12 bytes, and 16 of the row
    assert np.array_equal(sample_of(x, ends).rows.toarray(), whole.rows.toarray()[:20])


def test_few_rows_are_all_kept_and_parts_may_differ_in_width() -> None:
    one = RowSample.of(sp.csr_array(np.eye(3)), part=0)
    two = RowSample.of(np.array([[0.0, 2.0]]), part=1)
    joined = (one + two).rows.toarray()
    expected = [[0, 0, 1], [0, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert sorted(joined.tolist()) == expected


def test_the_rows_are_spread_evenly() -> None:
    """Of rows in ten parts, each part gives about a tenth."""
    parts = [RowSample.of(np.full((20_000, 1), part + 1.0), part=part) for part in range(10)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    counts = np.bincount(total.rows.data.astype(int))[1:]
    assert counts.sum() == 20_000 and counts.min() > 1850 and counts.max() < 2150
