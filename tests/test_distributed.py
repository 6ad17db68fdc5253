"""Work on a Dask cluster of real processes, one of them killed on the way."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import (
    Encoding,
    InputError,
    Loss,
    Moments,
    QcompileError,
    anneal_examples,
    compile,
    cross_validate,
    from_arrays,
    moments_dask,
    moments_of,
    prepare,
    read,
    solve,
    train,
)
from qcompile.cli.app import main
from qcompile.data.options import DataOptions
from qcompile.data.svmlight import lines_of
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import load_moments_of
from qcompile.runtime.cluster import cluster, in_order
from qcompile.solvers.options import SolveOptions
from tests.test_parts import sparse_lines, write_parts

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import distributed

    # its scheduler would write news to a stream that a test has closed long ago
    logging.getLogger("distributed.scheduler").setLevel(logging.WARNING)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as made,
        distributed.Client(made) as ready,
    ):
        yield ready


def assert_equal(one: Moments, two: Moments) -> None:
    """Bit for bit."""
    assert (one.count, one.sum_of_squares) == (two.count, two.sum_of_squares)
    assert dict(one.source) == dict(two.source)
    assert one.preparation is not None and two.preparation is not None
    assert one.preparation.to_dict() == two.preparation.to_dict()
    for key, tensor in one.tensors.items():
        np.testing.assert_array_equal(tensor, two.tensors[key])


def rough_lines(rows: int, features: int, seed: int = 0) -> list[str]:
    """Values whose sums depend on the order of summation."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features))
    y = np.where(x[:, 0] + rng.normal(size=rows) > 0, 1, -1)
    return [
        f"{label} " + " ".join(f"{i + 1}:{v!r}" for i, v in enumerate(row.tolist())) + "\n"
        for label, row in zip(y.tolist(), x, strict=True)
    ]


@pytest.fixture
def pattern(tmp_path: Path) -> str:
    text = rough_lines(700, 6)
    ends = [0, 50, 50, 300, 310, 700]
    return write_parts(tmp_path, [text[a:b] for a, b in pairwise(ends)])


@pytest.mark.parametrize(
    "options", [{}, {"scale": "standard", "features": 4, "bias": True}, {"scale": "unit-norm"}]
)
def test_workers_give_the_local_sums_bit_for_bit(
    client: Any, pattern: str, options: dict[str, Any]
) -> None:
    seen: list[tuple[int, int | None]] = []
    local = load_moments_of(pattern, DataOptions(**options), LossOptions())
    there = load_moments_of(
        pattern,
        DataOptions(**options),
        LossOptions(),
        client=client,
        progress=lambda done, whole: seen.append((done, whole)),
    )
    assert_equal(there, local)
    assert {whole for _, whole in seen} == {5}


def test_a_worker_that_dies_is_survived(client: Any, tmp_path: Path) -> None:
    """SIGKILL while parts are being summed; the sums are those of a quiet run."""
    text = rough_lines(300, 40)
    pattern = write_parts(tmp_path, [text] * 24)
    local = load_moments_of(pattern, DataOptions(), LossOptions())
    before = client.run(os.getpid)
    victim = sorted(before.values())[0]
    killed = threading.Event()

    def kill(done: int, whole: int | None) -> None:
        if done == 3 and not killed.is_set():
            killed.set()
            os.kill(victim, signal.SIGKILL)

    there = load_moments_of(pattern, DataOptions(), LossOptions(), client=client, progress=kill)
    assert killed.is_set()
    assert_equal(there, local)
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()


def test_restarts_survive_a_death_too(client: Any) -> None:
    pubo = compile("synthetic:examples=200", bits=3).pubo
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


def test_ctrl_c_keeps_the_best_of_what_the_workers_made(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    pubo = compile("synthetic:examples=200", bits=3).pubo
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


def test_restarts_are_those_made_here(client: Any) -> None:
    """In bits, in weights and over margins, whatever the number of reads."""
    for bits, reads in ((1, 10), (3, 65), (3, 1)):
        pubo = compile("synthetic:examples=300", bits=bits).pubo
        local, there = solve(pubo, reads=reads), solve(pubo, reads=reads, client=client)
        np.testing.assert_array_equal(local.bits, there.bits)
    data = read("mease-wyner").take(slice(300))
    loss, encoding = Loss((0.4, -1.7, 0.8, 2.6, -1.8, -1.3, 1.0)), Encoding(21, 3, 0.4)
    for each, reads in ((None, 6), (2, 6), (1, 66)):
        options: dict[str, Any] = {"reads": reads, "sweeps": 5, "each": each, "keep": 70}
        here = anneal_examples(data, loss, encoding, **options)
        away = anneal_examples(data, loss, encoding, client=client, **options)
        np.testing.assert_array_equal(here, away)


def test_cross_validation_is_the_one_made_here(client: Any) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=5)
    grid = {"bits": [1, 2], "order": [3, 6]}
    options = SolveOptions(reads=10)
    local = cross_validate(data, grid, count=3, options=options)
    seen: list[int] = []
    there = cross_validate(
        data,
        grid,
        count=3,
        options=options,
        client=client,
        progress=lambda done, whole: seen.append(done),
    )
    assert there == local
    assert seen == list(range(1, 13))


