from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from qcompile import account, compile, read
from qcompile.cli.app import main
from qcompile.files import loss, moments
from qcompile.files.pubo import load_pubo
from qcompile.files.qubo import load_qubo
from tests.cli.lines import run_process
from tests.strategies import dense


def test_compile_writes_what_it_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emits = ["--emit", "pubo.json", "--emit", "loss.json", "--emit", "moments.npz"]
    assert main(["compile", "synthetic", "--order", "3", "--bits", "2", "-v", *emits]) == 0
    pubo = load_pubo("pubo.json")
    assert pubo.terms == (20, 190, 1140)
    assert loss.load_loss("loss.json") == pubo.loss
    assert moments.load_moments("moments.npz").features == 10
    assert "1,140" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "verdict", "words"),
    [
        ("--features 5 --bits 2", "yes", "yes, on advantage: "),
        ("--features 15 --bits 2", "likely", "likely, on advantage: about 1,"),
        ("--features 24 --bits 2", "unlikely", "hardly, on advantage: about "),
        ("--bits 4", "no", "no, not on advantage: 325314 couplings need as many couplers"),
    ],
)
def test_the_summary_is_short_and_says_whether_the_problem_fits(
    options: str, verdict: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["compile", "breast-cancer", *options.split()]
    assert main(line) == 0
    brief = dict(re.split(r" {2,}", row) for row in capsys.readouterr().out.splitlines())
    assert brief["fits"].startswith(words) and len(brief) <= 12
    if verdict in ("no", "unlikely"):
        assert re.search(r"what would fit: .*--features \d+", brief["fits"])
    assert main([*line, "--json"]) == 0
    everything = json.loads(capsys.readouterr().out)
    assert everything["fits"] == verdict and len(everything) > 30


def test_raw_rows_are_scaled_with_a_constant_column_unless_told_otherwise(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "breast-cancer", "-o", "rows.svm", "-q"]) == 0
    np.testing.assert_array_equal(dense(read("rows.svm")), read("breast-cancer").x)
    wanted = {
        "": ("robust", True),
        "--bias": ("robust", True),
        "--no-bias": ("robust", False),
        "--scale none --no-bias --anyway": (None, False),
        "--scale standard": ("standard", True),
    }
    for given, (scaling, bias) in wanted.items():
        line = f"compile rows.svm --order 1 --bits 1 {given} --emit pubo.json --json"
        assert main(line.split()) == 0
        prepared = load_pubo("pubo.json").preparation
        assert prepared is not None and (prepared.scaling, prepared.bias) == (scaling, bias)
        told = json.loads(capsys.readouterr().out)
        assert (told["scale"], told["bias"]) == (scaling or "none", bias)
        assert told["l2"] == load_pubo("pubo.json").loss.l2  # type: ignore[union-attr]


def test_the_kind_can_be_named_before_the_path(here: Path) -> None:
    assert main(["compile", "synthetic", "--bits=1", "--emit", "pubo=a.json", "-q"]) == 0
    assert load_pubo("a.json").variables == 10
    assert main(["compile", "synthetic", "--bits=1", "--emit", "pubo=b.npz", "-q"]) == 0
    assert load_pubo("b.npz").to_dict() == load_pubo("a.json").to_dict()


def test_an_artifact_on_standard_output_stands_alone() -> None:
    result = run_process("compile", "synthetic", "--bits", "1", "--emit", "pubo=-")
    assert json.loads(result.stdout)["type"] == "qcompile.pubo"
    assert b"variables" in result.stderr


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_loss_is_drawn(here: Path, ending: str) -> None:
    pictures = []
    for name in ("one", "two"):
        arguments = ["loss", "synthetic", "--order", "6", "--plot", f"{name}.{ending}", "-q"]
        assert main(arguments) == 0
        pictures.append((here / f"{name}.{ending}").read_bytes())
    assert len(pictures[0]) > 2000
    assert pictures[0] == pictures[1]


