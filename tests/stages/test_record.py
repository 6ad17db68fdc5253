from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest

from qcompile.stages.record import Record


@dataclass(frozen=True)
class Plain(Record):
    rows: int
    name: str = "data"


@dataclass(frozen=True)
class Renamed(Record):
    error: float

    def to_dict(self) -> dict[str, Any]:
        return {"0-1 error": self.error}


def test_a_record_answers_like_the_dictionary_it_was() -> None:
    record = Plain(3)
    assert record["rows"] == 3 and record.get("rows") == 3 and record.get("columns", 7) == 7
    assert "rows" in record and "columns" not in record and len(record) == 2
    assert list(record) == list(record.keys()) == ["rows", "name"]
    assert list(record.items()) == [("rows", 3), ("name", "data")]
    assert list(record.values()) == [3, "data"]
    assert {**record} == dict(record) == record.to_dict() == {"rows": 3, "name": "data"}
    assert isinstance(record, Mapping)
    with pytest.raises(KeyError, match="columns"):
        record["columns"]


def test_the_keys_are_those_of_to_dict_not_of_the_fields() -> None:
    record = Renamed(0.5)
    assert record.error == record["0-1 error"] == 0.5
    assert "error" not in record and list(record) == ["0-1 error"]
    assert json.dumps(record.to_dict()) == '{"0-1 error": 0.5}'


def test_records_are_frozen_comparable_hashable_and_can_be_pickled() -> None:
    record = Plain(3)
    with pytest.raises(FrozenInstanceError):
        record.rows = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        record["rows"] = 4  # type: ignore[index]
    assert record == Plain(3) != Plain(4) and hash(record) == hash(Plain(3))
    assert pickle.loads(pickle.dumps(record)) == record
