from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qcompile import Embedding, InputError, Submission
from qcompile.leap.cost import MOST_PARTS, Cost
from tests.leap.jobs import READS, check_result
from tests.sapi import Sapi


def test_reads_above_the_maximum_are_split(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 25]
    found = send(reads=60)
    check_result(found, best)
    assert found.samples is not None
    assert [p["params"]["num_reads"] for p in server.problems.values()] == [20, 20, 20]
    assert found.samples.occurrences.sum() == 60
    assert found.samples.info["timing"]["qpu_access_time"] == 3 * (100 * 20 + 15000)
    assert len({p["label"] for p in server.problems.values()}) == 3
    assert found.cost["problems"] == 3


def _allow(server: Sapi, allowed: float) -> None:
    properties = server.solvers["Mock_Advantage"]["properties"]
    properties["problem_run_duration_range"] = [0.0, allowed]


def test_the_cost_is_the_timing_model_by_hand(
    server: Sapi, send: Callable[..., Submission], chains: Embedding
) -> None:
    _allow(server, 1e6)
    found = send(dry_run=True, parameters={"annealing_time": 50.0}, reads=100)
    readout = 10 ** (1 + np.log10(chains.qubits) / 3)
    expected = (14000 + 1000 + 100 * (50 + readout + 20)) / 1e6
    assert found.cost["seconds_billed"] == pytest.approx(expected)
    assert found.cost["seconds_allowed_per_problem"] == 1.0
    assert found.cost["qubits"] == chains.qubits


def test_reads_are_split_by_time_too(server: Sapi, send: Callable[..., Submission]) -> None:
    _allow(server, 25_000.0)
    found = send(dry_run=True, reads=600)
    assert found.cost["problems"] > 1
    each = -(-600 // found.cost["problems"])
    one = send(dry_run=True, reads=each).cost
    assert one["problems"] == 1 and one["seconds_billed"] <= 0.025
    _allow(server, 15_010.0)
    with pytest.raises(InputError, match="one read takes"):
        send(dry_run=True)


def test_cost_at_the_very_limit(
    server: Sapi, send: Callable[..., Submission], chains: Embedding
) -> None:
    _allow(server, 25_000.0)
    read = 40 + 10 ** (1 + np.log10(chains.qubits) / 3)
    most = int(10_000 // read)
    assert send(dry_run=True, reads=most).cost["problems"] == 1
    two = send(dry_run=True, reads=most + 1).cost
    assert two["problems"] == 2
    assert two["seconds_billed"] == pytest.approx((2 * 15_000 + (most + 1) * read) / 1e6)


def test_limits_without_a_timing_model(server: Sapi, send: Callable[..., Submission]) -> None:
    properties = server.solvers["Mock_Advantage"]["properties"]
    del properties["problem_timing_data"]
    properties["problem_run_duration_range"] = [0.0, 10_000.0]
    properties["default_programming_thermalization"] = 0.0
    cost = send(dry_run=True, reads=20, parameters={"annealing_time": 1000.0}).cost
    assert cost["problems"] == 2 and cost["seconds_billed"] is None
    server.solvers["hybrid_bqm"]["properties"]["maximum_number_of_variables"] = 3
    with pytest.raises(InputError, match="takes up to 3"):
        send(solver_type="hybrid")


def test_a_dry_run_sends_and_writes_nothing(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path
) -> None:
    found = send(dry_run=True)
    assert found.job is None and found.cost["reads"] == READS
    assert not server.problems and not (tmp_path / "jobs").exists()
    refused = send(confirm=lambda cost: False)
    assert refused.job is None and not server.problems and not (tmp_path / "jobs").exists()


@given(
    reads=st.integers(1, 10**6),
    problems=st.integers(1, MOST_PARTS),
    seconds=st.none() | st.floats(0, 1e6),
    notes=st.lists(st.text(), max_size=2),
)
def test_costs_are_read_as_they_were_written(
    reads: int, problems: int, seconds: float | None, notes: list[str]
) -> None:
    written = {
        "solver": "QPU",
        "solver_type": "qpu",
        "variables": 7,
        "qubits": 9,
        "longest_chain": 2,
        "reads": reads,
        "problems": problems,
        "seconds_billed": seconds,
        "seconds_allowed_per_problem": 10.0,
        "load": 0.5,
        "notes": notes,
    }
    cost = Cost.from_dict(written)
    assert list(cost.to_dict().items()) == list(written.items())
    assert len(cost.reads) == problems and max(cost.reads) - min(cost.reads) <= 1


@pytest.mark.parametrize(
    "values",
    [{}, {"seconds": 0.1}, {"reads": "many", "problems": -1, "notes": 5, "seconds_billed": [1]}],
)
def test_a_damaged_cost_does_not_keep_a_job_from_being_read(values: dict[str, Any]) -> None:
    cost = Cost.from_dict(values)
    assert cost.reads == () and cost.seconds is None and cost["problems"] == 1
