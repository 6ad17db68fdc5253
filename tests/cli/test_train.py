from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from qcompile import from_arrays
from qcompile.cli.app import main
from qcompile.data.svmlight import save_svmlight


def test_the_command_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model.json")
    run = ["train", "breast-cancer", "--scale", "standard", "--features", "4", "-o", model]
    assert main([*run, "--bits", "2", "--test", "0.3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["errors"]["test"] < 0.2
    first = Path(model).read_bytes()
    assert main([*run, "--bits", "2", "--test", "0.3", "-q"]) == 0
    assert Path(model).read_bytes() == first
    cv = ["--cv", "2", "--grid", "bits=1,2", "--grid", "range=auto,0.5", "-n", "5"]
    assert main([*run, *cv]) == 0
    shown = capsys.readouterr().out
    assert shown.count("cv: ") == 4 and "best continuous" in shown
    for bad, message in (
        (["--grid", "bits=1"], "needs --cv"),
        (["--cv", "2", "--grid", "colour=1"], "a name of order, bits"),
        (["--cv", "2", "--grid", "bits=a"], "separated by commas"),
        (["--cv", "1"], "folds"),
        (["--test", "1.5"], "leave rows"),
        (["-n", "0"], "at least one"),
    ):
        assert main([*run, *bad]) == 2
        assert message in capsys.readouterr().err


def test_the_best_setting_is_the_one_that_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["train", "breast-cancer", "--scale", "standard", "--features", "3", "-n", "5"]
    grid = ["--grid", "range=0.1,1.5", "--grid", "bits=1,3", "--grid", "l2=0.5,0.001"]
    chosen, plain = str(tmp_path / "chosen.json"), str(tmp_path / "plain.json")
    assert main([*run, "--cv", "3", *grid, "--json", "-o", chosen]) == 0
    best, *others = json.loads(capsys.readouterr().out)["cross_validation"]
    assert best["validation_error"] < others[-1]["validation_error"], "a grid that matters"
    own = [f"--{name}={best[name]}" for name in ("range", "bits", "l2")]
    assert main([*run, *own, "-q", "-o", plain]) == 0
    assert Path(chosen).read_bytes() == Path(plain).read_bytes()


def test_nothing_is_learnt_from_the_test_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    noise = from_arrays(rng.normal(size=(120, 800)), rng.choice([-1, 1], 120))
    path = tmp_path / "noise.svm"
    save_svmlight(noise, path)
    run = ["train", str(path), "--features", "5", "--scale", "standard", "--bits", "2"]
    errors = []
    for seed in range(3):
        assert main([*run, "--test", "0.5", "--seed", str(seed), "-n", "5", "--json"]) == 0
        errors.append(json.loads(capsys.readouterr().out)["errors"]["test"])
    assert np.mean(errors) > 0.38  # choosing features with the test rows gives about 0.2


def test_a_classifier_that_learnt_nothing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.svm"
    rows = [(1, 180, 80), (1, 190, 95), (1, 175, 82), (-1, 160, 55), (-1, 165, 52), (-1, 158, 60)]
    file.write_text("".join(f"{y} 1:{a} 2:{b}\n" for y, a, b in rows))
    assert main(["train", str(file), "--scale", "none", "--no-bias"]) == 0
    told = capsys.readouterr()
    assert "no better than" in told.err and "--scale robust, --bias" in told.err
    assert "baseline error" in told.out
    assert main(["train", str(file)]) == 0
    assert capsys.readouterr().err == ""


def test_a_model_never_replaces_its_validation_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data.svm"
    file.write_text("1 1:1 2:2\n-1 1:-1 2:-1\n1 1:2\n-1 2:-3\n")
    pubo, samples = str(tmp_path / "pubo.json"), str(tmp_path / "samples.json")
    assert main(["compile", str(file), "--bits", "2", "--emit", pubo, "-q"]) == 0
    assert main(["solve", pubo, "-o", samples, "-q"]) == 0
    run = ["decode", samples, "--problem", pubo, "--validation", str(file)]
    assert main([*run, "-o", str(file)]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert main(run) == 0
    file.write_text("7 1:1\n-1 2:1\n")
    assert main(run) == 2
    assert "label 7 was never seen" in capsys.readouterr().err
