"""Rows come back number for number, and damaged files are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from qcompile import Dataset, FormatError, from_arrays, prepare, read
from qcompile.files import guarded
from qcompile.files.rows import load_rows, save_rows


def same(one: Dataset, two: Dataset) -> None:
    assert sp.issparse(one.x) == sp.issparse(two.x)
    a, b = (own.x.toarray() if sp.issparse(own.x) else own.x for own in (one, two))
    assert a.tobytes() == np.ascontiguousarray(b).tobytes()
    assert one.y.tobytes() == two.y.tobytes() and one.source.to_dict() == two.source.to_dict()
    assert one.preparation.to_dict() == two.preparation.to_dict()


def test_parts_come_back_unchanged(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dense = prepare(read("breast-cancer"), scale="standard", bias=True, features=3)
    sparse = from_arrays(sp.random_array((20, 6), density=0.3, rng=rng).tocsr(), [1, -1] * 10)
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    save_rows({"train": dense, "test": sparse}, first)
    found = load_rows(first)
    assert list(found) == ["train", "test"]
    same(found["train"], dense)
    same(found["test"], sparse)
    save_rows(found, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("damage", ["label", "shape", "nan", "place"])
def test_damaged_rows_are_refused(tmp_path: Path, damage: str) -> None:
    sparse = from_arrays(sp.csr_array(np.eye(4)), [1, -1, 1, -1])
    dense = from_arrays(np.eye(4), [1, -1, 1, -1])
    path = tmp_path / "rows.npz"
    save_rows({"train": sparse if damage == "place" else dense}, path)
    header, arrays = guarded.read_npz(path, "rows")
    changed = {name: array.copy() for name, array in arrays.items()}
    if damage == "label":
        changed["train_y"][0] = 2.0
    elif damage == "shape":
        header["parts"]["train"]["shape"] = [4, 5]
    elif damage == "nan":
        changed["train_x"][0, 0] = np.nan
    else:
        changed["train_indices"][0] = 99
    guarded.write_npz(path, header, changed)
    with pytest.raises(FormatError, match=r"rows\.npz"):
        load_rows(path)
