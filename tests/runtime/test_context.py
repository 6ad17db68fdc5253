"""Listeners, clients and limits belong to the work inside a `with` block, and to nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcompile
from qcompile import SolveOptions, cross_validate, moments_of, prepare, read, solve, train
from qcompile.data.svmlight import open_files
from qcompile.objective.fit import LossOptions
from qcompile.runtime import cluster, progress, threads, timing
from qcompile.runtime.threads import at_most, cores, in_this_context, ordered
from qcompile.runtime.timing import passing

Counts = list[tuple[int, int | None]]


class Recorder:
    """A callback that keeps what it is told, and the threads that told it."""

    def __init__(self) -> None:
        self.counts: Counts = []
        self.threads: set[int] = set()

    def __call__(self, done: int, total: int | None) -> None:
        self.counts.append((done, total))
        self.threads.add(threading.get_ident())


# listeners


def test_the_innermost_listener_is_told() -> None:
    outer, inner = Recorder(), Recorder()
    with progress.shown_by(outer):
        progress.report(1, 9)
        with progress.shown_by(inner):
            progress.report(2, 9)
        with progress.shown_by(None):  # keeps the one outside
            progress.report(3, None)
        with progress.muted():
            progress.report(4, 9)
            assert not progress.heard()
        progress.report(5, 9)
    progress.report(6, 9)
    assert outer.counts == [(1, 9), (3, None), (5, 9)]
    assert inner.counts == [(2, 9)]


def test_news_go_to_those_who_want_them() -> None:
    told: list[tuple[int, int | None, str]] = []
    plain = Recorder()
    with progress.news_to(lambda *news: told.append(news)):
        progress.report(1, 2, "half")
        with progress.news_to(None), progress.shown_by(plain):
            progress.report(2, 2, "all")
        progress.report(2, 2)
    assert told == [(1, 2, "half"), (2, 2, "")]
    assert plain.counts == [(2, 2)]


def test_an_error_inside_ends_the_listening() -> None:
    with pytest.raises(ZeroDivisionError), progress.shown_by(Recorder()), cluster.using("client"):
        _ = 1 / 0
    assert not progress.heard() and cluster.current() is None


def test_titles_of_passes_go_to_the_listener() -> None:
    titles: list[str] = []
    listener = progress._Listener(lambda done, total, news: None, titles.append)
    with progress._heard_by(listener), passing("outer"):
        with passing("inner"), progress.muted(), passing("hidden"):
            pass
        with progress.shown_by(Recorder()), passing("nobody shows titles"):
            pass
    with passing("too late"):
        pass
    assert titles == ["outer", "inner"]


def test_threads_have_listeners_of_their_own() -> None:
    """Two searches at the same time: each callback hears of its own."""
    together = threading.Barrier(2)

    def work(total: int) -> Counts:
        told = Recorder()
        with progress.shown_by(told):
            for done in range(3):
                together.wait(20)
                progress.report(done, total)
        return told.counts

    with ThreadPoolExecutor(2) as pool, progress.shown_by(Recorder()):
        found = list(pool.map(work, [10, 20]))
    assert found == [[(done, total) for done in range(3)] for total in (10, 20)]


# threads


@pytest.mark.parametrize("workers", [1, 3])
def test_tasks_keep_to_the_limit_and_report_to_nobody(workers: int) -> None:
    """The same with one worker, which is the calling thread, and with several."""
    told, client = Recorder(), object()

    def task(item: int) -> tuple[int, Any]:
        progress.report(item, 99)
        return cores(), cluster.current()

    with at_most(1), progress.shown_by(told), cluster.using(client):
        for done, found in enumerate(ordered(task, range(6), workers=workers), 1):
            assert found == (1, client)
            progress.report(done, 6)
    assert told.counts == [(done, 6) for done in range(1, 7)]
    assert told.threads == {threading.get_ident()}


def test_a_new_thread_knows_nothing_unless_it_is_given_the_context() -> None:
    told = Recorder()

    def ask(number: int) -> Any:
        progress.report(number, None)
        return cluster.current()

    with ThreadPoolExecutor(4) as pool:
        with progress.shown_by(told), cluster.using("client"):
            inside = in_this_context(ask)
            assert pool.submit(ask, 1).result() is None
        # at the same time, and after the block has ended
        assert list(pool.map(inside, [2] * 50)) == ["client"] * 50
    assert told.counts == [(2, None)] * 50


def test_a_generator_that_reports_does_not_change_its_consumer(tmp_path: Path) -> None:
    """Pieces of files report bytes while they are read; what the consumer reports is its own."""
    for number in range(2):
        (tmp_path / f"part-{number}.svm").write_text("1 1:1\n-1 1:2\n" * 3)
    told = Recorder()
    with progress.shown_by(told):
        for piece in open_files(tmp_path / "part-*.svm"):
            progress.report(-len(piece), None)
    size = (tmp_path / "part-0.svm").stat().st_size
    assert told.counts == [(size, 2 * size), (-6, None), (2 * size, 2 * size), (-6, None)]


# the cluster


def test_the_client_is_that_of_the_innermost_block() -> None:
    assert cluster.current() is None
    with cluster.using("outer"):
        with cluster.using("inner"):
            assert cluster.current() == "inner"
        with cluster.using(None):
            assert cluster.current() == "outer"
        with cluster.locally():
            assert cluster.current() is None
            with cluster.using(None):
                assert cluster.current() is None
        assert cluster.current() == "outer"
    assert cluster.current() is None


class FakeClient:
    """A cluster of one worker in this thread, which runs a task when its result is wanted."""

    status = "running"

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def nthreads(self) -> dict[str, int]:
        return {"here": 1}

    def submit(self, task: Callable[..., Any], *arguments: Any, pure: bool) -> FakeFuture:
        assert not pure
        self.tasks.append(task.__name__)
        return FakeFuture(lambda: task(*[getattr(a, "made", a) for a in arguments]))

    def cancel(self, futures: list[FakeFuture]) -> None:
        pass


class FakeFuture:
    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work

    @property
    def made(self) -> Any:
        return self._work()

    def result(self) -> Any:
        return self._work()


@pytest.fixture
def fake() -> Iterator[FakeClient]:
    pytest.importorskip("distributed")
    yield FakeClient()


def test_workers_neither_report_nor_submit(fake: FakeClient) -> None:
    """A worker may be a thread of this process, where the client and a listener are at hand."""
    told = Recorder()

    def task(item: int) -> tuple[Any, bool]:
        progress.report(item, 99)
        return cluster.current(), progress.heard()

    with progress.shown_by(told), cluster.using(fake):
        assert list(cluster.in_order(fake, task, [1, 2])) == [(None, False)] * 2
    assert told.counts == []


@pytest.mark.parametrize("order", [3, 6])
def test_train_sends_the_search_and_nothing_else(order: int, fake: FakeClient) -> None:
    """Over weights (order 3), and over margins (6), where a short local search follows."""
    data = prepare(read("breast-cancer"), scale="standard", features=4)
    options: dict[str, Any] = {
        "bits": 4,
        "loss": LossOptions(order=order),
        "options": SolveOptions(reads=6, sweeps=20),
    }
    here = train(data, **options)
    assert here.samples is not None
    assert here.samples.info["space"] == ("weights" if order == 3 else "margins")
    told = Recorder()
    there = train(data, **options, client=fake, progress=told)
    np.testing.assert_array_equal(here.classifier.weights, there.classifier.weights)
    # the search itself, sent once for each search, and six groups of restarts
    assert fake.tasks[0] == "_unchanged" and len(fake.tasks) % 7 == 0
    assert told.counts[:6] == [(done, 6) for done in range(1, 7)]
    assert {total for _, total in told.counts} == {6}
    assert cluster.current() is None


def test_a_cluster_around_the_call_is_used_like_one_given_to_it(fake: FakeClient) -> None:
    pubo = qcompile.compile(
        "synthetic:examples=50,features=3", scale="none", bias=False, bits=2
    ).pubo
    with cluster.using(fake):
        there = solve(pubo, reads=8)
        with pytest.raises(qcompile.InputError, match="only the restarts of auto, anneal"):
            solve(pubo, solver="exact")
        with cluster.locally():
            solve(pubo, solver="exact")
    assert fake.tasks
    np.testing.assert_array_equal(there.bits, solve(pubo, reads=8).bits)


def test_trials_of_cross_validation_run_on_the_workers_alone(fake: FakeClient) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=3)
    grid = {"bits": [1, 2]}
    options = SolveOptions(reads=4, sweeps=10)
    here, away = Recorder(), Recorder()
    local = cross_validate(data, grid, count=3, options=options, progress=here)
    there = cross_validate(data, grid, count=3, options=options, client=fake, progress=away)
    assert there == local
    assert here.counts == away.counts == [(done, 6) for done in range(1, 7)]
    assert fake.tasks.count("_run_task") == 6  # no restarts from inside of a trial


# what callbacks of public functions count


def test_callbacks_count_one_thing(tmp_path: Path) -> None:
    """Bytes of a file, files of several, rows of a data set: never a mixture."""
    text = "1 1:1 2:3\n-1 1:2\n" * 50
    for number in range(3):
        (tmp_path / f"part-{number}.svm").write_text(text)
    size, data = len(text), read(tmp_path / "part-0.svm")
    cases: list[tuple[Any, dict[str, Any], Counts]] = [
        (tmp_path / "part-0.svm", {}, [(size, 2 * size), (2 * size, 2 * size)]),
        (tmp_path / "part-0.svm", {"scale": "none", "bias": False}, [(size, size)]),
        (tmp_path / "part-0.svm", {"scale": "standard"}, [(size, size)]),
        (tmp_path / "part-*.svm", {"scale": "none", "bias": False}, [(1, 3), (2, 3), (3, 3)]),
        (
            tmp_path / "part-*.svm",
            {"shuffle": True},
            [(size, 3 * size), (2 * size, 3 * size), (3 * size, 3 * size)],
        ),
        (data, {}, [(100, 100)]),
    ]
    for source, options, expected in cases:
        told = Recorder()
        qcompile.compile(source, bits=1, **options, progress=told)
        assert told.counts == expected, (source, options)
        assert told.threads == {threading.get_ident()}
    told = Recorder()
    moments_of([data, data], progress=told)
    assert told.counts == []


def test_the_search_for_chains_does_not_count_for_solve() -> None:
    pubo = qcompile.compile(
        "synthetic:examples=50,features=2", scale="none", bias=False, bits=1
    ).pubo
    told = Recorder()
    solve(pubo, solver="mock", reads=5, machine=qcompile.load_machine("chimera4"), progress=told)
    assert told.counts == []


def test_a_bar_keeps_the_count_of_trials() -> None:
    """Passes of a trial do not rename the bar: that would set its count to 0."""
    titles: list[str] = []
    counts: Counts = []
    listener = progress._Listener(
        lambda done, total, news: counts.append((done, total)), titles.append
    )
    data = prepare(read("breast-cancer"), scale="standard", features=3)
    with progress._heard_by(listener):
        cross_validate(data, {"bits": [1]}, count=2, options=SolveOptions(reads=2, sweeps=5))
    assert titles == []
    assert counts == [(1, 2), (2, 2)]


def test_nothing_is_left_in_modules() -> None:
    """State belongs to the context: no module has a list of bars, passes or clients."""
    for module in (progress, timing, cluster, threads):
        kept = [name for name, value in vars(module).items() if isinstance(value, list | dict)]
        assert [name for name in kept if not name.startswith("__")] == []
