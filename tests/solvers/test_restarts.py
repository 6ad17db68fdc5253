from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from qcompile import Encoding, Loss, anneal_examples, compile, read, solve
from qcompile.solvers.pool_kernel import offer, pool_of
from qcompile.solvers.restarts import Search, run_restarts
from tests.by_brute_force import brute_force
from tests.problems import polynomial


@pytest.mark.slow
def test_restarts_survive_a_death_too(client: Any) -> None:
    pubo = compile("synthetic:examples=200", scale="none", bias=False, bits=3).pubo
    local = solve(pubo, reads=64, sweeps=400, seed=3)
    client.wait_for_workers(2, timeout=60)
    victim = sorted(client.run(os.getpid).values())[0]

    killed = threading.Event()

    def kill(done: int, whole: int | None) -> None:
        if not killed.is_set():
            killed.set()
            os.kill(victim, signal.SIGKILL)

    there = solve(pubo, reads=64, sweeps=400, seed=3, client=client, progress=kill)
    np.testing.assert_array_equal(there.bits, local.bits)
    np.testing.assert_array_equal(there.energies, local.energies)
    assert killed.is_set()
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_of_what_the_workers_made(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    pubo = compile("synthetic:examples=200", scale="none", bias=False, bits=3).pubo
    first: list[int] = []

    def interrupt(done: int, whole: int | None) -> None:
        first.append(done)
        raise KeyboardInterrupt

    found = solve(pubo, reads=640, sweeps=50, seed=3, client=client, progress=interrupt)
    assert "keeping the best states so far" in caplog.text
    (reads,) = first
    assert 0 < reads < 640
    every = solve(pubo, reads=640, keep=640, sweeps=50, seed=3)
    known = {tuple(bits): energy for bits, energy in zip(every.bits, every.energies, strict=True)}
    assert 0 < len(found) < len(every)
    for bits, energy in zip(found.bits, found.energies, strict=True):
        assert known[tuple(bits)] == energy


@pytest.mark.slow
@pytest.mark.lowest
def test_restarts_are_those_made_here(client: Any) -> None:
    """In bits, in weights and over margins, whatever the number of reads."""
    for bits, reads in ((1, 10), (3, 65), (3, 1)):
        pubo = compile("synthetic:examples=300", scale="none", bias=False, bits=bits).pubo
        local, there = solve(pubo, reads=reads), solve(pubo, reads=reads, client=client)
        np.testing.assert_array_equal(local.bits, there.bits)
    data = read("mease-wyner").take(slice(300))
    loss, encoding = Loss((0.4, -1.7, 0.8, 2.6, -1.8, -1.3, 1.0)), Encoding(21, 3, 0.4)
    for each, reads in ((None, 6), (2, 6), (1, 66)):
        options: dict[str, Any] = {"reads": reads, "sweeps": 5, "each": each, "keep": 70}
        here = anneal_examples(data, loss, encoding, **options)
        away = anneal_examples(data, loss, encoding, client=client, **options)
        np.testing.assert_array_equal(here, away)


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    pubo = polynomial(14, 3)
    one = solve(pubo, reads=70, seed=3)
    for workers in (1, 3):
        monkeypatch.setattr("qcompile.runtime.threads.cores", lambda workers=workers: workers)
        other = solve(pubo, reads=70, seed=3)
        assert (other.bits == one.bits).all()
    assert len(solve(pubo, reads=2, seed=4)) > 0


def test_the_pool_holds_distinct_states() -> None:
    pubo = polynomial(6, 3)
    found = solve(pubo, reads=50, keep=20)
    assert len(found) == 20
    assert found.energies == pytest.approx(np.sort(brute_force(pubo))[:20])


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_a_group_that_is_under_way(
    workers: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A group that would take minutes ends after the restart that runs, and is not lost."""
    monkeypatch.setattr("qcompile.runtime.threads.cores", lambda: workers)
    begun = threading.Event()

    def prepare() -> tuple[Any, int]:
        def one(number: int, pool: Any, _stop: Any) -> None:
            time.sleep(0.02)
            offer(pool, float(number), np.uint64(number + 1), np.array([number], dtype=np.int32))
            begun.set()

        return one, 1

    def interrupt() -> None:
        begun.wait(60)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    search = Search(prepare, (), reads=1_000_000, keep=5)
    assert len(search.groups) > 1000
    offer(pool_of(1, 1), 0.0, np.uint64(1), np.zeros(1, dtype=np.int32))  # compiles it
    thread = threading.Thread(target=interrupt)
    thread.start()
    found = run_restarts(search)
    thread.join()
    assert "keeping the best states so far" in caplog.text
    assert found.states[0, 0] == 0 and found.reads[0] == 1
    assert 1 <= found.made < 256  # a whole group


def test_groups_are_small_for_any_number_of_reads() -> None:
    def size(reads: int, keep: int = 50) -> int:
        return Search(lambda: (lambda number, pool, stop: None, 1), (), reads, keep).size

    assert [size(1), size(100), size(6400)] == [1, 2, 100]
    assert size(10**6) == size(10**9) == 256
    assert size(10**9, keep=5000) == 5000
