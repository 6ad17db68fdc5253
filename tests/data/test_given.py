"""The same rows, given in every way that `read` takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import feather, parquet
from sklearn.datasets import load_breast_cancer
from sklearn.utils import Bunch

import qcompile
from qcompile import (
    Dataset,
    InputError,
    compile,
    cross_validate,
    decode,
    read,
    solve,
    train,
    verify,
)
from qcompile.training.rounds import RoundOptions

TEXTS = np.array(["no", "yes"])


def _rows() -> tuple[Any, Any, pd.DataFrame]:
    """Rows without NaN or zeros lost in a format, labels, and both as a table."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3)).round(3)
    y = (x[:, 0] + 0.3 * x[:, 1] > 0).astype(np.int64)
    return x, y, pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})


def _stream(table: pd.DataFrame, path: Path) -> None:
    made = pa.Table.from_pandas(table)
    with pa.ipc.new_stream(path, made.schema) as sink:
        sink.write_table(made, max_chunksize=7)


def _sparse_npz(table: pd.DataFrame, path: Path) -> None:
    x = sp.csc_array(table[["a", "b", "c"]].to_numpy())
    parts: dict[str, Any] = {"data": x.data, "indices": x.indices, "indptr": x.indptr}
    np.savez_compressed(path, shape=x.shape, format=b"csc", y=table["y"], **parts)


def _npz(table: pd.DataFrame, path: Path) -> None:
    x = np.asfortranarray(table[["a", "b", "c"]].to_numpy())
    np.savez(path, X=x, y=TEXTS[table["y"]], names=["a", "b", "c"])


FILES: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "t.csv": lambda t, p: t.to_csv(p, index=False),
    "t.tsv.gz": lambda t, p: t.to_csv(p, index=False, sep="\t"),
    "t.parquet": lambda t, p: parquet.write_table(pa.Table.from_pandas(t), p, row_group_size=7),
    "t.feather": lambda t, p: feather.write_feather(t, str(p), chunksize=7),
    "stream.arrow": _stream,
    "t.npz": _npz,
    "sparse.npz": _sparse_npz,
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_holds_the_same_rows(tmp_path: Path, name: str) -> None:
    x, y, table = _rows()
    path = tmp_path / name
    FILES[name](table, path)
    found = read(path)
    assert np.array_equal(sp.csr_array(found.x).toarray(), x)
    assert np.array_equal(found.y, np.where(y == 1, 1.0, -1.0))
    assert found.source.rows == 60 and found.source.sha256 is not None
    assert name == "sparse.npz" or found.preparation.names == ("a", "b", "c")


def _bunch(x: Any, y: Any) -> Any:
    return Bunch(data=x, target=y, feature_names=["a", "b", "c"], DESCR="")


def _in_memory(kind: str) -> Any:
    x, y, table = _rows()
    series = pd.Series(y, name="y")
    if kind == "polars" or kind == "polars pair":
        polars = pytest.importorskip("polars")
        made = polars.from_dict({name: table[name].to_numpy() for name in table})
        return made if kind == "polars" else (made.drop("y"), made["y"])
    return {
        "pandas": table,
        "pandas, nullable": table.convert_dtypes(),
        "pandas, categories": table.assign(y=pd.Categorical(TEXTS[y])),
        "pandas pair": (table.drop(columns="y"), series),
        "pandas pair, table of one label": (table.drop(columns="y"), series.to_frame()),
        "pyarrow": pa.Table.from_pandas(table),
        "record batch": pa.RecordBatch.from_pandas(table),
        "dictionary": table.to_dict("list"),
        "dictionary of arrays": {name: table[name].to_numpy() for name in table},
        "records": table.to_records(index=False),
        "pair": (x, y),
        "pair of lists": (x.tolist(), TEXTS[y].tolist()),
        "pair, booleans": (x, y == 1),
        "sparse pair": (sp.coo_array(x), y),
        "Bunch": _bunch(x, y),
        "Bunch of tables": _bunch(table.drop(columns="y"), series),
    }[kind]


IN_MEMORY = (
    "pandas", "pandas, nullable", "pandas, categories", "pandas pair",
    "pandas pair, table of one label", "pyarrow", "record batch", "dictionary",
    "dictionary of arrays", "records", "pair", "pair of lists", "pair, booleans", "sparse pair",
    "Bunch", "Bunch of tables", "polars", "polars pair",
)  # fmt: skip


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_every_table_in_memory_holds_the_same_rows(kind: str) -> None:
    x, y, _ = _rows()
    found = read(_in_memory(kind))
    assert np.array_equal(sp.csr_array(found.x).toarray(), x)
    assert np.array_equal(found.y, np.where(y == 1, 1.0, -1.0))
    assert found.source.rows == 60


def test_an_array_of_a_file_is_a_table_without_names(tmp_path: Path) -> None:
    x, y, table = _rows()
    np.save(tmp_path / "t.npy", table[["y", "a", "b", "c"]].to_numpy())
    with pytest.raises(InputError, match="which column is the label; expected label=NUMBER"):
        read(tmp_path / "t.npy")
    found = read(tmp_path / "t.npy", label=1)
    assert np.array_equal(found.x, x) and np.array_equal(found.y == 1, y == 1)


