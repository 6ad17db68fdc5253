from __future__ import annotations

import dimod
import pytest
from dwave.embedding.chain_strength import scaled, uniform_torque_compensation

from qcompile import InputError, embed, load_machine
from qcompile.embedding.chain_strength import strength_of, sweep, with_strength
from tests.problems import cubic, plain


def test_chain_strengths_are_oceans() -> None:
    qubo = cubic(6)
    spins = qubo.to_bqm().change_vartype(dimod.SPIN, inplace=False)
    assert strength_of(qubo) == pytest.approx(uniform_torque_compensation(spins))
    assert strength_of(qubo, "scaled") == pytest.approx(scaled(spins))
    assert strength_of(qubo, 2.5) == 2.5
    assert strength_of(plain(3, [])) == 1.0


@pytest.mark.slow
def test_another_strength_gives_the_same_as_embedding_with_it() -> None:
    qubo, machine = cubic(5), load_machine("pegasus4")
    one = embed(qubo, machine, chain_strength=1.0)
    two = embed(qubo, machine, chain_strength=3.0, embedding=one.embedding)
    changed = with_strength(one, 3.0)
    assert changed.couplings == pytest.approx(two.couplings)
    assert changed.offset == pytest.approx(two.offset)


@pytest.mark.slow
def test_a_sweep_measures_and_takes_the_best() -> None:
    embedded = embed(cubic(6), load_machine("pegasus4"))
    best, table = sweep(embedded, factors=(1.0, 0.01), reads=20, seed=1)
    weak, normal = table
    assert weak["factor"] == 0.01
    assert weak["chain_break_fraction"] > normal["chain_break_fraction"]
    assert best.chain_strength == min(table, key=lambda r: r["mean_energy"])["chain_strength"]
    for bad in ({"factors": ()}, {"factors": (-1.0,)}, {"reads": 0}):
        with pytest.raises(InputError, match="at least one factor"):
            sweep(embedded, **bad)
