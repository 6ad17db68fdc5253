from __future__ import annotations

import dataclasses
import inspect
import logging
import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    EmbeddingNotFound,
    InputError,
    Pubo,
    compile,
    complete_chains,
    embed,
    find_embedding,
    largest_clique,
    load_machine,
    preflight,
    quadratize,
    quality,
)
from qcompile.embedding import embed as embed_module
from qcompile.embedding import search
from qcompile.embedding.preflight import least_qubits
from qcompile.stages.machine import Machine
from tests.by_brute_force import ocean_agrees
from tests.problems import SMALL, complete, cubic, plain


@settings(max_examples=40, deadline=None)
@given(
    variables=st.integers(1, 9),
    share=st.floats(0, 1),
    name=st.sampled_from(SMALL),
    method=st.sampled_from(["biclique", "clique"]),
    prefer=st.sampled_from(["balanced", "qubits", "chain"]),
    dead=st.sampled_from([1.0, 0.97, 0.9]),
    seed=st.integers(0, 1000),
)
def test_every_embedding_passes_oceans_own_check(
    variables: int, share: float, name: str, method: str, prefer: str, dead: float, seed: int
) -> None:
    machine = load_machine(name).with_yield(dead, seed=seed)
    qubo = cubic(variables, share=share, seed=seed)
    try:
        found = find_embedding(
            qubo, machine, method=method, prefer=prefer, seed=seed, tries=2, effort=0.02
        )
    except EmbeddingNotFound:
        assert qubo.variables > 10 or dead < 1  # small ones always fit on whole graphs
        return
    ocean_agrees(found, qubo, machine)
    assert least_qubits(qubo, machine) <= found.qubits


@pytest.mark.parametrize("name", ["advantage", "advantage2"])
@pytest.mark.parametrize("yield_", ["published", 1.0])
def test_large_problems_fit_on_large_machines(name: str, yield_: float | str) -> None:
    machine = load_machine(name)
    if yield_ != 1.0:
        machine = machine.with_yield(yield_, seed=2)
    qubo = cubic(24)
    found = find_embedding(qubo, machine, method="biclique", prefer="qubits", tries=2, effort=0.2)
    ocean_agrees(found, qubo, machine)
    limit = {"advantage": 720, "advantage2": 550 if yield_ == 1.0 else 700}[name]
    assert found.qubits <= limit * (1.0 if yield_ == 1.0 else 1.1)


def test_nested_ancillas_and_sparse_covers_are_embedded() -> None:
    machine = load_machine("advantage")
    for qubo in (cubic(8, degree=6), cubic(30, share=0.02, seed=3), cubic(14, share=0.3)):
        ocean_agrees(find_embedding(qubo, machine, method="biclique", effort=0.05), qubo, machine)


@pytest.mark.slow
def test_auto_takes_the_best() -> None:
    machine, qubo = load_machine("pegasus4"), cubic(6)
    best = find_embedding(qubo, machine)
    for method in ("biclique", "clique", "minorminer"):
        assert best.qubits <= find_embedding(qubo, machine, method=method).qubits


def test_short_chains_can_be_preferred() -> None:
    machine, qubo = load_machine("advantage"), cubic(14)
    few = find_embedding(qubo, machine, method="biclique")
    short = find_embedding(qubo, machine, method="biclique", prefer="chain")
    assert short.longest <= few.longest


