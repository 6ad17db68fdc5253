"""The picture of the rounds of a training."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from qcompile import read
from qcompile.cli.app import main
from qcompile.errors import InputError
from qcompile.report.plot import plot_rounds
from qcompile.solvers.options import SolveOptions
from qcompile.training.train import train
from tests.report.reading import DATA


def test_the_picture_holds_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr("qcompile.report.plot._save", lambda figure, *more: drawn.append(figure))
    found = train(read(DATA), preparation={"features": 3, "scale": "robust"}, seed=2)
    plot_rounds(found, tmp_path / "x.svg")
    above, below = drawn[0].axes
    first, *others = found.rounds
    taken = [own for own in found.rounds if own.rank is not None]
    assert 0 < len(taken) < len(found.rounds), "the case must have both"
    began = first.objective - (first.reached if first.rank is not None else 0.0)
    lines = {line.get_label(): line for line in (*above.lines, *below.lines)}
    values = lines["F after the round"].get_ydata()
    assert values[0] == began and [*values[1:]] == [r.objective for r in found.rounds]
    assert [*lines["radius"].get_ydata()] == [own.radius for own in found.rounds]
    assert [*lines["width"].get_ydata()] == [own.width for own in found.rounds]
    assert lines["descent (L-BFGS)"].get_ydata()[0] == found.risks[1].objective
    full = next(line for line in above.lines if line.get_marker() == "o")
    assert [*full.get_xdata()] == [own.number + 1 for own in taken]
    assert below.get_yscale() == "log" and not math.isnan(others[-1].radius)


def test_the_command_plots_the_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["train", DATA, "--features", "3", "--rounds", "3"]
    pictures = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for place in pictures:
        assert main([*run, "--plot", str(place)]) == 0
        assert capsys.readouterr().out.split()[-2:] == ["written", str(place)]
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    for asked, told in (
        (["--plot", "x.gif"], "expected a picture ending in"),
        (["--plot", "x.png", "--bits", "2"], "--method paper has none"),
        (["--plot", "x.png", "--solver", "descent"], "--solver descent has none"),
    ):
        assert main([*run[:4], *asked, "-o", str(tmp_path / "model.json")]) == 2
        assert told in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == pictures


def test_a_training_that_made_no_round_keeps_its_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, place = tmp_path / "model.json", tmp_path / "x.png"
    asked = ["--time-limit", "1e-9", "-o", str(model), "--plot", str(place)]
    assert main(["train", DATA, *asked]) == 0
    told = capsys.readouterr()
    assert "x.png is not written: no round was made" in told.err and str(place) not in told.out
    assert model.exists() and not place.exists()


def test_descent_has_nothing_to_plot(tmp_path: Path) -> None:
    found = train(read(DATA), options=SolveOptions("descent", 1))
    with pytest.raises(InputError, match="no rounds to plot"):
        plot_rounds(found, tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
