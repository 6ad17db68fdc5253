from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import qcompile
from qcompile import InputError, Submission
from qcompile.leap.job_store import Damaged, alone_in, list_jobs, load_job, read_job, scan_jobs
from tests.leap.jobs import QUICK, READS
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


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _outside(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


@pytest.mark.parametrize("change", [_pipe, _folder, _outside, Path.unlink])
def test_one_strange_folder_does_not_hinder_the_others(
    server: Sapi, send: Callable[..., Submission], change: Callable[[Path], None]
) -> None:
    """Each file in turn is a pipe, a folder, a link, or missing; nothing waits for a pipe."""
    server.pending_polls = 10**6
    sent = send(wait=False).job
    assert sent is not None
    pristine = sent.folder.with_name(".pristine")
    shutil.copytree(sent.folder, pristine)
    for name in ("job.json", "part-1.json", "problem.npz", "embedding.json", "lock"):
        change(sent.folder / name)
        found = scan_jobs(None, read_job)
        if name == "job.json":
            assert isinstance(found[0], Damaged) and "job.json" in found[0].reason
            assert list_jobs() == []
        elif name == "part-1.json" and change is not Path.unlink:
            assert [job.stage for job in list_jobs()] == ["sent"]
        else:
            assert len(list_jobs()) == 1
        send(wait=False, reads=READS + 1, again=True)
        for folder in (tmp for tmp in sent.folder.parent.iterdir() if tmp.is_dir()):
            if folder != pristine:
                shutil.rmtree(folder)
        shutil.copytree(pristine, sent.folder)


def test_links_in_a_folder_are_not_written_through(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path
) -> None:
    """A folder from somebody else must not change a file outside of it."""
    server.pending_polls = 1
    sent = send(wait=False).job
    assert sent is not None
    outside = tmp_path / "outside"
    outside.mkdir()
    names = ["answer-1.json", "samples.json", "model.json"]
    for name in names:
        (outside / name).write_text("precious")
        (sent.folder / name).symlink_to(outside / name)
    found = qcompile.resume(sent.id, patience=QUICK)
    assert found.classifier is not None
    assert all((outside / name).read_text() == "precious" for name in names)
    assert all(not (sent.folder / name).is_symlink() for name in names)

    def linked(name: str) -> Path:
        path = outside / name
        path.write_bytes((sent.folder / name).read_bytes())
        (sent.folder / name).unlink()
        (sent.folder / name).symlink_to(path)
        return path

    lock, part = linked("lock"), linked("part-1.json")
    with pytest.raises(InputError, match="cannot be written"):
        qcompile.resume(sent.id, patience=QUICK)
    (sent.folder / "lock").unlink()
    before = part.read_bytes()
    qcompile.resume(sent.id, patience=QUICK)
    assert part.read_bytes() == before and lock.read_bytes() == b""
    assert server.billed == 1


def test_jobs_are_created_one_after_the_other(tmp_path: Path) -> None:
    """Threads stand for processes: each opens the lock for itself."""
    inside: list[int] = []
    most: list[int] = []

    def create() -> None:
        for _ in range(20):
            with alone_in(tmp_path / "jobs"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=create) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
