"""Copies, gauges, known states and fast anneals, through the real client to the server's reader."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dwave.cloud.solver import StructuredSolver

import qcompile
from qcompile import Embedding, InputError, Qubo, Submission
from tests import sapi
from tests.leap.jobs import QUICK, READS, check_result, machine_of
from tests.sapi import Sapi


@pytest.fixture(scope="session")
def three(qubo: Qubo, chains: Embedding) -> tuple[Embedding, ...]:
    from qcompile.embedding.copies import find_copies

    return find_copies(qubo, chains.machine, copies=3, embedding=chains)


@pytest.fixture(autouse=True)
def _known_copies(
    monkeypatch: pytest.MonkeyPatch, three: tuple[Embedding, ...], request: Any
) -> None:
    """The search for copies is tested elsewhere: there are three."""

    def find(qubo: Qubo, machine: Any, *, copies: int | str, **_: Any) -> tuple[Embedding, ...]:
        if copies != "auto" and int(copies) > 3:
            raise InputError(f"{copies} copies; {machine.name} takes 3")
        return three if copies == "auto" else three[: int(copies)]

    monkeypatch.setattr("qcompile.leap.chains.find_copies", find)


def sent(server: Sapi) -> list[Any]:
    """Every problem as the server reads it."""
    return [
        sapi._read_qp(
            problem["data"], server.solvers[problem["solver"]["name"]]["properties"]
        )[0]
        for problem in server.problems.values()
    ]  # fmt: skip


def test_copies_are_sent_in_one_problem_and_read_apart(
    server: Sapi, send: Callable[..., Submission], best: float, three: tuple[Embedding, ...]
) -> None:
    found = send(copies=3, post="none")
    check_result(found, best)
    assert found.samples is not None and found.job is not None
    (bqm,) = sent(server)
    assert set(bqm.variables) == {q for one in three for chain in one.chains for q in chain}
    assert found.samples.occurrences.sum() == 3 * READS
    assert found.samples.info["copies"] == 3
    assert found.samples.info["copy_reads"] == [READS] * 3 and found.samples.info["reads"] == READS
    assert found.cost["copies"] == 3 and found.cost["samples"] == 3 * READS
    assert found.cost["qubits"] == bqm.num_variables
    again = qcompile.resume(found.job.id)  # from the files alone
    assert again.samples is not None
    assert again.samples.bits.tolist() == found.samples.bits.tolist()
    kept = qcompile.load_job(found.job.id)
    assert isinstance(kept, qcompile.Job) and kept.copies == 3


def test_chains_of_several_copies_are_all_used(
    server: Sapi, send: Callable[..., Submission], best: float, three: tuple[Embedding, ...]
) -> None:
    found = send(embedding=three)
    check_result(found, best)
    (bqm,) = sent(server)
    assert set(bqm.variables) == {q for one in three for chain in one.chains for q in chain}
    assert found.job is not None and found.job.embeddings(found.job.parts[0]) == three
    assert send(embedding=three, copies=2, dry_run=True).cost.copies == 2
    assert send(embedding=three, copies="auto", dry_run=True).cost.copies == 3
    with pytest.raises(InputError, match="copies=4; the embedding holds 3 copies"):
        send(embedding=three, copies=4)
    assert len(server.problems) == 1


def test_all_copies_that_fit(server: Sapi, send: Callable[..., Submission]) -> None:
    found = send(copies="auto", dry_run=True)
    assert found.cost.copies == 3 and not server.problems
    with pytest.raises(InputError, match="4 copies"):
        send(copies=4)
    assert not server.problems and not qcompile.list_jobs()


def test_copies_on_a_graph_that_changed(
    server: Sapi,
    send: Callable[..., Submission],
    best: float,
    three: tuple[Embedding, ...],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One copy loses a qubit after the job was prepared: the others are sent, and it is said."""
    lost = three[1].chains[0][0]

    def change(handler: Any, process: Any) -> None:
        nodes = machine_of(server).whole_graph.nodes
        dead = (3, 8, sorted(nodes).index(lost))
        server.add_qpu("Mock_Advantage", "pegasus", (3,), dead=dead)
        handler.reply(process())

    server.fail("post", change)
    kept = (three[0], three[2])
    monkeypatch.setattr(
        "qcompile.leap.chains.find_copies",
        lambda *a, copies, **k: three if copies == 3 else kept,
    )
    with caplog.at_level(logging.WARNING):
        found = send(copies=3)
    check_result(found, best)
    assert found.samples is not None and found.job is not None
    assert "2 of 3 copies fit the present graph" in caplog.text
    assert found.samples.occurrences.sum() == 2 * READS
    assert found.job.state(found.job.parts[0]).copies == 2
    (bqm,) = sent(server)
    assert lost not in bqm.variables