def test_missing_values_and_texts_of_a_table_in_memory_are_those_of_its_file(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"n": rng.normal(size=40), "t": rng.choice(["u", "v", "w"], 40)})
    table["y"] = np.where(rng.random(40) > 0.5, "sick", "well")
    table.loc[[3, 5], "n"], table.loc[7, "t"] = np.nan, None
    table.to_csv(tmp_path / "t.csv", index=False)
    how: dict[str, Any] = {"missing": "median", "one_hot": True}
    one, two = read(tmp_path / "t.csv", **how), read(table, **how)
    assert np.array_equal(one.x, two.x) and np.array_equal(one.y, two.y)
    assert one.preparation.to_dict() == two.preparation.to_dict()


def test_functions_take_what_read_takes() -> None:
    x, y, table = _rows()
    raw = read(table)
    made = compile(table, bits=1, order=3)
    assert made.pubo.to_dict() == compile(raw, bits=1, order=3).pubo.to_dict()
    qubo = made.quadratize()
    assert verify(qubo, data=table, seed=0).holds
    assert verify(qubo, data=(x, y), seed=0).holds
    assert not verify(qubo, data=(x, 1 - y), seed=0).holds
    samples = solve(qubo, reads=5)
    validated = decode(qubo, samples, validation=table.sample(frac=1, random_state=0))
    assert validated.source.validation_error is not None
    trials = cross_validate(table, {"bits": [1, 2]}, count=3)
    assert trials[0].error < 0.2
    few = RoundOptions(rounds=2)
    one, two = train(table, rounds=few), train((x, y), rounds=few)
    assert np.array_equal(one.classifier.weights, two.classifier.weights)


def test_a_classifier_matches_the_columns_of_a_table_by_name() -> None:
    x, _, table = _rows()
    model = train(table, rounds=2).classifier
    expected = model.predict(x)
    turned = table[["c", "y", "b", "a"]].assign(other="text")
    assert np.array_equal(model.predict(turned), expected)
    assert np.array_equal(model.predict(pa.Table.from_pandas(turned)), expected)
    with pytest.raises(InputError, match=r"lacks 1 of the 3 columns .*: 'b'"):
        model.predict(table.drop(columns="b"))
    plain = train((x, table["y"]), rounds=2).classifier
    assert np.array_equal(plain.predict(table[["a", "b", "c"]]), expected)
    with pytest.raises(InputError, match="a table of 4 columns; expected 3"):
        plain.predict(table)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "data from an int; expected a file, a named set, a table"),
        (None, "data from None; expected"),
        (np.eye(3), r"data from an ndarray; expected its labels too: a pair \(X, y\)"),
        (sp.csr_array(np.eye(3)), r"expected its labels too: a pair \(X, y\)"),
        ({}, "data from a dict"),
        ({"a": [1, 2], "y": [0]}, r"column 'y' of shape \(1,\) beside column 'a'"),
        ((np.eye(3), None), "rows without labels"),
        ((np.eye(3), [0, 1]), "one label for each row"),
        (([[1.0], [np.nan]], [0, 1]), "row 2, column 1: nan"),
        ((sp.csr_array([[0.0, 1.0], [np.inf, 0.0]]), [0, 1]), "row 2, column 1: inf"),
        (([[1.0], [2.0]], [0, np.nan]), "row 2: label nan"),
        ({"a": [1, None], "y": [0, 1]}, "row 2, column 'a': a value is missing"),
        ({"a": [1, np.inf], "y": [0, 1]}, "row 2, column 'a': 'inf' is not finite"),
        ({"a": [1, 2], "y": [0, None]}, "row 2, column 'y': the label is missing"),
        ({"a": [1, "x"], "y": [0, 1]}, "row 2, column 'a': 'x' among numbers"),
        ({"a": [1, [2]], "y": [0, 1]}, "row 2, column 'a': a list; expected numbers or texts"),
        ({"a": [1, 2], "y": [0, 0]}, "one class only"),
        ({"a": [1], "y": [0]}, "one class only"),
        ({"a": [], "y": []}, "no rows"),
        (pd.DataFrame([[1, 0], [2, 1]], columns=["y", "y"]), "two columns are called 'y'"),
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"]), "y": [1]}), "'d': values of type date"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read(data)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", ["prepare", "shuffle", "moments_of", "fit_loss"])
def test_passes_say_that_they_take_stages(function: str) -> None:
    with pytest.raises(InputError, match=r"a str in the place of a (Dataset|Moments): .*\(\)"):
        getattr(qcompile, function)("breast-cancer")


def test_a_column_that_is_left_out_may_hold_anything() -> None:
    _, _, table = _rows()
    dated = table.assign(day=pd.to_datetime("2020-01-01"))
    for ignore in ("day", ["day"], [-1]):
        assert read(dated, ignore=ignore, label="y").preparation.names == ("a", "b", "c")


def test_a_constant_table_and_a_wide_one_are_read() -> None:
    constant: Dataset = read({"a": [1, 1], "y": [0, 1]})
    assert constant.x.tolist() == [[1.0], [1.0]]
    wide = read((np.ones((2, 100_000)), [0, 1]))
    assert wide.features == 100_000


def test_breast_cancer_is_the_named_set() -> None:
    made, named = read(load_breast_cancer()), read("breast-cancer")
    assert np.array_equal(made.x, named.x) and np.array_equal(made.y, named.y)
