"""Submissions to a solver API on loopback, through the real client: one job, one bill."""

from __future__ import annotations

import io
import os
import shlex
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest

import qcompile
from qcompile import Embedding, InputError, LeapError, Pubo, Qubo, Submission
from qcompile.leap import client
from tests import sapi
from tests.leap.jobs import QUICK, READS, check_result, only_job
from tests.sapi import TOKEN, Sapi


def test_a_job_from_problem_to_classifier(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, best: float
) -> None:
    found = send(label="first")
    check_result(found, best)
    assert found.samples is not None and found.job is not None
    assert found.samples.occurrences.sum() == READS
    np.testing.assert_allclose(found.samples.energies, qubo.score(found.samples.bits))
    (problem,) = server.problems.values()
    assert problem["label"] == f"first {found.job.id}.1"
    assert problem["params"] == {"num_reads": READS}
    assert found.samples.info["problem_ids"] == [problem["id"]]
    assert found.samples.info["timing"]["qpu_access_time"] == 100 * READS + 15000
    kept = qcompile.load_samples(found.job.folder / "samples.json", qubo)
    assert np.array_equal(kept.bits, found.samples.bits)


def test_what_is_sent_is_the_problem(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, chains: Embedding
) -> None:
    """Decode the request with the server's own reader, and compare with Ocean's embedding."""
    from dwave.embedding import embed_bqm

    found = send()
    assert found.job is not None and found.job.chain_strength is not None
    (problem,) = server.problems.values()
    properties = server.solvers["Mock_Advantage"]["properties"]
    sent, _ = sapi._read_qp(problem["data"], properties)
    graph = {v: set() for v in properties["qubits"]}  # type: dict[int, set[int]]
    for a, b in properties["couplers"]:
        graph[a].add(b)
        graph[b].add(a)
    ising = qubo.to_bqm().change_vartype("SPIN", inplace=False)
    strength = found.job.chain_strength
    ocean = embed_bqm(ising, chains.to_ocean(), graph, chain_strength=strength)
    for v, bias in sent.linear.items():
        assert bias == pytest.approx(ocean.linear[v], abs=1e-12)
    couplings = {frozenset(pair): bias for pair, bias in sent.quadratic.items() if bias}
    expected = {frozenset(pair): bias for pair, bias in ocean.quadratic.items() if bias}
    assert couplings.keys() == expected.keys()
    for pair, bias in couplings.items():
        assert bias == pytest.approx(expected[pair], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "shape"), [("chimera", (4, 4, 4)), ("pegasus", (3,)), ("zephyr", (2, 4))]
)
def test_every_topology(
    server: Sapi, qubo: Qubo, best: float, topology: str, shape: tuple[int, ...]
) -> None:
    server.add_qpu("Other", topology, shape, dead=(1, 4, 9))
    found = qcompile.submit(qubo, solver="Other", reads=READS, patience=QUICK)
    check_result(found, best)
    assert found.job is not None
    machine = found.job.embedding(found.job.parts[0]).machine
    assert (machine.topology, machine.name) == (topology, "Other")
    assert len(machine.dead_qubits) == 3


def test_hybrid_solver(server: Sapi, qubo: Qubo, best: float) -> None:
    found = qcompile.submit(qubo, solver_type="hybrid", patience=QUICK)
    check_result(found, best)
    (problem,) = server.problems.values()
    # the solver's rule: 3 s for one variable, 4 s for a thousand, a straight line between
    assert problem["params"]["time_limit"] == pytest.approx(3 + (qubo.variables - 1) / 999)
    uploaded = dimod.BQM.from_file(io.BytesIO(bytes(server.uploads[problem["data"]["data"]])))
    assert uploaded.is_almost_equal(qubo.to_bqm(), places=12)


@pytest.mark.slow
def test_a_polynomial_may_be_submitted(server: Sapi) -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0, (1,): -1.5, (2,): -0.5})
    for kind in ("qpu", "hybrid", "nl"):
        found = qcompile.submit(pubo, solver_type=kind, reads=READS, patience=QUICK)
        assert found.samples is not None and found.classifier is None
        assert found.samples.energies[0] == pytest.approx(-2.5)
        assert found.job is not None and not (found.job.folder / "model.json").exists()


