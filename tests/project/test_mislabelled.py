"""The benchmark of wrong labels: its numbers are counted by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.mislabelled import Line, _line, table

ROOT = Path(__file__).parents[2]


def test_figures_are_counted_by_hand() -> None:
    wrong = np.array([True, True, False, False, False])
    named = np.array([True, False, True, True, False])
    doubts = np.array([0.9, 0.1, 0.5, 0.4, 0.0])
    line = _line("iris", 0, "own", wrong, named, doubts, 1.0)
    assert (line.rows, line.flipped, line.named) == (5, 2, 3)
    assert line.precision == pytest.approx(1 / 3, abs=1e-4)
    assert (line.recall, line.f1) == (0.5, 0.4)
    assert line.average_precision == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)
    other = Line("iris", 0, "other", 5, 2, 1, 1.0, 0.5, 0.6667, 1.0, 0.1)
    text = table([line, other]).splitlines()
    assert text[2:] == [
        "| own | 33.3% | 50.0% | 40.0% | 0.750 | 0 of 1 |",
        "| other | 100.0% | 50.0% | 66.7% | 1.000 | 1 of 1 |",
    ]


@pytest.mark.slow
def test_the_tiny_case_runs() -> None:
    run = [sys.executable, "-m", "benchmarks.mislabelled", "--tiny"]
    found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert any(line.startswith("| explain, contradicted |") for line in lines)
    assert ("cleanlab: skipped" in found.stdout) != ("| cleanlab, Log" in found.stdout)