@pytest.mark.parametrize("copies", [1, 3])
def test_gauges_share_the_reads_and_are_undone(
    server: Sapi, send: Callable[..., Submission], best: float, qubo: Qubo, copies: int
) -> None:
    plain = send(dry_run=True, copies=copies).cost
    found = send(gauges=4, copies=copies, post="none")
    check_result(found, best)
    assert found.samples is not None and found.job is not None
    assert [p["params"]["num_reads"] for p in server.problems.values()] == [15] * 4
    assert found.samples.occurrences.sum() == copies * READS
    np.testing.assert_allclose(found.samples.energies, qubo.score(found.samples.bits))
    problems = sent(server)
    signs = {tuple(np.sign([bqm.linear[q] for q in sorted(bqm.variables)])) for bqm in problems}
    assert len(signs) > 1, "the gauges differ"
    sizes = [sorted(np.round(np.abs(list(bqm.quadratic.values())), 9)) for bqm in problems]
    assert sizes[0] == sizes[1] == sizes[2] == sizes[3], "but for signs the problem is the same"
    assert found.cost.seconds is not None and plain.seconds is not None
    assert found.cost.seconds == pytest.approx(plain.seconds + 3 * 0.015), "programmed four times"


@pytest.mark.parametrize("gauges", [None, 2])
def test_a_known_state_is_sent_as_ocean_sends_it(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, chains: Embedding, gauges: int | None
) -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2, qubo.logical)
    found = send(refine=bits, gauges=gauges, copies=3, post="none")
    properties = server.solvers["Mock_Advantage"]["properties"]
    assert found.job is not None and found.samples is not None
    assert found.job.chain_strength is not None
    values = qubo.complete(bits)[0]
    for problem, part in zip(server.problems.values(), found.job.parts, strict=True):
        program = qcompile.make_program(
            [
                qcompile.with_chains(qubo, one, chain_strength=found.job.chain_strength)
                for one in found.job.embeddings(part)
            ],
            gauge=part.gauge,
        )
        by_hand: dict[int, int] = {}
        for copy, place in zip(program.copies, program.places, strict=True):
            for q, variable, sign in zip(
                copy.qubits.tolist(), copy.variable, program.signs[place], strict=True
            ):
                by_hand[q] = int(sign) * (2 * int(values[variable]) - 1)
        ocean = StructuredSolver.reformat_parameters(
            "ising", {"initial_state": by_hand}, properties
        )
        assert problem["params"]["initial_state"] == ocean["initial_state"]
        assert problem["params"]["reinitialize_state"] is True
        assert problem["params"]["anneal_schedule"][0] == [0.0, 1.0]
    # the server stays near the state: the gauge is undone, or nothing would be near
    assert found.samples.energies.min() <= qubo.score(bits)[0] + 1e-9
    distances = np.abs(found.samples.bits - bits).sum(axis=1)
    assert np.average(distances, weights=found.samples.occurrences) < qubo.logical / 2


def test_a_fast_anneal_has_no_fields(
    server: Sapi, send: Callable[..., Submission], best: float, chains: Embedding
) -> None:
    found = send(fast_anneal=True, parameters={"annealing_time": 0.02})
    check_result(found, best)
    (bqm,) = sent(server)
    (problem,) = server.problems.values()
    assert not any(bqm.linear.values())
    flux = problem["params"]["flux_biases"]
    pins = [q for q, value in enumerate(flux) if value]
    assert len(flux) == server.solvers["Mock_Advantage"]["properties"]["num_qubits"]
    used = {q for chain in chains.chains for q in chain}
    assert pins and not set(pins) & used and set(bqm.variables) == used | set(pins)
    assert found.cost["qubits"] == len(used) + len(pins)
    assert found.job is not None and found.samples is not None
    assert qcompile.resume(found.job.id).samples is not None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gauges": 0}, "0 gauges"),
        ({"gauges": READS + 1}, "expected at least 61"),
        ({"copies": 9}, "9 copies"),
        ({"anneal_schedule": [[0, 0], [10, 0.9], [20, 0.1], [30, 1]]}, "never falls"),
        ({"fast_anneal": True, "parameters": {"annealing_time": 3000.0}}, "fast annealing time"),
        ({"h_gain": 9.0}, "h gain 9"),
        ({"refine": [0, 1]}, "a state of 2 values to refine; the problem has 6 bits"),
        ({"chain_strength": "sweep", "reads": 7}, "one for each gauge and each chain strength"),
        ({"post": "magic"}, "post 'magic'"),
        ({"solver_type": "hybrid", "copies": 2}, "copies=: for QPUs"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    server: Sapi, send: Callable[..., Submission], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(InputError, match=text) as error:
        send(**options)
    assert "\n" not in str(error.value)
    assert not server.problems and not qcompile.list_jobs()


def test_the_descent_is_in_samples_and_can_be_left_out(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo
) -> None:
    found = send()
    assert found.samples is not None and found.samples.before is not None
    for row, value in zip(found.samples.bits, found.samples.energies, strict=True):
        near = np.abs(np.eye(len(row), dtype=np.int8) - row)
        assert (qubo.score(near) >= value - 1e-9).all()
    plain = send(post="none", again=True, patience=QUICK)
    assert plain.samples is not None and plain.samples.before is None
    assert found.samples.info["mean_energy_before"] == pytest.approx(
        np.average(plain.samples.energies, weights=plain.samples.occurrences)
    )
