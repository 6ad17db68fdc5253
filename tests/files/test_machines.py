from __future__ import annotations

from pathlib import Path

import dimod
import dwave.graphs as dg
import networkx as nx
import pytest
from dwave.system.temperatures import freezeout_effective_temperature
from dwave.system.testing import MockDWaveSampler

from qcompile import (
    FormatError,
    InputError,
    Pubo,
    account,
    catalogue,
    complete_chains,
    embed,
    find_embedding,
    largest_clique,
    load_machine,
    machine_from_sampler,
    preflight,
    quadratize,
    save_embedding,
    save_qubo,
    solve,
)
from qcompile.embedding.capacity import largest_bits
from qcompile.stages.machine import Machine

GRAPHS = {
    "2000q": dg.chimera_graph(16),
    "advantage": dg.pegasus_graph(16),
    "advantage2": dg.zephyr_graph(12),
    "advantage2-system2": dg.zephyr_graph(12),
    "advantage2-system4": dg.zephyr_graph(6),
    "zephyr15": dg.zephyr_graph(15),
    "chimera4": dg.chimera_graph(4),
    "pegasus4": dg.pegasus_graph(4),
    "zephyr3": dg.zephyr_graph(3),
}


PLAIN = 'topology = "pegasus"\nshape = [2]\n[ranges]\nh = [-4, 4]\nj = [-1, 1]\n'
# The first lines of the table `timing`, and the times that it needs.
TIMING = '[timing]\nsolver = "mine"\n'
TIMES = "programming = 30.5\ndelay = 2\nreadout_time = [17, 101]\n"
# As published: qubits, couplers, programming, delay, readout of one qubit and of all in
# microseconds, millikelvin, temperature of single qubits.
PUBLISHED = {
    "advantage": (5612, 40088, 14200.0, 20.5, (18.0, 173.0), 16.0, 0.221),
    "advantage2": (4577, 41515, 33600.0, 60.6, (17.0, 101.0), 20.0, 0.112),
    "advantage2-system2": (4514, 40409, 24500.0, 20.6, (17.0, 95.0), 16.7, 0.119),
    "advantage2-system4": (1202, 10537, 8000.0, 20.6, (17.0, 45.0), 18.0, 0.119),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_numbers_are_in_the_catalogue(name: str) -> None:
    machine = load_machine(name)
    times, heat = machine.timing, machine.temperature
    assert times is not None and heat is not None
    found = (machine.qubits, machine.couplers, times.programming, times.delay, times.readout_time)
    assert (*found, heat.millikelvin, heat.effective) == PUBLISHED[name]
    assert (times.annealing_time, times.thermalization) == (20.0, 1000.0)
    assert machine.fast_anneal_time_range == (0.005, 2000.0)
    assert machine.h_gain_schedule_range == (-4.0, 4.0)
    assert machine.num_reads_range == (1, 10_000)
    assert machine.problem_run_duration_range == (0.0, 1e6)
    assert times.solver in times.source and heat.source == machine.source
    assert times.date == heat.date == machine.date
    # an energy scale in GHz is turned into a temperature as by Ocean
    for ghz in (1.3, 7.4):
        judged = freezeout_effective_temperature(ghz, heat.millikelvin)
        assert heat.effective_at(ghz) == pytest.approx(judged, rel=1e-5)
    assert heat.effective_at_critical_point is not None and heat.critical_ghz is not None
    judged = freezeout_effective_temperature(heat.critical_ghz, heat.millikelvin)
    assert heat.effective_at_critical_point == pytest.approx(judged, rel=1e-5)
    assert heat.effective < heat.effective_at_critical_point


def test_the_limits_of_hybrid_solvers_are_no_machine() -> None:
    assert "hybrid" not in catalogue()
    with pytest.raises(InputError, match="machine 'Hybrid' not found"):
        load_machine("Hybrid")


@pytest.mark.slow
def test_the_catalogue_has_the_machines_with_oceans_graphs() -> None:
    known = catalogue()
    assert set(known) == set(GRAPHS)
    for name, machine in known.items():
        assert nx.utils.graphs_equal(nx.Graph(machine.graph), nx.Graph(GRAPHS[name])), name
        assert machine.source and machine.date.startswith("20"), name
        assert machine.qubits is None or machine.qubits <= len(machine.nodes)
        assert machine.extended_j_range == (-2.0, 1.0)


def test_the_published_yield_has_the_published_numbers() -> None:
    machine = load_machine("advantage2").with_yield("published", seed=1)
    assert (len(machine.nodes), len(machine.edges)) == (4577, 41515)
    with pytest.raises(InputError, match="no published number"):
        load_machine("zephyr3").with_yield("published")


@pytest.mark.parametrize("share", [0.0, 1.5, -1.0, "half"])
def test_an_impossible_yield_is_refused(share: float | str) -> None:
    with pytest.raises(InputError, match="yield"):
        load_machine("zephyr3").with_yield(share)


@pytest.mark.parametrize(
    ("topology", "shape"), [("chimera", [3, 3, 4]), ("pegasus", [3]), ("zephyr", [2, 4])]
)
def test_a_live_sampler_gives_its_working_graph(topology: str, shape: list[int]) -> None:
    whole = MockDWaveSampler(topology_type=topology, topology_shape=shape)
    dead, coupler = whole.nodelist[3], whole.edgelist[-1]
    sampler = MockDWaveSampler(
        topology_type=topology, topology_shape=shape, broken_nodes=[dead], broken_edges=[coupler]
    )
    machine = machine_from_sampler(sampler)
    assert machine.nodes.tolist() == sorted(sampler.nodelist)
    found = {frozenset(e) for e in machine.nodes[machine.edges].tolist()}
    assert found == {frozenset(e) for e in sampler.edgelist}
    assert machine.h_range == (-4.0, 4.0) and machine.extended_j_range == (-2.0, 1.0)


def test_a_machine_of_ones_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(PLAIN + "[working]\ndead_qubits = [4]\ndead_couplers = [[9, 8]]\n")
    # tables may come in any order; qubit 4 is on P2
    machine = load_machine(path)
    assert machine.name == "mine"
    assert 4 not in machine.nodes
    assert machine.dead_couplers == {(8, 9)}
    assert machine.precision is None and machine.timing is None and machine.temperature is None


def test_times_of_ones_own_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    table = 'readout_model = "pwl_linear"\nreadout_qubits = [0, 40]\ndate = 2026-01-02\n'
    path.write_text(PLAIN + '[source]\nname = "a book"\n' + TIMING + TIMES + table)
    times = load_machine(path).timing
    assert times is not None
    assert (times.solver, times.programming, times.delay) == ("mine", 30.5, 2.0)
    assert times.readout_time == (17.0, 101.0) and times.readout_qubits == (0.0, 40.0)
    assert (times.source, times.date) == ("a book", "2026-01-02")


BROKEN = {
    "": "topology is missing",
    "topology = ": "invalid TOML",
    PLAIN.replace("pegasus", "torus"): "expected one of chimera, pegasus, zephyr",
    PLAIN.replace("[2]", "[0]"): "expected 1 to 1 sizes",
    PLAIN.replace("[2]", "[1000000]"): "expected 1 to 1 sizes",
    PLAIN.replace("[2]", '["2"]'): "whole numbers",
    PLAIN.replace("[-4, 4]", "[4, -4]"): r"ranges\.h",
    PLAIN.replace("[-4, 4]", "[1, 4]"): "around 0",
    PLAIN.replace("[-4, 4]", f"[-4, 1{'0' * 400}]"): r"ranges\.h",
    PLAIN.replace("[-4, 4]", f"[-4, 1{'0' * 5000}]"): "invalid TOML",
    PLAIN.replace("[-4, 4]", "7"): r"expected \[low, high\]",
    PLAIN.replace("h = [-4, 4]\n", ""): r"ranges\.h is missing",
    PLAIN + "colour = [-1, 1]\n": r"invalid key ranges\.colour",
    "colour = 1\n" + PLAIN: "invalid key colour",
    "working = 3\n" + PLAIN: "working is not a table",
    PLAIN + "[working]\nqubits = 0\n": r"working\.qubits",
    PLAIN + '[working]\ndead_qubits = ["a"]\n': "dead_qubits",
    PLAIN + "[working]\ndead_couplers = [[1, 2, 3]]\n": "dead_couplers",
    PLAIN + "[precision]\nh = 0.01\nj = -1\n": r"precision\.j",
    PLAIN + TIMING + "programming = 1\n": r"timing\.delay is missing; expected solver, progr",
    PLAIN + TIMING + TIMES + "colour = 1\n": r"invalid key timing\.colour",
    PLAIN + TIMING + TIMES.replace("30.5", "nan"): r"timing\.programming is nan; expected a number",
    PLAIN + TIMING + TIMES.replace("30.5", "inf"): r"timing\.programming is inf",
    PLAIN + TIMING + TIMES.replace("30.5", "-1"): r"timing\.programming is -1",
    PLAIN + TIMING + TIMES.replace("30.5", "true"): r"timing\.programming is True",
    PLAIN + TIMING + TIMES.replace("30.5", f"1{'0' * 400}"): r"timing\.programming is 10000",
    PLAIN + TIMING + TIMES.replace("[17, 101]", "17"): r"timing\.readout_time: expected a list",
    PLAIN + TIMING + TIMES.replace("[17, 101]", str([1] * 1001)): "up to 1000 numbers",
    PLAIN + TIMING + TIMES.replace("[17, 101]", "[101, 17]"): "for one qubit and for all",
    PLAIN + TIMING + TIMES.replace("[17, 101]", '["a"]'): r"timing\.readout_time is 'a'",
    PLAIN + TIMING + TIMES + 'readout_model = "own"\n': "expected one of range, pwl_log_log",
    PLAIN + TIMING + TIMES + 'readout_model = "pwl_linear"\n': "2 numbers in readout_time and 0",
    PLAIN + TIMING + TIMES + 'readout_model = "pwl_linear"\nreadout_qubits = [2, 2]\n': "not grow",
    PLAIN
    + TIMING
    + TIMES
    + 'readout_model = "pwl_log_log"\nreadout_qubits = [0, 2]\n': "a logarithm needs",
    PLAIN + TIMING.replace('"mine"', "3") + TIMES: r"timing\.solver is 3; expected a text",
    PLAIN + "[temperature]\neffective = 0.1\n": r"temperature\.millikelvin is missing",
    PLAIN + "[temperature]\nmillikelvin = 20\neffective = 0\n": r"temperature\.effective is 0;",
    "timing = 3\n" + PLAIN: "timing is not a table",
}


@pytest.mark.parametrize(("text", "message"), BROKEN.items())
def test_a_broken_toml_names_the_file_and_the_fault(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        load_machine(path)
    assert "broken.toml" in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match=r"binary\.toml: invalid TOML"):
        load_machine(path)


@pytest.mark.parametrize("name", ["advantag", "../pyproject", "hardware/advantage", ""])
def test_an_unknown_machine_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match="advantage2"):
        load_machine(name)


