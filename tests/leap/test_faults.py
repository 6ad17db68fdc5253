"""Faults of the server: got over, or told in one error."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import qcompile
from qcompile import InputError, LeapError, Qubo, Submission
from qcompile.leap.job_store import list_jobs
from tests import sapi
from tests.leap.faults import GOT_OVER
from tests.leap.jobs import QUICK, check_result, only_job
from tests.sapi import Sapi


@pytest.mark.slow
@pytest.mark.parametrize("case", GOT_OVER)
def test_faults_are_got_over(
    server: Sapi, send: Callable[..., Submission], best: float, case: str
) -> None:
    where, faults = GOT_OVER[case]
    server.fail(where, *faults)
    check_result(send(), best)
    assert len(server.problems) == 1
    assert not server.faults[where]  # the fault did happen
    if where == "answer":  # and was noticed
        assert server.count("answer") == 1 + len(faults)


def test_polls_that_never_say_anything(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("poll", sapi.changed(lambda _: []), times=200)
    check_result(send(timeout=0.5), best)


def test_hybrid_uploads_get_over_faults(server: Sapi, qubo: Qubo, best: float) -> None:
    server.fail("upload", sapi.reset, sapi.status(500))
    check_result(qcompile.submit(qubo, solver_type="hybrid", patience=QUICK), best)
    assert len(server.problems) == 1


@pytest.mark.parametrize("fault", [sapi.half, sapi.status(500), sapi.reset])
def test_nonlinear_downloads_get_over_faults(server: Sapi, qubo: Qubo, fault: sapi.Fault) -> None:
    def cut(handler: sapi.Handler, process: sapi.Process) -> None:
        _, _, content = process()
        handler.answer(200, "application/octet-stream", content[: len(content) // 2])

    server.fail("download", cut if fault is sapi.half else fault)
    found = qcompile.submit(qubo, solver_type="nl", patience=QUICK)
    assert found.samples is not None and len(server.problems) == 1


def test_no_access(server: Sapi, send: Callable[..., Submission], best: float) -> None:
    """Nothing is lost: with a good token the job goes on."""
    server.fail("post", sapi.status(401, "Invalid token"))
    with pytest.raises(LeapError, match=r"401, access refused.*not sent.*qcompile resume") as error:
        send()
    assert error.value.code == 401
    assert not server.problems
    check_result(qcompile.resume(only_job().id, patience=QUICK), best)
    assert len(server.problems) == 1


def test_a_reply_that_drips(server: Sapi, send: Callable[..., Submission], best: float) -> None:
    """A byte now and then is no reply: every request has a time of its own."""

    def drip(handler: sapi.Handler, process: sapi.Process) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/vnd.dwave.sapi.problems+json; version=3.0")
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while True:  # until the client hangs up
            handler.wfile.write(b" ")
            time.sleep(0.05)

    server.fail("poll", drip)
    check_result(send(), best)
    assert server.count("poll") == 2


def test_local_mistakes_are_not_blamed_on_the_server(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_SOLVER", '{"order_by": 5, "qpu": true}')
    with pytest.raises((InputError, LeapError), match=r"order_by|TypeError"):
        send()


def test_a_refused_problem_is_not_repeated(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("post", sapi.status(400, "num_reads out of range"))
    with pytest.raises(LeapError, match=r"400, num_reads out of range; it was not sent"):
        send()
    assert server.count("post") == 1 and not server.problems


def test_a_failed_problem(server: Sapi, send: Callable[..., Submission]) -> None:
    server.outcome = "FAILED"
    with pytest.raises(LeapError, match=r"Internal SAPI error 1234.*it is over"):
        send()
    assert only_job().stage == "failed"
    with pytest.raises(LeapError, match="Internal SAPI error 1234"):
        qcompile.resume(only_job(), patience=QUICK)
    assert len(server.problems) == 1


def test_cancelled_by_somebody_else(server: Sapi, send: Callable[..., Submission]) -> None:
    server.outcome = "CANCELLED"
    with pytest.raises(LeapError, match="cancelled on the server"):
        send()
    assert only_job().stage == "cancelled"


def test_one_part_of_several_fails(
    server: Sapi, send: Callable[..., Submission], caplog: pytest.LogCaptureFixture
) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 30]
    sent = send(reads=60, wait=False)
    assert sent.job is not None
    first = next(iter(server.problems.values()))
    first["status"] = "FAILED"
    found = qcompile.resume(sent.job, patience=QUICK)
    assert found.samples is not None and found.samples.occurrences.sum() == 30
    assert "part 1 failed: Internal SAPI error 1234" in caplog.text


def test_an_id_that_nobody_knows(server: Sapi, send: Callable[..., Submission]) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    server.problems.clear()
    with pytest.raises(LeapError, match="404") as error:
        qcompile.resume(sent.job, patience=QUICK)
    assert error.value.code == 404
    assert qcompile.cancel(sent.job, patience=QUICK) == ["cancelled"]


def test_silence_ends_at_the_deadline(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.pending_polls = 10**6
    with pytest.raises(LeapError, match=r"no answer after .* s \(pending\).*on the server as"):
        send(timeout=0.3)
    server.problems[next(iter(server.problems))]["polls"] = 0
    check_result(qcompile.resume(only_job(), patience=QUICK), best)
    assert len(server.problems) == 1


@pytest.mark.parametrize("where", ["post", "poll", "answer", "solvers"])
def test_trouble_that_does_not_end(
    server: Sapi, send: Callable[..., Submission], best: float, where: str
) -> None:
    server.fail(where, sapi.status(500), times=200)
    with pytest.raises(LeapError, match="gave up after"):
        send()
    server.faults.clear()
    if where == "solvers":
        assert not list_jobs()
    else:
        check_result(qcompile.resume(only_job(), patience=QUICK), best)
        assert len(server.problems) == 1
