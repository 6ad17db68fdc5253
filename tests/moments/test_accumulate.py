from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import Dataset, InputError, MemoryLimitError, moments_of, read
from qcompile.data.prepare import from_arrays
from qcompile.stages import multisets
from tests import judge
from tests.parts import assert_same
from tests.strategies import datasets, dense


def test_large_costs_are_announced(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="qcompile"):
        moments_of(read("synthetic:examples=20,features=300"), 3)
    assert "4,545,100 products each) needs" in caplog.text


def test_very_sparse_rows_with_any_values_give_the_moments_of_dense_ones() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((60, 40)) < 0.05) * rng.uniform(0.5, 2, (60, 40))
    y = np.tile([1, -1], 30)
    sparse = moments_of(from_arrays(sp.csr_array(x), y), 3)
    plain = moments_of(from_arrays(x, y), 3)
    for key, tensor in sparse.tensors.items():
        np.testing.assert_allclose(tensor, plain.tensors[key], atol=1e-9)


def test_a_narrow_part_after_a_wide_one_keeps_all_features() -> None:
    x = np.random.default_rng(1).normal(size=(10, 4))
    y = np.tile([1.0, -1.0], 5)
    wide, narrow = from_arrays(x[5:], y[5:]), from_arrays(x[:5, :2], y[:5])
    for moments in (moments_of([wide, narrow], 3), moments_of(narrow, 3) + moments_of(wide, 3)):
        assert moments.preparation is not None
        assert moments.preparation.features == moments.features == 4


@pytest.mark.parametrize("size", [1e31, 1e-31])
def test_values_whose_powers_would_be_lost_are_refused(size: float) -> None:
    with pytest.raises(InputError, match="scale="):
        moments_of(from_arrays(np.array([[size], [1.0]]), [1, -1]), 3)
    with pytest.raises(InputError, match="bring the features to scale"):
        from_arrays(np.array([[1e200], [1.0]]), [1, -1])


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(data=datasets(max_features=4), order=st.integers(1, 6))
def test_every_tensor_is_the_sum_it_claims_to_be(data: Dataset, order: int) -> None:
    moments = moments_of(data, order)
    assert moments.count == len(data)
    for (degree, power), packed in moments.tensors.items():
        expected = judge.tensor(dense(data), np.asarray(data.y), degree, power)
        members = multisets.enumerate_multisets(data.features, degree)
        assert len(members) == len(expected) == len(packed)
        for row, value in zip(members.tolist(), packed, strict=True):
            assert value == pytest.approx(expected[tuple(row)], rel=1e-9, abs=1e-9)


def test_dense_blocks_of_many_rows_add_up() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(70_000, 5)), np.where(rng.random(70_000) < 0.5, 1.0, -1.0)
    moments = moments_of(from_arrays(x, y), 3)
    z = x * y[:, None]
    members = multisets.enumerate_multisets(5, 3)
    expected = [(z[:, a] * z[:, b] * z[:, c]).sum() for a, b, c in members.tolist()]
    np.testing.assert_allclose(moments.tensors[3, 0], expected, rtol=1e-9)
    norms = np.linalg.norm(x, axis=1)
    expected = [(z[:, a] * z[:, b] * z[:, c] / norms**3).sum() for a, b, c in members.tolist()]
    np.testing.assert_allclose(moments.tensors[3, -3], expected, rtol=1e-9)


def test_turning_all_labels_round_is_exact() -> None:
    data = read("mease-wyner:examples=40")
    turned = from_arrays(data.x, -data.y)
    assert_same(moments_of(data, 3).flipped(), moments_of(turned, 3), exactly=True)


def test_what_does_not_fit_is_refused_with_numbers_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = read("synthetic:examples=10,features=300")
    monkeypatch.setenv("QCOMPILE_MEMORY", "50MB")
    with pytest.raises(MemoryLimitError, match=r"4,545,100 products.*50.0 MB.*features=K"):
        moments_of(data, 3)
    with pytest.raises(MemoryLimitError):
        moments_of(from_arrays(sp.eye_array(9_000).tocsr(),
                               np.arange(9_000) % 2), 3)  # fmt: skip


def test_streams_add_up(cancer: Dataset) -> None:
    chunks = [cancer.take(slice(i, i + 100)) for i in range(0, len(cancer), 100)]
    moments = sum(map(moments_of, chunks))
    whole = moments_of(cancer)
    assert isinstance(moments, type(whole))
    assert np.allclose(moments.tensors[3, 0], whole.tensors[3, 0])
