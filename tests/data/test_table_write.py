from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer

from qcompile import from_arrays, read
from qcompile.cli.app import main
from qcompile.data.table_write import save_table


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_a_table_reads_back_as_the_same(tmp_path: Path, ending: str, sparse: bool) -> None:
    x = np.random.default_rng(1).normal(size=(20, 3)) / 3
    x[::2, 1] = 0.0
    names = ("age, years", 'a "b"', "label")
    labels = np.where(np.arange(20) % 3 == 0, "sick", "well")
    rows = from_arrays(sp.csr_array(x) if sparse else x, labels, names=names)
    path = tmp_path / f"rows.{ending}"
    save_table(rows, path)
    found = read(path, label="label_")
    assert found.preparation.names == names
    assert (np.asarray(found.x) == x).all()
    assert found.preparation.labels(found.y).tolist() == labels.tolist()


def test_the_command_writes_a_table_with_the_names_of_the_set(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    assert main(["data", "breast-cancer", "-o", str(path), "-q"]) == 0
    with path.open(newline="") as stream:
        lines = list(csv.reader(stream))
    known = load_breast_cancer()
    assert lines[0] == [*known.feature_names.tolist(), "label"]
    values = np.array([[float(cell) for cell in line] for line in lines[1:]])
    assert (values[:, :-1] == known.data).all() and (values[:, -1] == known.target).all()
    assert main(["data", str(path), "-o", str(tmp_path / "back.svm"), "-q"]) == 0
    assert main(["data", "synthetic:examples=3,features=2", "-o", str(path), "-q"]) == 0
    assert path.read_text().splitlines()[0] == "x1,x2,label"
