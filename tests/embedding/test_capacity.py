from __future__ import annotations

import pytest

from qcompile import find_embedding, load_machine
from qcompile.embedding.capacity import (
    FORMULA_ERROR,
    largest_bits,
    largest_problems,
    likely_qubits,
    physical_estimate,
)
from tests.by_brute_force import ocean_agrees
from tests.problems import cubic


@pytest.mark.parametrize(
    ("name", "bits"), [("advantage", 10), ("advantage", 22), ("advantage2", 18), ("2000q", 14)]
)
def test_the_formula_is_within_its_stated_error(name: str, bits: int) -> None:
    machine, qubo = load_machine(name), cubic(bits)
    found = find_embedding(qubo, machine, method="biclique", effort=0.3).qubits
    expected = likely_qubits(machine, bits, len(qubo.ancillas))
    assert abs(expected / found - 1) <= FORMULA_ERROR


def test_what_the_formula_says_fits_is_about_what_fits() -> None:
    for name in ("pegasus4", "zephyr3"):
        machine = load_machine(name)
        most = largest_bits(machine)
        ocean_agrees(
            find_embedding(cubic(most - 2), machine, method="biclique"), cubic(most - 2), machine
        )


def test_estimates_of_a_machine_answer_by_name_and_by_key() -> None:
    machine = load_machine("advantage")
    cubic_estimate, higher = (physical_estimate(machine, order, 24, 132) for order in (3, 4))
    assert cubic_estimate.physical_qubits_about == likely_qubits(machine, 24, 132)
    assert cubic_estimate["fits"] is cubic_estimate.fits is True
    unknown = (higher.physical_qubits_about, higher.physical_qubits_error, higher.fits)
    assert unknown == (None, None, None) and higher["machine_qubits"] == len(machine.nodes)
    rows = largest_problems(machine)
    assert [row.bits_per_weight for row in rows] == list(range(1, 9))
    assert all(row["bits"] == row.features * row.bits_per_weight for row in rows)