def test_training_uses_the_workers(client: Any) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=5)
    for loss in (LossOptions(), LossOptions(order=6)):
        options = SolveOptions(reads=10)
        local = train(data, bits=2, loss=loss, options=options)
        there = train(data, bits=2, loss=loss, options=options, client=client)
        np.testing.assert_array_equal(local.classifier.weights, there.classifier.weights)


def test_collections(client: Any, tmp_path: Path) -> None:
    """Bags of lines and of data sets, arrays, delayed data sets: against the rows in one place."""
    import dask.array as da
    import dask.bag as db
    from dask.delayed import delayed

    text = sparse_lines(120)
    path = tmp_path / "whole.svm"
    path.write_text("".join(text))
    data = read(path)
    whole = moments_of(data, 3, fit=True)
    dense = data.x.toarray()
    labels = np.where(data.y > 0, 7.0, 2.0)
    rows = da.from_array(dense, chunks=(50, 2))
    parts = [data.take(slice(a, a + 40)) for a in (0, 40, 80)]
    found = [
        moments_dask(db.from_sequence(text, npartitions=4)),
        moments_dask(db.from_sequence(text, npartitions=4), client=client),
        moments_dask(rows, labels=da.from_array(labels, chunks=70), client=client),
        moments_dask(db.from_sequence(parts, npartitions=2)),
        moments_dask([delayed(part) for part in parts]),
    ]
    for moments in found:
        assert moments.count == 120
        for key, tensor in moments.tensors.items():
            np.testing.assert_allclose(tensor, whole.tensors[key], rtol=1e-12, atol=1e-12)
        assert moments.preparation is not None
        assert moments.preparation.positive == 7
    assert_equal(found[0], found[1])
    scaled = moments_dask(rows, labels=da.from_array(labels), scale="standard", features=3)
    expected = moments_of(prepare(data, scale="standard", features=3), 3)
    for key, tensor in scaled.tensors.items():
        np.testing.assert_allclose(tensor, expected.tensors[key], rtol=1e-9, atol=1e-9)


def test_one_class_against_the_rest(client: Any, tmp_path: Path) -> None:
    """The named label is +1, wherever it is and whatever its size."""
    import dask.array as da
    import dask.bag as db

    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=(60, 3)), np.repeat([5.0, 1.0, 3.0], 20)
    whole = moments_of(from_arrays(x, labels, positive=1.0), 2)
    text = list(lines_of(x, labels))
    pattern = write_parts(tmp_path, [text[:15], text[15:45], text[45:]])
    rows = da.from_array(x, chunks=(25, 3))
    found = [
        moments_dask(rows, 2, labels=labels, positive=1.0),
        moments_dask(rows, 2, labels=list(labels), positive=1.0, client=client),
        moments_dask(
            db.from_sequence([line.rstrip() for line in text], npartitions=3), 2, positive=1.0
        ),
        load_moments_of(
            pattern, DataOptions(positive=1.0), LossOptions(coefficients=(0, 1, 1)), client=client
        ),
    ]
    for moments in found:
        assert set(moments.tensors) == set(whole.tensors)
        for key, tensor in moments.tensors.items():
            np.testing.assert_allclose(tensor, whole.tensors[key], rtol=1e-12, atol=1e-12)


def test_sparse_chunks_of_any_kind(client: Any) -> None:
    """Entries stored twice, whole numbers, columns first: as from_arrays takes them."""
    import dask.array as da
    import scipy.sparse as sp

    rng = np.random.default_rng(3)
    dense = rng.integers(-2, 3, size=(80, 30)) * (rng.random((80, 30)) < 0.1).astype(float)
    labels = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    whole = moments_of(from_arrays(sp.csr_array(dense), labels), 3)

    def doubled(block: Any) -> Any:
        where = np.nonzero(block)
        half = block[where] / 2
        return sp.coo_matrix(
            (np.tile(half, 2), tuple(np.tile(place, 2) for place in where)), block.shape
        )

    for kind in (
        doubled,
        sp.csr_matrix,
        lambda b: sp.csc_array(b.astype(int)),
        lambda b: b.astype(int),
    ):
        rows = da.from_array(dense, chunks=(30, 30)).map_blocks(kind)
        found = moments_dask(rows, labels=labels)
        for key, tensor in found.tensors.items():
            np.testing.assert_allclose(tensor, whole.tensors[key], rtol=1e-12, atol=1e-12)


