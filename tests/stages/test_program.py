from __future__ import annotations

import dimod
import numpy as np
import pytest

from qcompile import (
    Embedded,
    Embedding,
    InputError,
    Program,
    Pubo,
    Qubo,
    load_machine,
    make_program,
    quadratize,
)
from qcompile.embedding.chain_strength import with_strength
from qcompile.stages.embedded import to_embedded
from qcompile.stages.program import to_program
from tests.judge import all_assignments
from tests.problems import cubic, plain

CHIMERA = load_machine("chimera4")


def in_tile(qubo: Qubo, tile: int, strength: float = 1.5) -> Embedded:
    """Up to four variables, each on both sides of a tile of Chimera."""
    chains = tuple((8 * tile + v, 8 * tile + 4 + v) for v in range(qubo.variables))
    return to_embedded(qubo, Embedding(chains, CHIMERA, "", "by hand"), strength)


def by_hand(program: Program, signs: dict[int, int]) -> dimod.BinaryQuadraticModel:
    """The sum of the copies, built term by term."""
    bqm = dimod.BinaryQuadraticModel("SPIN")
    for copy, factor in zip(program.copies, program.factors.tolist(), strict=True):
        qubits = copy.qubits.tolist()
        for q, h in zip(qubits, copy.fields.tolist(), strict=True):
            bqm.add_linear(q, factor * signs[q] * h)
        for a, b, j in zip(copy.first, copy.second, copy.couplings.tolist(), strict=True):
            p, q = qubits[a], qubits[b]
            bqm.add_quadratic(p, q, factor * signs[p] * signs[q] * j)
        bqm.offset += factor * copy.offset
    return bqm


def test_copies_are_programmed_as_the_sum_of_their_problems() -> None:
    copies = [in_tile(cubic(3, degree=2, seed=s), 3 - s) for s in range(3)]
    program = make_program(copies)
    signs = dict.fromkeys(program.qubits.tolist(), 1)
    assert program.to_bqm().is_almost_equal(by_hand(program, signs), places=12)
    assert program.qubits.tolist() == sorted(q for c in copies for q in c.qubits.tolist())
    for q, owner in zip(program.qubits.tolist(), program.copy.tolist(), strict=True):
        assert q in copies[owner].qubits.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_gauge_keeps_the_energy_of_every_state(seed: int) -> None:
    """All states of all qubits, broken chains too, against dimod's own energies."""
    copies = [in_tile(plain(2, [(0, 1)]), 0), in_tile(cubic(2, degree=2), 5)]
    program = make_program(copies, gauge=seed)
    signs = dict(zip(program.qubits.tolist(), program.signs.tolist(), strict=True))
    assert program.to_bqm().is_almost_equal(by_hand(program, signs), places=12)
    spins = 2 * all_assignments(len(program.qubits)).astype(np.int8) - 1
    machine = program.to_bqm().energies((spins, program.qubits.tolist()))
    assert program.energies(spins) + program.offset == pytest.approx(machine)
    without = np.zeros(len(spins))
    for copy, own, factor in zip(copies, program.split(spins), program.factors, strict=True):
        without += factor * copy.to_bqm().energies((own, copy.qubits.tolist()))
    assert machine == pytest.approx(without, abs=1e-12)
    for copy, place in zip(copies, program.places, strict=True):
        for chain in copy.embedding.chains:
            marked = program.signs[place][np.isin(copy.qubits, chain)]
            assert len(set(marked.tolist())) == 1, "one sign for the whole chain"


def test_gauges_differ_by_seed_and_by_copy() -> None:
    copies = [in_tile(cubic(3), tile) for tile in range(16)]
    drawn = {make_program(copies, gauge=g).signs.tobytes() for g in range(8)}
    assert len(drawn) == 8
    program = make_program(copies, gauge=0)
    own = {program.signs[place].tobytes() for place in program.places}
    assert len(own) > 4
    assert program.gauged and not make_program(copies).gauged
    assert make_program(copies, gauge=5).signs.tobytes() == (
        make_program(copies, gauge=5).signs.tobytes()
    )


def test_join_is_undone_by_split() -> None:
    copies = [in_tile(cubic(3, seed=s), s) for s in range(4)]
    program = make_program(copies, gauge=11)
    rng = np.random.default_rng(0)
    values = [rng.integers(0, 2, copy.qubo.variables) for copy in copies]
    spins = program.join(values)
    for copy, own, wanted in zip(copies, program.split(spins), values, strict=True):
        for variable, chain in enumerate(copy.embedding.chains):
            seen = own[0][np.isin(copy.qubits, chain)]
            assert set(seen.tolist()) == {2 * int(wanted[variable]) - 1}
        assert copy.energies(own) == pytest.approx(copy.qubo.energies([wanted]))


def test_different_problems_each_use_the_whole_range() -> None:
    """Problems a thousand times apart are programmed at the same height."""
    big = cubic(3, degree=2, seed=1)
    terms: dict[tuple[int, ...], float] = {(i,): float(v) / 1000 for i, v in enumerate(big.linear)}
    terms |= {
        (int(a), int(b)): float(v) / 1000
        for a, b, v in zip(big.first, big.second, big.quadratic, strict=True)
    }
    small = quadratize(Pubo.from_dict(terms, variables=3))
    program = make_program([in_tile(big, 0, 2.0), in_tile(small, 1, 0.002)])
    heights = [float(np.abs(program.fields[place]).max()) for place in program.places]
    assert heights[0] == pytest.approx(heights[1], rel=1e-9)
    low, high = CHIMERA.strongest_coupling
    assert low - 1e-12 <= program.couplings.min() and program.couplings.max() <= high + 1e-12
    same = make_program([in_tile(big, 0), in_tile(big, 1)])
    assert same.factors.tolist() == [1.0, 1.0], "copies of one problem keep its coefficients"
    strengths = make_program([in_tile(big, 0), with_strength(in_tile(big, 1), 4.0)])
    assert strengths.factors[0] > strengths.factors[1]


def test_what_does_not_fit_together_is_refused() -> None:
    qubo = cubic(3, degree=2)
    one = in_tile(qubo, 0)
    with pytest.raises(InputError, match="qubit 0 is used by two copies"):
        make_program([one, in_tile(qubo, 0)])
    with pytest.raises(InputError, match="at least one"):
        to_program([])
    with pytest.raises(InputError, match="factors"):
        to_program([one], factors=[0.0])
    with pytest.raises(InputError, match="signs"):
        to_program([one], signs=[np.zeros(len(one.qubits))])
    with pytest.raises(InputError, match="gauge -1"):
        make_program([one], gauge=-1)
    machine = CHIMERA.without(qubits=[127])
    elsewhere = Embedding(in_tile(qubo, 1).embedding.chains, machine, "", "by hand")
    with pytest.raises(InputError, match="one working graph"):
        to_program([one, to_embedded(qubo, elsewhere, 1.0)])
    with pytest.raises(InputError, match="6 qubits"):
        to_program([one]).split(np.ones((1, 7)))
