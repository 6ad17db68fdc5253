from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest
from dwave.cloud.testing.mocks import qpu_problem_timing_data

from qcompile import InputError, Pubo, Timing, load_machine, quadratize, submit
from qcompile.leap.published_cost import access_seconds, published, timing_data

CUBIC = quadratize(
    Pubo.from_dict({(i, j, k): 1.0 for i in range(6) for j in range(i) for k in range(j)})
)
MACHINE = "advantage2-system4"  # the smallest with published times


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection, and hide what Ocean's configuration could know."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.delenv("DWAVE_API_TOKEN", raising=False)
    monkeypatch.setenv("DWAVE_CONFIG_FILE", "")


def test_times_are_those_of_the_manual_and_of_ocean() -> None:
    for name in ("advantage", "2000q"):
        data = qpu_problem_timing_data(name)
        table = data["readout_time_model_parameters"]
        half = len(table) // 2
        times = Timing(
            solver=name,
            programming=data["typical_programming_time"],
            delay=data["qpu_delay_time_per_sample"],
            readout_qubits=tuple(10**q for q in sorted(table[:half])),
            readout_time=tuple(10**t for t in table[half:]),
            readout_model=data["readout_time_model"],
            annealing_time=data["default_annealing_time"],
            thermalization=data["default_programming_thermalization"],
        )
        if name == "advantage":
            # the example in the manual of estimate_qpu_access_time: 100 reads of all qubits
            assert access_seconds(times, 5627, 100) == pytest.approx(42657e-6, 1e-5)
        for qubits, readout in zip(times.readout_qubits, times.readout_time, strict=True):
            if abs(qubits - round(qubits)) > 1e-3:
                continue
            # the readout times are known exactly at the corners
            read = times.annealing_time + readout + times.delay
            judged = (times.programming + times.thermalization + 50 * read) / 1e6
            assert access_seconds(times, round(qubits), 50) == pytest.approx(judged, rel=1e-5)
        # the names are those that a solver states
        assert set(timing_data(times)) <= set(data)


def test_the_2000q_of_the_catalogue_states_what_ocean_says() -> None:
    times, data = load_machine("2000q").timing, qpu_problem_timing_data("2000q")
    assert times is not None
    assert times.programming == pytest.approx(data["typical_programming_time"], abs=0.01)
    assert times.delay == pytest.approx(data["qpu_delay_time_per_sample"], abs=0.01)
    assert times.longest_readout == pytest.approx(
        10 ** data["readout_time_model_parameters"][-1], abs=0.01
    )


@pytest.mark.usefixtures("no_network")
def test_the_cost_without_an_account_is_the_sum_of_the_published_times() -> None:
    cost = submit(CUBIC, machine=MACHINE, dry_run=True, reads=300).cost
    assert (cost.solver, cost.solver_type, cost.reads) == ("Advantage2_system4", "qpu", (300,))
    assert cost.qubits is not None and cost.qubits >= CUBIC.variables
    assert cost.seconds == pytest.approx((8000 + 1000 + 300 * (20 + 45 + 20.6)) / 1e6)
    first, second, third = cost.notes
    assert "Advantage2_system4" in first and "2026-11-18" in first and "dwave-ocean-sdk" in first
    assert f"at least {(9000 + 300 * (20 + 17 + 20.6)) / 1e6:.4g} s" in second
    assert "whole graph of 1248 qubits" in third and "1202" in third
    slow = submit(
        CUBIC, machine=MACHINE, dry_run=True, reads=300, parameters={"annealing_time": 100.0}
    ).cost
    assert slow.seconds == pytest.approx((9000 + 300 * (100 + 45 + 20.6)) / 1e6)


@pytest.mark.usefixtures("no_network")
def test_many_reads_are_several_problems_within_the_published_limits() -> None:
    cost = submit(CUBIC, machine=MACHINE, dry_run=True, reads=25_000).cost
    assert sum(cost.reads) == 25_000 and max(cost.reads) <= 10_000
    assert cost.seconds == pytest.approx((9000 * len(cost.reads) + 25_000 * 85.6) / 1e6)
    # no problem may take more than a second
    slow = {"annealing_time": 1000.0}
    cost = submit(CUBIC, machine=MACHINE, dry_run=True, reads=2000, parameters=slow).cost
    assert all(9000 + count * 1065.6 <= 1e6 for count in cost.reads)
    assert len(cost.reads) == -(-2000 // int((1e6 - 9000) // 1065.6))


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dry_run": False}, "machine= is for the cost before there is an account"),
        ({"machine": "zephyr3"}, "zephyr3 has no published times"),
        ({"machine": "hybrid"}, "machine 'hybrid' not found"),
        ({"solver": "Advantage2_system4"}, "machine= and solver="),
        ({"solver_type": "hybrid"}, "is a QPU, unlike"),
        ({"parameters": {"annealing_time": 0.1}}, "takes 0.5 to 2000 microseconds"),
        ({"parameters": {"colour": 1}}, "has no parameter 'colour'"),
        ({"reads": 0}, "0 reads"),
    ],
)
def test_what_cannot_be_told_is_one_line(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"machine": MACHINE, "dry_run": True, **options}
    with pytest.raises(InputError, match=message) as caught:
        submit(CUBIC, **given)
    assert "\n" not in str(caught.value)


def test_dead_qubits_of_ones_own_are_left_out() -> None:
    machine = replace(load_machine(MACHINE), qubits=None).without([0, 5])
    place = published(machine)
    assert place.solver.num_active_qubits == 1246
    assert set(place.solver.nodes) == set(machine.nodes.tolist())
    cost = submit(CUBIC, machine=machine, dry_run=True).cost
    assert not any("whole graph" in note for note in cost.notes)