def test_empty_partitions(client: Any) -> None:
    import dask.bag as db
    from dask.delayed import delayed

    text = sparse_lines(20)
    bag = db.from_delayed([delayed(text[:5]), delayed([]), delayed(text[5:])])
    assert moments_dask(bag).count == 20
    assert (
        moments_dask(bag.filter(lambda line: line.startswith(("7", "2"))), client=client).count
        == 20
    )
    with pytest.raises(InputError, match="no rows"):
        moments_dask(db.from_delayed([delayed([])]))


def test_wide_rows_are_summed_alike(client: Any, tmp_path: Path) -> None:
    """So wide that one machine would use all its cores for a single matrix product."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 350))
    text = list(lines_of(x, np.where(x[:, 0] > 0, 1.0, -1.0)))
    pattern = write_parts(tmp_path, [text[:40], text[40:]])
    loss = LossOptions(coefficients=(0.0, 1.0, 1.0, 1.0))
    local = load_moments_of(pattern, DataOptions(), loss)
    assert_equal(load_moments_of(pattern, DataOptions(), loss, client=client), local)


def test_collections_that_make_no_sense() -> None:
    import dask.array as da
    import dask.bag as db
    from dask.delayed import delayed

    rows = da.ones((4, 2), chunks=2)
    with pytest.raises(InputError, match="without labels"):
        moments_dask(rows)
    with pytest.raises(InputError, match="one label for each row"):
        moments_dask(rows, labels=da.ones(3, chunks=3))
    with pytest.raises(InputError, match="one class only"):
        moments_dask(rows, labels=da.ones(4, chunks=4))
    with pytest.raises(InputError, match="holds int; expected svmlight lines"):
        moments_dask(db.from_sequence([1, 2]))
    with pytest.raises(InputError, match="beside a Dask array only"):
        moments_dask(db.from_sequence(["1 1:1"]), labels=[1])
    with pytest.raises(InputError, match="without partitions"):
        moments_dask([])
    with pytest.raises(InputError, match="NaN or infinite"):
        moments_dask(rows * np.nan, labels=da.ones(4, chunks=4))
    with pytest.raises(InputError, match="NaN or infinite"):
        moments_dask(rows, labels=[1.0, 2.0, np.nan, 1.0])
    with pytest.raises(InputError, match="no real numbers"):
        moments_dask(rows, labels=["a", "b", "a", "b"])
    with pytest.raises(InputError, match="no real numbers"):
        moments_dask(rows * 1j, labels=[1, 2, 1, 2])
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        moments_dask(rows[rows[:, 0] > 0], labels=[1, 2, 1, 2])
    with pytest.raises(InputError, match="a str; expected a Dask bag"):
        moments_dask("part-*.svm")
    with pytest.raises(InputError, match="partition 0 is a int; expected a data set"):
        moments_dask([delayed(5)])
    with pytest.raises(InputError, match="order 9"):
        moments_dask(rows, 9, labels=[1, 2, 1, 2])
    data = read("long-servedio").take(slice(9))
    with pytest.raises(InputError, match="read already"):
        moments_dask([delayed(data)], scale="standard")


def test_errors_come_back_from_workers(client: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:x\n")
    (tmp_path / "b.svm").write_text("1 1:1\n")
    with pytest.raises(InputError, match=r"a\.svm, line 2: value 'x'"):
        load_moments_of(str(tmp_path / "*.svm"), DataOptions(), LossOptions(), client=client)
    for options in ({"shuffle": True}, {"noise": 0.1}, {"rows": 5}):
        with pytest.raises(InputError, match="with --dask or data in several parts"):
            load_moments_of(
                str(tmp_path / "*.svm"), DataOptions(**options), LossOptions(), client=client
            )
    with pytest.raises(InputError, match="workers cannot read it"):
        load_moments_of("synthetic", DataOptions(), LossOptions(), client=client)
    with pytest.raises(InputError, match="only anneal's restarts"):
        solve(compile("synthetic", bits=1).pubo, solver="exact", client=client)


def _die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_task_that_kills_every_worker_is_given_up() -> None:
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # one death will do
        cluster() as own,
        pytest.raises(QcompileError, match="every worker that took this task"),
    ):
        list(in_order(own, _die, [1]))


def _threads(number: int) -> int:
    from qcompile.runtime.threads import cores

    return cores()


def test_a_task_keeps_to_the_threads_of_its_worker(client: Any) -> None:
    assert list(in_order(client, _threads, [1, 2, 3])) == [1, 1, 1]


def test_what_is_not_asked_for_any_more_is_cancelled(client: Any) -> None:
    """A hundred tasks of five seconds, given up after the first result."""
    results = in_order(client, time.sleep, [0, *[5] * 100])
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert list(in_order(client, str, [5])) == ["5"]


def test_a_cluster_that_is_gone(pattern: str) -> None:
    """While tasks run and before they are sent: one line, not the library's own noise."""
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as made:
        other = distributed.Client(made, set_as_default=False)
        results = in_order(other, time.sleep, [0, 600])
        next(results)
    pubo = compile("synthetic:examples=50", bits=1).pubo
    for ask in (lambda: next(results), lambda: solve(pubo, client=other)):
        with pytest.raises(QcompileError, match="the Dask cluster is gone") as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_a_scheduler_without_workers_and_one_that_is_none(pattern: str) -> None:
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=0, processes=True, dashboard_address="127.0.0.1:0"
        ) as made,
        pytest.raises(InputError, match="has no workers"),
        cluster(made.scheduler_address),
    ):
        pass
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls, says nothing
        port = silent.getsockname()[1]
        with (
            pytest.raises(InputError, match="no Dask scheduler at"),
            cluster(f"127.0.0.1:{port}"),
        ):
            pass


