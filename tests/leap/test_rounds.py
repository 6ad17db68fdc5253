from __future__ import annotations

import math
from typing import Any

import pytest
from dwave.cloud.testing.mocks import qpu_problem_timing_data

from qcompile import InputError, load_machine
from qcompile.leap.rounds import estimate_rounds, typical_access_seconds


def test_times_are_those_of_the_manual_and_of_ocean() -> None:
    # the example in the manual of estimate_qpu_access_time: 42657 us for 100 reads of all qubits
    assert typical_access_seconds("Advantage_system4.1", 5627, 100) == pytest.approx(42657e-6, 1e-5)
    for solver, name in (("Advantage_system4.1", "advantage"), ("DW_2000Q_6", "2000q")):
        data = qpu_problem_timing_data(name)
        table = data["readout_time_model_parameters"]
        half = len(table) // 2
        for number in range(half):  # the readout times are known exactly at the corners
            qubits, readout = 10 ** table[number], 10 ** table[half + number]
            if abs(qubits - round(qubits)) > 1e-3:
                continue
            read = data["default_annealing_time"] + readout + data["qpu_delay_time_per_sample"]
            start = data["typical_programming_time"] + data["default_programming_thermalization"]
            found = typical_access_seconds(solver, round(qubits), 50)
            assert found == pytest.approx((start + 50 * read) / 1e6, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "features", "qubits", "longest"),
    [
        ("advantage", 30, 150, 5),
        ("advantage", 60, 415, 7),
        ("advantage", 123, 1466, 12),
        ("advantage2", 30, 124, 4),
        ("advantage2", 60, 366, 6),
        ("advantage2", 123, 1240, 10),
    ],
)
def test_steps_of_known_sizes(name: str, features: int, qubits: int, longest: int) -> None:
    found = estimate_rounds(load_machine(name), features)
    assert (found.step_qubits, found.longest_chain) == (qubits, longest)
    assert found.blocks == 1 and found.step_bits == found.bits == found.weights == features + 1
    assert found.qpu_seconds == pytest.approx(40 * found.qpu_seconds_per_round)
    assert 1.0 < found.qpu_seconds < 2.0


@pytest.mark.parametrize("bits", [1, 3])
def test_what_does_not_fit_is_cut_into_blocks(bits: int) -> None:
    machine = load_machine("2000q")
    found = estimate_rounds(machine, 300, bits=bits)
    assert found.largest_step_bits == 64 and found.blocks == math.ceil(301 / (64 // bits))
    assert found.step_bits <= 64 and found.step_bits % bits == 0
    assert found.bits == 301 * bits <= found.blocks * found.step_bits
    assert found.rounds == 40 * found.blocks
    assert estimate_rounds(machine, 300, bits=bits, rounds=7).rounds == 7


def test_without_features_the_largest_step_is_taken() -> None:
    found = estimate_rounds(load_machine("zephyr3").without([0]))
    assert found.step_bits == found.largest_step_bits < 41
    assert "features" not in found.to_dict() and "blocks" not in found.to_dict()


def test_nonsense_is_refused() -> None:
    machine = load_machine("chimera4")
    cases: tuple[dict[str, Any], ...] = (
        {"features": 0},
        {"features": 5, "bits": 0},
        {"features": 10**12},
        {"rounds": 0},
        {"reads": 0},
        {"reads": 10**6},
    )
    for options in cases:
        with pytest.raises(InputError, match="expected 1 to"):
            estimate_rounds(machine, **options)
    with pytest.raises(InputError, match="17 bits a weight; chimera4 takes steps of up to 16"):
        estimate_rounds(machine, 5, bits=17)
