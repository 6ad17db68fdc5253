from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from qcompile import InputError, Submission
from qcompile.leap.job_store import list_jobs, load_job
from tests.sapi import Sapi


def test_names_of_no_job_are_refused(server: Sapi) -> None:
    for name in ("../x", "*", "", "no-such"):
        with pytest.raises(InputError):
            load_job(name)


def test_jobs_are_found_by_the_beginning_of_their_id(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    first, second = send(), send()
    assert first.job is not None and second.job is not None
    assert load_job(first.job.id[:-2]).id == first.job.id
    with pytest.raises(InputError, match="2 jobs begin with it"):
        load_job(first.job.id[:6])
    assert load_job(second.job.folder).id == second.job.id


def test_drafts_are_no_jobs(server: Sapi, send: Callable[..., Submission], tmp_path: Path) -> None:
    job = send().job
    assert job is not None
    place = tmp_path / "jobs"
    shutil.copytree(job.folder, place / ".draft-new")
    (place / ".draft-old").mkdir()
    os.utime(place / ".draft-old", (0, 0))
    assert len(list_jobs()) == 1
    send()
    assert [path.name for path in place.glob(".draft-*")] == [".draft-new"]
    assert place.stat().st_mode & 0o077 == 0  # nobody else's business
