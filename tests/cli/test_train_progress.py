"""What a person at a terminal sees of a training in rounds."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from qcompile import read
from qcompile.cli.app import main
from qcompile.runtime import progress
from qcompile.training import rounds
from qcompile.training.train import train


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def test_each_round_is_seen_with_its_objective_and_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    told: list[str] = []

    def wait(done: int, total: int | None, news: str = "") -> None:
        """Report, and wait until the bar has drawn it: it draws ten times a second."""
        progress.report(done, total, news)
        told.append(news)
        end = time.monotonic() + 20
        while news not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.01)

    monkeypatch.setattr(rounds, "report", wait)
    assert main(["train", "breast-cancer", "--rounds", "3"]) == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert len(told) == 3 and all(news in plain for news in told)
    shown = [re.findall(r"round (\d): F (\S+), radius (\S+)", news)[0] for news in told]
    monkeypatch.setattr(rounds, "report", progress.report)
    found = train(read("breast-cancer"), rounds=rounds.RoundOptions(rounds=3)).rounds
    assert [(n, f) for n, f, _ in shown] == [
        (str(own.number + 1), f"{own.objective:.5f}") for own in found
    ]
    # the radius that is shown is that of the next round
    assert [r for _, _, r in shown[:-1]] == [f"{own.radius:.3g}" for own in found[1:]]
    screen.truncate(0)
    assert main(["train", "breast-cancer", "--rounds", "2", "-q"]) == 0
    assert "round 1" not in screen.getvalue()