def test_the_folder_is_on_disk_before_the_request(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, set[str], list[str]]] = []
    synced: list[str] = []
    fsync = os.fsync

    def recording(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    post = client.Leap.post

    def looking(self: Any, *given: Any) -> Any:
        job = only_job()
        seen.append((job.stage, {path.name for path in job.folder.iterdir()}, list(synced)))
        return post(self, *given)

    monkeypatch.setattr(os, "fsync", recording)
    monkeypatch.setattr(client.Leap, "post", looking)
    send()
    ((stage, names, before),) = seen
    assert stage == "sent"
    needed = {"job.json", "problem.npz", "embedding.json", "part-1.json"}
    assert needed <= names
    # each file, the folder of all jobs, and the job's own folder after the mark
    assert all(any(name in done for done in before) for name in needed)
    assert "jobs" in before and before[-1] == only_job().id


def test_a_duplicate_job_is_refused(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.pending_polls = 10**6
    sent = send(wait=False)
    assert sent.job is not None
    with pytest.raises(InputError, match=f"job {sent.job.id} asks for the same.*again=True"):
        send(wait=False)
    assert len(server.problems) == 1
    send(wait=False, reads=READS + 1)  # asks for something else
    send(wait=False, again=True)
    assert len(server.problems) == 3


def test_the_same_submission_three_times_at_once(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """All three have looked for a twin before the first one has a job; one of them is billed."""
    ready = threading.Barrier(3)
    outcomes: list[Submission | Exception] = []

    def confirm(_: object) -> bool:
        ready.wait(30)
        return True

    def submit() -> None:
        try:
            outcomes.append(send(confirm=confirm, timeout=20.0))
        except InputError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.problems) == 1
    (done,) = [outcome for outcome in outcomes if isinstance(outcome, Submission)]
    check_result(done, best)
    refused = [str(outcome) for outcome in outcomes if isinstance(outcome, Exception)]
    assert len(refused) == 2 and all("asks for the same" in text for text in refused)


def test_other_problems_and_solvers_are_no_duplicates(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, chains: Embedding
) -> None:
    server.pending_polls = 10**6
    send(wait=False)
    other = replace(qubo, linear=qubo.linear * 2)
    qcompile.submit(other, reads=READS, embedding=chains, patience=QUICK, wait=False)
    server.add_qpu("Other", "pegasus", (3,))
    send(wait=False, solver="Other")
    assert len(server.problems) == 3


def test_a_job_is_worked_on_alone_from_the_start(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    post = client.Leap.post

    def meddling(self: Any, *given: Any) -> Any:
        for work in (qcompile.resume, qcompile.cancel):
            with pytest.raises(LeapError, match="another qcompile process"):
                work(only_job(), patience=QUICK)
        return post(self, *given)

    monkeypatch.setattr(client.Leap, "post", meddling)
    send()
    assert len(server.problems) == 1


def test_cancelled_parts_are_never_sent(server: Sapi, send: Callable[..., Submission]) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 30]
    server.fail("post", lambda handler, process: handler.reply(process()), sapi.status(401))
    with pytest.raises(LeapError):
        send(reads=60)
    assert only_job().stage == "ready"  # that of the part that is furthest behind
    next(iter(server.problems.values()))["status"] = "COMPLETED"
    assert qcompile.cancel(only_job(), patience=QUICK) == ["answered", "cancelled"]
    found = qcompile.resume(only_job(), patience=QUICK)
    assert found.samples is not None and found.samples.occurrences.sum() == 30
    assert len(server.problems) == 1


def test_another_account_is_not_asked(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, best: float
) -> None:
    """All accounts of a region share an address; another one does not see the job."""
    server.pending_polls = 1
    sent = send(wait=False)
    assert sent.job is not None
    monkeypatch.setenv("DWAVE_API_TOKEN", "DEV-another-account-0123456789")
    for work in (qcompile.resume, qcompile.cancel):
        with pytest.raises(InputError, match="another token"):
            work(sent.job, patience=QUICK)
    assert [p["status"] for p in server.problems.values()] == ["PENDING"]
    text = (sent.job.folder / "job.json").read_text()
    assert TOKEN not in text and sent.job.account in text
    # a token that was renewed
    monkeypatch.setattr(sapi, "TOKEN", "DEV-another-account-0123456789")
    check_result(qcompile.resume(sent.job, patience=QUICK, same_account=True), best)


def test_the_profile_is_remembered(
    server: Sapi,
    send: Callable[..., Submission],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    best: float,
) -> None:
    config = tmp_path / "dwave.conf"
    config.write_text(f"[first]\ntoken = DEV-of-somebody-else\n\n[mine]\ntoken = {TOKEN}\n")
    monkeypatch.setenv("DWAVE_CONFIG_FILE", str(config))
    monkeypatch.delenv("DWAVE_API_TOKEN")
    sent = send(profile="mine", wait=False)
    assert sent.job is not None
    check_result(qcompile.resume(sent.job.id, patience=QUICK), best)


def test_the_way_on_works_from_another_folder(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path, best: float
) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError, match=r"continue with: qcompile resume (.*)$") as caught:
        send(jobs=tmp_path / "else where")
    name = shlex.split(str(caught.value).split("qcompile resume ")[-1])[0]
    check_result(qcompile.resume(name, patience=QUICK), best)


def test_a_folder_that_cannot_be_locked(server: Sapi, send: Callable[..., Submission]) -> None:
    sent = send()
    assert sent.job is not None
    (sent.job.folder / "lock").unlink()
    (sent.job.folder / "lock").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        qcompile.resume(sent.job)


def test_cancel_asks_nobody_else(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pending_polls = 10**6
    send(wait=False)
    with Sapi() as elsewhere:
        monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{elsewhere.url}/sapi/v2/")
        with pytest.raises(InputError, match="was submitted to"):
            qcompile.cancel(only_job(), patience=QUICK)
    assert only_job().stage == "waiting"


def test_two_at_once_do_not_work_on_a_job(server: Sapi, send: Callable[..., Submission]) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    with sent.job.locked(), pytest.raises(LeapError, match="in use by another qcompile"):
        qcompile.resume(sent.job.id, patience=QUICK)


def test_resume_of_a_finished_job_needs_no_network(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    done = send()
    assert done.job is not None
    server.requests.clear()
    check_result(qcompile.resume(done.job.id, patience=QUICK), best)
    assert not server.requests


def test_another_region_is_not_asked(
    server: Sapi,
    send: Callable[..., Submission],
    monkeypatch: pytest.MonkeyPatch,
    best: float,
) -> None:
    """There the label is not known, and the job would be sent a second time."""
    server.fail("post", sapi.after(lambda: None))
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send()
    server.faults.clear()
    with Sapi() as elsewhere:
        monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{elsewhere.url}/sapi/v2/")
        with pytest.raises(InputError, match="was submitted to"):
            qcompile.resume(only_job(), patience=QUICK)
        assert not elsewhere.problems
    monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{server.url}/sapi/v2/")
    check_result(qcompile.resume(only_job(), patience=QUICK), best)
    assert len(server.problems) == 1


def test_cancel(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 10**6
    sent = send(wait=False)
    assert sent.job is not None
    assert qcompile.cancel(sent.job.id, patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"]
    with pytest.raises(LeapError, match="cancelled on the server"):
        qcompile.resume(sent.job.id, patience=QUICK)


def test_cancel_what_was_never_sent(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError):
        send()
    assert qcompile.cancel(only_job(), patience=QUICK) == ["cancelled"]
    with pytest.raises(LeapError, match="cancelled before it was sent"):
        qcompile.resume(only_job(), patience=QUICK)
    assert not server.problems


def test_cancel_what_may_have_been_sent(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 10**6
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send()
    server.faults.clear()
    assert qcompile.cancel(only_job(), patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"]


def test_what_has_run_is_not_cancelled(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    next(iter(server.problems.values()))["status"] = "COMPLETED"
    assert qcompile.cancel(sent.job, patience=QUICK) == ["waiting"]
    check_result(qcompile.resume(sent.job, patience=QUICK), best)
