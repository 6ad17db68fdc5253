from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, MemoryLimitError, Moments, moments_of
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.data.split import folds
from qcompile.data.stream import RowStream
from qcompile.files.moments import load_moments, save_moments
from qcompile.moments.accumulate import tensor_keys
from qcompile.moments.products import Rows, count_subsets, dense_route, sparse_route, spread_subsets
from qcompile.runtime.threads import ordered
from qcompile.stages import multisets
from qcompile.stages.arrays import row_norms
from qcompile.stages.dataset import Dataset
from tests import judge
from tests.strategies import datasets, dense


def assert_same(a: Moments, b: Moments, *, exactly: bool = False) -> None:
    assert (a.features, a.order, a.count) == (b.features, b.order, b.count)
    assert set(a.tensors) == set(b.tensors)
    np.testing.assert_allclose(a.sum_of_squares, b.sum_of_squares, rtol=1e-12)
    for key, tensor in a.tensors.items():
        if exactly:
            np.testing.assert_array_equal(tensor, b.tensors[key])
        else:
            np.testing.assert_allclose(tensor, b.tensors[key], rtol=1e-9, atol=1e-9)


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


@pytest.mark.parametrize("order", range(1, 9))
def test_all_routes_give_the_same_sums(order: int) -> None:
    rng = np.random.default_rng(order)
    x = (rng.random((60, 7)) < 0.5).astype(float)
    x[:, 0] = 1  # no zero rows
    data = from_arrays(sp.csr_array(x), np.tile([1, -1], 30))
    rows = Rows(data.x, data.y, row_norms(data.x))
    keys = tensor_keys(order, fit=True)
    dense_sums, sparse = (dict(route(rows, keys)) for route in (dense_route, sparse_route))
    counted = spread_subsets(dict(count_subsets(rows, keys)), 7, keys)
    for key in keys:
        np.testing.assert_allclose(dense_sums[key], sparse[key], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(counted[key], sparse[key], rtol=1e-10, atol=1e-10)


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


def test_turning_all_labels_round_is_exact() -> None:
    data = read("mease-wyner:examples=40")
    turned = from_arrays(data.x, -data.y)
    assert_same(moments_of(data, 3).flipped(), moments_of(turned, 3), exactly=True)


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
    with pytest.raises(InputError, match=r"index 0 after \d+ rows.*--index-base 0"):
        moments_of(RowStream(path), 3)
    assert moments_of(RowStream(path, index_base=0), 3).features == 3


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


def test_what_does_not_fit_is_refused_with_numbers_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = read("synthetic:examples=10,features=300")
    monkeypatch.setenv("QCOMPILE_MEMORY", "50MB")
    with pytest.raises(MemoryLimitError, match=r"4,545,100 products.*50.0 MB.*--features"):
        moments_of(data, 3)
    with pytest.raises(MemoryLimitError):
        moments_of(from_arrays(sp.eye_array(9_000).tocsr(),
                               np.arange(9_000) % 2), 3)  # fmt: skip


def test_moments_of_different_kinds_do_not_mix() -> None:
    data = read("synthetic:examples=10,features=2")
    with pytest.raises(InputError, match="same order"):
        moments_of(data, 3) + moments_of(data, 4)
    with pytest.raises(InputError, match="order 0"):
        moments_of(data, 0)


def test_the_number_of_workers_does_not_change_the_result() -> None:
    items = list(range(20))
    for workers in (1, 2, 5):
        assert list(ordered(lambda i: i * i, items, workers=workers)) == [i * i for i in items]


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    def fail(item: int) -> int:
        if item == 7:
            raise RuntimeError("seven")
        return item

    with pytest.raises(RuntimeError, match="seven"):
        list(ordered(fail, range(20), workers=2))


@pytest.mark.parametrize(("features", "degree"), [(1, 1), (1, 4), (3, 3), (5, 4), (4, 6)])
def test_inner_products_weight_multisets_by_their_orderings(features: int, degree: int) -> None:
    rng = np.random.default_rng(0)
    members = multisets.enumerate_multisets(features, degree)
    a, b = rng.normal(size=(2, len(members)))
    full = {tuple(m): (p, q) for m, p, q in zip(members.tolist(), a, b, strict=True)}
    total = 0.0
    for index in np.ndindex(*[features] * degree):
        p, q = full[tuple(sorted(index))]
        total += p * q
    assert multisets.inner(a, b, features=features, degree=degree) == pytest.approx(total)
