"""Tables that are summed in pieces, file by file and on workers: against all rows at once."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qcompile import InputError, compile, moments_of, prepare, read, verify
from qcompile.data import table as tables
from qcompile.data.options import DataOptions
from qcompile.data.table_reader import TableReader
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import load_moments_of
from qcompile.runtime.cluster import using
from qcompile.stages.moments import Moments
from tests.parts import assert_equal

HOW: dict[str, Any] = {"missing": "mean", "one_hot": True}


def _table(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    made = pd.DataFrame(rng.normal(size=(rows, 4)), columns=list("abcd"))
    made["a"] *= np.exp(3 * rng.normal(size=rows))
    made["t"] = rng.choice(["u", "v", "with, comma", 'with "quotes"\nand a line'], rows)
    made["sick"] = np.where(made["b"] + rng.normal(size=rows) > 0, "yes", "no")
    made.loc[rng.choice(rows, rows // 10, replace=False), "c"] = np.nan
    return made


def _write(folder: Path, table: pd.DataFrame, kind: str) -> Path:
    """Write a table as a file, or as four of which one has one class only."""
    if kind == "csv":
        table.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv"
    if kind == "parquet":
        table.to_parquet(folder / "t.parquet", row_group_size=90)
        return folder / "t.parquet"
    cuts = [0, 50, 51, 200, len(table)]
    for number, (start, stop) in enumerate(itertools.pairwise(cuts)):
        part = table.iloc[start:stop]
        if kind == "parts":
            text = part.to_csv(index=False)
            (folder / f"part-{number}.csv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            part.to_parquet(folder / f"part-{number}.parquet")
    return folder / ("part-*.csv.gz" if kind == "parts" else "part-*.parquet")


def _close(one: Moments, two: Moments) -> None:
    assert one.count == two.count and one.preparation is not None and two.preparation is not None
    assert one.preparation.names == two.preparation.names
    assert one.preparation.positive == two.preparation.positive
    for key, tensor in one.tensors.items():
        np.testing.assert_allclose(tensor, two.tensors[key], rtol=1e-9, atol=1e-9)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Pieces of 1 kB of text, and nothing that holds a whole table."""
    monkeypatch.setattr(TableReader, "_piece_bytes", 1000)
    monkeypatch.setattr("qcompile.data.arrow_files._CELLS_AT_ONCE", 120)
    made: list[int] = []
    known = TableReader._parse

    def counted(reader: TableReader, text: bytes) -> Any:
        made.append(len(text))
        return known(reader, text)

    monkeypatch.setattr(TableReader, "_parse", counted)
    return lambda: max(made, default=0)


@pytest.mark.parametrize("kind", ["csv", "parquet", "parts", "parquet parts"])
@pytest.mark.parametrize(
    "how",
    [HOW, HOW | {"missing": "median", "scale": "standard", "features": 3}, HOW | {"missing": 0}],
)
def test_a_table_in_pieces_has_the_moments_of_all_rows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small_pieces: Callable[[], int],
    kind: str,
    how: dict[str, Any],
) -> None:
    table = _table()
    path = _write(tmp_path, table, kind)
    reading = {name: how[name] for name in HOW}
    raw = read(table, label="sick", **reading)
    wanted = {"scale": how.get("scale", "robust"), "features": how.get("features"), "bias": True}
    judge = moments_of(prepare(raw, **wanted), 3)

    def held(*_: object, **__: object) -> Any:
        raise AssertionError("the whole table was held")

    monkeypatch.setattr("qcompile.pipeline.load_data", held)
    _close(load_moments_of(path, DataOptions(label="sick", **how), LossOptions()), judge)
    assert small_pieces() < 3000


def test_a_problem_from_a_table_in_pieces_is_verified_by_all_rows(tmp_path: Path) -> None:
    path = _write(tmp_path, _table(), "csv")
    made = compile(path, label="sick", bits=1, order=3, **HOW)
    assert made.moments.source == read(path, label="sick", **HOW).source
    assert verify(made.quadratize(), data=path, seed=0).holds
    assert verify(made.quadratize(), data=_table(), seed=0).holds
    other = _table().assign(a=0.5)
    assert not verify(made.quadratize(), data=other, seed=0).holds


def test_what_is_wrong_in_a_later_part_is_told_with_its_place(tmp_path: Path) -> None:
    table = _table().drop(columns=["t", "c"])
    path = _write(tmp_path, table, "parts")
    bad = tmp_path / "part-3.csv.gz"
    rows = gzip.decompress(bad.read_bytes()).decode().splitlines()
    rows[7] = "1,2,x,yes"
    bad.write_bytes(gzip.compress("\n".join(rows).encode()))
    with pytest.raises(InputError, match=r"part-3.csv.gz, line 8, column 'd': 'x' is no number"):
        compile(path, label="sick", bits=1)
    bad.write_bytes(gzip.compress(b"a,b,sick\n1,2,yes\n"))
    with pytest.raises(InputError, match=r"part-3.csv.gz: lacks 1 of the 3 columns .*: 'd'"):
        compile(path, label="sick", bits=1)


def test_options_of_tables_are_refused_for_other_data(tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_text("1 1:1\n-1 1:2\n")
    with pytest.raises(InputError, match="are for tables"):
        compile(tmp_path / "t.svm", label="y")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parts", "parquet parts"])
def test_workers_give_the_local_sums_of_tables_bit_for_bit(
    client: Any, tmp_path: Path, kind: str
) -> None:
    path = _write(tmp_path, _table(), kind)
    for how in (HOW, HOW | {"missing": "median"}):
        options = DataOptions(label="sick", **how)
        local = load_moments_of(path, options, LossOptions())
        with using(client):
            assert_equal(load_moments_of(path, options, LossOptions()), local)


def test_the_statistics_of_parts_are_bounded(tmp_path: Path) -> None:
    names = [f"text {i}" for i in range(1001)]
    table = pd.DataFrame({"t": names, "a": 1.0, "y": np.arange(1001) % 2})
    table.to_csv(tmp_path / "t.csv", index=False)
    for function in (read, compile):
        with pytest.raises(InputError, match=r"column 't': 1,001 different texts"):
            function(tmp_path / "t.csv", one_hot=True)
    assert tables.schema_of(tmp_path / "t.csv", DataOptions(one_hot=True).table).label == "y"
