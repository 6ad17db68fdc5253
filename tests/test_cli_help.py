"""What the commands promise: help with examples that run, JSON for scripts, costs, next steps."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dimod
import pytest

from qcompile.cli import app, output, parsing
from qcompile.cli.app import _parser, main
from qcompile.files.qubo import load_qubo
from qcompile.files.samples import load_samples
from qcompile.leap.job_store import list_jobs
from qcompile.runtime import progress
from tests.sapi import Sapi

JOB = re.compile(r"\b2026\d{4}-\d{6}-[0-9a-f]{8}\b")  # the id that stands in examples


def commands() -> dict[str, argparse.ArgumentParser]:
    """Read the commands from the parser itself."""
    (action,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def examples(name: str) -> list[str]:
    """Read the examples from the help that a user sees."""
    text = commands()[name].format_help().split("Examples:")[1].partition("What the")[0]
    return [line.strip() for line in text.splitlines() if line.strip()]


class Agreeing(io.StringIO):
    """A person at a terminal who says yes."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sapi]:
    """A solver API on loopback, and a folder with small files under the names of the examples."""
    monkeypatch.chdir(tmp_path)
    with Sapi(shape=(6,)) as running:
        for name, value in running.environment(str(tmp_path)).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
        yield running


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files that examples read, made once."""
    folder = tmp_path_factory.mktemp("prepared")
    with contextlib.chdir(folder):
        for line in (
            "data synthetic:examples=120,features=5 -o data.svm",
            "data synthetic:examples=40,features=5 -o new.svm",
            "compile data.svm --bits 1 --emit qubo.json --emit pubo.json",
            "compile data.svm --bits 1 --emit moments.npz --emit loss.json",
            "compile data.svm --bits 1 --emit qubo=written.bqm --emit qubo=written.lp",
            "embed qubo.json --machine advantage -o embedding.json --target target.json",
            "solve qubo.json --solver exact -o samples.json",
            "decode samples.json --problem qubo.json -o model.json",
        ):
            assert main([*shlex.split(line), "-q"]) == 0, line
        spins = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -1.0}, 0.0, "SPIN")
        Path("ising.json").write_text(json.dumps(spins.to_serializable()))
    return folder


@pytest.fixture
def files(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the examples, in the folder in which commands are run."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def at_work(files: Path, server: Sapi) -> Sapi:
    """The files, and a job that is on the server."""
    assert main(["submit", "qubo.json", "-n", "10", "--yes", "--no-wait", "-q"]) == 0
    return server


LEAP = ("submit", "resume", "jobs", "cancel")


def prepare(command: str, request: pytest.FixtureRequest) -> None:
    """Make the files, and a job on the server only for commands that talk about jobs."""
    request.getfixturevalue("at_work" if command in LEAP else "files")


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a line as a shell would: the job is the one there is, > is left to the shell."""
    if JOB.search(line):
        line = JOB.sub(list_jobs()[0].id, line)
    name, *arguments = shlex.split(line.split(" > ")[0])
    assert name == "qcompile"
    monkeypatch.setattr("sys.stdin", Agreeing("y\n"))
    return main(arguments)


def test_the_help_shows_the_stages_in_order_with_an_example_each() -> None:
    text = _parser().format_help()
    lines = [line.split() for line in text.splitlines() if line.startswith("  qcompile ")]
    shown = [line[1] for line in lines]
    stages = ["data", "loss", "compile", "verify", "embed", "solve", "decode", "predict"]
    assert shown[: len(stages)] == stages
    assert sorted(shown) == sorted(commands())  # each command once


def test_the_help_says_what_exit_codes_mean() -> None:
    text = _parser().format_help()
    codes = re.findall(r"^ +(\d+)  \S", text.split("Exit codes:")[1], re.M)
    assert codes == ["0", "1", "2", "3", "130"]
    constants = {
        value for name, value in vars(parsing).items() if name.isupper() and isinstance(value, int)
    }
    assert constants | {0} == set(map(int, codes))


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
    server: Sapi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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


