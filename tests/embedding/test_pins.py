from __future__ import annotations

import numpy as np
import pytest

from qcompile import (
    Embedded,
    Embedding,
    InputError,
    Pubo,
    Qubo,
    load_machine,
    make_program,
    quadratize,
    unembed_program,
)
from qcompile.embedding.pins import pin_fields
from qcompile.stages.embedded import to_embedded
from qcompile.stages.machine import Machine
from tests.judge import all_assignments
from tests.problems import cubic

CHIMERA = load_machine("chimera4")


def in_tile(qubo: Qubo, tile: int, machine: Machine = CHIMERA) -> Embedded:
    """Up to three variables, each on both sides of a tile; two qubits of the tile stay free."""
    chains = tuple((8 * tile + v, 8 * tile + 4 + v) for v in range(qubo.variables))
    return to_embedded(qubo, Embedding(chains, machine, "", "by hand"), 1.5)


@pytest.mark.parametrize("gauge", [None, 3])
def test_pinned_qubits_stand_for_fields(gauge: int | None) -> None:
    """With whole chains and pins at +1, dimod gives every state the energy it had."""
    copies = [in_tile(cubic(3, degree=2, seed=s), 5 + s) for s in range(2)]
    program = make_program(copies, gauge=gauge)
    pinned = pin_fields(program)
    bqm = pinned.to_bqm()
    assert not any(bqm.linear.values())
    assert pinned.pins.tolist() and not set(pinned.pins) & set(program.qubits)
    assert all(CHIMERA.graph.has_edge(a, b) for a, b in bqm.quadratic)
    for bits in all_assignments(6):
        values = [bits[:3], bits[3:]]
        before = program.to_bqm().energy(
            dict(zip(program.qubits.tolist(), program.join(values).tolist(), strict=True))
        )
        spins = pinned.join(values)
        state = dict(zip(pinned.qubits.tolist(), spins.tolist(), strict=True))
        assert all(state[q] == 1 for q in pinned.pins.tolist())
        assert bqm.energy(state) == pytest.approx(before)
        for own, wanted in zip(unembed_program(pinned, [spins]), values, strict=True):
            assert own.bits[0].tolist() == wanted.tolist()


def test_one_pinned_qubit_serves_all_chains_beside_it() -> None:
    program = make_program([in_tile(cubic(3, degree=2), 0)])
    pinned = pin_fields(program)
    assert pinned.pins.tolist() == [3], "qubit 3 meets qubits 4 to 6, one of every chain"
    assert (pinned.copy < 0).sum() == 1 and len(pinned.qubits) == len(program.qubits) + 1


def test_a_chain_without_a_free_neighbour_is_refused() -> None:
    machine = CHIMERA.without(qubits=range(8, 128)).without(qubits=[3, 7])
    program = make_program([in_tile(cubic(3, degree=2), 0, machine)])
    with pytest.raises(InputError, match="3 of 3 chains that need one have no free qubit"):
        pin_fields(program)


def test_a_problem_without_fields_needs_no_pins() -> None:
    qubo = quadratize(Pubo.from_dict({(0, 1): 4.0, (0,): -2.0, (1,): -2.0}))
    pinned = pin_fields(make_program([in_tile(qubo, 0)]))
    assert not len(pinned.pins) and not np.any(pinned.fields)
