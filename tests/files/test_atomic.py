"""Whatever happens during a write, there is the old file or the new one, and never half of one.

The processes that are killed, run out of space or write at the same time are real ones.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from qcompile import InputError, compile
from qcompile.cli import app
from qcompile.data.svmlight import file_names
from qcompile.embedding.embed import embed
from qcompile.files import atomic, moments
from qcompile.files.classifier import save_classifier
from qcompile.files.embedding import save_embedding
from qcompile.files.loss import load_loss, save_loss
from qcompile.files.pubo import save_pubo
from qcompile.files.qubo import ENDINGS, save_qubo
from qcompile.files.samples import save_samples
from qcompile.files.target import save_target
from qcompile.objective.decode import decode
from qcompile.report import plot
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.samples import samples_of


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic.write_atomically(tmp_path / "file") as stream:
            stream.write(b"x")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_none_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old")
    with pytest.raises(RuntimeError), atomic.all_or_nothing():
        with atomic.write_atomically(tmp_path / "one") as stream:
            stream.write(b"new")
        with atomic.write_atomically(tmp_path / "two") as stream:
            raise RuntimeError
    assert (tmp_path / "one").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_an_error_while_writing_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic.write_atomically(path) as stream:
        stream.write(b"new")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]
    assert path.read_text() == "old"


def test_a_link_stays_a_link_and_permissions_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to(target)
    with atomic.write_atomically(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o600


def test_devices_are_written_to_and_not_replaced() -> None:
    with atomic.write_atomically(os.devnull) as stream:
        stream.write(b"x")
    assert not Path(os.devnull).is_file()


def test_a_full_disk_is_a_clear_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with (
        pytest.raises(InputError, match="No space left"),
        atomic.write_atomically("/dev/full") as s,
    ):
        s.write(b"x" * 100_000)


pytestmark = pytest.mark.slow

Write = Callable[[Path], object]


OLD = b"what was there before\n"


NOBODY = 65534


CRASHED = 70


def writers() -> dict[str, Write]:
    """Return a way to write each kind of file, by the name of the file."""
    made = compile("synthetic:examples=30,features=3", scale="none", bias=False, bits=2)
    pubo, qubo, loss = made.pubo, made.quadratize(), made.loss
    embedded = embed(qubo, Machine("tiny", "chimera", (4,)), seed=0)
    bits = np.eye(qubo.logical, dtype=np.int8)
    samples = samples_of(qubo, bits, info={"solver": "hand"})
    found: dict[str, Write] = {
        f"qubo{ending}": lambda path: save_qubo(qubo, path, drop_offset=True) for ending in ENDINGS
    }
    return found | {
        "pubo.json": lambda path: save_pubo(pubo, path),
        "pubo.npz": lambda path: save_pubo(pubo, path),
        "loss.json": lambda path: save_loss(loss, path),
        "moments.npz": lambda path: moments.save_moments(made.moments, path),
        "embedding.json": lambda path: save_embedding(embedded.embedding, path),
        "target.json": lambda path: save_target(embedded, path),
        "target.bqm": lambda path: save_target(embedded, path),
        "samples.json": lambda path: save_samples(samples, path),
        "model.json": lambda path: save_classifier(decode(qubo, samples), path),
        "loss.png": lambda path: plot.plot_losses({"loss": loss}, path),
        "loss.svg": lambda path: plot.plot_losses({"loss": loss}, path),
        "chains.svg": lambda path: plot.plot_embedding(embedded.embedding, path),
    }


WRITERS = writers()


# The commands that write; {} is the file, the folder holds what they read.
COMMANDS = {
    "data.svm": "data data.svm -o {}",
    "data.svm.gz": "data data.svm -o {}",
    "loss.json": "loss data.svm -o {}",
    "loss.png": "loss data.svm --plot {}",
    "moments.npz": "compile data.svm --bits 2 --emit {}",
    "pubo.json": "compile data.svm --bits 2 --emit {}",
    "qubo.json": "compile data.svm --bits 2 --emit {}",
    "qubo.npz": "compile data.svm --bits 2 --emit {}",
    "qubo.lp": "compile data.svm --bits 2 --emit {}",
    "samples.json": "solve given-qubo.json --solver exact -o {}",
    "model.json": "decode given-samples.json --problem given-qubo.json -o {}",
    "answers.txt": "predict given-model.json data.svm -o {}",
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "data synthetic:examples=30,features=3 -o data.svm",
            "compile data.svm --bits 2 --emit given-qubo.json",
            "solve given-qubo.json --solver exact -o given-samples.json",
            "decode given-samples.json --problem given-qubo.json -o given-model.json",
        ):
            assert app.main([*line.split(), "--quiet"]) == 0
    return folder


@pytest.fixture
def here(inputs: Path, here: Path) -> Path:
    """The folder with what the commands read."""
    for path in inputs.iterdir():
        shutil.copy(path, here)
    return here


def in_child(work: Callable[[], object]) -> int:
    """Run in a process of its own; gives what `wait` says. What it prints is not captured."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run_and_leave(work)
    return os.waitpid(child, 0)[1]