def test_left_out_sizes_are_the_usual_ones() -> None:
    assert Machine("a", "zephyr", (3,)).graph_id == Machine("b", "zephyr", (3, 4)).graph_id
    assert Machine("a", "chimera", (4,)).graph_id == load_machine("chimera4").graph_id
    assert Machine("a", "chimera", (4, 4)).sizes == (4, 4, 4)
    assert largest_bits(Machine("a", "chimera", (16, 16))) == largest_bits(load_machine("2000q"))


def test_a_sampler_without_a_graph_is_no_machine() -> None:
    with pytest.raises(InputError, match="ExactSolver has no working graph"):
        machine_from_sampler(dimod.ExactSolver())


@pytest.mark.parametrize("name", ["Advantage2", "ADVANTAGE", "ZePhyr3"])
def test_names_may_be_in_any_case(name: str) -> None:
    assert load_machine(name) == load_machine(name.lower())
    assert load_machine(name).name == name.lower()


def test_a_path_a_name_and_an_object_are_taken_alike(tmp_path: Path) -> None:
    path = tmp_path / "Mine.TOML"
    path.write_text('topology = "chimera"\nshape = [4]\nranges = {h = [-2, 2], j = [-1, 1]}\n')
    own = load_machine(path)
    assert load_machine(own) is own
    qubo = quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0,): -1.0}))
    save_qubo(qubo, tmp_path / "q.json")
    chains = [
        embed(problem, machine, method="biclique").embedding.chains
        for problem in (qubo, tmp_path / "q.json")
        for machine in (path, str(path), own, "Chimera4")
    ]
    assert len(set(chains)) == 1
    assert (
        find_embedding(str(tmp_path / "q.json"), "chimera4", method="biclique").chains == chains[0]
    )
    save_embedding(embed(qubo, path, method="biclique").embedding, tmp_path / "e.json")
    assert embed(qubo, path, embedding=tmp_path / "e.json").embedding.chains == chains[0]
    assert preflight(tmp_path / "q.json", "CHIMERA4") == preflight(qubo, load_machine("chimera4"))
    assert largest_clique("chimera4") == largest_clique(own) == 16
    assert complete_chains(path, 3).chains == complete_chains(own, 3).chains
    assert account(qubo, machine="Advantage2").machine == "advantage2"
    found = solve(tmp_path / "q.json", solver="mock", machine=str(path), reads=5)
    assert found.energies[0] == solve(qubo, solver="mock", machine=own, reads=5).energies[0]
    with pytest.raises(InputError, match="expected a Machine, a name"):
        load_machine(7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="quadratize it"):
        embed(Pubo.from_dict({(0, 1): 1.0}), "chimera4")  # type: ignore[arg-type]
