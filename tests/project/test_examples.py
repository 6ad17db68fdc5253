"""Each example runs, and what it prints holds."""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from qcompile import read, split
from qcompile.data.svmlight import save_svmlight

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(name: str, *arguments: str) -> None:
    """Run an example as a program of its own, but in this process: compiled kernels are here."""
    before = sys.argv
    sys.argv = [name, *arguments]
    try:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    finally:
        sys.argv = before


@pytest.mark.slow
def test_a_polynomial_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    run("own_polynomial.py")
    shown = capsys.readouterr().out
    example = runpy.run_path(str(EXAMPLES / "own_polynomial.py"))
    paths, crowds = example["PATHS"], example["CROWDS"]
    places = sorted({place for path in paths for place in path})

    def cost(guarded: set[str]) -> int:
        alone = sum(not guarded & set(path) for path in paths)
        return len(guarded) + 3 * alone + 2 * sum(set(crowd) <= guarded for crowd in crowds)

    subsets = (set(s) for n in range(6) for s in itertools.combinations(places, n))
    lowest = min(map(cost, subsets))
    energies = re.findall(r"E = (\S+?),? ", shown)
    assert len(energies) == 4 and set(energies) == {str(lowest)}
    answers = re.findall(r"guards at (.+)", shown)
    assert len(answers) == 3
    assert all(cost(set(answer.split(", "))) == lowest for answer in answers)
    assert "proved to be the same problem" in shown


@pytest.mark.slow
def test_ten_features_on_a_mock_advantage(capsys: pytest.CaptureFixture[str]) -> None:
    run("mock_advantage.py")
    shown = capsys.readouterr().out
    mock, best = (float(energy) for energy in re.findall(r"E = (\S+),", shown))
    assert mock >= best
    assert "10 features" in shown and "of 5612 qubits" in shown
    baseline = 100 * read("breast-cancer").baseline_error
    errors = [float(error) for error in re.findall(r"(\S+)% (?:training|test)", shown)]
    assert len(errors) == 4 and max(errors) < baseline / 2


def cubic_errors(shown: str) -> list[float]:
    """The errors of the cubic loss, with clean and with noisy labels."""
    found = [float(error) for error in re.findall(r"test error (\S+)% for a cubic", shown)]
    assert len(found) == 2
    return found


@pytest.mark.slow
def test_a_file_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part, _ = split(read("breast-cancer"), (0.5, 0.5), seed=3)
    save_svmlight(part, tmp_path / "data.svm.gz")
    run("own_data.py", str(tmp_path / "data.svm.gz"))
    assert max(cubic_errors(capsys.readouterr().out)) < 15
    with pytest.raises(SystemExit, match="no such file"):
        run("own_data.py", str(tmp_path / "missing.svm"))
    with pytest.raises(SystemExit, match="usage"):
        run("own_data.py")


@pytest.mark.slow
def test_the_heart_data(real_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("own_data.py", str(real_data / "heart_scale.svm.xz"))
    assert max(cubic_errors(capsys.readouterr().out)) < 35  # always the larger class: 45.6


NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.name))
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code and all(not c["outputs"] and c["execution_count"] is None for c in code)
    assert path.stat().st_size < 50_000


def test_the_notebook(tmp_path: Path) -> None:
    """It runs in a kernel of its own, and shows the pictures that it speaks of."""
    program = ROOT / "docs" / "_ext" / "run_notebook.py"
    ran = tmp_path / "ran.ipynb"
    subprocess.run(
        [sys.executable, str(program), str(EXAMPLES / "first_steps.ipynb"), str(ran)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    cells = json.loads(ran.read_text(encoding="utf-8"))["cells"]
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    assert not [out for out in outputs if out.get("name") == "stderr"]
    shown = "".join("".join(out["text"]) for out in outputs if out["output_type"] == "stream")
    pictures = [out["data"]["image/png"] for out in outputs if "image/png" in out.get("data", {})]
    assert len(pictures) == 5  # the rounds, the loss, the chip, the energies, the test rows
    for picture in pictures:
        drawn = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
        assert min(drawn.size) > 200 and len(drawn.getcolors(1 << 20) or ()) > 20
    lowest = re.findall(r"lowest energy .+: (\d\.\d+)", shown)
    assert len(lowest) == 2 and lowest[0] == lowest[1]
    baseline = 100 * read("breast-cancer").baseline_error
    errors = [float(error) for error in re.findall(r"(\S+)% (?:of the \w+ rows are )?wrong", shown)]
    assert len(errors) == 6 and max(errors) < baseline / 2


def test_the_demo_ends_with_a_command_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make demo` calls the interpreter of an environment that is not active."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    demo = runpy.run_path(str(EXAMPLES / "first_classifier.py"))["main"]
    monkeypatch.setitem(demo.__globals__, "show_rounds", lambda *_: None)  # they take long
    monkeypatch.setitem(demo.__globals__, "show_cubic", lambda *_: None)
    demo()
    line = capsys.readouterr().out.splitlines()[-1].removeprefix("Next: ")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert re.search(r"^test error +0\.0", done.stdout, re.M)
    assert (tmp_path / "model.json").is_file()
