from __future__ import annotations

from typing import Any

import pytest

from qcompile.errors import FormatError
from qcompile.leap.records import Part, Solver, State


@pytest.mark.parametrize(
    "values", [{"name": "hybrid"}, {"name": "QPU", "version": {"graph_id": "01", "more": [1]}}]
)
def test_solvers_are_written_as_they_were_read(values: dict[str, Any]) -> None:
    assert Solver.from_dict(values).to_dict() == values


def test_parts_and_states_are_written_as_they_were_read() -> None:
    part = Part(2, "mine 1.2", None, {"time_limit": 3.0})
    assert Part.from_dict(part.to_dict()) == part
    state = State("waiting", sent="now", id="a-1", doubts=2, data_id="b", message="m")
    assert State.from_dict(state.to_dict()) == state


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "lost"},
        {"id": "a/../b"},
        {"data_id": 7},
        {"sent": 7},
        {"doubts": "no"},
        {"doubts": -1},
        {"doubts": 2**31},
        {"embedding": "../embedding.json"},
    ],
)
def test_invalid_states_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="invalid state"):
        State.from_dict({**State().to_dict(), **change})
