from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from qcompile import (
    Classifier,
    InputError,
    Preparation,
    QcompileError,
    load_classifier,
    save_classifier,
)
from qcompile.stages.table import TableColumn, TableSchema
from tests.problems import identity


def test_a_model_file_cut_or_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    save_classifier(Classifier(np.array([1.0, 2.0]), identity(2)), path)
    whole = path.read_text()
    for size in range(0, len(whole) - 2, 23):
        path.write_text(whole[:size])
        with pytest.raises(QcompileError, match=r"model\.json"):
            load_classifier(path)
    content = json.loads(whole)
    for name, value in {
        "weights": [[1.0, 2.0]],
        "type": "qcompile.loss",
        "preparation": {},
        "version": 9,
    }.items():
        path.write_text(json.dumps({**content, name: value}))
        with pytest.raises(QcompileError, match=r"model\.json"):
            load_classifier(path)
    path.write_text(whole.replace("1.0", "1e999"))
    with pytest.raises(QcompileError, match=r"model\.json"):
        load_classifier(path)


def test_labels_of_text_and_the_columns_of_a_table_come_back(tmp_path: Path) -> None:
    table = TableSchema((TableColumn("age"), TableColumn("sick", "label")))
    made = Preparation(1, positive="yes", negative="no", names=("age",), table=table)
    save_classifier(Classifier(np.array([1.0]), made), tmp_path / "model.json")
    found = load_classifier(tmp_path / "model.json")
    assert found.preparation.to_dict() == made.to_dict()
    assert found.predict(np.array([[2.0], [-2.0]])).tolist() == ["yes", "no"]
    assert found.error(np.array([[2.0], [-2.0]]), np.array(["yes", "yes"])) == 0.5
    with pytest.raises(InputError, match="label maybe was never seen"):
        found.error(np.array([[2.0]]), np.array(["maybe"]))
