from __future__ import annotations

from collections.abc import Callable

import pytest

import qcompile
from qcompile import Embedding, LeapError, Qubo, Submission
from tests import sapi
from tests.leap.jobs import QUICK, READS, check_result, only_job
from tests.sapi import Sapi


def _kill_qubit(server: Sapi, chains: Embedding) -> int:
    """Let a qubit of the chains die, as after a new calibration."""
    qubits = server.solvers["Mock_Advantage"]["properties"]["qubits"]
    whole = sorted({*qubits, 3, 8})
    dead = chains.chains[0][0]
    server.add_qpu("Mock_Advantage", "pegasus", (3,), dead=(3, 8))
    known = server.solvers["Mock_Advantage"]["properties"]["qubits"]
    assert dead in known and whole
    properties = server.solvers["Mock_Advantage"]["properties"]
    properties["qubits"] = [q for q in known if q != dead]
    properties["couplers"] = [pair for pair in properties["couplers"] if dead not in pair]
    server.solvers["Mock_Advantage"]["identity"]["version"]["graph_id"] = "another"
    return dead


@pytest.mark.slow
def test_given_chains_that_no_longer_serve(
    server: Sapi,
    send: Callable[..., Submission],
    chains: Embedding,
    best: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    dead = _kill_qubit(server, chains)
    found = send()
    check_result(found, best)
    assert f"qubit {dead}" in caplog.text and "present graph" in caplog.text
    assert found.job is not None
    used = {q for chain in found.job.embedding(found.job.parts[0]).chains for q in chain}
    assert dead not in used


@pytest.mark.slow
def test_the_graph_changes_between_look_up_and_request(
    server: Sapi,
    send: Callable[..., Submission],
    chains: Embedding,
    best: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def change(handler: sapi.Handler, process: sapi.Process) -> None:
        _kill_qubit(server, chains)
        handler.reply(process())

    server.fail("post", change)
    check_result(send(), best)
    assert "changed its working graph" in caplog.text
    assert len(server.problems) == 1 and server.count("post") == 2


@pytest.mark.slow
def test_the_graph_changes_before_a_resume(
    server: Sapi, send: Callable[..., Submission], chains: Embedding, best: float
) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError):
        send()
    _kill_qubit(server, chains)
    check_result(qcompile.resume(only_job(), patience=QUICK), best)


def test_the_solver_may_be_gone_when_the_answer_is_fetched(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    sent = send(wait=False)
    del server.solvers["hybrid_bqm"]
    solver = server.solvers.pop("Mock_Advantage")
    server.solvers["Other"] = {**solver, "identity": {"name": "Other"}}
    first = next(iter(server.problems))
    server.problems[first]["status"] = "COMPLETED"
    server.problems[first]["answer"] = None
    server.solvers["Mock_Advantage"] = solver
    del server.problems[first]["answer"]
    server.answered(first)
    del server.solvers["Mock_Advantage"]
    assert sent.job is not None
    check_result(qcompile.resume(sent.job, patience=QUICK), best)


@pytest.mark.slow
def test_chains_of_an_earlier_job_are_reused(
    server: Sapi, qubo: Qubo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = qcompile.submit(qubo, reads=READS, patience=QUICK)
    monkeypatch.setattr(
        "qcompile.leap.plan.find_chains", lambda *_: pytest.fail("searched for chains again")
    )
    second = qcompile.submit(qubo, reads=READS, patience=QUICK)
    assert first.job is not None and second.job is not None
    ours = [found.job.embedding(found.job.parts[0]).chains for found in (first, second)]  # type: ignore[union-attr]
    assert ours[0] == ours[1]
