from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qcompile import InputError, moments_of
from qcompile.data.prepare import prepare
from qcompile.data.read import read
from qcompile.data.stream import RowStream
from tests.parts import assert_same


@pytest.mark.parametrize("labels", [(1, 2), (2, 1)])
@pytest.mark.parametrize("positive", [None, 2.0])
def test_a_stream_of_pieces_gives_the_moments_of_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    labels: tuple[int, int],
    positive: float | None,
) -> None:
    """Labels sorted, features late: the first pieces know neither both labels nor all columns."""
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 64)
    monkeypatch.setattr("qcompile.data.stream._BATCH_BYTES", 200)
    rng = np.random.default_rng(0)
    lines = []
    for i in range(60):
        width = 2 if i < 40 else 4
        pairs = " ".join(f"{c + 1}:{v:.3f}" for c, v in enumerate(rng.normal(size=width)))
        lines.append(f"{labels[i >= 30]} {pairs}\n")
    path = tmp_path / "sorted.svm"
    path.write_text("".join(lines))
    stream = RowStream(path, positive=positive)
    moments = moments_of(stream, 3)
    whole = read(path, positive=positive)
    assert_same(moments, moments_of(whole, 3))
    assert moments.preparation is not None
    assert moments.preparation.to_dict() == whole.preparation.to_dict()
    assert moments.source == whole.source
    assert len(list(RowStream(path))) > 3
    assert_same(moments_of(RowStream(path, rows=35), 3), moments_of(read(path, rows=35), 3))
    unit = moments_of(RowStream(path, unit_norm=True, bias=True, num_features=4), 2)
    assert_same(unit, moments_of(prepare(whole, scale="unit-norm", bias=True), 2))


def test_zero_based_indices_that_turn_up_late_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 16)
    monkeypatch.setattr("qcompile.data.stream._BATCH_BYTES", 1)
    path = tmp_path / "late.svm"
    path.write_text("1 1:1 2:1\n-1 1:2 2:3\n" * 5 + "1 0:1\n")
    with pytest.raises(InputError, match=r"index 0 after \d+ rows.*index_base=0"):
        moments_of(RowStream(path), 3)
    assert moments_of(RowStream(path, index_base=0), 3).features == 3
