"""The command as a stranger uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from qcompile import moments_of, read
from qcompile.cli.app import main
from qcompile.files import loss, moments
from qcompile.files.pubo import load_pubo


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "qcompile", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, qcompile.cli\n"
        "heavy = {'scipy', 'sklearn', 'numba', 'matplotlib', 'dimod', 'dwave', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_compile_writes_what_it_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emits = ["--emit", "pubo.json", "--emit", "loss.json", "--emit", "moments.npz"]
    assert main(["compile", "synthetic", "--order", "3", "--bits", "2", *emits]) == 0
    pubo = load_pubo("pubo.json")
    assert pubo.terms == (18, 153, 816)
    assert loss.load_loss("loss.json") == pubo.loss
    assert moments.load_moments("moments.npz").features == 9
    assert "816" in capsys.readouterr().out


def test_the_kind_can_be_named_before_the_path(here: Path) -> None:
    assert main(["compile", "synthetic", "--bits=1", "--emit", "pubo=a.json", "-q"]) == 0
    assert load_pubo("a.json").variables == 9
    assert main(["compile", "synthetic", "--bits=1", "--emit", "pubo=b.npz", "-q"]) == 0
    assert load_pubo("b.npz").to_dict() == load_pubo("a.json").to_dict()


def test_an_artifact_on_standard_output_stands_alone() -> None:
    result = run("compile", "synthetic", "--bits", "1", "--emit", "pubo=-")
    assert json.loads(result.stdout)["type"] == "qcompile.pubo"
    assert b"terms of degree" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "missing.svm"], "no such file"),
        (["compile", "."], "is a folder"),
        (["compile", "synthetic", "--emit", "x.json"], "which artifact"),
        (["compile", "synthetic", "--emit", "pubo.txt"], "ends in .json or .npz"),
        (["compile", "synthetic", "--emit", "moments=-"], "binary"),
        (["compile", "synthetic", "--emit", "no/such/pubo.json"], "no folder"),
        (["compile", "synthetic", "--bits", "99"], "1 to 16"),
        (["compile", "synthetic", "--bits", "x"], "invalid int"),
        (["compile", "synthetic", "--order", "2"], "order 2"),
        (["compile", "synthetic", "--order", "3", "--omega", "1"], "even orders"),
        (["compile", "synthetic", "--features", "99"], "99 features"),
        (["compile", "synthetic", "--noise", "2"], "share between 0 and 1"),
        (["compile", "synthetic", "--rows", "0"], "at least 1"),
        (["compile", "synthetic", "--range", "x"], "range 'x'"),
        (["compile", "synthetic:examples=9", "--rows", "1"], "one class only"),
        (["compile", "synthetic:examples=9,features=2000"], "--features"),
        (["compile", "synthetic", "--features", "0"], "0 features chosen of 9; expected 1 to 9"),
        (["compile", "synthetic", "--range", "1e300"], "overflow with weights up to 1e+300"),
        (["train", "synthetic", "--coefficients", ",".join("1" * 13)], "13 coefficients make a"),
        (["loss", "synthetic", "--plot", "x.gif"], ".png"),
        (["loss", "synthetic", "--coefficients", "1,x"], "expected numbers"),
        (["data"], "no DATA"),
        (["data", "synthetic", "-o", "a", "-o", "b"], "one -o a part"),
        (["data", "synthetic", "--split", "0.9", "0.9", "-o", "a", "-o", "b"], "add up to 1"),
        (["nonsense"], "invalid choice"),
        (["compile"], "required: DATA"),
    ],
)
def test_bad_input_exits_with_two_one_line_and_nothing_written(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    assert code == 2
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert list(here.iterdir()) == []


def test_a_bad_file_writes_nothing(here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    bad = tmp_path_factory.mktemp("bad") / "bad.svm"
    bad.write_text("1 1:1\n-1 1:oops\n")
    assert main(["compile", str(bad), "--emit", "pubo.json"]) == 2
    assert list(here.iterdir()) == []


def test_standard_input_and_files_give_the_same_bytes(here: Path) -> None:
    assert main(["data", "breast-cancer", "-o", "cancer.svm", "-q"]) == 0
    text = (here / "cancer.svm").read_bytes()
    piped = run("compile", "-", "--bits=1", "--emit", "pubo=-", stdin=text)
    direct = run("compile", "cancer.svm", "--bits=1", "--emit", "pubo=-")
    one, two = json.loads(piped.stdout), json.loads(direct.stdout)
    assert one["source"].pop("name") == "standard input"
    assert two["source"].pop("name") == "cancer.svm"
    assert one == two


def test_named_sets_can_be_written_split_and_read(here: Path) -> None:
    parts = ["--split", "0.75", "0.25", "-o", "train.svm", "-o", "test.svm"]
    assert main(["data", "mease-wyner", *parts, "-q"]) == 0
    train, test = read("train.svm"), read("test.svm")
    assert (len(train), len(test)) == (1500, 500)
    whole = moments_of(train, 3) + moments_of(test, 3)
    np.testing.assert_allclose(
        whole.tensors[3, 0], moments_of(read("mease-wyner"), 3).tensors[3, 0], rtol=1e-9
    )


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_loss_is_drawn(here: Path, ending: str) -> None:
    pictures = []
    for name in ("one", "two"):
        arguments = ["loss", "synthetic", "--order", "6", "--plot", f"{name}.{ending}", "-q"]
        assert main(arguments) == 0
        pictures.append((here / f"{name}.{ending}").read_bytes())
    assert len(pictures[0]) > 2000
    assert pictures[0] == pictures[1]


def test_json_summaries_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loss", "synthetic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == 3
    assert main(["data", "synthetic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 10_000
    assert main(["compile", "synthetic", "--bits=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variables"] == 9


def test_large_costs_are_announced(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="qcompile"):
        moments_of(read("synthetic:examples=20,features=200"), 3)
    assert "1,353,400 products each) needs" in caplog.text


def test_options_reach_the_artifact(here: Path) -> None:
    arguments = ["compile", "breast-cancer", "--features", "3", "--scale", "standard", "--bias"]
    arguments += ["--bits", "1", "--l0", "0.1", "--l2", "0.5", "--range", "0.4", "-q"]
    assert main([*arguments, "--emit", "pubo.json"]) == 0
    pubo = load_pubo("pubo.json")
    assert pubo.loss is not None
    assert pubo.preparation is not None
    assert (pubo.loss.l2, pubo.loss.range_, pubo.l0) == (0.5, 0.4, 0.1)
    assert pubo.preparation.bias
    assert len(pubo.preparation.columns) == 3  # type: ignore[arg-type]
    raw = read("breast-cancer").x
    assert pubo.preparation.apply(raw).shape == (569, 4)


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{sys.executable} -m qcompile compile breast-cancer --emit pubo=- | head -c 10"
    result = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert b"Traceback" not in result.stderr


def test_a_reader_that_goes_away_does_not_change_the_verdict(here: Path) -> None:
    assert main(["compile", "synthetic", "--bits=1", "--emit", "qubo.json", "-q"]) == 0
    content = json.loads(Path("qubo.json").read_text())
    content["linear_biases"][1] += 1e-3
    Path("changed.json").write_text(json.dumps(content))
    for name, unbuffered in product(("qubo", "changed"), ("", "1")):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run(
            [sys.executable, "-m", "qcompile", "verify", f"{name}.json"],
            stdout=writer, stderr=subprocess.PIPE, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
        os.close(writer)
        assert (process.returncode, process.stderr) == (int(name == "changed"), b"")


def test_interrupting_leaves_nothing_behind(here: Path) -> None:
    reader, writer = os.pipe()  # standard input that never ends
    process = subprocess.Popen(
        [sys.executable, "-m", "qcompile", "compile", "-", "--emit", "pubo.json"],
        stdin=reader, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.write(writer, b"1 1:1\n-1 1:2\n")
    time.sleep(1.5)
    process.send_signal(2)
    _, errors = process.communicate(timeout=30)
    os.close(writer)
    os.close(reader)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("line", ["--help", "solve --help", "--version", "data --list", "machines"])
@pytest.mark.parametrize("place", ["/dev/full", "&-"])
def test_an_output_that_takes_nothing_is_one_line_and_exit_code_2(line: str, place: str) -> None:
    if place == "/dev/full" and not Path(place).exists():
        pytest.skip("there is no /dev/full here")
    script = f"exec {sys.executable} -m qcompile {line} >{place}"
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    why = "No space left on device" if place == "/dev/full" else "it is closed"
    assert found.stderr == f"qcompile: error: standard output cannot be written to: {why}\n"


def test_closed_streams_do_not_matter_where_nothing_is_said(here: Path) -> None:
    script = f"exec {sys.executable} -m qcompile data synthetic -o a.svm -q <&- >&- 2>&-"
    found = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert found.returncode == 0 and found.stdout == found.stderr == b""
    assert len(read("a.svm")) == 10_000


# Python that gets Ctrl-C at the moment when numpy is first imported.
INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv[0] = {name!r}
import qcompile.__main__
"""


