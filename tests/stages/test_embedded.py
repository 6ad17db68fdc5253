from __future__ import annotations

import dimod
import numpy as np
import pytest
from dwave.embedding import embed_bqm
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import Embedding, InputError, check_embedding, embed, load_machine, unembed
from tests.by_brute_force import ocean_agrees
from tests.judge import all_assignments
from tests.problems import SMALL, cubic, plain


def test_faults_of_an_embedding_are_named() -> None:
    machine, qubo = load_machine("chimera4"), plain(3, [(0, 1), (1, 2)])
    good = Embedding(((0,), (4,), (1,)), machine, "", "by hand")
    check_embedding(good, qubo)
    ocean_agrees(good, qubo, machine)
    faults = {
        ((0,), (4,)): "of 2 variables; the problem has 3",
        ((0,), (4,), ()): "variable 2 has no qubit",
        ((0,), (4,), (9999,)): "variable 2 uses qubit 9999",
        ((0,), (4,), (0,)): "qubit 0 is used twice",
        ((0,), (4, 4), (1,)): "qubit 4 is used twice",
        ((0,), (4,), (1, 77)): "variable 2 is in 2 pieces on machine chimera4",
        ((0,), (4,), (77,)): "variables 1 and 2 are coupled",
    }
    for chains, message in faults.items():
        with pytest.raises(InputError, match=message):
            check_embedding(Embedding(chains, machine, "", "by hand"), qubo)
    with pytest.raises(InputError, match="does not work on machine chimera4"):
        check_embedding(good, qubo, machine.without([4]))
    with pytest.raises(InputError, match="no working coupler"):
        check_embedding(good, qubo, machine.without([], [(0, 4)]))
    with pytest.raises(InputError, match="no working coupler"):
        embed(qubo, machine.without([], [(1, 4)]), embedding=good)


@settings(max_examples=15, deadline=None)
@given(bits=st.integers(2, 6), name=st.sampled_from(SMALL), seed=st.integers(0, 99))
def test_the_embedded_problem_is_oceans(bits: int, name: str, seed: int) -> None:
    qubo = cubic(bits, seed=seed)
    embedded = embed(qubo, load_machine(name), method="biclique", effort=0.05)
    source = qubo.to_bqm().change_vartype(dimod.SPIN, inplace=False)
    target = embed_bqm(
        source,
        embedded.embedding.to_ocean(),
        embedded.embedding.machine.graph,
        chain_strength=embedded.chain_strength,
    )
    ours = embedded.to_bqm()
    assert set(ours.variables) == set(target.variables)
    rng = np.random.default_rng(seed)
    spins = rng.choice([-1, 1], size=(20, len(embedded.qubits)))
    labelled = (spins, embedded.qubits.tolist())
    assert ours.energies(labelled) == pytest.approx(embedded.energies(spins))
    if embedded.embedding.longest > 1:  # else Ocean leaves out nothing either
        assert target.energies(labelled) == pytest.approx(embedded.energies(spins))


@settings(max_examples=15, deadline=None)
@given(bits=st.integers(1, 6), name=st.sampled_from(SMALL), strength=st.floats(0.1, 10))
def test_whole_chains_have_the_energies_of_the_problem(
    bits: int, name: str, strength: float
) -> None:
    qubo = cubic(bits)
    embedded = embed(
        qubo, load_machine(name), method="biclique", effort=0.05, chain_strength=strength
    )
    values = all_assignments(qubo.logical)
    full = qubo.complete(values)
    spins = 2 * full[:, embedded.variable].astype(int) - 1
    assert embedded.energies(spins) == pytest.approx(qubo.score(values))
    back = unembed(embedded, spins)
    assert (back.bits == values).all()
    assert back.energies == pytest.approx(qubo.score(values))
    assert not back.violations.any() and not back.chain_breaks.any()
