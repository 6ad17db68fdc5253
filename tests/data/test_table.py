from __future__ import annotations

import gzip
from pathlib import Path

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
