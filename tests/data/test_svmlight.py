from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from qcompile import InputError, read
from qcompile.data import svmlight
from qcompile.data.prepare import from_arrays
from qcompile.data.svmlight import file_names
from qcompile.stages.dataset import Dataset
from tests.parts import sparse_lines, svm
from tests.strategies import datasets, dense

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,20})([eE][+-]?[0-9]{1,2})?",
        fullmatch=True,
    ),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(st.lists(numbers, min_size=1, max_size=8))
def test_numbers_are_read_as_exactly_as_python_reads_them(values: list[str]) -> None:
    from qcompile.data.svmlight import SvmlightReader

    reader = SvmlightReader("unused")
    pairs = " ".join(f"{i}:{v}" for i, v in enumerate(values, 1))
    for comment in ("", " # not plain"):  # without a compiled parser, and with it
        piece = reader._parse(f"{values[0]} {pairs}{comment}\n".encode())
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


@pytest.mark.parametrize("positive", [-7.0, -1.0, 0.0, 2.0])
def test_one_class_against_the_rest_reads_back_as_written(tmp_path: Path, positive: float) -> None:
    labels = [positive, positive + 1, positive + 2, positive]
    data = from_arrays(np.arange(1.0, 5)[:, None], labels, positive=positive)
    svmlight.save_svmlight(data, tmp_path / "out.svm")
    np.testing.assert_array_equal(read(tmp_path / "out.svm").y, data.y)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_compressed_files_are_written_as_well(tmp_path: Path, ending: str) -> None:
    data = read("breast-cancer")
    for name in ("a", "b"):
        svmlight.save_svmlight(data, tmp_path / f"{name}.svm.{ending}")
    np.testing.assert_array_equal(dense(read(tmp_path / f"a.svm.{ending}")), data.x)
    one, two = ((tmp_path / f"{name}.svm.{ending}").read_bytes() for name in ("a", "b"))
    assert one == two


@pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**32 + 1])
def test_indices_past_the_limit_are_absurd(tmp_path: Path, index: int) -> None:
    with pytest.raises(InputError, match="absurdly large"):
        read(svm(tmp_path, f"1 1:1\n-1 {index}:1\n"))


def test_endless_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 64)
    monkeypatch.setattr("qcompile.data.svmlight._LONGEST_LINE", 200)
    path = svm(tmp_path, "1 1:1\n-1 " + " ".join(f"{i}:1" for i in range(1, 200)) + "\n")
    with pytest.raises(InputError, match="line 2: longer than"):
        read(path)


def test_a_byte_order_mark_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "bom.svm"
    path.write_bytes(b"\xef\xbb\xbf1 1:1\n-1 1:2\n")
    assert len(read(path)) == 2


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "a[1].svm"
    path.write_text("".join(sparse_lines()))
    assert file_names(path) == [str(path)]
    assert len(read(path)) == 90


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.svm").write_text("1 1:1\n2 1:2\n")
    (tmp_path / "d.svm").mkdir()
    found = file_names(tmp_path / "*.svm")
    assert [Path(path).name for path in found] == ["a.svm", "b.svm", "c.svm"]
    with pytest.raises(InputError, match="no file matches"):
        file_names("a" * 300 + "*")
