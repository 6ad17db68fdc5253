from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

import qcompile
from qcompile import LeapError, Qubo, Submission
from qcompile.errors import FormatError
from tests import sapi
from tests.leap.jobs import QUICK, check_result, only_job
from tests.sapi import Sapi


def test_lists_may_fail_while_a_job_is_looked_up(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), sapi.reset, sapi.garbage)
    check_result(send(), best)
    assert len(server.problems) == 1


def test_a_job_that_is_listed_late_is_not_sent_again(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("post", sapi.reset_after)
    server.fail("list", *[sapi.changed(lambda _: [])] * 2)
    check_result(send(), best)
    assert len(server.problems) == 1 and server.count("post") == 1


def test_labels_are_compared_exactly(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """The server matches parts of labels: a job of another label must not be adopted."""

    def longer(handler: sapi.Handler, process: sapi.Process) -> None:
        process()
        next(iter(server.problems.values()))["label"] += "0"
        handler.cut_off()

    server.fail("post", longer)
    check_result(send(), best)
    assert server.count("post") == 2 and len(server.problems) == 2


def test_a_slow_server_is_not_paid_twice(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """It says nothing within the time of a request, and lists the job only after that."""

    def slow(handler: sapi.Handler, process: sapi.Process) -> None:
        time.sleep(QUICK.request + 0.15)
        process()
        handler.cut_off()

    server.fail("post", slow)
    check_result(send(), best)
    assert len(server.problems) == 1 and server.count("post") == 1


def test_duplicates_are_found_and_cancelled(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Listed after the grace period only: sent twice, but not paid twice."""

    def late(handler: sapi.Handler, process: sapi.Process) -> None:
        hidden = server.count("post") < 2
        handler.reply((200, "sapi.problems+json", []) if hidden else process())

    server.pending_polls = 2
    server.fail("post", sapi.reset_after)
    server.fail("list", late, times=100)
    check_result(send(patience=replace(QUICK, grace=0.1, most=0.02)), best)
    first, second = server.problems.values()
    assert (first["status"], second["status"]) == ("COMPLETED", "CANCELLED")
    assert "have the label" in caplog.text


def test_a_refusal_does_not_undo_an_earlier_doubt(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    server.pending_polls = 10**6
    server.fail("post", sapi.reset_after, sapi.status(401))
    server.fail("list", sapi.changed(lambda _: []), times=12)
    with pytest.raises(LeapError, match="may be on the server"):
        send(patience=replace(QUICK, grace=0.1, most=0.02))
    server.faults.clear()
    assert only_job().stage == "sent"
    assert qcompile.cancel(only_job(), patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"]


def test_a_server_that_changes_labels(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    def shorter(handler: sapi.Handler, process: sapi.Process) -> None:
        code, kind, content = process()
        number = content[0]["id"]
        server.problems[number]["label"] = "something shorter"
        handler.reply((code, kind, [server.status(number)]))

    server.fail("post", shorter)
    check_result(send(), best)
    assert len(server.problems) == 1 and "another label" in caplog.text


def test_a_reply_that_cannot_be_read_is_not_followed_by_another_request(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    server.fail("post", lambda handler, _: handler.answer(200, "text/html", b"<html>hello"))
    with pytest.raises(LeapError, match=r"not listed.*may be on the server"):
        send()
    assert server.count("post") == 1


def test_answers_that_were_paid_for_come_first(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    """The second of three parts is refused: the first is fetched, and the rest can be given up."""
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 20]
    server.fail("post", lambda handler, process: handler.reply(process()))
    server.fail("post", sapi.status(400, "quota exceeded"))
    with pytest.raises(LeapError, match=r"quota exceeded; 1 of 3 parts are answered.*cancel"):
        send(reads=60)
    assert qcompile.cancel(only_job()) == ["answered", "cancelled", "cancelled"]
    found = qcompile.resume(only_job())
    assert found.samples is not None and found.samples.occurrences.sum() == 20


@pytest.mark.parametrize("kind", ["hybrid", "nl"])
def test_uploads_that_are_gone_are_repeated(server: Sapi, qubo: Qubo, kind: str) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError):
        qcompile.submit(qubo, solver_type=kind, patience=QUICK)
    server.fail("post", sapi.status(404, "problem data does not exist"))
    found = qcompile.resume(only_job(), patience=QUICK)
    assert found.samples is not None and len(server.problems) == 1


@pytest.mark.parametrize("sent", ["some day", "2999-01-01T00:00:00+00:00"])
def test_a_clock_that_was_set_back(
    server: Sapi, send: Callable[..., Submission], best: float, sent: str
) -> None:
    """It is looked for all the same, but not for ever."""
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send()
    server.faults.clear()
    job = only_job()
    job.record(job.parts[0], sent=sent)
    server.fail("list", sapi.changed(lambda _: []))
    check_result(qcompile.resume(job, patience=QUICK), best)
    assert len(server.problems) == 1
    job.record(job.parts[0], sent=sent, stage="sent", id=None)
    server.problems.clear()
    check_result(qcompile.resume(job, patience=QUICK), best)
    assert len(server.problems) == 1


def test_labels_of_others_are_not_touched(server: Sapi, send: Callable[..., Submission]) -> None:
    """A job folder from elsewhere must not adopt, or cancel, work that is not its own."""
    sent = send(wait=False)
    assert sent.job is not None
    path = sent.job.folder / "job.json"
    content = json.loads(path.read_text())
    content["parts"][0]["label"] = "production"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match="not a part of this job"):
        qcompile.resume(sent.job.id, patience=QUICK)


def test_two_problems_with_our_label(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Should never be; if it is, the younger one is cancelled."""

    def twice(handler: sapi.Handler, process: sapi.Process) -> None:
        process()
        process()
        handler.cut_off()

    server.pending_polls = 1
    server.fail("post", twice)
    check_result(send(), best)
    first, second = server.problems.values()
    assert (first["status"], second["status"]) == ("COMPLETED", "CANCELLED")
    assert "2 problems have the label" in caplog.text


@pytest.mark.parametrize("sent", [None, "1999-01-01T00:00:00+00:00"])
def test_a_list_that_lags_behind_a_killed_process(
    server: Sapi, send: Callable[..., Submission], best: float, sent: str | None
) -> None:
    """The process died after its request, and the list shows it after all grace is over.

    With `sent` the clock has jumped forward meanwhile, and the grace period seems to be long over.
    """
    server.pending_polls = 8
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send(patience=replace(QUICK, give_up=0.1))
    server.faults.clear()
    job = only_job()
    # as 0.1.0 left it: marked as sent, without a doubt
    job.record(job.parts[0], doubts=0, **({} if sent is None else {"sent": sent}))
    server.list_lag = 0.0
    problem = next(iter(server.problems.values()))
    listed = problem["submitted_on"]
    problem["submitted_on"] = "2999"  # not listed before there is a second one
    began = time.monotonic()

    def appear(handler: sapi.Handler, process: sapi.Process) -> None:
        problem["submitted_on"] = listed
        handler.reply(process())

    server.fail("post", appear)
    check_result(qcompile.resume(job, patience=QUICK), best)
    assert server.times("post")[1] - began >= 2 * QUICK.grace  # the grace was waited for
    assert server.billed == 1
    assert [p["status"] for p in server.problems.values()] == ["COMPLETED", "CANCELLED"]
    assert job.state(job.parts[0]).doubts == 0


def test_a_request_counts_as_doubtful_before_it_is_made(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    seen: list[int] = []

    def look(handler: sapi.Handler, process: sapi.Process) -> None:
        job = only_job()
        seen.append(job.state(job.parts[0]).doubts)
        handler.reply(process())

    server.fail("post", sapi.status(500), look)
    found = send()
    assert seen == [2]  # the first one, and this one
    assert found.job is not None and found.job.state(found.job.parts[0]).doubts == 0


def test_a_stray_is_cancelled_while_the_answer_is_waited_for(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """It is listed only after the second request, when that one waits in the queue."""
    server.pending_polls = 30
    server.list_lag = 0.3
    server.fail("post", sapi.reset_after)
    check_result(send(patience=replace(QUICK, grace=0.1)), best)
    first, second = server.problems.values()
    assert (first["status"], second["status"]) == ("COMPLETED", "CANCELLED")
    assert server.billed == 1 and len(server.problems) == 2
    cancelled = server.times("cancel")[0]
    assert cancelled < server.times("answer")[-1]  # before an answer came


def test_a_stray_that_is_listed_after_the_answer(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    server.list_lag = 0.55
    server.fail("post", sapi.reset_after)
    check_result(send(patience=replace(QUICK, grace=0.4)), best)
    first, second = server.problems.values()
    assert (first["status"], second["status"]) == ("CANCELLED", "COMPLETED")
    assert "2 problems have the label" in caplog.text


@pytest.mark.parametrize("code", [303, 409, 425, 429, 499])
def test_a_refusal_that_proves_nothing_is_looked_up(
    server: Sapi, send: Callable[..., Submission], best: float, code: int
) -> None:
    """The problem was made, whatever the reply says."""
    server.fail("post", sapi.status_after(code))
    check_result(send(), best)
    assert server.count("post") == 1 and server.billed == 1


def test_cancel_ends_every_problem_of_a_job(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 10**6
    server.list_lag = 10.0
    server.fail("post", sapi.reset_after)
    send(patience=replace(QUICK, grace=0.1), wait=False)
    server.list_lag = 0.0
    assert qcompile.cancel(only_job(), patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"] * 2
