from __future__ import annotations

from pathlib import Path

import dimod
import numpy as np
import pytest
from dwave.system.testing import MockDWaveSampler
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    Embedded,
    Embedding,
    InputError,
    compile,
    embed,
    load_machine,
    make_program,
    unembed,
    unembed_program,
)
from qcompile.stages.embedded import to_embedded
from tests.judge import all_assignments
from tests.problems import cubic


def broken_sampler(embedded: Embedded, seed: int, share: float) -> np.ndarray:
    """Rows of spins with whole chains of random values, some qubits flipped."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (30, embedded.qubo.variables))
    spins = 2 * values[:, embedded.variable] - 1
    return np.where(rng.random(spins.shape) < share, -spins, spins)


@settings(max_examples=15, deadline=None)
@given(bits=st.integers(2, 6), seed=st.integers(0, 99), share=st.sampled_from([0.0, 0.05, 0.3]))
def test_majority_and_ancillas_by_hand(bits: int, seed: int, share: float) -> None:
    embedded = embed(cubic(bits), load_machine("chimera4"), method="biclique", effort=0.01)
    qubo, spins = embedded.qubo, broken_sampler(embedded, seed, share)
    back = unembed(embedded, spins)
    column = {q: i for i, q in enumerate(embedded.qubits.tolist())}
    for row, sample in enumerate(spins):
        ups = [[sample[column[q]] for q in chain] for chain in embedded.embedding.chains]
        values = [int(sum(chain) >= 0) for chain in ups]
        broken = sum(len(set(chain)) > 1 for chain in ups)
        assert back.bits[row].tolist() == values[: qubo.logical]
        assert back.chain_breaks[row] == pytest.approx(broken / len(ups))
        wrong = sum(
            values[qubo.logical + k] != values[a] * values[b]
            for k, (a, b) in enumerate(qubo.ancillas.factors.tolist())
        )
        assert back.violations[row] == wrong
    assert back.energies == pytest.approx(qubo.score(back.bits))


def test_energy_repair_is_never_worse_and_leaves_nothing_to_flip() -> None:
    embedded = embed(cubic(7), load_machine("pegasus4"), method="biclique")
    spins = broken_sampler(embedded, 3, 0.15)
    majority = unembed(embedded, spins)
    repaired = unembed(embedded, spins, repair="energy")
    assert (repaired.energies <= majority.energies + 1e-12).all()
    assert (repaired.energies < majority.energies - 1e-9).any()
    qubo = embedded.qubo
    for row, sample in enumerate(spins):
        for variable in range(qubo.logical):
            chain = sample[embedded.variable == variable]
            flipped = repaired.bits[row].copy()
            flipped[variable] ^= 1
            if len(set(chain)) > 1:
                assert qubo.score(flipped)[0] >= repaired.energies[row] - 1e-12
            else:
                assert repaired.bits[row, variable] == (chain[0] + 1) // 2


def test_discard_keeps_whole_samples_only() -> None:
    embedded = embed(cubic(5), load_machine("chimera4"), method="biclique")
    spins = broken_sampler(embedded, 1, 0.05)
    kept = unembed(embedded, spins, repair="discard")
    assert 0 < len(kept) < len(spins)
    assert not kept.chain_breaks.any()
    assert kept.info["discarded"] == len(spins) - len(kept)
    for row, bits in zip(kept.row, kept.bits, strict=True):
        for variable in range(embedded.qubo.logical):
            assert set(spins[row][embedded.variable == variable]) == {2 * int(bits[variable]) - 1}
    nothing = unembed(embedded, -spins[:0], repair="discard")
    assert len(nothing) == 0 and nothing.chain_break_fraction == 0
    with pytest.raises(InputError, match="no best"):
        _ = nothing.best


@pytest.mark.slow
def test_bad_samples_are_refused() -> None:
    embedded = embed(cubic(4), load_machine("chimera4"))
    size = len(embedded.qubits)
    with pytest.raises(InputError, match=f"{size} qubits"):
        unembed(embedded, np.ones((2, size + 1)))
    with pytest.raises(InputError, match="other than"):
        unembed(embedded, np.full((2, size), 3))
    with pytest.raises(InputError, match="other than"):
        unembed(embedded, np.array([[-1] + [0] * (size - 1)]))
    with pytest.raises(InputError, match="repair 'magic'"):
        unembed(embedded, np.ones((1, size)), repair="magic")
    other = dimod.SampleSet.from_samples([{5000: 1}], "SPIN", [0.0])
    with pytest.raises(InputError, match="another problem"):
        unembed(embedded, other)


@pytest.mark.parametrize(
    ("name", "topology", "shape"),
    [
        ("chimera4", "chimera", [4, 4, 4]),
        ("pegasus4", "pegasus", [4]),
        ("zephyr3", "zephyr", [3, 4]),
    ],
)
def test_a_mock_machine_finds_the_optimum(name: str, topology: str, shape: list[int]) -> None:
    qubo = compile("breast-cancer", bits=1, features=5, scale="standard", bias=False).quadratize()
    embedded = embed(qubo, load_machine(name), method="biclique")
    sampler = MockDWaveSampler(topology_type=topology, topology_shape=shape)
    answer = sampler.sample(embedded.to_bqm(), num_reads=200)
    back = unembed(embedded, answer)
    assert back.occurrences.sum() == 200
    exact = qubo.score(all_assignments(qubo.logical))
    assert back.energies.min() == pytest.approx(exact.min())
    assert back.energies == pytest.approx(qubo.score(back.bits))
    assert (qubo.score(back.best)[0]) == pytest.approx(exact.min())


@pytest.mark.slow
def test_what_is_discarded_is_counted_in_reads(tmp_path: Path) -> None:
    """A row of a machine's answer may stand for several reads."""
    qubo = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False).quadratize()
    embedded = embed(qubo, load_machine("zephyr3"))
    assert embedded.embedding.longest > 1
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (3, qubo.variables))
    spins = 2 * bits[:, embedded.variable] - 1
    long = int(np.argmax(embedded.embedding.lengths))
    spins[1, np.flatnonzero(embedded.variable == long)[0]] *= -1  # a broken chain
    answer = dimod.SampleSet.from_samples(
        (spins, embedded.qubits.tolist()), "SPIN", energy=[0, 0, 0], num_occurrences=[2, 5, 4],
        sort_labels=False,
    )  # fmt: skip
    kept = unembed(embedded, answer, repair="discard")
    assert kept.info["discarded"] == 5 and kept.occurrences.sum() == 6
    voted = unembed(embedded, answer)
    assert voted.info["discarded"] == 0
    assert voted.broken is not None and voted.broken.tolist() == [0, 5, 0]
    wrong = qubo.restrict(bits)[1] > 0
    assert wrong[0] and kept.wrong is not None
    assert kept.wrong.tolist() == [2 * int(wrong[0]), 4 * int(wrong[2])]


