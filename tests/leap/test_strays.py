"""Problems that are on the server twice, and are found late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import qcompile
from qcompile import LeapError, Submission
from qcompile.leap import submission
from qcompile.leap.job import Job
from tests import sapi
from tests.leap.jobs import QUICK, check_result, only_job
from tests.sapi import Sapi


@pytest.fixture
def doubtful(server: Sapi, send: Callable[..., Submission]) -> Job:
    """A job that was sent twice, where the list does not show the first problem."""
    server.pending_polls = 10**6
    server.list_lag = 100.0
    server.fail("post", sapi.reset_after)
    send(patience=replace(QUICK, grace=0.1), wait=False)
    job = only_job()
    assert len(server.problems) == 2 and job.state(job.parts[0]).doubts
    return job


def _answer_second(server: Sapi, job: Job) -> dict[str, object]:
    """Let the second problem be answered, and return the first, which is still in doubt."""
    first, second = server.problems.values()
    second["polls"] = 0
    server.fail("list", sapi.status(400), times=1000)
    qcompile.resume(job, patience=QUICK)
    server.faults.clear()
    assert second["status"] == "COMPLETED" and first["status"] == "PENDING"
    return first


def test_doubts_stay_if_no_look_succeeds(server: Sapi, doubtful: Job) -> None:
    _answer_second(server, doubtful)
    assert doubtful.state(doubtful.parts[0]).doubts == 1


def test_an_answered_job_is_still_looked_up(server: Sapi, doubtful: Job, best: float) -> None:
    first = _answer_second(server, doubtful)
    server.list_lag = 0.0
    check_result(qcompile.resume(doubtful, patience=QUICK), best)
    assert first["status"] == "CANCELLED"
    assert doubtful.state(doubtful.parts[0]).doubts == 0


def test_an_answered_job_is_decoded_without_access(
    server: Sapi,
    doubtful: Job,
    best: float,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _answer_second(server, doubtful)
    monkeypatch.setenv("DWAVE_API_TOKEN", "DEV-another-token-0123")
    check_result(qcompile.resume(doubtful, patience=QUICK), best)
    assert "may be on the server twice" in caplog.text
    assert doubtful.state(doubtful.parts[0]).doubts == 1


def test_strays_are_cancelled_if_decoding_fails(
    server: Sapi, doubtful: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(job: Job) -> None:
        server.list_lag = 0.0
        raise LeapError("not decoded")

    first, second = server.problems.values()
    second["polls"] = 0
    monkeypatch.setattr(submission, "decode_job", fail)
    with pytest.raises(LeapError, match="not decoded"):
        qcompile.resume(doubtful, patience=QUICK)
    assert (first["status"], second["status"]) == ("CANCELLED", "COMPLETED")


def test_cancel_waits_for_a_stray(server: Sapi, doubtful: Job) -> None:
    def cancel(handler: sapi.Handler, process: sapi.Process) -> None:
        handler.reply(process())
        server.list_lag = 0.0

    server.fail("cancel", cancel)
    assert qcompile.cancel(doubtful, patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"] * 2


def test_a_failed_problem_does_not_beat_one_that_has_run(
    server: Sapi, doubtful: Job, best: float
) -> None:
    first, second = server.problems.values()
    first["status"], second["status"] = "COMPLETED", "FAILED"
    with pytest.raises(LeapError, match="no part was answered"):
        qcompile.resume(doubtful, patience=QUICK)
    doubtful.record(doubtful.parts[0], doubts=1)
    server.list_lag = 0.0
    with pytest.raises(LeapError, match=f"on the server as {first['id']}"):
        qcompile.resume(doubtful, patience=QUICK)
    check_result(qcompile.resume(doubtful, patience=QUICK), best)
