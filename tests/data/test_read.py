from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from qcompile import InputError, read
from qcompile.data.read import read_rows
from qcompile.data.stream import RowStream
from tests.parts import of, sparse_lines, svm, write_parts
from tests.strategies import dense

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


@pytest.mark.slow
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
        (b"1 1:1\n2 1:2\n3 1:2\n", "positive=LABEL"),
        (b"1 2:1\n-1 -3:1\n", "line 2: index -3 is negative"),
        (b"1 2:1 1:1\n-1 1:1\n", "line 1: index 1 is repeated or out of order"),
        (b"1 2:1\n-1 1:1 1:2\n", "line 2: index 1 is repeated or out of order"),
        (b"1 1:1\n-1 1000000000000:1\n", "line 2: index 1000000000000 is absurdly large"),
        (b"1 1:1\n-1 99999999999999999999999999:1\n", "absurdly large"),
        (
            b"1 1:1\n\x00\x01\x02\xff\xfe 1:2\n",
            "line 2: binary data; expected svmlight text, or",
        ),
        (bytes(range(256)) * 4, "binary data"),
        (b"1 1:1 2:0x10\n", "value '0x10' is not a number"),
        (b"1,2 1:1\n", "label '1,2'"),
        (b"age,label\n1,2\n", "if it is a table, call it .csv"),
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


def test_half_a_file_has_no_digest(tmp_path: Path) -> None:
    path = svm(tmp_path)
    assert "sha256" not in read(path, rows=2).source
    assert "sha256" in read(path).source


@pytest.mark.parametrize(
    ("text", "words"),
    [("1 1:\n", "value '' is not a number"), ("1 1:1_0\n", "value '1_0' is not a number"),
     ("1 1:" + "9" * 400 + "\n", "is not finite")],
)  # fmt: skip
def test_messages_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(svm(tmp_path, text))


def test_a_pattern_reads_all_files_in_order(tmp_path: Path) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:]])
    with gzip.open(tmp_path / "part-01.svm.gz", "wt") as stream:
        stream.write("".join(text[30:]))
    (tmp_path / "part-01.svm").unlink()
    (tmp_path / "whole.svm").write_text("".join(text))
    both, whole = read(f"{pattern}*"), read(tmp_path / "whole.svm")
    np.testing.assert_array_equal(both.x.toarray(), whole.x.toarray())
    np.testing.assert_array_equal(both.y, whole.y)
    assert both.source["sha256"] == of(f"{pattern}*").source["sha256"] != whole.source["sha256"]


def test_parts_that_do_not_fit_each_other(tmp_path: Path) -> None:
    pattern = str(tmp_path / "*.svm")
    with pytest.raises(InputError, match="no file matches"):
        of(pattern)
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n")
    (tmp_path / "b.svm").write_text("3 1:1\n")
    with pytest.raises(InputError, match=r"b\.svm: label 3 is a third class after 1 and 2"):
        of(pattern)
    (tmp_path / "b.svm").write_text("1 1:x\n")
    with pytest.raises(InputError, match=r"b\.svm, line 1"):
        of(pattern)
    (tmp_path / "b.svm").write_text("1 3:1\n")
    with pytest.raises(InputError, match=r"b\.svm, line 1: index 3"):
        of(pattern, num_features=2)
    with pytest.raises(InputError, match=r"b\.svm, line 1: index 3"):
        read(pattern, num_features=2)
    (tmp_path / "a.svm").write_text("2 1:2\n")
    (tmp_path / "b.svm").write_text("2 1:2\n")
    with pytest.raises(InputError, match="one class only"):
        of(pattern)
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text("")
    with pytest.raises(InputError, match="no rows"):
        of(pattern)
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text("1\n2\n")
    with pytest.raises(InputError, match="no features"):
        of(pattern)


def test_progress_counts_all_files(tmp_path: Path) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:]])
    seen: list[tuple[int, int | None]] = []
    read(pattern, progress=lambda done, whole: seen.append((done, whole)))
    whole = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert seen[-1] == (whole, whole)
    assert sorted(seen) == seen


def test_rows_to_predict_need_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "new.svm"
    path.write_text("1:1 2:2\nspam 1:3 # a name\n  3:4\n\n-1 2:5\n")
    rows, labels, _ = read_rows(path, labelled=False)
    np.testing.assert_array_equal(labels, [np.nan, np.nan, np.nan, -1.0])
    np.testing.assert_array_equal(rows.toarray(), [[1, 2, 0], [3, 0, 0], [0, 0, 4], [0, 5, 0]])
    with pytest.raises(InputError, match="line 1: label '1:1'"):
        read_rows(path)
    path.write_text("1 1:1\nspam 1:x\n")
    with pytest.raises(InputError, match="line 2: value 'x'"):
        read_rows(path, labelled=False)


def test_a_small_compressed_file_cannot_hold_any_amount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._ALWAYS_UNPACKED", 1 << 20)
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1 2:1\n-1 1:1\n" * 500_000))
    with pytest.raises(InputError, match="MB of text in a gzip file of"):
        read(path)
    path.write_bytes(gzip.compress(b"1 1:1 2:1\n-1 1:1\n" * 5_000))
    assert len(read(path).y) == 10_000
