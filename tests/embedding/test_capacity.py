from __future__ import annotations

import pytest

from qcompile import find_embedding, load_machine
from qcompile.embedding.capacity import FORMULA_ERROR, largest_bits, likely_qubits
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
