from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qcompile import QcompileError, moments_of
from qcompile.data.prepare import prepare
from qcompile.data.read import read
from qcompile.files.moments import load_moments, save_moments
from qcompile.pipeline import Compiled
from tests.parts import assert_same


def test_moments_must_be_complete_and_possible(made: Compiled, tmp_path: Path) -> None:
    fewer = {key: t for key, t in made.moments.tensors.items() if key != (2, 0)}
    for bad in (
        replace(made.moments, tensors=fewer),
        replace(made.moments, count=0),
        replace(made.moments, sum_of_squares=-1.0),
        replace(made.moments, order=10**9),
    ):
        save_moments(bad, tmp_path / "m.npz")
        with pytest.raises(QcompileError):
            load_moments(tmp_path / "m.npz")


def test_saved_moments_come_back_bit_for_bit(tmp_path: Path) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=5, bias=True)
    moments = moments_of(data, 3)
    save_moments(moments, tmp_path / "a.npz")
    save_moments(moments, tmp_path / "b.npz")
    back = load_moments(tmp_path / "a.npz")
    assert_same(back, moments, exactly=True)
    assert back.preparation is not None
    assert back.preparation.to_dict() == data.preparation.to_dict()
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as plain:
        np.testing.assert_array_equal(plain["tensor_3_0"], moments.tensors[3, 0])
