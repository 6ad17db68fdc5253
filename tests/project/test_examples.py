"""Each example runs, and what it prints holds."""

from __future__ import annotations

import itertools
import re
import runpy
import sys
from pathlib import Path

import pytest

from qcompile import read, split
from qcompile.data.svmlight import save_svmlight

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> None:
    """Run an example as a program of its own, but in this process: compiled kernels are here."""
    before = sys.argv
    sys.argv = [name, *arguments]
    try:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    finally:
        sys.argv = before


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


def test_a_file_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part, _ = split(read("breast-cancer"), (0.5, 0.5), seed=3)
    save_svmlight(part, tmp_path / "data.svm.gz")
    run("own_data.py", str(tmp_path / "data.svm.gz"))
    assert max(cubic_errors(capsys.readouterr().out)) < 15
    with pytest.raises(SystemExit, match="no such file"):
        run("own_data.py", str(tmp_path / "missing.svm"))
    with pytest.raises(SystemExit, match="usage"):
        run("own_data.py")


def test_the_heart_data(real_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("own_data.py", str(real_data / "heart_scale.svm.xz"))
    assert max(cubic_errors(capsys.readouterr().out)) < 35  # always the larger class: 45.6