JSON_LINES = [
    "data data.svm",
    "data --list",
    "loss data.svm",
    "compile data.svm --bits 1 --emit qubo.json",
    "verify qubo.json --data data.svm --embedding embedding.json",
    "estimate --features 10",
    "estimate --features 100000 --bits 16 --order 8",
    "estimate --table paper",
    "estimate --machine pegasus4",
    "machines",
    "machines pegasus4",
    "embed qubo.json --machine advantage",
    "embed qubo.json --machine pegasus4 --chain-strength sweep --reads 5",
    "embed qubo.json --preflight",
    "solve qubo.json --solver exact",
    "solve qubo.json --solver neal --embedding embedding.json",
    "decode samples.json --problem qubo.json",
    "quadratize pubo.json -o own-qubo.json",
    "report qubo.json samples.json -o report.html",
    "predict model.json new.svm",
    "predict model.json new.svm --decision",
    "predict model.json new.svm -o labels.txt",
    "train data.svm --bits 1 --test 0.2",
    "train data.svm --cv 2 --grid bits=1,2 -n 5",
    "submit qubo.json -n 10 --dry-run",
    "submit qubo.json -n 10 --yes --again --embedding embedding.json",
    "jobs",
    "jobs JOB",
    "resume JOB",
    "cancel JOB",
    "completion bash",
]


# Lines whose output is labels, a script, names of sets or a table, not names and values.
NO_NAMES = re.compile(
    r"data --list|predict (?!.* -o)|completion|machines$|estimate --(table|machine)|jobs$"
)
MORE_LINES = [
    "compile data.svm --bits 1 --compare-dimod --max-ancillas 2",
    "compile data.svm --bits 1 --prune --threshold 0.01",
    "compile data.svm --bits 1 --order 6",
    "compile data.svm --bits 1 --l0 0.01",
    "estimate data.svm --bits 1 --machine advantage",
    "solve pubo.json -n 5",
    "decode samples.json --problem qubo.json --validation data.svm",
    "train data.svm --bits 1 --validation 0.2 -n 5 --cv 2 --grid range=auto,1 --grid l2=0.1",
    "verify qubo.json --pubo pubo.json",
    "submit qubo.json -n 10 --yes --again --no-wait",
    "submit qubo.json --solver-type hybrid --dry-run",
    "machines advantage2",
]


def glossary(command: str) -> re.Pattern[str]:
    """Read the names that the page explains for a command; words in capitals stand for others."""
    page = (Path(__file__).parent.parent / parsing.GLOSSARY).read_text()
    text = page.partition("## What the numbers mean")[2].partition("\n## ")[0]
    names: list[str] = []
    for section in text.split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        if title == "Every command" or f"`{command}`" in title:
            for row in re.findall(r"^\| (`.*?`) \|", body, re.M):
                names += re.findall(r"`([^`]+)`", row)
    shown = [re.sub(r"\b(N|S|NAME|PART|SETTING)\b", ".+", name) for name in names]
    keys = [re.sub(r"(?<=_)(n|s)$", ".+", output.key_of(name)) for name in names]
    return re.compile("|".join([*shown, *keys]))