def test_ctrl_c_during_the_start_is_one_line() -> None:
    for name in ("qcompile", "/usr/bin/qcompile", "/lib/qcompile/__main__.py"):
        code = INTERRUPTED.format(name=name)
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert (found.returncode, found.stderr) == (130, "qcompile: interrupted\n")


def test_python_m_qcompile_is_the_command_too(tmp_path: Path) -> None:
    """The same with -m, by a file that Python runs at its start."""
    finder = INTERRUPTED.partition("sys.argv")[0]
    (tmp_path / "sitecustomize.py").write_text(finder)
    root = str(Path(__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    found = subprocess.run(
        [sys.executable, "-m", "qcompile", "--help"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (130, "qcompile: interrupted\n")


def test_a_program_that_imports_qcompile_keeps_its_signals() -> None:
    for name in ("program.py", "-c", "/srv/qcompile/app.py"):
        code = (
            f"import signal, sys; sys.argv[0] = {name!r}; import qcompile\n"
            "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
    started = (
        "import signal, sys\n"
        "def own(number, frame): pass\n"
        "signal.signal(signal.SIGINT, own)\n"
        "sys.argv[0] = 'qcompile'\n"
        "from qcompile.cli import main\n"
        "main(['data', '--list', '-q'])\n"
        "assert signal.getsignal(signal.SIGINT) is own\n"
    )
    subprocess.run([sys.executable, "-c", started], check=True)


def test_a_command_that_runs_gets_ctrl_c_as_python_does() -> None:
    code = (
        "import signal, sys; sys.argv[0] = 'qcompile'\n"
        "from qcompile.cli import main\n"
        "assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler\n"
        "main(['data', '--list', '-q'])\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
