from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from qcompile import InputError
from qcompile.data import named_sets, svmlight
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.data.split import add_noise, folds, shuffle, split
from qcompile.data.stream import RowStream
from qcompile.stages.dataset import Dataset
from qcompile.stages.preparation import Preparation
from tests.strategies import datasets, dense

SMALL = b"# a comment\n1 1:0.5 3:-2e1 # another\n\n-1 qid:7 2:.25\n1 1:1 2:2 3:3\r\n"
GOOD = b"1 1:0.5 3:-20\n-1 2:0.25\n1 1:1 2:2 3:3\n"


def written(folder: Path, content: bytes, name: str = "data.svm") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_comments_qid_and_line_ends_are_understood(tmp_path: Path) -> None:
    data = read(written(tmp_path, SMALL))
    np.testing.assert_array_equal(dense(data), [[0.5, 0, -20], [0, 0.25, 0], [1, 2, 3]])
    np.testing.assert_array_equal(data.y, [1, -1, 1])


@pytest.mark.parametrize(
    ("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
@pytest.mark.parametrize("keep_ending", [True, False])
def test_compressed_files_read_like_plain_ones(
    tmp_path: Path, ending: str, compress: Callable[[bytes], bytes], keep_ending: bool
) -> None:
    name = f"data.svm.{ending}" if keep_ending else "data"
    packed = read(written(tmp_path, compress(SMALL), name))
    plain = read(written(tmp_path, SMALL, "plain"))
    np.testing.assert_array_equal(dense(packed), dense(plain))
    assert packed.source["sha256"] == plain.source["sha256"]


@pytest.mark.parametrize("content", [SMALL, gzip.compress(SMALL, mtime=0)])
def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert len(read("-")) == 3


def test_index_base_is_told_apart_or_given(tmp_path: Path) -> None:
    zero_based = written(tmp_path, b"1 1:1 2:1\n-1 0:5\n")
    np.testing.assert_array_equal(dense(read(zero_based)), [[0, 1, 1], [5, 0, 0]])
    one_based = written(tmp_path, b"1 1:1 2:1\n-1 1:5\n")
    np.testing.assert_array_equal(dense(read(one_based)), [[1, 1], [5, 0]])
    np.testing.assert_array_equal(dense(read(one_based, index_base=0)), [[0, 1, 1], [0, 5, 0]])


def test_the_larger_label_is_positive_and_labels_come_back(tmp_path: Path) -> None:
    data = read(written(tmp_path, b"7 1:1\n3 1:2\n3 1:3\n"))
    np.testing.assert_array_equal(data.y, [1, -1, -1])
    np.testing.assert_array_equal(data.preparation.labels(data.y), [7, 3, 3])


def test_one_class_against_the_rest(tmp_path: Path) -> None:
    path = written(tmp_path, b"1 1:1\n2 1:2\n3 1:3\n2 1:4\n")
    np.testing.assert_array_equal(read(path, positive=2).y, [-1, 1, -1, 1])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no rows"),
        (b"# nothing but a comment\n\n", "no rows"),
        (b"1\n-1\n", "no features"),
        (b"hello world\n", "line 1: label 'hello'; expected a number"),
        (b"1 1:1\n-1 two:1\n", "line 2: found 'two:1'; expected index:value"),
        (b"1 1:1\n-1 1\n", "line 2: found '1'; expected index:value"),
        (b"1 1:1\n\n# x\n-1 1:abc\n", "line 4: value 'abc' is not a number"),
        (b"1 1:\n", "line 1: value"),
        (b"1 1:1\n-1 2:nan\n", "line 2: value 'nan' is not finite"),
        (b"1 1:1\n-1 2:-inf\n", "line 2: value '-inf' is not finite"),
        (b"1 1:1\n-1 2:1e999\n", "line 2: value '1e999' is not finite"),
        (b"nan 1:1\n", "line 1: value 'nan' is not finite"),
        (b"1 1:1\n1 1:2\n", "one class only (label 1)"),
        (b"1 1:1\n2 1:2\n3 1:2\n", "--positive"),
        (b"1 2:1\n-1 -3:1\n", "line 2: index -3 is negative"),
        (b"1 2:1 1:1\n-1 1:1\n", "line 1: index 1 is repeated or out of order"),
        (b"1 2:1\n-1 1:1 1:2\n", "line 2: index 1 is repeated or out of order"),
        (b"1 1:1\n-1 1000000000000:1\n", "line 2: index 1000000000000 is absurdly large"),
        (b"1 1:1\n-1 99999999999999999999999999:1\n", "absurdly large"),
        (b"1 1:1\n\x00\x01\x02\xff\xfe 1:2\n", "line 2: binary data"),
        (bytes(range(256)) * 4, "binary data"),
        (b"1 1:1 2:0x10\n", "value '0x10' is not a number"),
        (b"1,2 1:1\n", "label '1,2'"),
        # no date in them: all processes of a test run must give tests the same names
        (gzip.compress(GOOD * 400, mtime=0)[:-30], "truncated gzip"),
        (bz2.compress(GOOD * 400)[:-9], "truncated bzip2"),
        (lzma.compress(GOOD * 400)[:-20], "truncated xz"),
        (gzip.compress(GOOD, mtime=0)[:10] + b"\xff" * 40, "corrupt gzip"),
        (lzma.compress(GOOD * 400)[:40] + b"\0" * 99, "corrupt xz"),
    ],
)
@pytest.mark.parametrize("way", [read, lambda path: list(RowStream(path))], ids=["read", "stream"])
def test_bad_input_says_what_was_found_and_where(
    tmp_path: Path, content: bytes, words: str, way: Callable[[Path], object]
) -> None:
    path = written(tmp_path, content, "bad.svm")
    with pytest.raises(InputError) as caught:
        way(path)
    message = str(caught.value)
    assert words in message
    assert "bad.svm" in message
    assert "\n" not in message


