from __future__ import annotations

import itertools
import logging
import sys
import threading
import time
from collections.abc import Iterator
from math import comb
from types import SimpleNamespace

import dimod
import networkx as nx
import numpy as np
import pytest
from dwave.embedding import embed_bqm, verify_embedding
from dwave.embedding.chain_strength import scaled, uniform_torque_compensation
from dwave.system.testing import MockDWaveSampler
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    Embedded,
    Embedding,
    EmbeddingNotFound,
    InputError,
    Machine,
    Pubo,
    Qubo,
    catalogue,
    check_embedding,
    compile,
    embed,
    find_embedding,
    load_machine,
    preflight,
    quadratize,
    quality,
    unembed,
)
from qcompile.embedding.biclique import layouts, lines_of, roles_of
from qcompile.embedding.capacity import FORMULA_ERROR, largest_bits, likely_qubits
from qcompile.embedding.chain_kernels import board_of, settle, trim_all
from qcompile.embedding.chain_strength import strength_of, sweep, with_strength
from qcompile.embedding.kernel_input import _rows
from qcompile.embedding.preflight import least_qubits, most_bits
from qcompile.embedding.reroute_kernels import improve
from qcompile.embedding.scaling import scaling_of
from tests.judge import all_assignments

SMALL = ("chimera4", "pegasus4", "zephyr3")


def cubic(bits: int, *, share: float = 1.0, seed: int = 0, degree: int = 3) -> Qubo:
    """A random polynomial, reduced."""
    rng = np.random.default_rng(seed)
    terms = [t for d in range(1, degree + 1) for t in itertools.combinations(range(bits), d)]
    kept = {t: float(rng.normal()) for t in terms if len(t) < 2 or rng.random() < share}
    return quadratize(Pubo.from_dict(kept, variables=bits))


def plain(variables: int, pairs: list[tuple[int, int]]) -> Qubo:
    terms: dict[tuple[int, ...], float] = {pair: 1.0 + i for i, pair in enumerate(pairs)}
    return quadratize(Pubo.from_dict(terms, variables=variables))


def ocean_agrees(embedding: Embedding, qubo: Qubo, machine: Machine) -> None:
    """Ask Ocean's own judge."""
    source = nx.Graph()
    source.add_nodes_from(range(qubo.variables))
    source.add_edges_from(zip(qubo.first.tolist(), qubo.second.tolist(), strict=True))
    verify_embedding(embedding.to_ocean(), source, machine.graph)


@settings(max_examples=40, deadline=None)
@given(
    variables=st.integers(1, 9),
    share=st.floats(0, 1),
    name=st.sampled_from(SMALL),
    method=st.sampled_from(["biclique", "clique"]),
    prefer=st.sampled_from(["qubits", "chain"]),
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
    found = find_embedding(qubo, machine, method="biclique", tries=2, effort=0.2)
    ocean_agrees(found, qubo, machine)
    limit = {"advantage": 720, "advantage2": 550 if yield_ == 1.0 else 700}[name]
    assert found.qubits <= limit * (1.0 if yield_ == 1.0 else 1.1)


@pytest.mark.parametrize(("name", "bits"), [("advantage", 35), ("zephyr15", 44), ("2000q", 20)])
def test_strips_go_beyond_the_largest_biclique(name: str, bits: int) -> None:
    machine, qubo = load_machine(name), cubic(bits)
    found = find_embedding(qubo, machine, method="biclique", effort=0)
    ocean_agrees(found, qubo, machine)


def test_nested_ancillas_and_sparse_covers_are_embedded() -> None:
    machine = load_machine("advantage")
    for qubo in (cubic(8, degree=6), cubic(30, share=0.02, seed=3), cubic(14, share=0.3)):
        ocean_agrees(find_embedding(qubo, machine, method="biclique", effort=0.05), qubo, machine)


def test_minorminer_runs_in_processes_and_is_trimmed() -> None:
    machine, qubo = load_machine("pegasus4"), cubic(5)
    found = find_embedding(qubo, machine, method="minorminer", tries=2, time_limit=60)
    assert found.method == "minorminer"
    ocean_agrees(found, qubo, machine)
    again = find_embedding(qubo, machine, method="minorminer", tries=2, time_limit=60)
    assert again.chains == found.chains


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
    monkeypatch.setattr(sys.modules["qcompile.embedding.embed"], "cores", lambda: workers)
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
    module = sys.modules["qcompile.embedding.embed"]
    real = module._Search._anneal
    plain_start = find_embedding(qubo, machine, method="biclique", effort=0)

    other_is_done = threading.Event()

    def first_one_is_interrupted(self: object, owner: np.ndarray, seed: int) -> np.ndarray:
        if seed == 0:
            other_is_done.wait(60)
            raise KeyboardInterrupt
        found = np.asarray(real(self, owner, seed))
        other_is_done.set()
        return found

    monkeypatch.setattr(module._Search, "_anneal", first_one_is_interrupted)
    monkeypatch.setattr(module, "cores", lambda: 2)
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
    module = sys.modules["qcompile.embedding.embed"]
    for taken, advice in ((7.25, "use fewer bits"), (61.0, "the time limit cut the search")):
        clock = iter([100.0, 100.0 + taken])
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.__next__))
        monkeypatch.setattr(module._Search, "run", lambda self: None)
        with pytest.raises(EmbeddingNotFound, match=f"in {taken:.1f} s: {advice}"):
            find_embedding(cubic(4), load_machine("zephyr3"), time_limit=60)


