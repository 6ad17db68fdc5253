"""`train --on leap` and `--on rehearse`: cost first, one job, and bad input in one line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import qcompile
from qcompile.cli.app import main
from qcompile.jobs import list_jobs
from qcompile.solvers import mock_machine
from tests.cli.lines import Agreeing
from tests.sapi import Sapi

HERE = ["train", "breast-cancer", "--features", "4", "-n", "20"]
LEAP = [*HERE, "--on", "leap"]


@pytest.fixture(autouse=True)
def _polls_often(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = partial(qcompile.Patience, poll=0.02)
    monkeypatch.setattr("qcompile.cli.connection.Patience", quick)


def test_the_cost_is_shown_first_and_a_budget_that_is_too_small_is_refused(
    server: Sapi, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*LEAP, "--rounds", "5", "--budget", "100ms", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "up to 5, of 20 reads" in shown and "s a round, up to 0.08" in shown
    assert "enough for 6 rounds" in shown
    assert main([*LEAP, "--budget", "0.1", "--dry-run", "--json"]) == 2
    out, err = capsys.readouterr()
    cost = json.loads(out)
    assert (cost["rounds"], cost["rounds_within_budget"], cost["budget"]) == (40, 6, 0.1)
    assert cost["seconds"] == pytest.approx(40 * cost["seconds_per_round"])
    assert err.count("\n") == 1 and "which pays for 6: give --rounds 6" in err
    monkeypatch.setattr("sys.stdin", Agreeing("n\n"))
    assert main(LEAP) == 2
    assert "QPU access time" in (err := capsys.readouterr().err) and "not confirmed" in err
    assert not server.problems and list_jobs() == []


def test_train_jobs_resume_and_cancel(
    server: Sapi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, again = tmp_path / "model.json", tmp_path / "again.json"
    monkeypatch.setattr("sys.stdin", Agreeing())
    assert main([*LEAP, "--budget", "40ms", "-o", str(model), "--json", "-l", "mine"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["ended"] == "budget" and found["seconds_billed"] == pytest.approx(0.034)
    assert len(found["rounds"]) == server.billed == 2
    assert "the --budget was reached before the training settled" in err
    assert main(["jobs", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["stage"], row["label"], row["rounds"], row["reads"]) == ("done", "mine", 2, 20)
    assert row["objective"] == found["where_accuracy_is_lost"][0]["objective"]
    assert main(["jobs", row["job"]]) == 0
    shown = capsys.readouterr().out
    assert f"go on with qcompile resume {row['job']} and a larger --budget" in shown
    assert "seconds billed" in shown and "rounds at most" in shown
    page = tmp_path / "page.html"
    assert main(["resume", row["job"], "-o", str(again), "--report", str(page)]) == 0
    assert again.read_bytes() == model.read_bytes() and server.billed == 2
    assert "the rounds of the training" in page.read_text().lower()
    capsys.readouterr()
    assert main(["resume", row["job"], "--budget", "60ms"]) == 0 and server.billed == 3
    assert main(["cancel", row["job"]]) == 0
    assert "done" in capsys.readouterr().out
    for words, reason in (
        (["--no-wait"], "makes its rounds while resume waits"),
        (["--samples", "x.json"], "--samples: a training"),
        (["--budget", "none"], "expected seconds such as 2s"),
    ):
        assert main(["resume", row["job"], *words]) in (2, 3)
        assert reason in (told := capsys.readouterr().err) and told.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([*LEAP, "--yes", "--budget", "1ms"], "budget 0.001 s; one round takes 0.016"),
        ([*LEAP, "--yes", "--copies", "17"], "17 copies; expected 1 to 16"),
        ([*LEAP, "--yes", "--copies", "16", "--block", "4"], "with 16 copies takes up to"),
        ([*LEAP, "--yes", "--budget", "soon"], "expected seconds such as 2s, 500ms or 1.5"),
        ([*LEAP, "--yes", "--order", "3"], "qcompile submit"),
        ([*LEAP, "--yes", "--cv", "3"], "every fold"),
        ([*LEAP, "--yes", "--l2", "cv"], "every fold"),
        ([*LEAP, "--yes", "--machine", "advantage"], "--machine with --on leap"),
        ([*LEAP, "--yes", "--sweeps", "5"], "--sweeps with --on leap"),
        ([*LEAP, "--yes", "--solver", "anneal"], "no solver online"),
        ([*LEAP, "--yes", "--grace", "inf"], "--grace inf"),
        (LEAP, "not a terminal; add --yes"),
        ([*HERE, "--budget", "2s"], "--budget is for --on leap"),
        ([*HERE, "--dry-run"], "--dry-run is for --on leap"),
        ([*HERE, "--solver", "Advantage"], "with --on leap the name of a QPU"),
        ([*HERE, "--on", "rehearse", "--solver", "neal"], "--solver neal with --on rehearse"),
        ([*HERE, "--on", "rehearse", "--yes"], "--yes is for --on leap"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_sent(
    server: Sapi, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert main([*words, "-q"]) == 2
    told = capsys.readouterr().err
    assert reason in told and told.count("\n") == 1
    assert not server.problems and list_jobs() == []


def test_rounds_are_rehearsed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--on", "rehearse", "--machine", "zephyr3", "--rounds", "2"]
    assert main([*HERE, *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rounds"]) == 2 and found["stages"][-1]["stage"] == "rehearse"


def test_a_rehearsal_says_once_that_no_temperature_is_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mock_machine._tell_temperature.cache_clear()
    words = ["--on", "rehearse", "--machine", "zephyr3", "--rounds", "3"]
    assert main([*HERE, *words]) == 0
    assert capsys.readouterr().err.count("no temperature is published") == 1