@pytest.mark.parametrize("workers", [1, 3])
def test_chains_depend_on_the_seed_only(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    machine, qubo = load_machine("zephyr3"), cubic(9)
    expected = find_embedding(qubo, machine, method="biclique", seed=4)
    monkeypatch.setattr(search, "cores", lambda: workers)
    assert find_embedding(qubo, machine, method="biclique", seed=4).chains == expected.chains
    assert find_embedding(qubo, machine, method="biclique", seed=5).chains != expected.chains


def test_ctrl_c_keeps_the_best_so_far(caplog: pytest.LogCaptureFixture) -> None:
    machine, qubo = load_machine("zephyr3"), cubic(9)

    def interrupt(title: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with caplog.at_level(logging.WARNING, logger="qcompile"):
        found = find_embedding(qubo, machine, progress=interrupt)
    assert "keeping the best" in caplog.text
    ocean_agrees(found, qubo, machine)


def test_ctrl_c_keeps_what_other_threads_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, qubo = load_machine("pegasus4"), cubic(8)
    real = search.Search._anneal
    plain_start = find_embedding(qubo, machine, method="biclique", effort=0)

    other_is_done = threading.Event()

    def first_one_is_interrupted(self: search.Search, owner: np.ndarray, seed: int) -> np.ndarray:
        if seed == 0:
            other_is_done.wait(60)
            raise KeyboardInterrupt
        found = np.asarray(real(self, owner, seed))
        other_is_done.set()
        return found

    monkeypatch.setattr(search.Search, "_anneal", first_one_is_interrupted)
    monkeypatch.setattr(search, "cores", lambda: 2)
    found = find_embedding(qubo, machine, method="biclique", tries=2)
    assert found.qubits < plain_start.qubits


def test_a_time_limit_ends_the_search() -> None:
    machine, qubo = load_machine("zephyr3"), cubic(9)
    began = time.monotonic()
    find_embedding(qubo, machine, method="biclique", effort=1e5, time_limit=2)
    assert time.monotonic() - began < 30  # it would take hours
    with pytest.raises(EmbeddingNotFound, match="raise it"):
        find_embedding(qubo, machine, method="biclique", time_limit=1e-9)


def test_a_search_that_fails_says_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    for taken, advice in ((7.25, "use fewer bits"), (61.0, "the time limit cut the search")):
        clock = iter([100.0, 100.0 + taken])
        monkeypatch.setattr(embed_module, "time", SimpleNamespace(monotonic=clock.__next__))
        monkeypatch.setattr(search.Search, "run", lambda self: None)
        with pytest.raises(EmbeddingNotFound, match=f"in {taken:.1f} s: {advice}"):
            find_embedding(cubic(4), load_machine("zephyr3"), time_limit=60)


def test_ctrl_c_before_anything_was_found_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "settle_chains", interrupt)
    with pytest.raises(KeyboardInterrupt):
        find_embedding(cubic(5), load_machine("zephyr3"))


def test_progress_tells_tries_and_the_best() -> None:
    told: list[tuple[str, int, int]] = []
    found = find_embedding(
        cubic(8),
        load_machine("zephyr3"),
        method="biclique",
        tries=3,
        progress=lambda *news: told.append(news),
    )
    assert [(done, total) for _, done, total in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[-1][0] == f"biclique, best {found.qubits} qubits"


def test_one_variable_no_couplings_and_separate_parts() -> None:
    machine = load_machine("chimera4")
    for qubo in (
        plain(1, []),
        plain(7, []),
        plain(6, [(0, 1), (2, 3)]),
        quadratize(Pubo.from_dict({(0,): 1.0})),
    ):
        found = find_embedding(qubo, machine, method="biclique")
        ocean_agrees(found, qubo, machine)
        embedded = embed(qubo, machine, embedding=found)
        assert quality(embedded)["qubits"] == found.qubits
        spins = np.ones((1, len(embedded.qubits)))
        bits = np.ones((1, qubo.logical), dtype=int)
        assert embedded.energies(spins) == pytest.approx(qubo.score(bits))
    empty = quadratize(Pubo.from_dict({(): 2.0}))
    assert embed(empty, machine).embedding.qubits == 0


@pytest.mark.slow
def test_a_disconnected_machine_works_or_says_why() -> None:
    whole = load_machine("chimera4")
    # cut the chip in two by killing a column of cells: eight qubits a cell, four cells a row
    dead = [q for q in whole.nodes.tolist() if (q // 8) % 4 == 1]
    machine = whole.without(dead)
    assert nx.number_connected_components(machine.graph) == 2
    small = cubic(4)
    ocean_agrees(find_embedding(small, machine), small, machine)
    with pytest.raises(EmbeddingNotFound, match="chimera4"):
        find_embedding(cubic(9), machine, time_limit=5)


def test_what_cannot_fit_is_refused_at_once_with_a_way_out() -> None:
    compiled = compile("breast-cancer", bits=4, features=20, scale="standard", bias=False)
    with pytest.raises(EmbeddingNotFound) as caught:
        find_embedding(compiled.quadratize(), load_machine("advantage"))
    message = str(caught.value)
    assert "40484" in message and "bits=2" in message and "features=10" in message


def test_a_search_that_fails_names_sizes_and_other_machines() -> None:
    with pytest.raises(EmbeddingNotFound, match=r"792 couplings .* chimera4 has 352.*advantage"):
        find_embedding(cubic(16), load_machine("chimera4"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"method": "magic"},
        {"prefer": "beauty"},
        {"tries": 0},
        {"time_limit": 0},
        {"effort": -1},
        {"time_limit": float("inf")},
        {"tries": 10**6},
        {"seed": -1},
        {"seed": 2**63},
        {"chain_strength": "strong"},
        {"chain_strength": "sweep"},
        {"chain_strength": 1e308},
        {"chain_strength": 0},
        {"chain_strength": float("nan")},
    ],
)
def test_nonsense_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected"):
        embed(cubic(3), load_machine("zephyr3"), **options)  # type: ignore[arg-type]


def test_the_two_searches_take_the_same_options() -> None:
    """Both public functions repeat the fields of the record, which are compared here."""
    fields = {f.name: f.default for f in dataclasses.fields(search.SearchOptions)}
    for function in (embed, find_embedding):
        taken = inspect.signature(function).parameters
        assert {name: taken[name].default for name in fields} == fields
    machine, qubo = load_machine("chimera4"), cubic(4)
    wanted: dict[str, Any] = {
        "method": "biclique", "prefer": "chain", "tries": 2, "time_limit": 30.0, "effort": 0.5
    }  # fmt: skip
    found = find_embedding(qubo, machine, seed=5, **wanted)
    assert (dict(found.options), found.seed) == (wanted, 5)
    assert embed(qubo, machine, seed=5, **wanted).embedding.chains == found.chains


def test_long_chains_cost_more_by_default() -> None:
    """121 variables on P16: a chain of 24 saved 7 of 495 qubits."""
    qubo, machine = quadratize(complete(21, 3)), load_machine("advantage")
    few = find_embedding(qubo, machine, method="clique", prefer="qubits")
    usual = find_embedding(qubo, machine, method="clique")
    assert usual.options["prefer"] == "balanced"
    assert usual.longest <= 13 < few.longest
    assert usual.qubits <= 1.05 * few.qubits


def test_the_time_limit_holds_on_a_graph_larger_than_any_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """busclique cannot be stopped, so that it is not begun; the graph is made within the limit."""
    machine = Machine("large", "pegasus", (30,))
    assert len(machine.nodes) > 10_000

    def never(*given: Any) -> None:
        raise AssertionError("busclique was asked")

    monkeypatch.setattr("minorminer.busclique.busgraph_cache", never)
    qubo = quadratize(complete(12, 3))
    embed(qubo, machine, effort=0.01, tries=1)
    with pytest.raises(InputError, match="busclique takes minutes"):
        complete_chains(machine, 5)
    assert preflight(qubo, machine, clique=True).surely  # by its shape, without busclique
    began = time.monotonic()
    for method in ("auto", "minorminer"):
        with suppress(EmbeddingNotFound):
            embed(quadratize(complete(30, 3)), machine, method=method, time_limit=1.0)
    assert time.monotonic() - began < 60  # minutes, if the limit did not count the graph


def test_busclique_is_not_asked_for_graphs_that_it_does_not_take() -> None:
    machine = Machine("wide", "zephyr", (2, 8))
    qubo = quadratize(complete(4, 3))
    assert embed(qubo, machine).embedding.method == "biclique"
    with pytest.raises(EmbeddingNotFound):
        embed(qubo, machine, method="clique")
    with pytest.raises(InputError, match="tile of up to 4"):
        largest_clique(machine)
    assert preflight(qubo, machine, clique=True).surely  # a part of it is a chip of tile 4