def keys_of(value: Any) -> set[str]:
    """Collect the keys of a JSON value, those of values inside too; numbers are no names."""
    if isinstance(value, dict):
        inside = (keys_of(item) for item in value.values())
        return set().union({key for key in value if not key.isdigit()}, *inside)
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("line", [*JSON_LINES, *MORE_LINES])
def test_every_name_that_is_printed_is_explained(
    line: str, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    prepare(line.split()[0], request)
    job = list_jobs()[0].id if "JOB" in line else ""
    arguments = [job if word == "JOB" else word for word in shlex.split(line)]
    known = glossary(arguments[0])
    capfd.readouterr()
    if not NO_NAMES.match(line):
        assert main(arguments) == 0
        out = capfd.readouterr().out
        names = {re.split(r" {2,}", row)[0] for row in out.splitlines() if row}
        assert {name for name in names if not known.fullmatch(name)} == set()
        assert "None" not in out and "True" not in out and "False" not in out
        numbers = re.findall(r"(?<=  )-?([\d.]+)$", out, re.M)
        digits = [number.replace(".", "").lstrip("0") for number in numbers]
        assert [number for number in digits if len(number) > 6] == []  # nobody reads more
    assert main([*arguments, "--json"]) == 0
    keys = keys_of(json.loads(capfd.readouterr().out))
    assert {key for key in keys if not known.fullmatch(key)} == set()
    assert {key for key in keys if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", key)} == set()


def test_a_name_that_is_not_explained_would_be_found() -> None:
    known = glossary("solve")
    assert known.fullmatch("lowest energy") and known.fullmatch("lowest_energy")
    assert not known.fullmatch("lowest") and not known.fullmatch("chain strength")
    assert glossary("compile").fullmatch("terms_of_degree_3")
    assert not glossary("compile").fullmatch("terms_of_degree")
    assert keys_of([{"a": {"b": 1, "2": 3}}, {"c": [{"d": 0}]}]) == {"a", "b", "c", "d"}


def test_the_help_says_where_numbers_are_explained() -> None:
    for parser in (_parser(), *commands().values()):
        assert "What the numbers mean: docs/commands.md" in parser.format_help()


def test_json_is_asked_of_every_command() -> None:
    assert {line.split()[0] for line in JSON_LINES} == set(commands())


@pytest.mark.parametrize("line", JSON_LINES)
def test_json_is_all_there_is_on_standard_output(
    line: str, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    prepare(line.split()[0], request)
    job = list_jobs()[0].id if "JOB" in line else ""
    arguments = [job if word == "JOB" else word for word in shlex.split(line)]
    capfd.readouterr()
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    assert found


def test_people_and_programs_get_the_same_values(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["decode", "samples.json", "--problem", "qubo.json", "--validation", "data.svm"]
    capsys.readouterr()
    assert main(line) == 0
    text = dict(re.split(r" {2,}", row) for row in capsys.readouterr().out.splitlines())
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    samples = load_samples("samples.json", load_qubo("qubo.json")[0])
    place = found["rank"] - 1  # people count from one
    assert found["energy"] == pytest.approx(samples.energies[place])
    assert text["rank"] == f"{place + 1} of {len(samples)}, 1 is the lowest energy"
    assert text["energy"] == f"{found['energy']:.6g}" != str(found["energy"])
    assert text["weights"] == "[" + ", ".join(f"{w:.6g}" for w in found["weights"]) + "]"
    assert main(["compile", "data.svm", "--bits", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory_bytes"] == 420
    assert main(["compile", "data.svm", "--bits", "1"]) == 0
    assert re.search(r"^memory +420 bytes$", capsys.readouterr().out, re.M)


def test_values_are_shown_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    options = argparse.Namespace(quiet=False, json=False, format="text")
    summary: dict[str, Any] = {
        "a_share": 1 / 3,
        "Two words, joined": None,
        "nested": {"one more": float("nan"), "yes": True},
        "none": [],
        "names": ["a", None],
        "numbers": (1.0, 2.5),
        "many": 12345678,
        "advice": "",
        "size": output.Worded(2048, "2 kB", "bytes"),
    }
    output.show(summary, options, written=["a file"])
    assert capsys.readouterr().out.splitlines() == [
        "a share            0.333333",
        "Two words, joined  not known",
        "nested             nan yes",
        "none               none",
        "names              a, not known",
        "numbers            [1, 2.5]",
        "many               12,345,678",
        "size               2 kB",
        "written            a file",
    ]
    options.json = True
    output.show(summary, options, written=["a file"])
    assert json.loads(capsys.readouterr().out) == {
        "a_share": 1 / 3,
        "two_words_joined": None,
        "nested": {"one_more": None, "yes": True},
        "none": [],
        "names": ["a", None],
        "numbers": [1.0, 2.5],
        "many": 12345678,
        "advice": "",
        "size_bytes": 2048,
        "written": ["a file"],
    }
    options.quiet = True
    output.show(summary, options)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("text", [" a share       fits        many", "0.333333        yes  12,345,678"]),
        ("markdown", ["| a share | fits | many |", "| 0.333333 | yes | 12,345,678 |"]),
        ("csv", ["a_share,fits,many", f"{1 / 3},yes,12345678"]),
    ],
)
def test_tables_are_shown_for_people(
    kind: str, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(quiet=False, json=False, format=kind)
    first = {"a_share": 1 / 3, "fits": True, "many": 12345678}
    output.show_rows([first, {"a_share": 0, "fits": None, "many": None}], options)
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown[:3] if "---" not in line][:2] == expected
    assert ("not known" in shown[-1]) == (kind != "csv")


def test_labels_are_in_the_json_of_predict(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["predict", "model.json", "new.svm"]) == 0
    plain = [float(label) for label in capsys.readouterr().out.split()]
    assert main(["predict", "model.json", "new.svm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == plain
    assert main(["predict", "model.json", "new.svm", "--json", "--decision"]) == 0
    decisions = json.loads(capsys.readouterr().out)["decisions"]
    assert [1.0 if value > 0 else -1.0 for value in decisions] == plain


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
            "         'dask', 'networkx', 'distributed', 'minorminer'}\n"
            "print('heavy:', sorted(heavy & set(sys.modules)))"
        )
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert found.stdout.splitlines()[-1] == "heavy: []", arguments


PASS = re.compile(r"pass (.+): (\d+\.\d{3}) s, peak memory ([\d.,]+) ([kMG]B)$")


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("compile data.svm --bits 1 --scale standard --prune --emit qubo.json",
         ["read", "prepare", "moments", "fit loss", "prune", "discretize", "quadratize", "write"]),
        ("compile data.svm --bits 1", ["read and moments, in pieces", "fit loss", "discretize",
                                       "quadratize", "write"]),
        ("loss data.svm", ["read and moments, in pieces", "fit loss", "write"]),
        ("data data.svm", ["read", "prepare", "write"]),
        ("estimate --machine pegasus4", ["estimate"]),
        ("machines pegasus4", ["make graphs"]),
        ("verify qubo.json --embedding embedding.json", ["read", "verify", "check the embedding"]),
        ("embed qubo.json --machine pegasus4", ["read", "preflight", "embed", "write"]),
        ("solve qubo.json --solver exact", ["read", "solve (exact)"]),
        ("decode samples.json --problem qubo.json", ["read", "decode"]),
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


def test_a_pass_is_told_with_the_time_that_it_took(caplog: pytest.LogCaptureFixture) -> None:
    """No more is asked of the clock than that a tenth of a second of sleep is seen."""
    from qcompile.runtime.timing import passing

    with caplog.at_level("DEBUG", logger="qcompile"), passing("sleep"):
        time.sleep(0.1)
    (record,) = caplog.records
    found = PASS.search(record.getMessage())
    assert found is not None and float(found.group(2)) >= 0.1


def test_memory_is_counted_as_the_system_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sources speak of units of 1024 bytes."""
    import resource

    from qcompile.runtime import timing as passes

    status = tmp_path / "status"
    status.write_text("VmPeak: 9 kB\nVmHWM:\t  3000 kB\n")
    monkeypatch.setattr(passes, "_STATUS", status)
    assert passes._peak() == 3000 * 1024
    monkeypatch.setattr(passes, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", "linux")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert passes._peak() >= used * 1024
    monkeypatch.setattr(sys, "platform", "darwin")  # there it is bytes already
    assert used <= passes._peak() < 1024 * used


def test_the_peak_is_that_of_the_pass(caplog: pytest.LogCaptureFixture) -> None:
    """200 MB in one pass: its peak is higher by about that, and so is that of the one around it."""
    from qcompile.runtime.timing import passing

    with caplog.at_level("DEBUG", logger="qcompile"), passing("around"):
        with passing("small"):
            pass
        with passing("large"):
            block = bytearray(200_000_000)
            block[::4096] = b"x" * len(block[::4096])
            del block
        with passing("after"):
            pass
    found = {}
    for record in caplog.records:
        match = PASS.search(record.getMessage())
        assert match is not None
        unit = {"MB": 1.0, "GB": 1000.0}[match.group(4)]
        found[match.group(1)] = float(match.group(3).replace(",", "")) * unit
    assert list(found) == ["small", "large", "after", "around"]
    assert 180 < found["large"] - found["small"] < 260
    assert found["around"] >= found["large"]
    if os.access("/proc/self/clear_refs", os.W_OK):
        assert found["after"] < found["large"] - 150


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("solve none.json", "qcompile compile DATA --emit qubo=none.json"),
        ("solve model.json", "it holds a classifier, for: qcompile predict model.json DATA"),
        ("solve samples.json", "for: qcompile decode samples.json --problem QUBO -o model.json"),
        ("solve embedding.json", "for: qcompile solve QUBO --embedding embedding.json"),
        ("solve data.svm", "for: qcompile compile data.svm --emit qubo.json"),
        ("solve qubo.json --solver neal --embedding none.json", "qcompile embed QUBO -o none.json"),
        ("solve qubo.json --embedding embedding.json", "add: --solver neal"),
        ("solve pubo.json --embedding embedding.json", "--emit qubo.json"),
        ("solve nosuch", "nosuch: no such file; make one: qcompile compile DATA --emit qubo="),
        ("verify nosuch", "nosuch: no such file; make one: qcompile compile DATA --emit qubo="),
        ("verify nosuch.bqm", "no such file; make one: qcompile compile DATA --emit qubo=qubo.j"),
        ("report nosuch -o r.html", "no such file or folder either; make one: qcompile compile"),
        ("solve written.bqm", "only written, for: other programs; here a .json file serves"),
        ("data written.bqm", "here a .json file serves: qcompile compile DATA --emit qubo.json"),
        ("quadratize written.bqm", "a .json file serves: qcompile compile DATA --emit qubo.json"),
        ("verify written.lp", "a .json file serves: qcompile compile DATA --emit qubo.json"),
        ("data target.json", "it holds a problem on the qubits of a machine, for: other programs"),
        ("verify target.json", "serve: qcompile solve QUBO --embedding EMBEDDING --solver neal"),
        ("verify ising.json", "a problem of spins, for: qcompile quadratize ising.json -o"),
        ("solve moments.npz", "it holds moments, for: Python (qcompile.load_moments); a QUBO is"),
        ("compile loss.json", "it holds a loss, for: Python (qcompile.load_loss); a QUBO is made"),
        ("compile nowhere.svm", "nowhere.svm: no such file; expected an svmlight file"),
        (
            "decode samples.json --problem qubo.json --validation qubo.json",
            "it holds a QUBO, for: qcompile solve qubo.json -o samples.json",
        ),
        (
            "embed qubo.json --reuse model.json",
            "it holds a classifier, for: qcompile predict model.json DATA",
        ),
        ("decode . --problem qubo.json", ".: is a folder; expected a file"),
        ("predict binary.json data.svm", "binary.json: damaged or of another kind (binary data"),
        ("verify pubo.json", "it holds a polynomial, for: qcompile quadratize pubo.json -o qubo."),
        ("verify model.json", "for: qcompile predict model.json DATA"),
        ("verify qubo.json --embedding none.json", "qcompile embed QUBO -o none.json"),
        ("decode none.json --problem qubo.json", "qcompile solve QUBO -o none.json"),
        ("decode model.json --problem qubo.json", "for: qcompile predict model.json DATA"),
        ("predict none.json data.svm", "qcompile train DATA -o none.json"),
        ("predict samples.json data.svm", "for: qcompile decode samples.json"),
        ("predict model.json qubo.json", "it holds a QUBO, for: qcompile solve qubo.json"),
        ("train qubo.json", "it holds a QUBO, for: qcompile solve qubo.json"),
        ("compile breast-cancr", "qcompile data --list"),
        ("submit model.json", "for: qcompile predict model.json DATA"),
        ("resume 1999", "see `qcompile jobs`"),
        ("embed qubo.json --machine advantag", "see qcompile machines"),
        ("slove qubo.json", "did you mean solve?"),
        ("compile data.svm --bitz 3", "did you mean --bits? (see qcompile compile --help)"),
        ("compile data.svm --bitz=3", "did you mean --bits?"),
        ("jobs --solver x", "it is an option of solve"),
        ("compile data.svm more.svm", "more.svm (see qcompile compile --help)"),
        ("estimate", "give --features N"),
        ("data", "qcompile data --list"),
    ],
)
def test_errors_suggest_the_next_command(
    line: str, words: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("binary.json").write_bytes(b"\x7fELF\xff\xfe\x00")
    capsys.readouterr()
    try:
        code = main(shlex.split(line))
    except SystemExit as stop:
        code = int(stop.code or 0)
    found = capsys.readouterr()
    assert code == 2
    assert words in found.err
    assert found.err.count("\n") == 1 and found.out == ""
    for suggested in suggestions(found.err):
        assert main([*suggested, "-q"]) == 0, (suggested, capsys.readouterr().err)


# What stands for a file in suggestions, and files that there are.
PLACES = {"DATA": "data.svm", "QUBO": "qubo.json", "EMBEDDING": "embedding.json"}


def suggestions(text: str) -> list[list[str]]:
    """Read the commands that an error proposes, with files in the places of their names."""
    found = re.findall(r"(?:for|make one|made by|serves?): qcompile (.+)", text)
    return [[PLACES.get(word, word) for word in shlex.split(line)] for line in found]


def test_suggestions_are_read_as_a_person_would() -> None:
    text = "x: no such file; make one: qcompile train DATA -o 'a b.json'\n"
    assert suggestions(text) == [["train", "data.svm", "-o", "a b.json"]]


def test_no_command_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    found = capsys.readouterr()
    assert found.out == "" and "Stages, in order" in found.err


def test_files_with_strange_names_are_quoted_in_suggestions(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model.json").rename("my model;.json")
    assert main(["solve", "my model;.json"]) == 2
    assert "qcompile predict 'my model;.json' DATA" in capsys.readouterr().err


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def shown(title: str, monkeypatch: pytest.MonkeyPatch, *, level: str, **options: Any) -> str:
    """Show a bar on a terminal and let the second pass that it waits for."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    logging.getLogger("qcompile").setLevel(level)
    with progress.bar(title, **options) as update:
        if update is not None and not options:
            update(1, 2)
            progress.retitle("the next pass")
        end = time.monotonic() + 20
        while update is not None and not options and "next pass" not in screen.getvalue():
            assert time.monotonic() < end
            time.sleep(0.01)
    return screen.getvalue()


def test_a_bar_shows_itself_and_names_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the next pass" in shown("reading", monkeypatch, level="INFO")


def wait_for(text: str, screen: Terminal) -> None:
    """Let the bar draw itself until it shows this."""
    end = time.monotonic() + 20
    while text not in screen.getvalue():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_bar_shows_news_and_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    logging.getLogger("qcompile").setLevel("INFO")
    with progress.bar("embed", counted=True) as update:
        assert update is not None
        update(1, 4, "40 qubits so far")
        wait_for("40 qubits so far", screen)
        wait_for("25%", screen)
        update(3, 4)  # no news: the title again
        wait_for("75%", screen)
        wait_for("embed", screen)
        with progress.bar("inner"):
            progress.retitle("of the inner one")
        wait_for("of the inner one", screen)
        progress.retitle("of the outer one")  # the inner bar is gone
        wait_for("of the outer one", screen)
    assert progress._titles == []


def test_a_bar_is_silent_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown("reading", monkeypatch, level="WARNING") == ""
    assert shown("reading", monkeypatch, level="INFO", counted=True) == ""  # nothing counted
    monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    assert shown("reading", monkeypatch, level="INFO") == ""
    progress.retitle("nobody looks")


def test_the_way_of_the_help_names_commands_that_exist() -> None:
    assert {name for names in app._WAYS.values() for name in names} <= set(commands())
