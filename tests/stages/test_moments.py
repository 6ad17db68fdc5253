from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Moments, moments_of
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.data.split import folds
from qcompile.stages.dataset import Dataset
from tests.parts import assert_same
from tests.strategies import datasets


def test_parts_that_were_prepared_differently_do_not_add_up() -> None:
    data = read("breast-cancer")
    scaled = moments_of(prepare(data, scale="standard"), 3)
    with pytest.raises(InputError, match="prepared differently"):
        scaled + moments_of(data, 3)


def test_tensors_must_have_their_size() -> None:
    with pytest.raises(InputError):
        Moments(2, 1, 5, 1.0, {(1, 0): np.zeros(3)})


@settings(deadline=None, max_examples=25)
@given(data=datasets(), order=st.integers(1, 4), number=st.integers(2, 4))
def test_moments_of_parts_add_up_and_subtract(data: Dataset, order: int, number: int) -> None:
    number = min(number, len(data))
    whole = moments_of(data, order)
    parts = [moments_of(part, order) for part in folds(data, number)]
    assert_same(sum(parts[1:], parts[0]), whole)
    assert_same(sum(parts), whole)  # type: ignore[arg-type]
    assert_same(whole - parts[0], sum(parts[2:], parts[1]))
    assert_same(moments_of(folds(data, number), order), whole)


def test_parts_with_fewer_features_are_padded() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(10, 4)), np.tile([1.0, -1.0], 5)
    x[:5, 2:] = 0
    narrow, wide = from_arrays(x[:5, :2], y[:5]), from_arrays(x[5:], y[5:])
    whole = moments_of(from_arrays(x, y), 3)
    assert_same(moments_of(narrow, 3) + moments_of(wide, 3), whole)
    assert_same(moments_of(wide, 3) + moments_of(narrow, 3), whole)
    assert moments_of([narrow, wide], 3).preparation is not None
    assert_same(moments_of([narrow, wide], 3), whole)


def test_moments_of_different_kinds_do_not_mix() -> None:
    data = read("synthetic:examples=10,features=2")
    with pytest.raises(InputError, match="same order"):
        moments_of(data, 3) + moments_of(data, 4)
    with pytest.raises(InputError, match="order 0"):
        moments_of(data, 0)
