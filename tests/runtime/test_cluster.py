"""Work on a Dask cluster of real processes, one of them killed on the way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import InputError, QcompileError, compile, cross_validate, prepare, read, solve, train
from qcompile.cli.app import _parser, main
from qcompile.data.options import DataOptions
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import load_moments_of
from qcompile.runtime import cluster
from qcompile.runtime.cluster import connected, in_order
from qcompile.solvers.options import SolveOptions
from tests.parts import assert_equal

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")


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


def test_errors_come_back_from_workers(client: Any, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:x\n")
    (tmp_path / "b.svm").write_text("1 1:1\n")
    pattern = str(tmp_path / "*.svm")
    with pytest.raises(InputError, match=r"a\.svm, line 2: value 'x'"):
        compile(pattern, client=client)
    for options in (DataOptions(shuffle=True), DataOptions(noise=0.1), DataOptions(rows=5)):
        with pytest.raises(InputError, match="= with Dask or data in several parts"):
            compile(pattern, data=options, client=client)
    with pytest.raises(InputError, match="workers cannot read it"):
        compile("synthetic", scale="none", bias=False, client=client)
    with pytest.raises(InputError, match="only the restarts of auto, anneal"):
        solve(
            compile("synthetic", scale="none", bias=False, bits=1).pubo,
            solver="exact",
            client=client,
        )


def _die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_task_that_kills_every_worker_is_given_up() -> None:
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # one death will do
        connected() as own,
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
    pubo = compile("synthetic:examples=50", scale="none", bias=False, bits=1).pubo
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
        connected(made.scheduler_address),
    ):
        pass
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls, says nothing
        port = silent.getsockname()[1]
        with (
            pytest.raises(InputError, match="no Dask scheduler at"),
            connected(f"127.0.0.1:{port}"),
        ):
            pass


def test_without_dask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["compile", "data.svm", "--dask"]) == 2
    assert "pip install 'qcompile-anneal[dask]'" in capsys.readouterr().err


def test_the_command(
    client: Any, pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster made here, or elsewhere, gives the file that one machine gives."""
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
    assert _parser().parse_args(["compile", alone, "--dask=local"]).dask == "local"
    there = f"--dask={client.scheduler.address}"
    assert main(["compile", alone, "--bits", "1", "--emit", two, "-q", there]) == 0
    assert Path(one).read_bytes() == Path(two).read_bytes()


@pytest.mark.parametrize("options", ["--rounds 8", "--cv 2 --grid l2=0.1,0.001 --rounds 8"])
def test_training_in_rounds_writes_the_same_model(
    client: Any, options: str, pattern: str, tmp_path: Path
) -> None:
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    rows = str(tmp_path / "part-04.svm")
    run = ["train", rows, *options.split(), "-q", "-o"]
    assert main([*run, str(here)]) == 0
    done = client.run(_tasks_done)
    assert main([*run, str(there), "--dask", client.scheduler.address]) == 0
    assert sum(client.run(_tasks_done).values()) > sum(done.values()), "workers had a share"
    assert here.read_bytes() == there.read_bytes()


def _tasks_done(dask_worker: Any) -> int:
    return int(dask_worker.state.executed_count)


def test_a_scheduler_by_its_address(client: Any, pattern: str) -> None:
    with connected(client.scheduler.address) as other, cluster.using(other):
        there = load_moments_of(pattern, DataOptions(), LossOptions())
    assert_equal(there, load_moments_of(pattern, DataOptions(), LossOptions()))


def test_ctrl_c_leaves_no_worker_behind(pattern: str, tmp_path: Path) -> None:
    """The command is interrupted while its workers are at work."""
    code = (
        "import sys, time\n"
        "from qcompile.runtime.cluster import connected, in_order\n"
        "if __name__ == '__main__':\n"
        "    with connected() as client:\n"
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