def _run_and_leave(work: Callable[[], object]) -> NoReturn:
    code = CRASHED
    try:
        result = work()
        code = result if isinstance(result, int) else 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def die(*_: object, **__: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not killed")


class Dying(io.BufferedWriter):
    """A file whose process is killed when it is asked for more than some bytes."""

    left = 0

    def write(self, text: Any) -> int:
        piece = memoryview(text).cast("B")
        if len(piece) > Dying.left:
            super().write(piece[: Dying.left])
            self.flush()  # so that half of the file really is there
            die()
        Dying.left -= len(piece)
        return super().write(piece)

    def writelines(self, pieces: Any) -> None:
        for piece in pieces:
            self.write(piece)


def killed(write: Callable[[], object], moment: str, size: int) -> int:
    """Write in a process that is killed at a moment; `size` is that of the whole file."""

    def work() -> object:
        if moment in ("first byte", "half", "last byte"):
            Dying.left = {"first byte": 0, "half": size // 2, "last byte": size - 1}[moment]
            os.fdopen = lambda handle, mode: Dying(io.FileIO(handle, mode))  # type: ignore
        elif moment == "after replace":
            real = os.replace
            os.replace = lambda a, b: (real(a, b), die())  # type: ignore
        else:
            setattr(os, moment, die)
        return write()

    return in_child(work)


BEFORE = ("first byte", "half", "last byte", "fsync", "chmod", "replace")


def check_folder(folder: Path, name: str, expected: bytes, others: set[str]) -> None:
    """Raise unless the whole file; what else is new is hidden and cannot be taken for one."""
    assert (folder / name).read_bytes() == expected
    strays = {path.name for path in folder.iterdir()} - others - {name}
    assert all(stray.startswith(f".{name}.") and stray.endswith(".part") for stray in strays)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_killed_at_any_point_of_a_write(name: str, tmp_path: Path) -> None:
    write, path = WRITERS[name], tmp_path / name
    write(path)
    new = path.read_bytes()
    assert len(new) > 1
    for moment in BEFORE:
        path.write_bytes(OLD)
        assert killed(lambda: write(path), moment, len(new)) == signal.SIGKILL, moment
        check_folder(tmp_path, name, OLD, set())
    assert len(list(tmp_path.iterdir())) > 1  # the temporary files of the dead are there
    assert killed(lambda: write(path), "after replace", len(new)) == signal.SIGKILL
    check_folder(tmp_path, name, new, set())
    # and they disturb nobody
    path.unlink()
    write(path)
    check_folder(tmp_path, name, new, set())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_killed_at_any_point_of_its_write(name: str, here: Path) -> None:
    known = {path.name for path in here.iterdir()}
    out = "out-" + name
    arguments = [*COMMANDS[name].format(out).split(), "--quiet"]
    assert app.main(arguments) == 0
    new = (here / out).read_bytes()
    for moment in ("half", "replace"):
        (here / out).write_bytes(OLD)
        assert killed(lambda: app.main(arguments), moment, len(new)) == signal.SIGKILL, moment
        check_folder(here, out, OLD, known)
    assert killed(lambda: app.main(arguments), "after replace", len(new)) == signal.SIGKILL
    check_folder(here, out, new, known)


def test_patterns_do_not_find_what_the_dead_left(here: Path) -> None:
    arguments = ["data", "data.svm", "-o", "part-1.svm", "--quiet"]
    assert killed(lambda: app.main(arguments), "fsync", 0) == signal.SIGKILL
    strays = [path.name for path in here.iterdir() if path.name.endswith(".part")]
    assert len(strays) == 1
    assert app.main(["data", "data.svm", "-o", "part-2.svm", "--quiet"]) == 0
    assert file_names(str(here / "*")) == sorted(
        str(path) for path in here.iterdir() if not path.name.startswith(".")
    )


def outcome(work: Callable[[], object]) -> tuple[int, str]:
    """Run in a child; gives its exit code and what it wrote as errors."""
    reading, writing = os.pipe()

    def telling() -> object:
        os.close(reading)
        sys.stderr = os.fdopen(writing, "w", buffering=1)
        return work()

    status = in_child(telling)
    os.close(writing)
    with os.fdopen(reading) as stream:
        return os.waitstatus_to_exitcode(status), stream.read()


def limited(arguments: list[str], size: int) -> Callable[[], int]:
    def work() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return app.main(arguments)

    return work


def full(arguments: list[str]) -> Callable[[], int]:
    """Run where the disk is full as soon as anything is brought to it."""

    def fail(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def work() -> int:
        os.fsync = fail  # type: ignore[assignment]
        return app.main(arguments)

    return work


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_space_is_one_line_and_leaves_nothing(name: str, existing: bool, here: Path) -> None:
    out = "out-" + name
    arguments = [*COMMANDS[name].format(out).split(), "--quiet"]
    assert app.main(arguments) == 0  # kernels are compiled and kept by now
    (here / out).write_bytes(OLD)
    if not existing:
        (here / out).unlink()
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    for work, words in (
        (limited(arguments, 16), os.strerror(errno.EFBIG)),
        (full(arguments), os.strerror(errno.ENOSPC)),
    ):
        code, said = outcome(work)
        assert (code, said.count("\n")) == (2, 1), said
        assert said.startswith("qcompile: error: ")
        assert out in said
        assert words in said
        assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.fixture
def public(inputs: Path) -> Iterator[Path]:
    """A folder that others can reach; `tmp_path` lies in one that they cannot."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        for path in inputs.iterdir():
            shutil.copy(path, folder)
        yield folder
        folder.chmod(0o777)


def as_nobody(folder: Path, arguments: list[str]) -> Callable[[], int]:
    """Run without the rights of root, whom no permission stops."""

    def work() -> int:
        os.chdir(folder)
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return app.main(arguments)

    return work


@pytest.mark.parametrize("locked", ["folder", "file", "folder of a file"])
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_may_not_be_written_is_one_line(
    name: str, locked: str, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = "out-" + name
    arguments = [*COMMANDS[name].format(out).split(), "--quiet"]
    monkeypatch.chdir(public)
    assert app.main(arguments) == 0  # what is imported late is there by now
    if locked == "folder":
        (public / out).unlink()
    else:
        (public / out).write_bytes(OLD)
        (public / out).chmod(0o444 if locked == "file" else 0o666)
    public.chmod(0o777 if locked == "file" else 0o555)
    before = {path.name: path.read_bytes() for path in public.iterdir()}
    code, said = outcome(as_nobody(public, arguments))
    assert (code, said) == (2, f"qcompile: error: {out}: no permission to write\n")
    assert {path.name: path.read_bytes() for path in public.iterdir()} == before


def polynomials() -> list[Pubo]:
    return [Pubo.from_dict({(i, i + 1): 1.0 + i for i in range(n)}) for n in (3, 2000)]


def _save_often(pubo: Pubo, path: Path) -> None:
    for _ in range(15):
        save_pubo(pubo, path)


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_many_at_once_leave_one_whole_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"pubo{ending}"
    expected = []
    for pubo in polynomials():
        save_pubo(pubo, path)
        expected.append(path.read_bytes())
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            pubo = polynomials()[number % 2]
            _run_and_leave(partial(_save_often, pubo, path))
        children.append(child)
    left = set(children)
    seen = []
    while left:  # whoever reads meanwhile sees a whole file as well
        seen.append(path.read_bytes())
        left -= {child for child in left if os.waitpid(child, os.WNOHANG)[0]}
    assert set(seen) <= set(expected)
    assert path.read_bytes() in expected
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_runs_side_by_side_in_one_folder_do_not_mix(here: Path) -> None:
    """Each run writes files of its own; all come out as if it had been alone."""
    lines = {
        seed: f"data data.svm --shuffle --seed {seed} --split 0.5 0.5 -o a{seed}.svm -o b{seed}.svm"
        for seed in range(4)
    }
    alone = {}
    for line in lines.values():
        assert app.main([*line.split(), "--quiet"]) == 0
    for path in [*here.glob("a?.svm"), *here.glob("b?.svm")]:
        alone[path.name] = path.read_bytes()
        path.unlink()
    children = []
    for line in lines.values():
        child = os.fork()
        if child == 0:
            _run_and_leave(partial(app.main, [*line.split(), "--quiet"]))
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    found = {p.name: p.read_bytes() for p in itertools.chain(here.glob("a?.*"), here.glob("b?.*"))}
    assert found == alone
    assert not list(here.glob(".*.part"))


def test_files_that_belong_together_come_from_one_run(tmp_path: Path) -> None:
    """The slower run stops after its first file; the faster one may not come in between."""
    reading, writing = os.pipe()

    def write(text: bytes) -> None:
        with atomic.all_or_nothing():
            for name in ("a", "b"):
                with atomic.write_atomically(tmp_path / name) as stream:
                    stream.write(text)

    def slow() -> None:
        real = os.replace

        def replace(a: Any, b: Any) -> None:
            real(a, b)
            os.write(writing, b"x")
            time.sleep(0.5)

        os.replace = replace  # type: ignore[assignment]
        write(b"slow")

    first = os.fork()
    if first == 0:
        _run_and_leave(slow)
    os.read(reading, 1)  # its first file is there
    assert in_child(lambda: write(b"fast")) == 0
    assert os.waitpid(first, 0)[1] == 0
    os.close(reading)
    os.close(writing)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"fast"


@pytest.mark.parametrize("moment", ["first", "second"])
def test_killed_between_two_files_each_is_whole(moment: str, here: Path) -> None:
    line = "data data.svm --split 0.5 0.5 -o a.svm -o b.svm"
    arguments = [*line.split(), "--quiet"]
    assert app.main(arguments) == 0
    new = {name: (here / name).read_bytes() for name in ("a.svm", "b.svm")}
    for name in new:
        (here / name).write_bytes(OLD)

    def work() -> int:
        real, calls = os.replace, itertools.count(1)
        last = 1 if moment == "first" else 2
        os.replace = lambda a, b: die() if next(calls) == last else real(a, b)  # type: ignore
        return app.main(arguments)

    assert in_child(work) == signal.SIGKILL
    assert (here / "a.svm").read_bytes() == (OLD if moment == "first" else new["a.svm"])
    assert (here / "b.svm").read_bytes() == OLD
    assert app.main(arguments) == 0
    assert {name: (here / name).read_bytes() for name in new} == new


def test_a_stale_file_of_the_same_kind_is_left_alone(tmp_path: Path) -> None:
    stale = tmp_path / ".loss.json.abcdefgh.part"
    stale.write_bytes(OLD)
    WRITERS["loss.json"](tmp_path / "loss.json")
    assert stale.read_bytes() == OLD
    assert load_loss(tmp_path / "loss.json").order == 3
