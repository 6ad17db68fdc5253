from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, MemoryLimitError, from_arrays, prepare, read, split
from qcompile.data.prepare import PrepareOptions
from qcompile.data.split import add_noise
from qcompile.stages.dataset import Dataset
from qcompile.stages.preparation import SCALINGS, Preparation
from tests.strategies import datasets, dense


@pytest.mark.parametrize("scale", SCALINGS)
@settings(deadline=None, max_examples=15)
@given(data=datasets(max_features=5), bias=st.booleans())
def test_preparation_applied_to_raw_rows_gives_the_prepared_ones(
    scale: str, data: Dataset, bias: bool
) -> None:
    chosen = prepare(data, scale=scale, features=max(1, data.features - 1), bias=bias)
    again = Preparation.from_dict(chosen.preparation.to_dict()).apply(data.x)
    rows = again.toarray() if sp.issparse(again) else again
    np.testing.assert_allclose(rows, dense(chosen), atol=1e-12)
    assert chosen.preparation.features == chosen.features
    if scale not in ("standard", "robust"):
        assert sp.issparse(chosen.x) == sp.issparse(data.x)
    body = dense(chosen)[:, : chosen.features - bias]
    if scale == "standard":
        np.testing.assert_allclose(body.mean(axis=0), 0, atol=1e-9)
    elif scale == "max-abs":
        assert np.abs(body).max() <= 1 + 1e-12
    elif scale == "unit-norm":
        norms = np.linalg.norm(body, axis=1)
        np.testing.assert_allclose(norms[norms > 0], 1)
    if bias:
        np.testing.assert_array_equal(dense(chosen)[:, -1], 1)


def test_the_most_useful_features_are_the_correlated_ones() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    x = rng.normal(size=(200, 6))
    x[:, 4] = y + 0.1 * rng.normal(size=200)
    x[:, 1] = -2 * y + rng.normal(size=200)
    for rows in (x, sp.csr_array(x)):
        columns = prepare(from_arrays(rows, y), features=2).preparation.columns
        assert columns is not None
        assert columns.tolist() == [1, 4]


@pytest.mark.parametrize(
    "bad", [[[np.nan], [1.0]], [[np.inf], [1.0]], np.zeros((0, 2)), np.zeros((2, 0))]
)
def test_arrays_are_checked_too(bad: object) -> None:
    rows = np.asarray(bad, dtype=float)
    with pytest.raises(InputError):
        from_arrays(rows, np.arange(len(rows)))


def test_inputs_are_never_changed_and_results_cannot_be() -> None:
    x = np.arange(6.0).reshape(3, 2)
    data = from_arrays(x, [1, -1, 1])
    prepare(data, scale="standard", bias=True)
    add_noise(data, 1.0)
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(data.y, [1, -1, 1])
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = -1