def test_a_worker_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        caplog.at_level(logging.WARNING, logger="qcompile"),
        pytest.raises(EmbeddingNotFound),
    ):
        find_embedding(cubic(4), load_machine("zephyr3"), method="minorminer", tries=1)
    assert "minorminer failed" in caplog.text


def test_ctrl_c_before_anything_was_found_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["qcompile.embedding.embed"], "_settle", interrupt)
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
    compiled = compile("breast-cancer", bits=4, features=20, scale="standard")
    with pytest.raises(EmbeddingNotFound) as caught:
        find_embedding(compiled.qubo, load_machine("advantage"))
    message = str(caught.value)
    assert "40484" in message and "--bits 2" in message and "--features 10" in message


def test_a_search_that_fails_names_sizes_and_other_machines() -> None:
    with pytest.raises(EmbeddingNotFound, match=r"792 couplings .* chimera4 has 352.*advantage"):
        find_embedding(cubic(16), load_machine("chimera4"))


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


# The chains themselves


def boards(bits: int, name: str) -> Iterator[tuple[Qubo, Machine, np.ndarray]]:
    machine, qubo = load_machine(name), cubic(bits)
    roles = roles_of(qubo)
    for owner in itertools.chain(*layouts(lines_of(machine), roles, len(machine.nodes))):
        yield qubo, machine, owner


def test_kernels_keep_their_books() -> None:
    qubo, machine, owner = next(boards(7, "pegasus4"))
    graph = _rows(len(machine.nodes), *machine.edges.T)
    board = board_of(graph, _rows(qubo.variables, qubo.first, qubo.second), owner)
    assert settle(board, np.arange(qubo.variables, dtype=np.int32), 3, 1) == 0
    before = int(board.size.sum())
    trim_all(board, 1)
    trimmed = int(board.size.sum())
    used = improve(board, 2000, 3, 0.5, 0.1, 1)
    assert used <= trimmed <= before
    assert used == int(board.size.sum()) == np.count_nonzero(board.owner >= 0)
    links = np.zeros_like(board.links)
    for a, b in machine.edges.tolist():
        u, v = board.owner[a], board.owner[b]
        if u >= 0 and v >= 0 and u != v:
            links[u, v] += 1
            links[v, u] += 1
    assert (links == board.links).all()
    for v in range(qubo.variables):
        chain, q = [], int(board.head[v])
        while q >= 0:
            chain.append(q)
            q = int(board.following[q])
        assert sorted(chain) == np.flatnonzero(board.owner == v).tolist()


def test_the_best_state_on_the_way_is_what_is_left() -> None:
    qubo, machine, owner = next(boards(7, "pegasus4"))
    graph = _rows(len(machine.nodes), *machine.edges.T)
    board = board_of(graph, _rows(qubo.variables, qubo.first, qubo.second), owner)
    settle(board, np.arange(qubo.variables, dtype=np.int32), 3, 1)
    trim_all(board, 1)
    before = int(board.size.sum())
    # so hot that it wanders off: it must come back
    assert improve(board, 2000, 1, 50.0, 50.0, 1) <= before
    assert int(board.size.sum()) <= before


def test_each_run_of_minorminer_has_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["qcompile.embedding.embed"]
    seeds = []

    class Recorder(module._Miner):  # type: ignore[misc,name-defined]
        def __init__(self, ground: object, seed: int, seconds: float) -> None:
            seeds.append(seed)
            super().__init__(ground, seed, seconds)

    monkeypatch.setattr(module, "_Miner", Recorder)
    find_embedding(cubic(4), load_machine("zephyr3"), method="minorminer", seed=7, tries=3)
    assert sorted(seeds) == [7, 8, 9]


def test_nothing_is_left_to_trim() -> None:
    machine, qubo = load_machine("zephyr3"), cubic(8)
    found = find_embedding(qubo, machine)
    for variable, chain in enumerate(found.chains):
        for qubit in chain:
            if len(chain) == 1:
                continue
            shorter = tuple(q for q in chain if q != qubit)
            chains = (*found.chains[:variable], shorter, *found.chains[variable + 1 :])
            with pytest.raises(InputError, match=r"pieces|no working coupler"):
                check_embedding(Embedding(chains, machine, found.problem, "by hand"), qubo, machine)


