"""SIGKILL at every moment of a submission: one problem on the server, and resume ends the job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import qcompile
from qcompile import Qubo
from qcompile.leap.job import Job
from qcompile.leap.job_store import list_jobs
from tests import sapi
from tests.sapi import Sapi

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]


class World:
    """A server, a folder with a problem and its chains, and clients as processes."""

    def __init__(self, server: Sapi, folder: Path, qubo: Qubo) -> None:
        self.server, self.folder, self.qubo = server, folder, qubo
        self.victim: subprocess.Popen[str] | None = None
        self.environment = {**os.environ, **server.environment(str(folder))}
        self.environment["PYTHONPATH"] = str(_ROOT)

    def start(self, moment: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a client; as the command itself, without a guard of the network, at no moment."""
        words = ["tests.client", moment] if moment else ["qcompile"]
        self.victim = subprocess.Popen(
            [sys.executable, "-m", *words, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # background processes may ignore Ctrl-C, and hand that down
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        return self.victim

    def submit(self, moment: str, *more: str) -> subprocess.Popen[str]:
        given = ("qubo.json", "--embedding", "embedding.json", "-n", "60", "--yes")
        return self.start(moment, "submit", *given, *more)

    def kill(self) -> None:
        assert self.victim is not None
        self.victim.kill()

    def expect_killed(self) -> None:
        assert self.victim is not None
        _, errors = self.victim.communicate(timeout=120)
        assert self.victim.returncode == -signal.SIGKILL, errors

    def ended(self, process: subprocess.Popen[str]) -> int:
        process.communicate(timeout=120)
        return process.returncode

    def jobs(self) -> list[Job]:
        """Read the jobs here: a process for each look would take most of the time."""
        return list_jobs(self.folder / "data" / "qcompile" / "jobs")

    def resume(self, *, problems: int = 1) -> None:
        """Go on in a new process, and check what comes of it."""
        (job,) = self.jobs()
        process = self.start("-", "resume", job.id, "--grace", "1", "-o", "model.json")
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert len(self.server.problems) == problems
        self.check_model(self.folder / "model.json")
        assert self.jobs()[0].stage == "done"

    def check_model(self, path: Path) -> None:
        qubo = self.qubo
        bits = np.array(list(np.ndindex(*(2,) * qubo.logical)), dtype=np.int8)
        best = bits[np.argmin(qubo.score(bits))]
        np.testing.assert_allclose(qcompile.load_classifier(path).weights, qubo.decode(best))


@pytest.fixture
def world(qubo: Qubo, chains: qcompile.Embedding, tmp_path: Path) -> Iterator[World]:
    qcompile.save_qubo(qubo, tmp_path / "qubo.json")
    qcompile.save_embedding(chains, tmp_path / "embedding.json")
    with Sapi() as server:
        yield World(server, tmp_path, qubo)


def test_killed_before_post(world: World) -> None:
    world.submit("before POST")
    world.expect_killed()
    assert not world.server.problems
    assert world.jobs()[0].stage == "sent"  # for all that anybody can know
    world.resume()


def test_killed_before_it_is_marked_as_sent(world: World) -> None:
    world.submit("before it is marked as sent")
    world.expect_killed()
    assert not world.server.problems
    world.resume()


def test_killed_while_the_server_works_on_the_post(world: World) -> None:
    world.server.fail("post", sapi.after(world.kill))
    world.submit("-")
    world.expect_killed()
    assert len(world.server.problems) == 1
    world.resume()
    assert world.server.count("post") == 1


def test_killed_after_post_before_the_id_is_written(world: World) -> None:
    world.submit("after POST, before the id is written")
    world.expect_killed()
    assert len(world.server.problems) == 1
    world.resume()
    assert world.server.count("post") == 1


def test_killed_while_waiting(world: World) -> None:
    world.server.pending_polls = 2
    world.server.fail("poll", sapi.after(world.kill))
    world.submit("-")
    world.expect_killed()
    world.resume()
    assert world.server.count("list") == 0  # the id was known


def test_killed_during_the_answer(world: World) -> None:
    world.server.fail("answer", sapi.half_then(world.kill))
    world.submit("-")
    world.expect_killed()
    world.resume()


def test_killed_before_the_answer_is_noted(world: World) -> None:
    world.submit("before the answer is noted")
    world.expect_killed()
    world.resume()


@pytest.mark.parametrize(
    "moment", ["between answer and decoded result", "while the result is written"]
)
def test_killed_between_answer_and_decoded_result(world: World, moment: str) -> None:
    world.submit(moment)
    world.expect_killed()
    asked = len(world.server.requests)
    world.resume()
    assert len(world.server.requests) == asked  # the answer was on disk


def test_killed_while_the_folder_is_written(world: World) -> None:
    world.submit("while the folder is written")
    world.expect_killed()
    assert not world.server.problems and world.jobs() == []
    again = world.submit("-", "-o", "model.json")
    assert world.ended(again) == 0
    assert len(world.server.problems) == 1
    world.check_model(world.folder / "model.json")


def test_killed_between_two_parts(world: World) -> None:
    world.server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 20]
    world.server.fail("post", lambda handler, process: handler.reply(process()))
    world.server.fail("post", sapi.after(world.kill))
    world.submit("-")
    world.expect_killed()
    assert len(world.server.problems) == 2
    world.resume(problems=3)
    assert world.server.count("post") == 3


@pytest.mark.parametrize("kind", ["hybrid", "nl"])
def test_killed_hybrid_jobs(world: World, kind: str) -> None:
    """The upload is not repeated, and the problem is not submitted twice."""
    world.start("before POST", "submit", "qubo.json", "--solver-type", kind, "--yes")
    world.expect_killed()
    uploads = world.server.count("upload")
    (job,) = world.jobs()
    process = world.start("-", "resume", job.id, "--grace", "1")
    assert world.ended(process) == 0
    assert len(world.server.problems) == 1 and world.server.count("upload") == uploads


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_while_waiting(world: World, number: signal.Signals, code: int) -> None:
    world.server.pending_polls = 10**6

    def interrupt() -> None:
        assert world.victim is not None
        world.victim.send_signal(number)

    world.server.fail("poll", sapi.after(interrupt))
    process = world.submit("")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code
    assert "it is on the server as 00000000-aaaa" in errors and "qcompile resume" in errors
    assert "Traceback" not in errors
    next(iter(world.server.problems.values()))["polls"] = 0
    world.resume()


def test_verbose_output_holds_no_token(world: World) -> None:
    """The whole process, at every level that Ocean has."""
    world.environment |= {"DWAVE_LOG_LEVEL": "TRACE", "PYTHONFAULTHANDLER": "1"}
    world.server.fail("post", sapi.reset_after)
    process = world.submit("-", "-v")
    shown = "".join(process.communicate(timeout=120))
    assert process.returncode == 0 and "dwave" in shown
    assert sapi.TOKEN not in shown


@pytest.mark.parametrize("number", [8, 9])
def test_killed_around_the_second_phase_of_a_sweep(world: World, number: int) -> None:
    """Killed while the last trial, or the problem at the chosen strength, is being posted."""
    passing = lambda handler, process: handler.reply(process())  # noqa: E731
    world.server.fail("post", *[passing] * (number - 2), sapi.after(world.kill))
    world.submit("-", "--chain-strength", "sweep")
    world.expect_killed()
    assert len(world.server.problems) == number - 1
    world.resume(problems=8)
    assert world.server.count("post") == 8 and world.server.billed == 8


def test_killed_before_the_choice_of_a_sweep_is_used(world: World) -> None:
    """All trials are answered; the look for the next problem is where the process dies."""
    world.server.fail("list", sapi.after(world.kill))
    world.submit("-", "--chain-strength", "sweep")
    world.expect_killed()
    (job,) = world.jobs()
    choice = (job.folder / "choice.json").read_bytes()
    world.resume(problems=8)
    assert (job.folder / "choice.json").read_bytes() == choice
    assert world.server.count("post") == 8
