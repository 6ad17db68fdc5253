"""What a server says about a problem that is complete, and answers that are lost afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import qcompile
from qcompile import LeapError, Submission
from tests import sapi
from tests.leap.jobs import QUICK, check_result, only_job
from tests.sapi import Sapi


def _says(status: Any) -> sapi.Fault:
    """Answer with a status that is not true, and without an answer."""

    def change(content: dict[str, Any]) -> dict[str, Any]:
        del content["answer"]
        return {**content, "status": status, "error_message": "Internal error"}

    return sapi.changed(change)


STATUSES: list[Any] = ["FAILED", "CANCELLED", None, "WEIRD", ["COMPLETED"], {}]


@pytest.mark.parametrize("status", STATUSES)
def test_a_contradiction_after_completion_is_asked_about_again(
    server: Sapi, send: Callable[..., Submission], best: float, status: Any
) -> None:
    server.fail("answer", _says(status))
    check_result(send(), best)
    assert server.count("answer") == 2 and server.billed == 1


@pytest.mark.parametrize("status", STATUSES)
def test_a_contradiction_that_stays_does_not_end_the_job(
    server: Sapi, send: Callable[..., Submission], best: float, status: Any
) -> None:
    server.fail("answer", _says(status), times=QUICK.answers)
    with pytest.raises(LeapError, match=r"its status is .*qcompile resume"):
        send()
    assert only_job().stage == "waiting"
    check_result(qcompile.resume(only_job(), patience=QUICK), best)
    assert server.billed == 1


def test_one_word_of_failure_is_not_enough(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """Nothing was said about the problem before."""
    server.fail("poll", sapi.changed(lambda _: []))
    server.fail(
        "answer",
        lambda handler, process: handler.reply(
            (200, "sapi.problem+json", {**process()[2], "status": "FAILED"})
        ),
    )
    check_result(send(), best)


@pytest.mark.parametrize("kind", ["qpu", "nl"])
@pytest.mark.parametrize("damage", ["missing", "cut off", "another", "folder"])
def test_an_answer_that_was_lost_is_fetched_again(
    server: Sapi,
    send: Callable[..., Submission],
    qubo: qcompile.Qubo,
    kind: str,
    damage: str,
) -> None:
    done = send() if kind == "qpu" else qcompile.submit(qubo, solver_type=kind, patience=QUICK)
    assert done.job is not None and done.samples is not None
    path = done.job.folder / ("answer-1.json" if kind == "qpu" else "answer-1.bin")
    content = path.read_bytes()
    path.unlink()
    if damage == "cut off":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "another":
        path.write_bytes(b"{}")
    elif damage == "folder":
        path.mkdir()
    found = qcompile.resume(done.job.id, patience=QUICK)
    assert found.samples is not None and path.read_bytes() == content
    assert found.samples.energies.tolist() == done.samples.energies.tolist()
    assert server.billed == 1


def test_a_lost_answer_that_the_server_has_deleted(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    done = send()
    assert done.job is not None
    (done.job.folder / "answer-1.json").unlink()
    server.problems.clear()
    with pytest.raises(LeapError, match=r"404.*qcompile resume"):
        qcompile.resume(done.job.id, patience=QUICK)
    assert not server.problems
