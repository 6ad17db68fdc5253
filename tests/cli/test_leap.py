"""The commands that talk to Leap, against a solver API on loopback."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile import InputError, Qubo
from qcompile.cli.app import main
from qcompile.jobs import list_jobs
from qcompile.leap import client
from tests.cli.lines import Agreeing
from tests.leap.jobs import only_job
from tests.sapi import Sapi


@pytest.fixture
def file(qubo: Qubo, tmp_path: Path) -> str:
    path = tmp_path / "qubo.json"
    qcompile.save_qubo(qubo, path)
    return str(path)


@pytest.mark.slow
def test_commands(
    server: Sapi, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], best: float
) -> None:
    assert main(["jobs"]) == 0
    assert "no jobs in" in capsys.readouterr().out
    assert main(["submit", file, "-n", "60", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "Mock_Advantage (qpu)" in shown and "60 in 1 problem(s)" in shown
    assert main(["submit", file, "-n", "60"]) == 2
    assert "add --yes" in capsys.readouterr().err and not server.problems
    model, samples = tmp_path / "model.json", tmp_path / "samples.json"
    given = ["-n", "60", "-l", "mine", "--yes", "-o", str(model), "--samples", str(samples)]
    assert main(["submit", file, *given]) == 0
    out, err = capsys.readouterr()
    assert "qubits" in err and f"{best}"[:6] in out
    assert qcompile.load_classifier(model).weights.any()
    assert main(["decode", str(samples), "--problem", file]) == 0
    capsys.readouterr()
    assert main(["jobs", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["stage"], row["label"], row["reads"]) == ("done", "mine", 60)
    assert main(["jobs", row["job"][:-1]]) == 0
    assert "00000000-aaaa" in capsys.readouterr().out
    assert main(["predict", str(model), "breast-cancer"]) == 0
    capsys.readouterr()


@pytest.mark.slow
def test_the_commands_of_the_readme(
    server: Sapi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From account to classifier; the first one is Ocean's and asks for the token."""
    text = (Path(__file__).parents[2] / "README.md").read_text()
    block = text.split("## On the real machine")[1].split("```")[1]
    setup, *commands = [line.split("#")[0].strip() for line in block.strip().splitlines()]
    assert setup == "dwave setup" and len(commands) == 4
    server.add_qpu("Mock_Advantage", "pegasus", (6,))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Agreeing())
    monkeypatch.setattr("qcompile.cli.connection.Patience", partial(qcompile.Patience, poll=0.02))
    for command in commands:
        name, *arguments = command.split()
        assert name == "qcompile" and main(arguments) == 0, capsys.readouterr().err
    labels = capsys.readouterr().out.split()[-569:]
    assert len(server.problems) == server.billed > 5
    assert set(labels) == {"0", "1"}


@pytest.mark.slow
@pytest.mark.parametrize("words", ["\n", "no\n", ""])
def test_who_does_not_agree_pays_nothing(
    server: Sapi,
    file: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
) -> None:
    monkeypatch.setattr("sys.stdin", Agreeing(words))
    assert main(["submit", file, "-n", "60"]) == 2
    assert "nothing was sent" in capsys.readouterr().err and not server.problems


@pytest.mark.slow
def test_options_reach_the_submission(
    server: Sapi, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pending_polls = 10**6
    given = ["submit", file, "-n", "60", "--yes", "--no-wait"]
    assert [main(given), main(given), main([*given, "--again"])] == [0, 2, 0]
    seen = []

    def noted(*_: Any, **options: Any) -> Any:
        seen.append(options["patience"].grace)
        raise InputError("enough")

    monkeypatch.setattr("qcompile.cli.leap.submit", noted)
    assert main(["submit", file, "--grace", "7"]) == 2
    assert seen == [7.0]
    capsys.readouterr()


@pytest.mark.slow
def test_commands_after_an_interruption(
    server: Sapi, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pending_polls = 10**6
    assert main(["submit", file, "-n", "60", "--yes", "--no-wait"]) == 0
    capsys.readouterr()
    job = only_job()
    assert main(["resume", job.id, "--timeout", "0.5"]) == 3
    err = capsys.readouterr().err
    assert f"continue with: qcompile resume {job.id}" in err and len(err.splitlines()) == 1

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(client.Leap, "statuses", interrupted)
        assert main(["resume", job.id]) == 130
    assert "it is on the server as 00000000-aaaa" in capsys.readouterr().err
    assert main(["cancel", job.id]) == 0
    assert "cancelled" in capsys.readouterr().out
    assert main(["resume", job.id]) == 3
    assert main(["submit", file, "--no-wait", "-o", "x.json"]) == 2
    assert main(["submit", file, "--param", "colour=1", "--yes"]) == 2
    assert main(["submit", file, "--chain-strength", "sweep"]) == 2
    assert main(["resume", "no-such-job"]) == 2
    capsys.readouterr()


def test_a_damaged_job_is_listed_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = Path(__file__).parents[1] / "golden" / "0.1.0" / "job"
    shutil.copytree(golden, tmp_path / "20261118-010925-93b4fb45")
    broken = shutil.copytree(golden, tmp_path / "20261118-010924-93b4fb44")
    (broken / "job.json").unlink()
    os.mkfifo(broken / "job.json")
    assert main(["jobs", "--jobs", str(tmp_path), "--json"]) == 0
    shown = capsys.readouterr()
    rows = [(row["job"], row["stage"]) for row in json.loads(shown.out)]
    assert rows == [(broken.name, "damaged"), ("20261118-010925-93b4fb45", "done")]
    assert "job.json: is a pipe; expected a file" in shown.err
    assert main(["jobs", "--jobs", str(tmp_path)]) == 0
    assert "damaged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["--anneal-schedule", "[[0, 0], [20, 0.6], [40, 0.5], [60, 1]]"],
            "expected s that never falls",
        ),
        (["--anneal-schedule", "[[0, 0], [20, 0.6], [10, 1]]"], "expected them to grow from 0"),
        (["--anneal-schedule", "[[0, 0], [20]]"], "expected points"),
        (["--copies", "0"], "copies"),
        (["--copies", "9999"], "copies"),
        (["--copies", "many"], "copies"),
        (["--gauges", "0"], "gauges"),
        (["--gauges", "-1"], "gauges"),
        (["--gauges", "70"], "reads"),
        (["--h-gain", "99"], "takes -3 to 3"),
        (["--reads", "0"], "reads"),
        (["--refine", "missing.json"], "missing.json"),
        (["--refine", "other.json"], "other.json"),
        (["--reinitialize", "no"], "refine"),
        (["--fast-anneal", "--anneal-schedule", "[[0, 0], [20, 1]]"], "fast"),
        (["--chain-strength", "-1"], "chain"),
    ],
)
def test_bad_input_of_submit_is_one_line_and_nothing_is_sent(
    server: Sapi,
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    reason: str,
) -> None:
    other = qcompile.quadratize(qcompile.Pubo.from_dict({(0, 1, 2): 1.0, (3, 4): -2.0}))
    monkeypatch.chdir(tmp_path)
    qcompile.save_samples(qcompile.solve(other, solver="exact"), "other.json")
    capsys.readouterr()
    given = [] if "--reads" in words else ["-n", "60"]
    assert main(["submit", file, *given, "--yes", *words]) == 2
    told = capsys.readouterr().err
    assert reason in told and told.count("\n") == 1
    assert not server.problems and list_jobs() == []
