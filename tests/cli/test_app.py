"""The command as a stranger uses it: help with examples that run, exit codes, streams."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from qcompile import read
from qcompile.cli import app
from qcompile.cli.app import _overview, _parser, main
from tests.cli.lines import commands, examples, prepare, run, run_process
from tests.passes import PASS
from tests.sapi import Sapi


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, qcompile.cli\n"
        "heavy = {'scipy', 'sklearn', 'numba', 'matplotlib', 'dimod', 'dwave', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile", "missing.svm"], "no such file"),
        (["compile", "."], "is a folder"),
        (["compile", "synthetic", "--emit", "loss-pubo.json"], "contains loss and pubo"),
        (["compile", "synthetic", "--emit", "pubo.txt"], "ends in .json or .npz"),
        (["compile", "synthetic", "--emit", "moments=-"], "binary"),
        (["compile", "synthetic", "--emit", "no/such/pubo.json"], "folder no/such not found"),
        (["compile", "synthetic", "--bits", "99"], "1 to 16"),
        (["compile", "synthetic", "--bits", "x"], "invalid int"),
        (["compile", "synthetic", "--order", "2"], "order 2"),
        (["compile", "synthetic", "--order", "3", "--omega", "1"], "even orders"),
        (["compile", "synthetic", "--features", "99"], "99 features"),
        (["compile", "synthetic", "--noise", "2"], "share between 0 and 1"),
        (["compile", "synthetic", "--rows", "0"], "at least 1"),
        (["compile", "synthetic", "--weight-range", "x"], "range 'x'"),
        (["compile", "synthetic:examples=9", "--rows", "1"], "one class only"),
        (["compile", "synthetic:examples=9,features=2000"], "--features"),
        (["compile", "synthetic", "--features", "0"], "0 features chosen of 9; expected 1 to 9"),
        (["compile", "synthetic", "--weight-range", "1e300"], "overflow with weights up to 1e+300"),
        (["train", "synthetic", "--coefficients", ",".join("1" * 13)], "13 coefficients make a"),
        (["loss", "synthetic", "--plot", "x.gif"], ".png"),
        (["loss", "synthetic", "--coefficients", "1,x"], "expected numbers"),
        (["data"], "DATA is missing"),
        (["data", "synthetic", "-o", "a", "-o", "b"], "one -o for each part"),
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


@pytest.mark.slow
def test_standard_input_and_files_give_the_same_bytes(here: Path) -> None:
    assert main(["data", "breast-cancer", "-o", "cancer.svm", "-q"]) == 0
    text = (here / "cancer.svm").read_bytes()
    piped = run_process("compile", "-", "--bits=1", "--emit", "pubo=-", stdin=text)
    direct = run_process("compile", "cancer.svm", "--bits=1", "--emit", "pubo=-")
    one, two = json.loads(piped.stdout), json.loads(direct.stdout)
    assert one["source"].pop("name") == "standard input"
    assert two["source"].pop("name") == "cancer.svm"
    assert one == two


def test_json_summaries_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["loss", "synthetic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["order"] == 3
    assert main(["data", "synthetic", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 10_000
    assert main(["compile", "synthetic", "--bits=1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["variables"], found["scale"], found["bias"]) == (10, "robust", True)


@pytest.mark.slow
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


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupting_leaves_nothing_behind(here: Path, number: signal.Signals, code: int) -> None:
    reader, writer = os.pipe()  # standard input that never ends
    process = subprocess.Popen(
        [sys.executable, "-m", "qcompile", "compile", "-", "--emit", "pubo.json"],
        stdin=reader, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.write(writer, b"1 1:1\n-1 1:2\n")
    time.sleep(1.5)
    process.send_signal(number)
    if number == signal.SIGTERM:  # as `timeout` does
        time.sleep(0.01)
        process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    os.close(writer)
    os.close(reader)
    assert process.returncode == code
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
    assert found.stderr == f"qcompile: error: cannot write to standard output: {why}\n"


def test_closed_streams_do_not_matter_where_nothing_is_said(here: Path) -> None:
    script = f"exec {sys.executable} -m qcompile data synthetic -o a.svm -q <&- >&- 2>&-"
    found = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert found.returncode == 0 and found.stdout == found.stderr == b""
    assert len(read("a.svm")) == 10_000


def test_the_help_shows_the_stages_in_order_with_an_example_each() -> None:
    text = _parser().format_help()
    lines = [line.split() for line in text.splitlines() if line.startswith("  qcompile ")]
    shown = [line[1] for line in lines]
    stages = ["data", "loss", "compile", "verify", "embed", "solve", "decode", "predict"]
    assert shown[: len(stages)] == stages
    assert sorted(shown) == sorted(commands())  # each command once


@pytest.mark.parametrize("name", list(commands()))
def test_examples_of_each_command_run(
    name: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepare(name, request)
    given = examples(name)
    assert len(given) >= 2
    for line in given:
        assert line.startswith(f"qcompile {name}")
        assert run(line, monkeypatch) == 0, (line, capsys.readouterr().err)


def test_the_lines_of_the_help_can_be_run_one_after_the_other(
    large_server: Sapi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, the short cuts and the real machine too, in a folder that is empty at first."""
    assert [path for path in Path().iterdir() if path.suffix] == []
    text = _parser().format_help().partition("Stages, in order:")[2].partition("Exit codes:")[0]
    lines = [line.strip() for line in text.splitlines() if line.startswith("  qcompile ")]
    assert len(lines) == len(commands())
    for line in lines:
        capsys.readouterr()
        assert run(line, monkeypatch) == 0, (line, capsys.readouterr().err)
        if line.startswith("qcompile predict"):
            labels = capsys.readouterr().out.splitlines()
            assert len(labels) == 3000 and set(labels) == {"-1", "1"}


