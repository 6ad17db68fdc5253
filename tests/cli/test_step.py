"""`compile --around`: one round of training, step by step."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from scipy.special import ndtr

from qcompile import load_classifier, load_qubo, read, save_qubo
from qcompile.cli.app import main
from qcompile.stages.local_fit import Around
from qcompile.stages.step import Step


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, a classifier after two rounds, and the next step from it."""
    folder = tmp_path_factory.mktemp("step")
    rows, model = str(folder / "data.svm"), str(folder / "model.json")
    emits = [f"--emit={kind}={folder}/{kind}.json" for kind in ("qubo", "pubo")]
    for line in (
        ["data", "synthetic:examples=120,features=5", "--noise", "0.1", "-o", rows],
        ["train", rows, "--rounds", "2", "-o", model],
        ["compile", rows, "--around", model, "--radius", "0.5", *emits],
    ):
        assert main([*line, "-q"]) == 0
    return folder


@pytest.fixture
def files(made: Path, here: Path) -> Path:
    shutil.copytree(made, here, dirs_exist_ok=True)
    return here


def objective(model: str, l2: float) -> float:
    """F by numpy and scipy: rows prepared as the classifier says, at unit length."""
    own = json.loads(Path(model).read_text())
    made, weights = own["preparation"], np.array(own["weights"])
    raw = read("data.svm")
    x = np.asarray(raw.x.todense() if hasattr(raw.x, "todense") else raw.x)
    x = np.column_stack([(x - made["center"]) / made["scale"], np.ones(len(x))])
    margins = raw.y * (x @ weights) / np.linalg.norm(x, axis=1)
    return float(ndtr(-margins).mean() + l2 / 2 * weights @ weights)


def test_a_step_is_proved_solved_and_decoded(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--pubo", "pubo.json"]):
        assert main(["verify", "qubo.json", "--data", "data.svm", *more]) == 0
        told = capsys.readouterr().out
        assert "proved" in told and "NOT proved" not in told
    for problem in ("qubo.json", "pubo.json"):
        assert main(["solve", problem, "--solver", "exact", "-o", "samples.json", "-q"]) == 0
        assert main(["decode", "samples.json", "--problem", problem, "-o", "new.json", "-q"]) == 0
        l2 = load_classifier("model.json").source.l2
        assert l2 is not None
        assert objective("new.json", l2) < objective("model.json", l2) - 1e-3
        old, new = load_classifier("model.json").weights, load_classifier("new.json").weights
        moved = np.abs(new - old)
        assert moved.any() and all(step == pytest.approx(0.5) for step in moved[moved > 0])
    assert main(["predict", "new.json", "data.svm", "-q"]) == 0


@pytest.mark.parametrize("options", ["--bits 2", "--order 3", "--block 2", "--l2 0.1 --width 0.2"])
def test_other_steps_are_proved_as_well(
    files: Path, options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["compile", "data.svm", "--around", "model.json", *options.split()]
    assert main([*run, "--emit", "qubo.npz", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["weights"] == 6
    assert told["weights_that_may_change"] == (2 if "block" in options else 6)
    assert told["logical_bits"] == told["weights_that_may_change"] * (2 if "bits" in options else 1)
    assert (told["product_ancillas"] > 0) == ("order" in options)
    assert main(["verify", "qubo.npz", "--data", "data.svm"]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("data.svm --radius 0", "radius 0"),
        ("data.svm --radius nan", "radius nan"),
        ("data.svm --width -1", "width -1"),
        ("data.svm --block 7", "--block 7; expected 1 to 6, the number of weights"),
        ("data.svm --block 0", "--block 0; expected 1 to 6, the number of weights"),
        ("data.svm --bits 0", "0 bits"),
        ("data.svm --l2 -1", "l2 -1"),
        ("data.svm --order 4", "--order 4 with --around: expected 2 (no ancillas) or 3"),
        ("data.svm --fit-to loss", "--fit-to with --around: the classifier decides it"),
        ("data.svm --emit moments.npz", "a step has no moments; expected a pubo or a qubo"),
        ("data.svm --emit loss.json", "a step has no loss; expected a pubo or a qubo"),
        ("data.svm --report page.html", "--report with --around"),
        ("data.svm --dask=local", "--dask with --around"),
        ("wide.svm", "features"),
        ("labels.svm", "labels 7 and others; expected those of the classifier, 1 against -1"),
        ("missing.svm", "missing.svm"),
        ("empty.svm", "empty.svm"),
        ("data.svm --emit qubo=model.json", "is also an input"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    files: Path, options: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path("data.svm").read_text()
    Path("wide.svm").write_text("".join(f"{line} 9:1\n" for line in text.splitlines()))
    Path("labels.svm").write_text(re.sub("^1 ", "7 ", text, flags=re.MULTILINE))
    Path("empty.svm").write_text("")
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    run = ["compile", *options.split(), "--around", "model.json", "--emit", "new-qubo.json"]
    assert main(run) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert told.err.startswith("qcompile: error: ") and words in told.err
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_options_of_a_step_need_a_classifier(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--radius", "--width", "--block"):
        assert main(["compile", "data.svm", option, "1", "--emit", "new-qubo.json"]) == 2
        assert f"{option} is for a step from a classifier" in capsys.readouterr().err
    assert main(["compile", "data.svm", "--around", "qubo.json", "--emit", "new-qubo.json"]) == 2
    assert not Path("new-qubo.json").exists()


Change = Callable[[Step, Around], tuple[Step, Around]]
CHANGES: dict[str, Change] = {
    "centre": lambda step, around: (_moved(step, 1e-4), around),
    "directions": lambda step, around: (_turned(step), around),
    "radius": lambda step, around: (replace(step, zeta=step.zeta * 1.001), around),
    "l2": lambda step, around: (step, replace(around, l2=around.l2 * 1.001)),
    "width": lambda step, around: (step, replace(around, width=around.width * 1.001)),
    "smoothing": lambda step, around: (step, replace(around, smoothing=1.001)),
}


def _moved(step: Step, by: float) -> Step:
    return replace(step, centre=(step.centre[0] + by, *step.centre[1:]))


def _turned(step: Step) -> Step:
    assert step.directions is not None
    return replace(step, directions=(-step.directions[0], *step.directions[1:]))


@pytest.mark.parametrize("name", CHANGES)
def test_a_step_that_was_tampered_with_is_not_proved(
    files: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    qubo, _ = load_qubo("qubo.json")
    assert isinstance(qubo.encoding, Step) and qubo.around is not None
    step, around = CHANGES[name](qubo.encoding, qubo.around)
    changes: dict[str, Any] = {"encoding": step, "around": around}
    save_qubo(replace(qubo, **changes), "changed.json")
    assert main(["verify", "changed.json"]) == 0  # a file that agrees with itself
    capsys.readouterr()
    assert main(["verify", "changed.json", "--data", "data.svm"]) == 1
    assert failed(capsys) == ["data"]
    # an edited file is found without the data
    content, changed = (orjson.loads(Path(f).read_bytes()) for f in ("qubo.json", "changed.json"))
    for key in ("step", "around", "zeta"):
        content["info"]["qcompile"][key] = changed["info"]["qcompile"][key]
    Path("edited.json").write_bytes(orjson.dumps(content))
    assert main(["verify", "edited.json", "--data", "data.svm"]) == 1
    assert failed(capsys) == ["integrity"]


def failed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the names of the checks that failed."""
    told = capsys.readouterr().out
    assert "NOT proved" in told
    return [line.split()[0] for line in told.splitlines() if "FAILED" in line]