def test_places_that_are_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "missing")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="not gzip data"):
        read(written(tmp_path, GOOD, "data.gz"))


@pytest.mark.parametrize("way", [read, lambda *a, **k: list(RowStream(*a, **k))])
def test_index_zero_in_a_file_said_to_be_one_based(
    tmp_path: Path, way: Callable[..., object]
) -> None:
    path = written(tmp_path, b"# x\n1 1:1\n-1 0:1 2:1\n")
    with pytest.raises(InputError, match=r"line 3: index 0; expected indices from 1 on"):
        way(path, index_base=1)


def test_more_features_than_promised_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: index 3; expected at most 2"):
        read(written(tmp_path, GOOD), num_features=2)
    assert read(written(tmp_path, GOOD), num_features=5).features == 5


def test_a_positive_label_that_no_row_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row has the positive label 9"):
        read(written(tmp_path, GOOD), positive=9)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,20})([eE][+-]?[0-9]{1,2})?",
        fullmatch=True,
    ),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(numbers, min_size=1, max_size=8))
def test_numbers_are_read_as_exactly_as_python_reads_them(values: list[str]) -> None:
    from qcompile.data.svmlight import SvmlightReader

    reader = SvmlightReader("unused")
    pairs = " ".join(f"{i}:{v}" for i, v in enumerate(values, 1))
    piece = reader._parse(f"{values[0]} {pairs}\n".encode())
    assert piece.values.tolist() == [float(v) for v in values]
    assert piece.labels.tolist() == [float(values[0])]


@settings(deadline=None, max_examples=60)
@given(datasets(max_features=6))
def test_writing_and_reading_back_gives_the_same_rows(data: Dataset) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.svm"
        svmlight.save_svmlight(data, path)
        back = read(path)
        np.testing.assert_array_equal(dense(back), dense(data))
        np.testing.assert_array_equal(back.y, data.y)
        x, y = load_svmlight_file(str(path))
        np.testing.assert_array_equal(x.toarray(), dense(data))
        np.testing.assert_array_equal(y, data.y)


