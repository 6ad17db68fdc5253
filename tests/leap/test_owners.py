"""A job folder that was copied: both are resumed, one is billed."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import qcompile
from qcompile import LeapError, Submission
from qcompile.leap import job as job_module
from qcompile.leap import owners
from qcompile.leap.job import Job
from qcompile.leap.job_store import load_job
from tests import sapi
from tests.leap.jobs import QUICK, check_result, only_job
from tests.sapi import Sapi


@pytest.fixture
def unsent(server: Sapi, send: Callable[..., Submission]) -> Job:
    """A job that was prepared and not sent."""
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError, match="not sent"):
        send()
    return only_job()


def test_a_copy_is_not_sent(server: Sapi, unsent: Job, best: float, tmp_path: Path) -> None:
    copy = load_job(shutil.copytree(unsent.folder, tmp_path / "copy" / unsent.id))
    with pytest.raises(LeapError, match=f"is a copy of {unsent.folder}"):
        qcompile.resume(copy, patience=QUICK)
    assert not server.problems
    check_result(qcompile.resume(unsent, patience=QUICK), best)
    check_result(qcompile.resume(copy, patience=QUICK), best)  # the label is found
    assert len(server.problems) == 1


def test_a_copy_elsewhere_looks_before_it_sends(
    server: Sapi, unsent: Job, best: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine nothing is known of the original; the list lags behind."""
    copy = load_job(shutil.copytree(unsent.folder, tmp_path / "copy" / unsent.id))
    server.list_lag = QUICK.grace
    check_result(qcompile.resume(unsent, patience=QUICK), best)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    check_result(qcompile.resume(copy, patience=QUICK), best)
    assert len(server.problems) == 1


def test_a_folder_that_was_moved_is_no_copy(
    server: Sapi, unsent: Job, best: float, tmp_path: Path
) -> None:
    moved = load_job(unsent.folder.rename(tmp_path / "moved"))
    assert owners.belongs_here(moved) and owners.original_of(moved) is None
    check_result(qcompile.resume(moved, patience=QUICK), best)


def test_a_copy_whose_original_is_gone(
    server: Sapi, unsent: Job, best: float, tmp_path: Path
) -> None:
    copy = load_job(shutil.copytree(unsent.folder, tmp_path / "copy"))
    shutil.rmtree(unsent.folder)
    check_result(qcompile.resume(copy, patience=QUICK), best)
    assert owners.belongs_here(copy) and len(server.problems) == 1


def test_a_copy_is_not_sent_at_the_same_time(server: Sapi, unsent: Job, tmp_path: Path) -> None:
    copy = load_job(shutil.copytree(unsent.folder, tmp_path / "copy"))
    with owners.alone_with(unsent), pytest.raises(LeapError, match="a copy of it is being sent"):
        qcompile.resume(copy, patience=QUICK)
    assert not server.problems


def test_data_that_cannot_be_written_is_no_hindrance(
    server: Sapi, unsent: Job, best: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    check_result(qcompile.resume(unsent, patience=QUICK), best)


def test_no_home_is_no_hindrance(
    server: Sapi, unsent: Job, best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(owners, "data_folder", fail)
    monkeypatch.setattr(job_module, "data_folder", fail)
    monkeypatch.delenv("QCOMPILE_JOBS", raising=False)
    check_result(qcompile.resume(unsent, patience=QUICK), best)
    assert str(unsent.folder) in unsent.name


def test_a_claim_that_fails_leaves_the_record(unsent: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: an empty record would make every copy an original."""

    def fail(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with owners.alone_with(unsent):
        monkeypatch.setattr(os, "fsync", fail)
        owners.claim(unsent)
    assert owners.belongs_here(unsent)
    names = {path.name for path in owners._file(unsent).parent.iterdir()}
    assert names == {unsent.id, f"{unsent.id}.lock"}