def test_lines_cross_where_the_graph_says() -> None:
    for name in SMALL:
        machine = load_machine(name).without([9])
        lines = lines_of(machine)
        positions = sorted(q for q in lines.qubit.reshape(-1).tolist() if q >= 0)
        assert positions == list(range(len(machine.nodes)))
        edges = {frozenset(e) for e in machine.edges.tolist()}
        for line, other in itertools.product(range(lines.count), repeat=2):
            along, across = lines.crossing[0][line, other], lines.crossing[1][other, line]
            if along >= 0:
                pair = lines.qubit[0, line, along], lines.qubit[1, other, across]
                assert frozenset(map(int, pair)) in edges
        # neighbours on a line are coupled
        for row in lines.qubit.reshape(-1, lines.qubit.shape[2]):
            for a, b in itertools.pairwise(row.tolist()):
                assert a < 0 or b < 0 or frozenset((a, b)) in edges


def test_roles_are_the_two_halves_of_a_cubic() -> None:
    qubo = cubic(10)
    roles = roles_of(qubo)
    assert sorted(roles.spread) == list(range(10))
    assert sorted(roles.crossing) == list(range(10, qubo.variables))
    meets = set(zip(qubo.first.tolist(), qubo.second.tolist(), strict=True))
    crossing = sorted(roles.crossing)
    assert not any((a, b) in meets for a in crossing for b in crossing)


# Checking


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
        ((0,), (4,), (1, 77)): "variable 2 is in 2 pieces",
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


# The problem on the qubits


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


def test_chain_strengths_are_oceans() -> None:
    qubo = cubic(6)
    spins = qubo.to_bqm().change_vartype(dimod.SPIN, inplace=False)
    assert strength_of(qubo) == pytest.approx(uniform_torque_compensation(spins))
    assert strength_of(qubo, "scaled") == pytest.approx(scaled(spins))
    assert strength_of(qubo, 2.5) == 2.5
    assert strength_of(plain(3, [])) == 1.0


def test_another_strength_gives_the_same_as_embedding_with_it() -> None:
    qubo, machine = cubic(5), load_machine("pegasus4")
    one = embed(qubo, machine, chain_strength=1.0)
    two = embed(qubo, machine, chain_strength=3.0, embedding=one.embedding)
    changed = with_strength(one, 3.0)
    assert changed.couplings == pytest.approx(two.couplings)
    assert changed.offset == pytest.approx(two.offset)


@pytest.mark.parametrize("name", SMALL)
def test_scaling_uses_the_ranges_and_no_more(name: str) -> None:
    embedded = embed(cubic(6), load_machine(name), method="biclique", chain_strength=0.3)
    machine = embedded.embedding.machine
    scaling = scaling_of(embedded)

    def inside(factor: float) -> bool:
        h, j = embedded.fields * factor, embedded.couplings * factor
        low, high = machine.strongest_coupling
        below, above = np.zeros(len(h)), np.zeros(len(h))
        for a, b, c in zip(embedded.first, embedded.second, j, strict=True):
            for q in (a, b):
                below[q] += min(c, 0.0)
                above[q] += max(c, 0.0)
        if machine.per_qubit_coupling_range is not None:
            allowed = machine.per_qubit_coupling_range
            below = above = below + above
        else:
            assert machine.per_group_coupling_range is not None
            allowed = machine.per_group_coupling_range
        return bool(
            np.abs(h).max() <= machine.h_range[1]
            and low <= j.min()
            and j.max() <= high
            and allowed[0] <= below.min()
            and above.max() <= allowed[1]
        )

    assert inside(scaling.factor * (1 - 1e-9))
    assert not inside(scaling.factor * (1 + 1e-6))
    own = np.abs(embedded.couplings[~embedded.in_chain]) * scaling.factor
    assert scaling.smallest_coupling == pytest.approx(own.min())
    assert machine.precision is not None
    assert scaling.below == pytest.approx(np.mean(own < machine.precision[1]))


def test_signs_do_not_cancel_within_a_group() -> None:
    machine = load_machine("zephyr3")
    centre = max(machine.graph.nodes, key=lambda q: (machine.graph.degree(q), q))
    around = sorted(machine.graph.neighbors(centre))[:16]
    chains = ((centre,), *((q,) for q in around))
    # spin couplings 8 x -2 and 8 x +1: QUBO coefficients are four times that
    pairs: dict[tuple[int, ...], float] = {(0, i + 1): -8.0 if i < 8 else 4.0 for i in range(16)}
    for i in range(17):  # no fields in spins
        pairs[(i,)] = -sum(v for k, v in pairs.items() if len(k) == 2 and i in k) / 2
    qubo = quadratize(Pubo.from_dict(pairs))
    embedded = embed(qubo, machine, embedding=Embedding(chains, machine, "", "by hand"))
    scaling = scaling_of(embedded)
    assert scaling.limit == "couplings of one group"
    assert scaling.factor == pytest.approx(13 / 16)


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


