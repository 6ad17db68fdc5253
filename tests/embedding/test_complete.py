from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import networkx
import numpy as np
import pytest

from qcompile import (
    InputError,
    Machine,
    Pubo,
    QcompileError,
    complete_chains,
    largest_clique,
    load_machine,
    quadratize,
    with_chains,
)
from qcompile.embedding import complete
from qcompile.stages.embedded import problem_id
from tests.problems import SMALL


def _full(bits: int, seed: int = 0) -> Pubo:
    rng = np.random.default_rng(seed)
    terms: dict[tuple[int, ...], float] = {(i,): rng.normal() for i in range(bits)}
    return Pubo.from_dict(terms | {pair: rng.normal() for pair in combinations(range(bits), 2)})


@pytest.mark.parametrize(
    ("topology", "shape"),
    [
        ("chimera", (3,)), ("chimera", (2, 4, 2)), ("pegasus", (2,)), ("pegasus", (3,)),
        ("pegasus", (5,)), ("zephyr", (1,)), ("zephyr", (2, 2)), ("zephyr", (3, 4)),
    ],
)  # fmt: skip
def test_the_clique_of_a_whole_chip_is_known_from_its_shape(
    topology: str, shape: tuple[int, ...]
) -> None:
    machine = Machine(f"{topology} {shape}", topology, shape)
    assert complete.clique_of_whole(machine) == largest_clique(machine)


@pytest.mark.parametrize("name", SMALL)
def test_every_two_chains_meet_and_each_is_whole(name: str) -> None:
    dead = load_machine(name).nodes[[5, 17]].tolist()
    machine = load_machine(name).without(dead)
    chains = complete_chains(machine, 11)
    graph = machine.graph
    assert len(chains.chains) == 11
    assert len(set().union(*chains.chains)) == chains.qubits
    assert all(networkx.is_connected(graph.subgraph(chain)) for chain in chains.chains)
    for one, other in combinations(chains.chains, 2):
        assert any(graph.has_edge(a, b) for a in one for b in other)
    assert chains.problem == problem_id(quadratize(_full(11)))
    assert complete_chains(load_machine(name).without(dead), 11) is chains


@pytest.mark.parametrize(("name", "bits"), [("2000q", 64), ("advantage", 180), ("advantage2", 184)])
def test_the_largest_complete_graphs_are_those_published(name: str, bits: int) -> None:
    machine = load_machine(name)
    assert largest_clique(machine) == bits
    with pytest.raises(InputError, match=f"{name} takes up to {bits}.*smaller block"):
        complete_chains(machine, bits + 1)


def test_problems_on_known_chains_keep_their_energies() -> None:
    chains = complete_chains(load_machine("pegasus4"), 9)
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (20, 9))
    for seed in range(3):
        qubo = quadratize(_full(9, seed))
        embedded = with_chains(qubo, chains)
        assert embedded.embedding is chains
        spins = 2 * bits[:, embedded.variable] - 1
        assert embedded.energies(spins) == pytest.approx(qubo.energies(bits))
        assert with_chains(qubo, chains, 2.5).chain_strength == 2.5
    few = quadratize(Pubo.from_dict({(0, 8): 1.0, (3,): -1.0}))
    assert (~with_chains(few, chains).in_chain).sum() >= 1


def test_chains_for_other_problems_are_refused() -> None:
    machine = load_machine("chimera4")
    chains = complete_chains(machine, 6)
    with pytest.raises(InputError, match="6 chains for 5 variables"):
        with_chains(quadratize(_full(5)), chains)
    alone = replace(chains, chains=tuple(chain[:1] for chain in chains.chains))
    with pytest.raises(InputError, match="couplings have no working coupler"):
        with_chains(quadratize(_full(6)), alone)
    with pytest.raises(InputError, match="at least 1"):
        complete_chains(machine, 0)
    with pytest.raises(InputError, match="chain strength"):
        with_chains(quadratize(_full(6)), chains, "magic")


def test_without_a_cache_of_busclique_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr("minorminer.busclique.busgraph_cache", refuse)
    complete._largest.cache_clear()
    machine = load_machine("zephyr3").without([1])
    with pytest.raises(QcompileError, match="XDG_DATA_HOME"):
        largest_clique(machine)
    with pytest.raises(QcompileError, match="XDG_DATA_HOME"):
        complete_chains(machine, 7)
