"""What systems differ in: locks, memory and cores, and what is not installed everywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qcompile import cli
from qcompile.errors import InputError, LeapError, MemoryLimitError
from qcompile.files import atomic
from qcompile.leap.job import Job
from qcompile.runtime import memory, threads, timing
from qcompile.stages.loss import Loss

ROOT = Path(__file__).parent
while not (ROOT / "setup.cfg").exists():
    ROOT = ROOT.parent
# As on Windows: the modules of POSIX cannot be imported. psutil has a part for each system, and
# the one for this system wants them.
WITHOUT_POSIX = "import sys, psutil\nsys.modules.update(fcntl=None, resource=None)\n"


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def job_in(folder: Path) -> Job:
    known: Any = dict.fromkeys(Job.__dataclass_fields__, "")
    return Job(**{**known, "folder": folder, "id": "one", "parts": (), "digests": {}})


# --- without the modules of POSIX ------------------------------------------------------------


def test_everything_is_imported_without_the_modules_of_posix(tmp_path: Path) -> None:
    code = WITHOUT_POSIX + (
        "import importlib, pkgutil, qcompile\n"
        "for found in pkgutil.walk_packages(qcompile.__path__, 'qcompile.'):\n"
        "    if not found.name.endswith('__main__') and 'worker' not in found.name:\n"
        "        importlib.import_module(found.name)\n"
        "print('all of it')"
    )
    found = run(code, tmp_path)
    assert (found.returncode, found.stdout) == (0, "all of it\n"), found.stderr


def test_a_compilation_without_the_modules_of_posix(tmp_path: Path) -> None:
    code = WITHOUT_POSIX + (
        "from qcompile.cli import main\n"
        "line = 'compile synthetic:examples=30,features=3 --bits 2'\n"
        "sys.exit(main([*line.split(), '--emit', 'qubo.json', '--emit', 'pubo.json', '-v']))"
    )
    found = run(code, tmp_path)
    assert found.returncode == 0, found.stderr
    assert "peak memory" in found.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"qubo.json", "pubo.json"}


def test_where_nothing_can_be_locked_a_job_is_left_alone(tmp_path: Path) -> None:
    """Without fcntl, and without what Windows has in its place."""
    code = WITHOUT_POSIX + (
        "from pathlib import Path\n"
        f"from {__name__} import job_in\n"
        "from qcompile.errors import InputError\n"
        "try:\n"
        "    with job_in(Path('.')).locked():\n"
        "        print('locked')\n"
        "except InputError as error:\n"
        "    print(error)"
    )
    found = run(code, tmp_path)
    assert "job one: . cannot be locked" in found.stdout, found.stderr


# --- locks -----------------------------------------------------------------------------------


HOLD = (
    "import time\n"
    "from pathlib import Path\n"
    "from qcompile.files import atomic\n"
    f"from {__name__} import job_in\n"
    "with job_in(Path('.')).locked() if JOB else atomic._alone_in([Path('.').resolve()]):\n"
    "    print('held', flush=True)\n"
    "    time.sleep(60)\n"
)


def holder(folder: Path, *, job: bool) -> subprocess.Popen[str]:
    """Start a process that has the lock when this returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"JOB = {job}\n{HOLD}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_job_is_one_process_s_until_that_ends_in_any_way(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    with holder(tmp_path, job=True) as other:
        mark = (tmp_path / "lock").stat().st_ino
        with pytest.raises(LeapError, match="in use by another qcompile"), job.locked():
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
        with (
            job.locked(),  # at once: the system took the lock back
            pytest.raises(LeapError, match="in use by another qcompile"),
            job.locked(),  # and one process cannot have it twice
        ):
            pass
        # a file made anew would be another lock than the one that somebody waits for
        assert (tmp_path / "lock").stat().st_ino == mark
        with job.locked():
            pass