def test_options_reach_the_artifact(here: Path) -> None:
    arguments = ["compile", "breast-cancer", "--features", "3", "--scale", "standard", "--bias"]
    arguments += ["--bits", "1", "--l0", "0.1", "--l2", "0.5", "--weight-range", "0.4", "-q"]
    assert main([*arguments, "--emit", "pubo.json"]) == 0
    pubo = load_pubo("pubo.json")
    assert pubo.loss is not None
    assert pubo.preparation is not None
    assert (pubo.loss.l2, pubo.loss.range_, pubo.l0) == (0.5, 0.4, 0.1)
    assert pubo.preparation.bias
    assert len(pubo.preparation.columns) == 3  # type: ignore[arg-type]
    raw = read("breast-cancer").x
    assert pubo.preparation.apply(raw).shape == (569, 4)


def test_the_preparation_is_kept_with_the_loss(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    assert main(["loss", "breast-cancer", "--features=2", "--bias", "-q", "-o", str(path)]) == 0
    assert json.loads(path.read_text())["preparation"]["bias"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["loss", "synthetic", "--noise", "-0.5"], "share between"),
        (["loss", "synthetic", "--noise", "nan"], "share between"),
        (["data", "synthetic", "--seed", "-1"], "seed -1"),
        (["loss", "synthetic", "--prior-std", "1e300"], "prior-std"),
        (["loss", "synthetic", "--l2", "1e-320"], "l2"),
        (["data", "synthetic", "--split", "0.7", "nan"], "shares"),
        (["data", "x" * 300], "cannot be read"),
        (["data", "x.svm", "--num-features", "9" * 22], "features; expected"),
        (["loss", "synthetic", "--coefficients", "0,-1", "--order", "3"], "leave out one"),
        (["loss", "synthetic", "--coefficients", "0,-1", "--omega", "3"], "own coefficients"),
        (["compile", "synthetic", "--emit", "foo=pubo.json"], "invalid kind 'foo'"),
        (["compile", "synthetic", "--emit", "pubo=a.npz", "--emit", "qubo=a.npz"], "two outputs"),
        (["compile", "synthetic", "--emit", "pubo=-", "--emit", "loss=-"], "two outputs"),
        (["compile", "synthetic", "--emit", "y" * 300 + "pubo.json"], "cannot be written"),
        (["data", "synthetic:examples=1000000000,features=1000"], "fewer examples"),
        (["compile", "synthetic", "--cover", "exact", "--order", "4", "--bits", "1"], "for cubics"),
        (["compile", "synthetic", "--bits", "1", "--emit", "qubo.coo"], "no place for the offset"),
        (["compile", "synthetic", "--prune", "--l0", "1"], "do not go together"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_data_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["estimate", "breast-cancer", "--features", "4", "--bits", "2", "--format", "json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)[0]
    counted = account(compile("breast-cancer", features=4, bits=2).quadratize())
    assert found["qubits"] == counted["qubits"]
    assert found["ancillas"] == counted["product_ancillas"]


@pytest.mark.parametrize("kind", ["text", "markdown", "csv", "json"])
def test_tables_come_in_four_formats(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--table", "paper", "--format", kind]) == 0
    text = capsys.readouterr().out
    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert rows[1]["qubits"] == "40200"
    elif kind == "json":
        assert json.loads(text)[5]["qubits"] == 25_005_000
    else:
        assert "25,005,000" in text


def test_what_is_not_known_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["estimate", "--features", "5", "--order", "6", "--machine", "advantage"]
    assert main(line) == 0
    assert "physical qubits about  not known" in capsys.readouterr().out
    assert main([*line, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.endswith("| not known | not known | not known |\n")
    assert main([*line, "--format", "csv"]) == 0
    assert capsys.readouterr().out.endswith(",,\n")
    assert main([*line[:3], "--machine", "advantage", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.endswith("| yes |\n")


def test_a_name_without_a_kind_is_the_qubo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["a.json", "b.NPZ", "c.bqm", "my_pubo.json"]
    emits = [part for name in files for part in ("--emit", name)]
    assert main(["compile", "synthetic:examples=30,features=3", "--bits", "1", *emits, "-q"]) == 0
    assert load_qubo("a.json")[0].to_bqm() == load_qubo("b.NPZ")[0].to_bqm()
    assert load_pubo("my_pubo.json").variables
