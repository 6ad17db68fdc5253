from __future__ import annotations

import math
from typing import Any

import pytest

from qcompile import InputError, load_machine
from qcompile.leap.rounds import estimate_rounds, typical_timing


def test_a_machine_without_times_has_those_of_its_topology() -> None:
    for name, solver in (
        ("2000q", "DW_2000Q_6"),
        ("chimera4", "DW_2000Q_6"),
        ("advantage", "Advantage_system6.4"),
        ("pegasus4", "Advantage_system6.4"),
        ("zephyr15", "Advantage2_system1"),
        ("advantage2-system4", "Advantage2_system4"),
    ):
        assert typical_timing(load_machine(name)).solver == solver


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
    # programming and the wait after it, then 100 reads of annealing, readout of all, and delay
    start, read = {
        "advantage": (14200 + 1000, 20 + 173 + 20.5),
        "advantage2": (33600 + 1000, 20 + 101 + 60.6),
    }[name]
    assert found.qpu_seconds_per_round == pytest.approx((start + 100 * read) / 1e6)


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
