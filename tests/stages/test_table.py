from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qcompile.errors import InputError
from qcompile.stages.preparation import Preparation
from qcompile.stages.table import TableColumn, TableSchema

SCHEMA = TableSchema(
    (
        TableColumn("age", fill=41.5),
        TableColumn("id", "ignored"),
        TableColumn("colour", "text", ("blue", "red")),
        TableColumn("sick", "label"),
    )
)


def test_a_schema_names_the_features_and_the_label_of_its_table() -> None:
    assert SCHEMA.names == ("age", "colour=blue", "colour=red")
    assert SCHEMA.label == "sick"
    assert [column.name for column in SCHEMA.used] == ["age", "colour"]
    assert repr(SCHEMA) == "TableSchema(4 columns to 3 features, label 'sick')"


def test_a_preparation_keeps_schema_and_labels_of_text() -> None:
    made = Preparation(3, positive="yes", negative="no", names=SCHEMA.names, table=SCHEMA)
    back = Preparation.from_dict(made.to_dict())
    assert back.to_dict() == made.to_dict()
    assert back.table is not None and back.table.columns == SCHEMA.columns
    assert back.labels([1.0, -1.0]).tolist() == ["yes", "no"]
    assert back.signs(["no", "yes"]).tolist() == [-1, 1]
    assert back.unknown_labels(["no", "maybe"]) == ["maybe"]


def test_a_text_against_the_rest_answers_with_another_text() -> None:
    made = Preparation(1, positive="A", negative=None)
    assert made.labels([1.0, -1.0]).tolist() == ["A", "not A"]
    assert made.signs(made.labels([1.0, -1.0])).tolist() == [1, -1]


def test_a_preparation_without_a_table_writes_what_it_always_wrote() -> None:
    assert set(Preparation(2).to_dict()) == {
        "raw_features", "positive", "negative", "columns", "center", "scale", "unit_norm", "bias"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (3, "expected a list of columns"),
        ({"columns": [{"kind": "number"}]}, "expected a name"),
        ({"columns": [{"name": "a", "kind": "date"}]}, "kind 'date'"),
        ({"columns": [{"name": "a", "kind": []}]}, "of kind"),
        ({"columns": [{"name": "a", "kind": "text", "categories": ["x", "x"]}]}, "different"),
        ({"columns": [{"name": "a", "kind": "text", "categories": [1]}]}, "list of texts"),
        ({"columns": [{"name": "a", "kind": "number", "fill": np.inf}]}, "finite"),
        ({"columns": [{"name": "a", "kind": "number", "fill": True}]}, "finite"),
        ({"columns": [{"name": "a", "kind": "number"}] * 2}, "twice"),
        (
            {"columns": [{"name": "a", "kind": "label"}, {"name": "b", "kind": "label"}]},
            "two label columns",
        ),
        ({"columns": [{"name": "a", "kind": "number"}] * 1}, "1 features for 2 columns"),
    ],
)
def test_a_hostile_schema_is_refused(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Preparation.from_dict(Preparation(2).to_dict() | {"table": table})


@pytest.mark.parametrize("labels", [("yes", 1.0), ("x" * 1000, "y"), (float("nan"), 1.0)])
def test_hostile_labels_are_refused(labels: tuple[Any, Any]) -> None:
    record = Preparation(2).to_dict() | {"positive": labels[0], "negative": labels[1]}
    with pytest.raises(InputError, match="label"):
        Preparation.from_dict(record)
