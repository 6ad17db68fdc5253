from __future__ import annotations

import io
import logging
import sys
import time
from typing import Any

import pytest

from qcompile.runtime import progress


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def shown(title: str, monkeypatch: pytest.MonkeyPatch, *, level: str, **options: Any) -> str:
    """Return what a bar writes to a terminal while a pass counts and another one begins."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    logging.getLogger("qcompile").setLevel(level)
    with progress.bar(title, **options):
        if options:  # nothing is counted
            return screen.getvalue()
        progress.report(1, 2)
        progress.retitle("the next pass")
        if progress.heard():
            wait_for("next pass", screen)
    return screen.getvalue()


def test_a_bar_shows_itself_and_names_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the next pass" in shown("reading", monkeypatch, level="INFO")


def wait_for(text: str, screen: Terminal) -> None:
    """Let the bar draw itself until it shows this."""
    end = time.monotonic() + 20
    while text not in screen.getvalue():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_bar_shows_news_and_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    logging.getLogger("qcompile").setLevel("INFO")
    with progress.bar("embed", counted=True):
        progress.report(1, 4, "40 qubits so far")
        wait_for("40 qubits so far", screen)
        wait_for("25%", screen)
        progress.report(3, 4)  # no news: the title again
        wait_for("75%", screen)
        wait_for("embed", screen)
        with progress.bar("inner"):
            progress.retitle("of the inner one")
        wait_for("of the inner one", screen)
        progress.retitle("of the outer one")  # the inner bar is gone
        wait_for("of the outer one", screen)
    assert not progress.heard()


def test_a_bar_is_silent_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown("reading", monkeypatch, level="WARNING") == ""
    assert shown("reading", monkeypatch, level="INFO", counted=True) == ""  # nothing counted
    monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    assert shown("reading", monkeypatch, level="INFO") == ""
    progress.retitle("nobody looks")
    progress.report(1, 2)