def in_tiles(bits: int, tiles: int) -> list[Embedded]:
    """Copies of one cubic, and one other, each on a tile of Chimera of its own."""
    machine = load_machine("chimera4")
    copies = []
    for tile in range(tiles):
        qubo = cubic(bits, seed=tile // 2)
        chains = tuple((8 * tile + v, 8 * tile + 4 + v) for v in range(qubo.variables))
        copies.append(to_embedded(qubo, Embedding(chains, machine, "", "by hand"), 2.0))
    return copies


@pytest.mark.parametrize("gauge", [None, 0, 7])
@pytest.mark.parametrize("repair", ["majority", "energy", "discard"])
def test_a_program_is_read_as_its_copies_are(gauge: int | None, repair: str) -> None:
    """Every copy against `unembed` of its own spins, from a SampleSet of shuffled columns."""
    copies = in_tiles(3, 3)
    rows = [broken_sampler(copy, seed, 0.1) for seed, copy in enumerate(copies)]
    program = make_program(copies, gauge=gauge)
    signs = dict(zip(program.qubits.tolist(), program.signs.tolist(), strict=True))
    labels = [q for copy in copies for q in copy.qubits.tolist()]
    machine = np.concatenate(rows, axis=1) * np.array([signs[q] for q in labels])
    order = np.random.default_rng(1).permutation(len(labels))
    answer = dimod.SampleSet.from_samples(
        (machine[:, order], [labels[i] for i in order]), "SPIN", energy=np.zeros(30),
        num_occurrences=np.arange(1, 31), info={"timing": {}}, sort_labels=False,
    )  # fmt: skip
    found = unembed_program(program, answer, repair=repair)
    assert len(found) == 3
    for copy, own, back in zip(copies, rows, found, strict=True):
        alone = unembed(copy, own, repair=repair)
        assert back.bits.tolist() == alone.bits.tolist()
        assert back.row.tolist() == alone.row.tolist()
        assert back.energies == pytest.approx(alone.energies)
        assert back.chain_breaks == pytest.approx(alone.chain_breaks)
        assert back.occurrences.tolist() == (alone.row + 1).tolist()
        assert back.info["timing"] == {}
    with pytest.raises(InputError, match="repair 'magic'"):
        unembed_program(program, answer, repair="magic")


@pytest.mark.parametrize("gauge", range(3))
def test_an_ideal_machine_gives_the_same_samples_through_a_gauge(gauge: int) -> None:
    """Every state of all qubits, in order of energy, with and without the gauge."""
    (copy,) = in_tiles(3, 1)
    assert len(copy.qubits) == 8 and copy.embedding.longest == 2

    def lowest(seed: int | None) -> list[tuple[tuple[int, ...], int, float]]:
        program = make_program([copy], gauge=seed)
        answer = dimod.ExactSolver().sample(program.to_bqm())
        (back,) = unembed_program(program, answer)
        found = back.lowest(len(back))
        return [
            (tuple(bits), times, round(energy, 9))
            for bits, times, energy in zip(
                found.bits.tolist(), found.occurrences.tolist(), found.energies.tolist(),
                strict=True,
            )
        ]  # fmt: skip

    assert lowest(gauge) == lowest(None)