@pytest.mark.parametrize("sparse", [False, True])
def test_scales_are_exact(sparse: bool) -> None:
    x = np.random.default_rng(0).normal(size=(30, 3)) + 1
    rows: Any = sp.csr_array(x) if sparse else x
    data = from_arrays(rows, np.tile([1, -1], 15))
    np.testing.assert_allclose(dense(prepare(data, scale="standard")).std(axis=0), 1)
    np.testing.assert_allclose(np.abs(dense(prepare(data, scale="max-abs"))).max(axis=0), 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_far_from_zero_are_scaled_exactly_and_constants_left_alone(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 50)
    x = np.column_stack(
        [1e9 + 10 * rng.normal(size=100), np.full(100, 0.3), rng.normal(size=100), 1e6 + 1e-3 * y]
    )
    data = from_arrays(sp.csr_array(x) if sparse else x, y)
    scaled = dense(prepare(data, scale="standard"))
    np.testing.assert_allclose(scaled[:, [0, 2, 3]].std(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(scaled[:, 1], 0, atol=1e-12)
    columns = prepare(data, features=1).preparation.columns
    assert columns is not None
    assert columns.tolist() == [3]


def test_robust_scaling_is_the_same_for_sparse_and_dense_rows() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 12)) * (rng.random((200, 12)) < 0.3)
    x[:, 3] = 5 + rng.normal(size=200)
    x[:, 7] = np.where(rng.random(200) < 0.4, 0.0, 2 + rng.normal(size=200))
    y = np.tile([1.0, -1.0], 100)
    one = prepare(from_arrays(x, y), scale="robust", bias=True)
    two = prepare(from_arrays(sp.csr_array(x), y), scale="robust", bias=True)
    assert one.preparation.to_dict() == two.preparation.to_dict()
    assert one.preparation.center is not None
    assert np.flatnonzero(one.preparation.center).tolist() == [3, 7]
    assert sp.issparse(two.x) and two.x.has_canonical_format
    np.testing.assert_array_equal(dense(two), one.x)
    chosen = [prepare(data, scale="robust", features=4) for data in (from_arrays(x, y),
              from_arrays(sp.csr_array(x), y))]  # fmt: skip
    np.testing.assert_array_equal(dense(chosen[1]), dense(chosen[0]))


def test_sparse_rows_become_dense_if_that_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    x = 3 + np.random.default_rng(5).normal(size=(50, 3))
    data = from_arrays(sp.csr_array(x), np.tile([1.0, -1.0], 25))
    assert isinstance(prepare(data, scale="robust").x, np.ndarray)
    monkeypatch.setenv("QCOMPILE_MEMORY", "1000")
    with pytest.raises(MemoryLimitError, match="centring 3 columns of 50 x 3"):
        Preparation(3, center=np.ones(3)).apply(data.x)


def test_the_way_of_scaling_is_kept() -> None:
    data = read("mease-wyner")
    for scale in ("standard", "robust", "max-abs", "unit-norm"):
        made = prepare(data, scale=scale).preparation
        assert Preparation.from_dict(made.to_dict()).scaling == made.scaling == scale
    assert "scaling" not in prepare(data, scale="none", features=3).preparation.to_dict()


def test_usefulness_does_not_depend_on_unequal_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.tile([1.0, 1, 1, -1], 20)
    x = np.stack([10 + 0.1 * rng.normal(size=80), y + rng.normal(size=80)], axis=1)
    columns = prepare(from_arrays(x, y), features=1).preparation.columns
    assert columns is not None
    assert columns.tolist() == [1]


def test_stored_zeros_are_dropped() -> None:
    x = sp.csr_array(
        (np.array([1.0, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert from_arrays(x, [1, -1]).x.nnz == 2


def test_data_are_prepared_once() -> None:
    data = prepare(read("mease-wyner"), scale="max-abs")
    with pytest.raises(InputError):
        prepare(data, scale="standard")


def test_labels_must_be_numbers_and_one_a_row() -> None:
    with pytest.raises(InputError):
        from_arrays(np.array([[1.0], [2.0]]), [1, math.nan])
    with pytest.raises(InputError):
        from_arrays(np.array([[1.0], [2.0]]), [[1], [2]])


def test_rows_are_prepared_like_others() -> None:
    rows, held = split(read("breast-cancer"), (0.7, 0.3), seed=1)
    made = prepare(rows, scale="standard", features=5, bias=True)
    like = prepare(held, like=made)
    kept = np.asarray(rows.x)[:, made.preparation.columns]
    scaled = np.asarray(held.x)[:, made.preparation.columns] - kept.mean(axis=0)
    np.testing.assert_allclose(np.asarray(like.x)[:, :-1], scaled / kept.std(axis=0), rtol=1e-9)
    assert (np.asarray(like.x)[:, -1] == 1).all()
    with pytest.raises(InputError, match="not both"):
        prepare(held, like=made, bias=True)
    with pytest.raises(InputError, match="prepared already"):
        prepare(like, like=made)
    with pytest.raises(InputError, match="labels 2 and 1; expected 1 and 0"):
        prepare(from_arrays(np.eye(30), np.arange(30) % 2 + 1), like=made)


def test_options_of_preparation_prepare_like_the_function() -> None:
    raw = read("breast-cancer")
    made = prepare(raw, scale="max-abs", features=4, bias=True)
    again = PrepareOptions("max-abs", 4, True).apply(raw)
    assert again.preparation.to_dict() == made.preparation.to_dict()
    assert (np.asarray(again.x) == np.asarray(made.x)).all()
    held = PrepareOptions.of({"like": made}).apply(raw)
    assert held.preparation is made.preparation
    depends = [PrepareOptions.of(given).learns_from_rows for given in ({}, {"scale": "unit-norm"})]
    assert depends == [False, False] and PrepareOptions(scale="standard").learns_from_rows
