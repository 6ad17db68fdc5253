from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qcompile import InputError, read

TEXT = 'age,colour,sick\r\n31,"red, dark",yes\r\n42,blue,no\r\n,blue,yes\r\n'


def test_a_table_is_read_as_pandas_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(b"\xef\xbb\xbf" + gzip.compress(b"")[:0] + TEXT.encode())
    path = path.rename(tmp_path / "t.csv")
    found = read(path, missing="median", one_hot=True)
    judge = pd.read_csv(path)
    assert found.preparation.names == ("age", "colour=blue", "colour=red, dark")
    assert found.x[:, 0].tolist() == judge["age"].fillna(judge["age"].median()).tolist()
    assert found.x[:, 1].tolist() == (judge["colour"] == "blue").astype(float).tolist()
    assert found.preparation.labels(found.y).tolist() == judge["sick"].tolist()
    assert found.preparation.table is not None and found.preparation.table.label == "sick"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,y\n1,2,0\n1,,1\n", r"line 3, column 'b': a value is missing \(an empty cell\)"),
        ("a,b,y\n1,2,0\n1,NaN,1\n", r"line 3, column 'b': a value is missing"),
        ("a,b,y\n1,2,0\n1,-inf,1\n", "line 3, column 'b': '-inf' is not finite"),
        ("a,b,y\n1,2,0\n1,x,1\n", "line 3, column 'b': 'x' among numbers"),
        ("a,b,y\n1,z,0\n1,x,1\n", "line 2, column 'b': text 'z'; .* one_hot=True"),
        ("a,a,y\n1,2,0\n1,2,1\n", "two columns are called 'a'"),
        ("a,b,y\n1,2,0\n1,2,1\n1,", "line 4: 2 cells; expected 3"),
        ("a,b,y\n1,2,0\n1,2,0\n", "one class only"),
        ("a,b,y\n", "a header without rows"),
        ("", "no rows"),
        ('a,b,y\n1,2,0\n"1,2,1\n3,4,0\n', r"line 3: 1 cell; .* quotation mark .* never closed"),
        ("a,b,y\n1,2,0\n1,inf,1\n", "not finite; expected a finite number: correct it, or remove"),
        ("a,b,y\n1,2,0\n1,2,\n", "line 3, column 'y': the label is missing"),
        ("a,b,y\n1,2,0\n3,4,1\n5,6,2\n", r"3 classes in column 'y' \(0, 1, 2\); .*positive=LABEL"),
        ("a,b,c\n1,2,0\n3,4,1\n5,6,2\n", r"in column 'c' .*label=COLUMN"),
        ("y,b,c\n1,t,0\n3,u,1\n", r"ignore=COLUMN$"),
        ("who,b,c\nt,1,0\nu,3,1\n", r"text 't'.* label is 'c', the last.*label=COLUMN"),
    ],
)
def test_bad_tables_are_refused_with_place_and_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_text("größe,b,y\n1,2,0\n1,2,1\n", encoding=encoding)
    with pytest.raises(InputError, match=r"line 1: .*expected UTF-8"):
        read(tmp_path / "t.csv")


def test_a_label_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,size,sick\n1,2,0\n1,2,1\n")
    with pytest.raises(InputError, match=r"no column 'sikc'; .* did you mean 'sick'"):
        read(tmp_path / "t.csv", label="sikc")


def test_a_compressed_table_that_is_cut_off_tells_how_far_it_goes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a!r},{b!r},{a > b:d}\n" for a, b in rng.random((20_000, 2)).tolist()]
    packed = gzip.compress(("a,b,y\n" + "".join(lines)).encode())
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="truncated gzip data after line") as refused:
        read(tmp_path / "t.csv.gz")
    line = int(str(refused.value).split("after line ")[1].split(";")[0].replace(",", ""))
    assert 5_000 < line < 10_500


def test_a_wide_table_is_read_and_one_too_wide_refused(tmp_path: Path) -> None:
    wide = 100_000
    names = ",".join([f"c{i}" for i in range(wide)] + ["y"])
    rows = "".join(f"{number}," * wide + f"{number}\n" for number in (0, 1))
    (tmp_path / "t.csv").write_text(f"{names}\n{rows}")
    assert read(tmp_path / "t.csv").features == wide
    (tmp_path / "t.csv").write_text("1," * (1 << 18) + "1\n")
    with pytest.raises(InputError, match="262,145 columns; expected at most 262,144"):
        read(tmp_path / "t.csv")


def test_columns_to_leave_out_are_named_or_numbered(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,c,y\n1,x,3,0\n2,z,5,1\n")
    for ignore in ("b", ["b"], [2], [-3]):
        assert read(tmp_path / "t.csv", ignore=ignore).preparation.names == ("a", "c")