def test_a_file_that_workers_do_not_see(client: Any, pattern: str, tmp_path: Path) -> None:
    from qcompile.moments.dask import total_on
    from qcompile.moments.parts import Wanted

    gone = str(tmp_path / "gone.svm")
    with pytest.raises(InputError, match="a worker does not see this file"):
        total_on(client, [gone], [gone])(Wanted(order=1, fit=False))


def test_without_dask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["compile", "data.svm", "--dask"]) == 2
    assert "pip install 'qcompile[dask]'" in capsys.readouterr().err


def test_the_command(pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster made here gives the file that one machine gives."""
    one, two = str(tmp_path / "one-qubo.json"), str(tmp_path / "two-qubo.json")
    assert main(["compile", pattern, "--bits", "2", "--emit", one, "-q"]) == 0
    assert main(["compile", pattern, "--bits", "2", "--emit", two, "-q", "--dask"]) == 0
    assert Path(one).read_bytes() == Path(two).read_bytes()
    assert main(["compile", pattern, "--dask", "127.0.0.1:1", "-q"]) == 2
    assert "no Dask scheduler at 127.0.0.1:1" in capsys.readouterr().err
    for strange in (pattern, "foo://127.0.0.1:1", "127.0.0.1:99999"):
        with pytest.raises(SystemExit):
            main(["compile", "--dask", strange])
        assert "write --dask last" in capsys.readouterr().err
    alone = str(tmp_path / "part-04.svm")
    assert main(["compile", alone, "--bits", "1", "--emit", one, "-q"]) == 0
    assert main(["compile", alone, "--bits", "1", "--emit", two, "-q", "--dask=local"]) == 0
    assert Path(one).read_bytes() == Path(two).read_bytes()


def test_a_scheduler_by_its_address(client: Any, pattern: str) -> None:
    with cluster(client.scheduler.address) as other:
        there = load_moments_of(pattern, DataOptions(), LossOptions(), client=other)
    assert_equal(there, load_moments_of(pattern, DataOptions(), LossOptions()))


def test_ctrl_c_leaves_no_worker_behind(pattern: str, tmp_path: Path) -> None:
    """The command is interrupted while its workers are at work."""
    code = (
        "import sys, time\n"
        "from qcompile.distributed import cluster, in_order\n"
        "if __name__ == '__main__':\n"
        "    with cluster() as client:\n"
        "        print(*client.run(__import__('os').getpid).values(), flush=True)\n"
        "        list(in_order(client, time.sleep, [600, 600]))\n"
    )
    script = tmp_path / "work.py"
    script.write_text(code)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        workers = list(map(int, process.stdout.readline().split()))
        assert workers
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers too
        process.wait(60)
        assert process.stderr is not None
        noise = process.stderr.read()
    assert noise.count("Traceback") == 1, noise  # the script's own
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
