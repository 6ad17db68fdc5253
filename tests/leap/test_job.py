from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile import InputError, LeapError, Qubo, Submission
from qcompile.errors import FormatError, MemoryLimitError
from qcompile.files import guarded
from qcompile.leap.job import Job
from qcompile.leap.submission import _status_in_errors
from tests.leap.jobs import QUICK, READS, check_result, only_job
from tests.sapi import Sapi


@pytest.mark.parametrize("name", ["job.json", "problem.npz", "embedding.json"])
def test_damaged_folders_are_told(server: Sapi, send: Callable[..., Submission], name: str) -> None:
    server.pending_polls = 10**6
    sent = send(wait=False)
    assert sent.job is not None
    path = sent.job.folder / name
    path.write_bytes(path.read_bytes()[:-20])
    server.problems[next(iter(server.problems))]["polls"] = 0
    with pytest.raises((FormatError, LeapError, InputError), match=name):
        qcompile.resume(sent.job.id, patience=QUICK)
    assert len(server.problems) == 1


def test_a_changed_problem_is_not_used(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo
) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    qcompile.save_qubo(replace(qubo, offset=qubo.offset + 1), sent.job.folder / "problem.npz")
    with pytest.raises(LeapError, match="changed since the job was created"):
        qcompile.resume(sent.job, patience=QUICK)


@pytest.mark.parametrize(
    "change",
    [
        {"embedding": "../../../etc/passwd"},
        {"stage": "unheard of"},
        {"id": 7},
        {"id": "../../x"},
        {"version": 99},
        None,
    ],
)
def test_a_damaged_record_of_a_part_is_no_end(
    server: Sapi,
    send: Callable[..., Submission],
    best: float,
    caplog: pytest.LogCaptureFixture,
    change: dict[str, Any] | None,
) -> None:
    """The part may have been sent: it is looked up by its label."""
    sent = send(wait=False)
    assert sent.job is not None
    path = sent.job.folder / "part-1.json"
    good = json.loads(path.read_text())
    path.write_text("" if change is None else json.dumps({**good, **change}))
    assert only_job().stage == "sent"  # it may have been
    send(reads=READS + 1, wait=False)  # and does not hinder others
    check_result(qcompile.resume(sent.job.id, patience=QUICK), best)
    assert len(server.problems) == 2 and "part-1.json" in caplog.text


def test_a_disk_that_cannot_be_written_is_told_before_anything_is_sent(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match="jobs cannot be kept there"):
        send(jobs=blocked / "jobs")
    assert not server.problems


def test_an_id_that_cannot_be_noted_is_said(
    server: Sapi, send: Callable[..., Submission], best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Job.record

    def full(self: Job, part: Any, **changes: Any) -> Any:
        if "id" in changes:
            raise InputError("part-1.json: cannot be written (No space left on device)")
        return record(self, part, **changes)

    monkeypatch.setattr(Job, "record", full)
    with pytest.raises(LeapError, match=r"on the server as 00000000-aaaa.*No space left"):
        send()
    monkeypatch.undo()


def test_a_record_that_is_too_large_is_damaged(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise MemoryLimitError("too large")

    job = send().job
    assert job is not None
    monkeypatch.setattr(guarded, "read_json", refuse)
    assert job.state(job.parts[0]).stage == "sent"
    with pytest.raises(LeapError, match=f"job {job.id}: too large"), _status_in_errors(job):
        raise MemoryLimitError("too large")
