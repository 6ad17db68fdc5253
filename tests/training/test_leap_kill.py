"""SIGKILL before every request and every write of a training on Leap, and after the last one.

A process that dies before a request or write has died after the one before it: in between nothing
reaches the server or the disk. Whatever the moment, resume ends the training with the same weights,
and no round is paid twice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile.jobs import list_jobs
from tests.sapi import Sapi

_ROOT = Path(__file__).parents[2]
_ROUNDS = 2  # of the training in tests/training/victims.py


class World:
    """A server, and trainings in processes that may die."""

    def __init__(self, server: Sapi, folder: Path) -> None:
        self.server, self.folder, self.copies = server, folder, 1
        # no threads: a process with threads cannot be forked
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.training.victims"],
            cwd=_ROOT,
            env={**os.environ, **server.environment(str(folder)), **threads},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, jobs: Path, dies_at: int | None = None, job: str | None = None) -> dict[str, Any]:
        """Train, or resume a job; return the exit code, and what was done if the process lived."""
        assert self.process.stdin is not None and self.process.stdout is not None
        data, errors = str(self.folder / "data.svm"), str(self.folder / "errors")
        order: dict[str, Any] = {
            "dies_at": dies_at,
            "data": data,
            "jobs": str(jobs),
            "job": job,
            "errors": errors,
        }
        order["copies"] = self.copies
        print(json.dumps(order), file=self.process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self, jobs: Path) -> bytes:
        """Go on until the training is done; check the bill, and return the weights."""
        if not list_jobs(jobs):  # nothing was sent
            assert self.run(jobs)["code"] == 0, self.errors
        (job,) = list_jobs(jobs)
        assert self.run(jobs, job=str(job.folder))["code"] == 0, self.errors
        assert job.stage == "done"
        sent = [own for own in self.server.problems.values() if job.id in own["label"]]
        assert [own["status"] for own in sent] == ["COMPLETED"] * _ROUNDS
        assert len({own["label"] for own in sent}) == _ROUNDS
        return qcompile.load_classifier(job.folder / "model.json").weights.tobytes()

    @property
    def errors(self) -> str:
        return (self.folder / "errors").read_text()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    data = qcompile.prepare(qcompile.read("breast-cancer"), features=4)
    lines = [
        f"{int(y)} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(row.tolist(), 1))
        for row, y in zip(data.x[:120], data.y[:120], strict=True)
    ]
    (tmp_path / "data.svm").write_text("\n".join(lines) + "\n")
    with Sapi() as server:
        made = World(server, tmp_path)
        try:
            yield made
        finally:
            made.process.communicate(timeout=60)  # its input ends, and so does it


@pytest.mark.slow
def test_killed_before_and_after_every_request_and_write(world: World) -> None:
    world.run(world.folder / "first")  # later ones find chains and kernels on disk
    jobs = world.folder / "undisturbed"
    made = world.run(jobs)["made"]
    assert made.count("request") >= 3 * _ROUNDS and made.count("write") >= 10 * _ROUNDS
    expected = world.end(jobs)
    for number in range(1, len(made) + 1):
        jobs = world.folder / f"dies-at-{number}"
        assert world.run(jobs, number)["code"] == -9, number
        assert world.end(jobs) == expected, f"after {number} of {made}"


@pytest.mark.slow
def test_killed_while_step_sizes_are_annealed_together(world: World) -> None:
    world.copies = 3
    world.run(world.folder / "first")
    jobs = world.folder / "undisturbed"
    made = world.run(jobs)["made"]
    expected = world.end(jobs)
    for number in range(1, len(made) + 1, 3):
        jobs = world.folder / f"dies-at-{number}"
        assert world.run(jobs, number)["code"] == -9, number
        assert world.end(jobs) == expected, f"after {number} of {made}"


@pytest.mark.slow
def test_killed_again_and_again(world: World) -> None:
    """Each process gets a few steps further than the one before, until the training is done."""
    world.run(world.folder / "first")
    expected = world.end(world.folder / "first")
    jobs = world.folder / "jobs"
    world.run(jobs, 12)
    (job,) = list_jobs(jobs)
    lives = 0
    while world.run(jobs, 9, str(job.folder))["code"] == -9 and lives < 30:
        lives += 1
    assert lives > 2
    assert world.end(jobs) == expected