def test_the_reader_agrees_with_scikit_learn_on_real_data(real_data: Path) -> None:
    for name in ("heart_scale", "german.numer", "ionosphere", "mushrooms"):
        path = real_data / f"{name}.svm.xz"
        with lzma.open(path) as stream:
            x, y = load_svmlight_file(stream)
        data = read(path)
        assert abs(sp.csr_array(x) - sp.csr_array(data.x)).max() == 0
        np.testing.assert_array_equal(data.preparation.labels(data.y), y)


def test_the_papers_data_summary(real_data: Path) -> None:
    data = read(real_data / "adult9.svm.xz")
    assert (len(data), data.features) == (48842, 123)
    assert data.baseline_error == pytest.approx(0.2393, abs=5e-5)
    covertype = read(real_data / "covtype.svm.xz", positive=1)
    assert (len(covertype), covertype.features) == (581012, 54)
    assert covertype.baseline_error == pytest.approx(0.3646, abs=5e-5)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.333, 0.5, 1.0])
def test_noise_flips_exactly_the_ceiling(share: float) -> None:
    data = read("mease-wyner:examples=30")
    noisy = add_noise(data, share, seed=4)
    flips = int((noisy.y != data.y).sum())
    assert flips == math.ceil(round(share * 30, 9))
    np.testing.assert_array_equal(noisy.y, add_noise(data, share, seed=4).y)


def test_splits_and_folds_deal_out_every_row_once() -> None:
    x = np.arange(50.0)[:, None]
    data = from_arrays(x, np.where(x.ravel() % 2, 1, -1))
    for parts in (split(data, (0.5, 0.3, 0.2), seed=3), folds(data, 7, seed=3)):
        seen = np.concatenate([dense(part).ravel() for part in parts])
        np.testing.assert_array_equal(np.sort(seen), np.arange(50.0))
    assert [len(p) for p in split(data, (0.5, 0.3, 0.2))] == [25, 15, 10]
    assert sorted(dense(shuffle(data, seed=1)).ravel().tolist()) == x.ravel().tolist()
    assert dense(shuffle(data, seed=1)).ravel().tolist() != x.ravel().tolist()


@pytest.mark.parametrize("scale", ["none", "standard", "max-abs", "unit-norm"])
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
    if scale != "standard":
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


def test_long_servedio_is_as_described() -> None:
    data = read("long-servedio", seed=3)
    agree = dense(data) * data.y[:, None]
    large = (agree == 1).all(axis=1)
    pullers = (agree[:, :11] == 1).all(axis=1) & (agree[:, 11:] == -1).all(axis=1)
    penalizers = ((agree[:, :11] == 1).sum(axis=1) == 5) & ((agree[:, 11:] == 1).sum(axis=1) == 6)
    assert (large.sum(), pullers.sum(), penalizers.sum()) == (500, 500, 1000)
    assert data.baseline_error == 0.5


def test_mease_wyner_is_as_described() -> None:
    data = read("mease-wyner", seed=3)
    assert data.x.shape == (2000, 21)
    np.testing.assert_array_equal(dense(data)[:, 20], 1)
    np.testing.assert_array_equal(data.y > 0, dense(data)[:, :5].sum(axis=1) >= 2.5)


def test_synthetic_labels_come_from_a_linear_classifier() -> None:
    from sklearn.svm import LinearSVC

    data = read("synthetic:examples=500,features=4", seed=2)
    assert data.x.shape == (500, 4)
    fitted = LinearSVC(C=1e4, fit_intercept=False, max_iter=100_000).fit(dense(data), data.y)
    assert fitted.score(dense(data), data.y) > 0.99


@pytest.mark.parametrize("name", sorted(named_sets.NAMES))
def test_named_sets_depend_on_the_seed_alone(name: str) -> None:
    first, second = read(name, seed=5), read(name, seed=5)
    np.testing.assert_array_equal(dense(first), dense(second))
    np.testing.assert_array_equal(first.y, second.y)


@pytest.mark.parametrize(
    "text", ["synthetic:rows=5", "synthetic:examples=x", "synthetic:examples=0", "mease-wyner:f"]
)
def test_bad_parameters_of_named_sets(text: str) -> None:
    with pytest.raises(InputError, match="parameter"):
        read(text)


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
