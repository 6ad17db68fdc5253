from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from qcompile.cli.app import main
from qcompile.data.replay import recorded_rows
from qcompile.files import guarded
from qcompile.files.pubo import load_pubo
from qcompile.files.samples import save_samples
from qcompile.stages.samples import samples_of


def test_labels_are_in_the_json_of_predict(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["predict", "model.json", "new.svm"]) == 0
    plain = [float(label) for label in capsys.readouterr().out.split()]
    assert main(["predict", "model.json", "new.svm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == plain
    assert main(["predict", "model.json", "new.svm", "--json", "--decision"]) == 0
    decisions = json.loads(capsys.readouterr().out)["decisions"]
    assert [1.0 if value > 0 else -1.0 for value in decisions] == plain


def test_probabilities_are_those_of_the_calibration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.json")
    train = ["train", "breast-cancer", "--solver", "descent", "-o", model, "-q"]
    assert main([*train, "--rows", "200"]) == 0
    capsys.readouterr()
    assert main(["predict", model, "breast-cancer", "--decision"]) == 0
    decisions = np.array([float(line) for line in capsys.readouterr().out.split()])
    assert main(["predict", model, "breast-cancer", "--probabilities"]) == 0
    shares = np.array([float(line) for line in capsys.readouterr().out.split()])
    made = json.loads(Path(model).read_text())["calibration"]
    logits = made["slope"] * decisions + made["intercept"]
    assert shares == pytest.approx(1 / (1 + np.exp(-logits)), rel=1e-12)
    assert main(["predict", model, "breast-cancer", "--probabilities", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["probabilities"] == shares.tolist()


def test_a_model_without_calibration_has_no_probabilities(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["predict", "model.json", "new.svm", "--probabilities"]) == 2
    told = capsys.readouterr().err
    assert "has no calibration, which --probabilities needs: train it in rounds" in told


@pytest.mark.slow
def test_the_command_solves_decodes_and_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qubo, pubo = str(tmp_path / "qubo.json"), str(tmp_path / "pubo.npz")
    samples, model = str(tmp_path / "samples.json"), str(tmp_path / "model.json")
    run = ["compile", "breast-cancer", "--scale", "standard", "--features", "4", "--bits", "2"]
    assert main([*run, "--emit", qubo, "--emit", pubo, "-q"]) == 0
    lowest = []
    for problem, solver in ((qubo, "anneal"), (pubo, "exact"), (qubo, "neal"), (qubo, "mock")):
        assert main(["solve", problem, "--solver", solver, "-o", samples, "--json"]) == 0
        lowest.append(json.loads(capsys.readouterr().out)["lowest_energy"])
        assert main(["decode", samples, "--problem", qubo, "-o", model]) == 0
        capsys.readouterr()
    assert lowest == pytest.approx([lowest[0]] * 4)
    assert main(["predict", model, "breast-cancer"]) == 0
    labels = capsys.readouterr().out.split()
    assert len(labels) == 569 and set(labels) == {"0", "1"}
    assert main(["decode", samples, "--problem", qubo, "--validation", "breast-cancer"]) == 0
    assert "validation error" in capsys.readouterr().out
    chains = str(tmp_path / "embedding.json")
    assert main(["embed", qubo, "--machine", "pegasus4", "-o", chains, "-q"]) == 0
    run = ["solve", qubo, "--solver", "neal", "--embedding", chains]
    assert main([*run, "--chain-strength", "scaled"]) == 0
    assert main([*run, "--chain-strength", "sweep"]) == 2
    assert "lowest energy" in capsys.readouterr().out


def test_bad_arguments_of_solve_fit_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pubo = str(tmp_path / "pubo.json")
    run = ["compile", "breast-cancer", "--scale", "standard", "--features", "3", "--bits", "1"]
    assert main([*run, "--emit", pubo, "-q"]) == 0
    (tmp_path / "loss.json").write_text('{"type": "qcompile.loss"}')
    for arguments, message in (
        (["solve", pubo, "-n", "0"], "at least one"),
        (["solve", pubo, "-o", pubo], "is also an input"),
        (["solve", pubo, "--embedding", pubo], "needs a QUBO"),
        (["solve", str(tmp_path / "no.json")], "no.json"),
        (["solve", str(tmp_path / "loss.json")], "loss.json"),
        (["solve", str(tmp_path / "x.txt")], "no such file"),
        (["decode", pubo, "--problem", pubo], "SampleSet"),
        (["predict", pubo, "breast-cancer"], "expected a qcompile model"),
    ):
        assert main(arguments) == 2, arguments
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error


def test_predict_minds_features_and_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_file, model = tmp_path / "train.svm", str(tmp_path / "model.json")
    train_file.write_text("1 1:1 2:2\n-1 1:-1 2:-1\n1 1:2\n-1 2:-3\n")
    assert main(["train", str(train_file), "--bits", "2", "-o", model, "-q"]) == 0
    new = tmp_path / "new.svm"
    new.write_text("0 1:5\n0 1:-5\n")  # labels need not be known
    assert main(["predict", model, str(new)]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    new.write_text("1 1:5 7:2\n")
    assert main(["predict", model, str(new)]) == 2
    assert "new.svm" in capsys.readouterr().err
    out = str(tmp_path / "labels.txt")
    new.write_text("1 1:5\n-1 1:-5\n")
    assert main(["predict", model, str(new), "-o", out, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["rows"] == 2
    assert "error_if_the_labels_of_the_file_are_true" in report
    assert main(["predict", model, str(new), "--decision"]) == 0
    assert float(capsys.readouterr().out.split()[0]) != 0


def test_train_and_predict_count_the_same_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.json")
    run = ["breast-cancer", "--features", "2", "--scale", "standard", "--bits", "1"]
    assert main(["train", *run, "-o", model, "--json"]) == 0  # all weights 0: every margin is 0
    trained = json.loads(capsys.readouterr().out)["errors"]["train"]
    assert main(["predict", model, "breast-cancer", "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert predicted["error_if_the_labels_of_the_file_are_true"] == pytest.approx(trained)


def test_zero_based_files_stay_zero_based(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, model = tmp_path / "zero.svm", str(tmp_path / "model.json")
    file.write_text("1 0:1 1:3\n-1 0:-1 1:1\n1 0:2\n-1 0:-2 1:-3\n1 1:2\n-1 1:-1\n")
    assert main(["train", str(file), "--bits", "3", "-o", model, "-q"]) == 0
    assert main(["predict", model, str(file), "--decision"]) == 0
    whole = capsys.readouterr().out.split()
    file.write_text("1 1:2\n-1 1:-1\n")  # no index 0 here
    assert main(["predict", model, str(file), "--decision"]) == 0
    assert capsys.readouterr().out.split() == whole[-2:]


@pytest.mark.parametrize(
    "line",
    [
        "verify p.json",
        "solve p.json",
        "quadratize p.json",
        "embed p.json",
        "decode p.json --problem qubo.json",
        "decode samples.json --problem p.json",
        "predict p.json breast-cancer",
    ],
)
def test_a_named_pipe_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Nobody writes to it, and reading it would never end."""
    monkeypatch.setattr(guarded, "_WAIT_FOR_WRITER", 0.1)
    os.mkfifo("p.json")
    emits = ["--emit", "qubo=qubo.json"]
    if "qubo.json" in line:
        assert main(["compile", "breast-cancer", "--features", "2", "--bits", "1", *emits]) == 0
    if "samples.json" in line:
        Path("samples.json").write_text("{}")
    assert main(line.split()) == 2
    assert "pipe; expected a file" in capsys.readouterr().err


def test_predict_says_what_its_file_lacks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "1 1:1 2:5 3:1\n1 1:2 2:6\n-1 1:-1 2:5 3:2\n-1 1:-2 2:1 3:3\n-2 1:-3 2:2 3:1\n"
    Path("rows.svm").write_text(rows)
    assert main(["train", "rows.svm", "--positive", "1", "-o", "model.json", "-q"]) == 0
    Path("new.svm").write_text("1:1\nspam 1:-3\n")
    capsys.readouterr()
    assert main(["predict", "model.json", "new.svm"]) == 0
    told = capsys.readouterr()
    assert len(told.out.split()) == 2
    assert "2 of the 3 columns that the model uses (the first is 2)" in told.err
    assert "-1 stands for every label but 1" in told.err
    assert main(["predict", "model.json", "rows.svm", "--decision"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_a_search_that_found_nothing_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Energies above that of all weights 0, and the error on the recorded rows."""
    line = "compile breast-cancer --scale standard --features 3 --bits 2 --order 6 --emit pubo.json"
    assert main([*line.split(), "-q"]) == 0
    pubo = load_pubo("pubo.json")
    states = np.array(list(itertools.product([0, 1], repeat=pubo.variables)))
    worst = states[np.argsort(pubo.energies(states))[-1:]].astype(np.int8)
    save_samples(samples_of(pubo, worst), "samples.json", problem=pubo)
    capsys.readouterr()
    assert main(["decode", "samples.json", "--problem", "pubo.json", "--json"]) == 0
    told = capsys.readouterr()
    assert "which all weights 0 have" in told.err and "no better than" in told.err
    shown = json.loads(told.out)
    assert shown["train_error"] > shown["baseline_error"] == pytest.approx(0.3726, abs=1e-4)
    assert main(["solve", "pubo.json", "--solver", "exact", "-o", "samples.json", "-q"]) == 0
    assert main(["decode", "samples.json", "--problem", "pubo.json", "--json"]) == 0
    told = capsys.readouterr()
    assert "warning" not in told.err and json.loads(told.out)["train_error"] < 0.15


def test_recorded_rows_are_those_of_the_record(here: Path) -> None:
    assert main(["data", "synthetic:examples=40,features=3", "-o", "rows.svm", "-q"]) == 0
    assert (
        main(["compile", "rows.svm", "--bits", "1", "--order", "1", "--emit", "pubo.json", "-q"])
        == 0
    )
    problem = load_pubo("pubo.json")
    rows = recorded_rows(problem)
    assert rows is not None and len(rows) == 40 and rows.features == 4
    Path("rows.svm").write_text(Path("rows.svm").read_text().replace("1:", "1:0", 1))
    assert recorded_rows(problem) is None  # another file of that name
    Path("rows.svm").unlink()
    assert recorded_rows(problem) is None