def test_help_and_completion_import_nothing_heavy() -> None:
    for arguments in (["--help"], ["solve", "--help"], ["completion", "bash"]):
        code = (
            "import sys\n"
            "from qcompile.cli import main\n"
            "try:\n"
            f"    main({arguments!r})\n"
            "except SystemExit:\n"
            "    pass\n"
            "heavy = {'scipy', 'sklearn', 'numba', 'matplotlib', 'dimod', 'dwave', 'rich',\n"
            "         'dask', 'networkx', 'distributed', 'minorminer', 'joblib', 'psutil',\n"
            "         'filelock'}\n"
            "print('heavy:', sorted(heavy & set(sys.modules)))"
        )
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert found.stdout.splitlines()[-1] == "heavy: []", arguments


def test_the_help_of_all_commands_imports_none_of_them() -> None:
    code = (
        "import sys\n"
        "import qcompile\n"
        "from qcompile.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print('numpy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "False"


def test_the_help_is_that_of_the_parser_with_all_options() -> None:
    assert _overview().format_help() == _parser().format_help()


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("compile data.svm --bits 1 --scale standard --prune --emit qubo.json",
         ["read", "prepare", "moments", "fit loss", "prune", "discretize", "quadratize", "write"]),
        ("compile data.svm --bits 1", ["read columns, in pieces", "read and moments, in pieces",
                                       "fit loss", "discretize", "quadratize", "write",
                                       "expected loss"]),
        ("loss data.svm --scale none --no-bias", ["read and moments, in pieces", "fit loss",
                                                  "write"]),
        ("data data.svm", ["read", "prepare", "write"]),
        ("estimate --machine pegasus4", ["estimate"]),
        ("machines pegasus4", ["make graphs"]),
        ("verify qubo.json --embedding embedding.json", ["read", "verify", "check the embedding"]),
        ("embed qubo.json --machine pegasus4", ["read", "embed", "write", "expected loss"]),
        ("solve qubo.json --solver exact", ["read", "solve (exact)", "read training data"]),
        ("decode samples.json --problem qubo.json", ["read", "decode", "read training data"]),
        ("predict model.json new.svm", ["read", "predict"]),
        ("train data.svm --bits 1", ["read", "prepare", "moments", "fit loss", "discretize",
                                     "solve (anneal)", "decode", "compare risks"]),
    ],
)  # fmt: skip
def test_verbose_names_each_pass_with_seconds_and_memory(
    line: str, passes: list[str], files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main([*shlex.split(line), "-v"]) == 0
    told = [m for m in map(PASS.search, capsys.readouterr().err.splitlines()) if m]
    assert [found.group(1) for found in told] == passes
    assert all(found.group(4) != "kB" for found in told)  # Python alone takes megabytes
    assert main([*shlex.split(line)]) == 0
    assert "pass " not in capsys.readouterr().err


def test_no_command_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    found = capsys.readouterr()
    assert found.out == "" and "Stages, in order" in found.err


def test_the_way_of_the_help_names_commands_that_exist() -> None:
    assert {name for names in app._WAYS.values() for name in names} <= set(commands())