def test_names_are_given_after_a_run_that_was_killed(tmp_path: Path) -> None:
    with holder(tmp_path, job=False) as other:
        writing = subprocess.Popen(
            [
                *(sys.executable, "-m", "qcompile", "compile", "--bits", "2", "-q"),
                *("synthetic:examples=30,features=3", "--emit", "pubo.json"),
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".*.part")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        assert writing.poll() is None  # it waits
        assert not (tmp_path / "pubo.json").exists()
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert writing.wait(60) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["pubo.json"]  # and no lock stays behind


def test_a_file_stands_for_a_folder_where_none_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from filelock import lock_descriptor

    monkeypatch.setattr(atomic, "_OPENS_FOLDERS", False)
    with atomic._alone_in([tmp_path]):
        own = tmp_path / ".qcompile.lock"
        with own.open("a") as stream:
            assert not lock_descriptor(stream.fileno(), blocking=False)
    assert not list(tmp_path.iterdir())


# --- memory and cores ------------------------------------------------------------------------


Groups = dict[str, str]


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "5000\n"}, 5000),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/a/b/c\n", {"a/b/c/memory.max": "max", "a/b/memory.max": "700"}, 700),
        ("0::/a/b\n", {"a/b/memory.max": "900", "a/memory.max": "800", "memory.max": "max"}, 800),
        ("0::/a/b\n", {"a/other/memory.max": "1", "a/b/memory.max": "900"}, 900),
        # a container without a name space of its own: the path is the host's, the root is its own
        ("0::/docker/abc\n", {"memory.max": "600"}, 600),
        ("0::/../x\n", {"x/memory.max": "400"}, 400),
        ("9:memory:/\n", {"memory/memory.limit_in_bytes": "300\n"}, 300),
        ("9:memory:/a\n", {"memory/a/memory.limit_in_bytes": "300"}, 300),
        ("9:cpu,memory:/a\n", {"memory/memory.limit_in_bytes": "200"}, 200),
        ("9:memory:/docker/abc\n", {"memory/memory.limit_in_bytes": "100"}, 100),
        ("9:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712"}, None),
        # both kinds at once, the second one mounted aside
        (
            "9:memory:/a\n1:name=systemd:/a\n0::/a/b\n",
            {"memory/a/memory.limit_in_bytes": "70", "unified/a/b/memory.max": "60"},
            60,
        ),
        ("8:cpuset:/a\n", {"a/memory.max": "1"}, None),
        ("nonsense\n\n::\n", {"memory.max": "-1"}, None),
        (None, {"memory.max": "50"}, 50),
        (None, {}, None),
    ],
)
def test_the_least_limit_of_the_groups_around_us(
    own: str | None,
    limits: Groups,
    expected: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, text in limits.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if own is not None:
        (tmp_path / "own").write_text(own)
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")
    assert memory._container_memory() == (expected or memory._NO_LIMIT)
    if expected:
        assert memory.available() == int(0.85 * expected)
        with pytest.raises(MemoryLimitError, match="may be used"):
            memory.require(expected, "this", "use less")


def test_memory_is_what_the_system_can_spare() -> None:
    import psutil

    assert 0 < memory.available() < psutil.virtual_memory().total


def test_the_peak_without_the_module_of_posix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil

    monkeypatch.setattr(timing, "_STATUS", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert 0 < timing._peak() < psutil.virtual_memory().total
    told = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=5, peak_wset=7))
    monkeypatch.setattr(psutil, "Process", lambda: told)  # what Windows says
    assert timing._peak() == 7


def test_cores_keep_to_what_the_process_may_use() -> None:
    code = (
        "import os\n"
        "if hasattr(os, 'sched_setaffinity'):\n"
        "    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "os.environ['LOKY_MAX_CPU_COUNT'] = '1'\n"
        "from qcompile.runtime.threads import cores\n"
        "print(cores())"
    )
    assert run(code, ROOT).stdout == "1\n"
    with threads.at_most(1):
        assert threads.cores() == 1
    assert threads.cores() >= 1


# --- without what draws ----------------------------------------------------------------------


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder where Matplotlib is not installed."""
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "loss synthetic:examples=30,features=3 -o loss.json --plot loss.png",
        "embed qubo.json --machine advantage -o embedding.json --plot chip.svg",
        "train synthetic:examples=30,features=3 -o model.json --plot rounds.svg",
    ],
)
def test_pictures_without_matplotlib_are_refused_before_any_work(
    line: str, undrawn: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = "compile synthetic:examples=30,features=3 --bits 2 --emit qubo.json -q"
    assert cli.main(compiled.split()) == 0
    (undrawn / "loss.png").write_bytes(b"old")
    before = {path.name: path.read_bytes() for path in undrawn.iterdir()}
    capsys.readouterr()
    assert cli.main(line.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("qcompile: error: Matplotlib is not installed")
    assert "pip install 'qcompile-anneal[plot]'" in said.err
    assert {path.name: path.read_bytes() for path in undrawn.iterdir()} == before


def test_python_is_told_the_same(undrawn: Path) -> None:
    from qcompile.report import plot

    loss = Loss((1.0, -1.0), "risk", 1.0, 1.0)
    with pytest.raises(InputError, match=r"pip install 'qcompile-anneal\[plot\]'"):
        plot.plot_losses({"loss": loss}, "loss.png")
    assert not list(undrawn.iterdir())


def test_what_does_not_draw_needs_no_matplotlib(undrawn: Path) -> None:
    assert cli.main(["loss", "synthetic:examples=30,features=3", "-o", "loss.json", "-q"]) == 0
    assert (undrawn / "loss.json").exists()
