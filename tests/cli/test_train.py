from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import from_arrays
from qcompile.cli.app import main
from qcompile.data.svmlight import save_svmlight
from qcompile.training.l2_path import PATH


def test_the_command_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model.json")
    run = ["train", "breast-cancer", "--scale", "standard", "--features", "4", "-o", model]
    assert main([*run, "--bits", "2", "--test", "0.3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["errors"]["test"] < 0.2
    first = Path(model).read_bytes()
    assert main([*run, "--bits", "2", "--test", "0.3", "-q"]) == 0
    assert Path(model).read_bytes() == first
    cv = ["--cv", "2", "--grid", "bits=1,2", "--grid", "weight-range=auto,0.5", "-n", "5"]
    assert main([*run, *cv]) == 0
    shown = capsys.readouterr().out
    assert shown.count("cv: ") == 4 and "best continuous" in shown
    assert "cv: bits 1, weight range auto" in shown and "bits 2, weight range 0.5" in shown
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
    grid = ["--grid", "weight-range=0.1,1.5", "--grid", "bits=1,3", "--grid", "l2=0.5,0.001"]
    chosen, plain = str(tmp_path / "chosen.json"), str(tmp_path / "plain.json")
    assert main([*run, "--cv", "3", *grid, "--json", "-o", chosen]) == 0
    best, *others = json.loads(capsys.readouterr().out)["cross_validation"]
    assert best["validation_error"] < others[-1]["validation_error"], "a grid that matters"
    own = [f"--{name}={best[name.replace('-', '_')]}" for name in ("weight-range", "bits", "l2")]
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
    raw = ["train", str(file), "--scale", "none", "--no-bias"]
    assert main([*raw, "--method", "paper"]) == 0
    told = capsys.readouterr()
    assert "no better than" in told.err and "--scale robust, --bias" in told.err
    assert "baseline error" in told.out
    assert main(["train", str(file), "--method", "paper"]) == 0
    assert capsys.readouterr().err == ""
    same = tmp_path / "same.svm"  # each row with both labels
    same.write_text("1 1:1\n-1 1:1\n1 1:2\n-1 1:2\n")
    assert main(["train", str(same)]) == 0
    told = capsys.readouterr()
    assert "no better than always giving" in told.err and "a smaller --l2" in told.err
    assert main(["train", str(file)]) == 0
    told = capsys.readouterr()
    assert told.err == "" and re.search(r"^train error +0\.0000 of ", told.out, re.MULTILINE)


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


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with 150 rows, of which a tenth has the wrong label."""
    path = tmp_path_factory.mktemp("rows") / "noisy.svm"
    rows = ["data", "synthetic:examples=150,features=6", "--noise", "0.1"]
    assert main([*rows, "-o", str(path), "-q"]) == 0
    return str(path)


Told = Callable[..., dict[str, Any]]


@pytest.fixture
def told(noisy: str, capsys: pytest.CaptureFixture[str]) -> Told:
    """What `train --json` says about the noisy rows."""

    def run(*options: str) -> dict[str, Any]:
        assert main(["train", noisy, *options, "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    return run


def test_rounds_are_the_default_and_are_listed(told: Told, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    found = told("-o", str(model), "--test", "0.3", "--seed", "2")
    assert found["method"] == "rounds"
    rounds = found["rounds"]
    assert [own["number"] for own in rounds] == list(range(len(rounds))) and len(rounds) > 5
    objectives = [own["objective"] for own in rounds]
    assert objectives == sorted(objectives, reverse=True)
    ours, descent = found["where_accuracy_is_lost"]
    names = ours["classifier"], descent["classifier"]
    assert names == ("trained in rounds", "descent (L-BFGS)")
    assert ours["objective"] == pytest.approx(objectives[-1])
    assert ours["objective"] < descent["objective"] + 1e-3
    assert list(found["errors"]) == ["train", "test"]
    written = json.loads(model.read_text())["source"]
    assert (written["method"], written["rounds"]) == ("rounds", len(rounds))
    assert written["l2"] == found["l2"]
    assert written["objective"] == pytest.approx(objectives[-1])


def test_the_same_seed_writes_the_same_model(noisy: str, tmp_path: Path) -> None:
    one, two, other = (tmp_path / f"{name}.json" for name in "abc")
    weak = ["-n", "1", "--sweeps", "1"]  # so weak a search that its random numbers matter
    for path, seed in ((one, "1"), (two, "1"), (other, "2")):
        assert main(["train", noisy, *weak, "--seed", seed, "-o", str(path), "-q"]) == 0
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()


def test_the_paper_is_asked_for_or_chosen_by_its_options(
    noisy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, models = ["--features", "3", "-n", "5"], [tmp_path / "one.json", tmp_path / "two.json"]
    ways = ((["--method", "paper"], "paper"), (["--bits", "4"], "paper, chosen by --bits"))
    for (options, words), model in zip(ways, models, strict=True):
        assert main(["train", noisy, *small, *options, "-o", str(model)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split(maxsplit=1) == ["method", words]
        assert any(line.startswith("best continuous") for line in lines)
    assert models[0].read_bytes() == models[1].read_bytes(), "four bits are its default"
    grid = ["--cv", "2", "--grid", "weight-range=auto,1"]
    assert main(["train", noisy, *small, *grid, "--bits", "1"]) == 0
    assert "paper, chosen by --bits, --grid weight-range\n" in capsys.readouterr().out


def test_the_price_of_weights_is_chosen_by_cross_validation(told: Told, tmp_path: Path) -> None:
    found = told("--l2", "cv", "--solver", "descent")
    prices = {trial["l2"] for trial in found["cross_validation"]}
    assert len(prices) == len(PATH) and found["l2"] == found["cross_validation"][0]["l2"]
    model = tmp_path / "model.json"
    grid = ["--cv", "3", "--grid", "l2=0.5,0.001"]
    found = told(*grid, "-o", str(model))
    assert found["method"] == "rounds"
    best, other = found["cross_validation"]
    assert {best["l2"], other["l2"]} == {0.5, 0.001}
    assert best["validation_error"] <= other["validation_error"]
    assert found["l2"] == best["l2"] == json.loads(model.read_text())["source"]["l2"]


def test_descent_trains_without_bits(told: Told) -> None:
    found = told("--solver", "descent", "--l2", "0.002")
    assert found["rounds"] == [] and found["l2"] == 0.002
    (risk,) = found["where_accuracy_is_lost"]
    assert risk["classifier"] == "trained by descent"
    in_rounds = told("--l2", "0.002")["where_accuracy_is_lost"][0]
    assert risk["objective"] < in_rounds["objective"] + 1e-6


def test_a_machine_that_takes_a_block_at_a_time(told: Told) -> None:
    chip = ["--solver", "mock", "--machine", "chimera4", "-n", "10"]
    found = told(*chip, "--block", "4", "--rounds", "40")
    assert {own["weights"] for own in found["rounds"]} == {4}
    assert found["errors"]["train"] < found["baseline_error"] - 0.1
    # 16 qubits of each row of cells are dead: the complete graph is smaller
    few = told(*chip, "--rounds", "3", "--dead-qubits", ",".join(map(str, range(96))))
    assert {own["weights"] for own in few["rounds"]} == {4}


def test_limits_end_the_training_and_are_told(
    noisy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", noisy, "--rounds", "3"]) == 0
    told = capsys.readouterr()
    assert " 3 rounds, " in told.out and "limit of --rounds was reached" in told.err
    assert main(["train", noisy, "--time-limit", "1e-9"]) == 0
    assert "--time-limit was reached" in capsys.readouterr().err


def test_validation_rows_choose_among_the_kept(told: Told, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    parts = ["--validation", "0.3", "--test", "0.2", "-o", str(model)]
    found = told(*parts, "--keep", "30")
    assert list(found["errors"]) == ["train", "validation", "test"]
    source = json.loads(model.read_text())["source"]
    assert 0 <= source["rank"] < 30
    assert source["validation_error"] == pytest.approx(found["errors"]["validation"])
    assert told(*parts, "--keep", "1")["errors"]["validation"] >= found["errors"]["validation"]
    assert json.loads(model.read_text())["source"]["rank"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--method magic", "invalid choice: 'magic'"),
        ("--method rounds --bits 3", "--bits belongs to --method paper"),
        ("--method rounds --cv 2 --grid order=3,5", "--grid order belongs to --method paper"),
        ("--bits 3 --rounds 5", "--rounds belongs to rounds, --bits to the paper's method"),
        ("--method paper --step-bits 2", "--step-bits belongs to rounds, --method paper to"),
        ("--method paper --l2 cv", "--l2 cv is for rounds"),
        ("--order 3 --solver descent", "--solver descent is for rounds"),
        ("--l2 much", "found 'much'; expected a number or cv"),
        ("--l2 -1", "l2 -1; expected a number of 0 or more"),
        ("--l2 nan", "l2 nan; expected a number of 0 or more"),
        ("--cv 3 --grid l2=0,1", "expected numbers above 0"),
        ("--cv 3 --grid l2=", "expected numbers separated by commas"),
        ("--cv 1", "1 folds"),
        ("--rounds 0", "rounds 0; expected at least 1"),
        ("--starts 0", "starts 0; expected at least 1"),
        ("--block 0", "block 0; expected at least 1"),
        ("--step-bits 9", "9 bits of a step; expected 1 to 8"),
        ("--radius 0", "radius 0; expected a number above 0"),
        ("--width -1", "width -1; expected a number above 0"),
        ("--time-limit 0", "time limit 0; expected seconds above 0"),
        ("--solver mock --machine 2000q --dead-qubits 1-2", "expected qubits like"),
        ("--solver mock --machine nowhere", "nowhere"),
        ("-n 0", "at least one"),
        ("--keep 0", "at least one"),
        ("--test 1.5", "leave rows"),
    ],
)
def test_bad_input_is_told_in_a_line_and_nothing_is_written(
    noisy: str, options: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = ["-o", "model.json", "--report", "page.html"]
    try:
        code: Any = main(["train", noisy, *options.split(), *written])
    except SystemExit as error:  # of the parser
        code = error.code
    told = capsys.readouterr()
    assert code == 2 and told.out == ""
    (line,) = (line for line in told.err.splitlines() if line.startswith("qcompile"))
    assert words in line
    assert list(here.iterdir()) == []


def test_a_block_is_no_larger_than_the_machine_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    chip = ["--solver", "mock", "--machine", "chimera4", "-n", "5", "--rounds", "2"]
    assert main(["train", "breast-cancer", *chip, "--block", "17"]) == 2
    assert "chimera4 takes up to 16 weights: choose a smaller --block" in capsys.readouterr().err
    assert main(["train", "breast-cancer", *chip]) == 0  # as large as the machine takes
    # a block is never larger than the number of weights
    assert main(["train", "breast-cancer", *chip, "--block", "17", "--features", "3"]) == 0


def test_a_full_disk_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page does not fit, so the model, which does, is not replaced either."""
    model = tmp_path / "model.json"
    model.write_text("the model of yesterday")
    fsync = os.fsync

    def full(handle: int) -> None:
        if os.fstat(handle).st_size > 20_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    run = ["train", "breast-cancer", "--features", "2", "--rounds", "2", "-o", str(model)]
    assert main([*run, "--report", str(tmp_path / "report.html"), "-q"]) == 2
    assert "report.html: cannot be written (No space left" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    assert model.read_text() == "the model of yesterday"


def test_classes_count_as_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    rows = [f"{v:.3f},{'sick' if v + e > 1.5 else 'well'}" for v, e in rng.normal(size=(300, 2))]
    data.write_text("a,label\n" + "\n".join(rows) + "\n")
    run = ["train", str(data), "--json", "--test", "0.2", "--rounds", "5"]
    for weights in ("balanced", "sick=3,well=0.5"):
        assert main([*run, "--class-weight", weights]) == 0
        report = json.loads(capsys.readouterr().out)
        # a share of rows that count unlike has no binomial interval
        assert list(report["intervals"]) == ["test"]
        if weights == "balanced":
            assert report["baseline_error"] == pytest.approx(0.5)
    for weights, message in (
        ("ill=2", "--class-weight names label ill; the labels are well and sick"),
        ("sick=-2", "gives label sick the weight -2; expected a number of 0 or more"),
    ):
        assert main([*run, "--class-weight", weights]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*run, "--class-weight", "often"])
    assert "expected balanced, or LABEL=W,LABEL=W" in capsys.readouterr().err