def test_quality_counts_what_is_there() -> None:
    embedded = embed(cubic(7), load_machine("zephyr3"))
    figures = quality(embedded)
    lengths = [len(chain) for chain in embedded.embedding.chains]
    assert figures["qubits"] == sum(lengths)
    assert figures["longest_chain"] == max(lengths)
    assert figures["mean_chain"] == pytest.approx(np.mean(lengths))
    assert figures["chain_lengths"] == {str(n): lengths.count(n) for n in sorted(set(lengths))}
    assert figures["couplers"] == embedded.to_bqm().num_interactions
    assert figures["share_of_qubits"] == pytest.approx(sum(lengths) / 336)
    sizes = np.abs(np.concatenate([embedded.fields, embedded.couplings]))
    assert figures["physical_dynamic_range"] == pytest.approx(sizes.max() / sizes.min())


# Before the search


def test_no_embedding_goes_below_the_bound() -> None:
    for bits, name in itertools.product((3, 6, 9), SMALL):
        machine, qubo = load_machine(name), cubic(bits)
        report = preflight(qubo, machine)
        try:
            found = find_embedding(qubo, machine, method="clique", tries=1, effort=0.2)
        except EmbeddingNotFound:
            continue
        assert not report.impossible
        assert report.least <= found.qubits


def test_the_bound_counts_couplers_of_a_chain() -> None:
    star = plain(10, [(0, i) for i in range(1, 10)])
    # six couplers a qubit: two qubits have 10 to the outside, one has 6
    assert least_qubits(star, load_machine("chimera4")) == 9 + 2
    # six neighbours need one qubit, seven need two
    assert least_qubits(plain(7, [(0, i) for i in range(1, 7)]), load_machine("chimera4")) == 7
    # chains of k qubits in a row reach 4 k + 2 others: exactly as many as the bound allows
    for chain in (1, 2, 3):
        reached = 4 * chain + 2
        star = plain(reached + 1, [(0, i) for i in range(1, reached + 1)])
        assert least_qubits(star, load_machine("chimera4")) == reached + chain


def test_the_formula_is_kept_to_what_it_knows() -> None:
    path = plain(100, [(i, i + 1) for i in range(99)])
    report = preflight(path, load_machine("pegasus4"))
    assert report.likely is None and not report.message
    nested = cubic(8, degree=5)
    assert preflight(nested, load_machine("advantage")).likely is None
    full = preflight(cubic(12), load_machine("advantage"), clique=True)
    assert full.likely is not None and full.likely >= full.least and full.surely
    assert not preflight(cubic(14), load_machine("zephyr3"), clique=True).surely


def test_advice_names_only_machines_that_may_do() -> None:
    for bits, degree in ((13, 5), (16, 3), (40, 3)):
        qubo = cubic(bits, degree=degree)
        message = preflight(qubo, load_machine("pegasus4")).message
        for name in catalogue():
            if f" {name}" in message.partition("--machine")[2].partition(",")[0]:
                assert least_qubits(qubo, load_machine(name)) <= len(load_machine(name).nodes)
    huge = preflight(cubic(70), load_machine("advantage"))
    assert "no other reduction would help" in huge.message


def test_parameters_bound_the_bits() -> None:
    for name, expected in (("advantage", 65), ("advantage2", 67)):
        machine = load_machine(name)
        room = len(machine.nodes) + len(machine.edges) + 1
        assert most_bits(machine) == expected
        assert sum(comb(expected, j) for j in range(4)) <= room
        assert sum(comb(expected + 1, j) for j in range(4)) > room
    assert most_bits(load_machine("advantage"), 6) == 19


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


# Back from the machine


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
    qubo = compile("breast-cancer", bits=1, features=5, scale="standard").qubo
    embedded = embed(qubo, load_machine(name), method="biclique")
    sampler = MockDWaveSampler(topology_type=topology, topology_shape=shape)
    answer = sampler.sample(embedded.to_bqm(), num_reads=200)
    back = unembed(embedded, answer)
    assert back.occurrences.sum() == 200
    exact = qubo.score(all_assignments(qubo.logical))
    assert back.energies.min() == pytest.approx(exact.min())
    assert back.energies == pytest.approx(qubo.score(back.bits))
    assert (qubo.score(back.best)[0]) == pytest.approx(exact.min())
