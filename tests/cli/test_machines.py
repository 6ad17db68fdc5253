from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qcompile import Embedded, Qubo, compile, load_embedding, save_embedding, save_qubo
from qcompile.cli.app import main


def test_the_command_embeds_checks_and_reuses(
    qubo: Qubo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, chains = str(tmp_path / "qubo.json"), str(tmp_path / "embedding.json")
    save_qubo(qubo, problem)
    run = ["embed", problem, "--machine", "pegasus4", "-o", chains, "--json"]
    assert (
        main([*run, "--target", str(tmp_path / "t.json"), "--plot", str(tmp_path / "e.svg")]) == 0
    )
    figures = json.loads(capsys.readouterr().out)
    assert figures["qubits"] == load_embedding(chains).qubits
    assert figures["qubits_at_least"] <= figures["qubits"]
    assert (tmp_path / "e.svg").read_text().lstrip().startswith("<?xml")
    first = Path(chains).read_bytes()
    assert main(run) == 0
    assert Path(chains).read_bytes() == first
    assert main(["embed", problem, "--reuse", chains, "--chain-strength", "scaled"]) == 0
    assert "pegasus4" in capsys.readouterr().out
    assert main(["verify", problem, "--embedding", chains]) == 0
    assert "embedding" in capsys.readouterr().out


def test_an_embedding_of_another_problem_or_machine_is_refused(
    qubo: Qubo, embedded: Embedded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, chains = str(tmp_path / "qubo.json"), str(tmp_path / "embedding.json")
    save_embedding(embedded.embedding, chains)
    other = compile("breast-cancer", bits=1, features=5, scale="standard", bias=False).quadratize()
    save_qubo(other, problem)
    assert main(["embed", problem, "--reuse", chains]) == 2
    assert "another problem" in capsys.readouterr().err
    assert main(["verify", problem, "--embedding", chains]) == 1
    assert "FAILED: an embedding of" in capsys.readouterr().out
    save_qubo(qubo, problem)
    used = embedded.embedding.chains[0][0]
    assert main(["embed", problem, "--reuse", chains, "--machine", "chimera4"]) == 2
    capsys.readouterr()
    run = ["verify", problem, "--embedding", chains]  # damage is done to the embedding's machine
    assert main([*run, "--dead-qubits", str(used)]) == 1
    assert f"qubit {used}" in capsys.readouterr().out
    a, b = next(
        (a, b)
        for a, b in embedded.embedding.machine.graph.edges
        if {a, b} <= set(itertools.chain(*embedded.embedding.chains))
    )
    run += ["--dead-couplers", f"{a}-{b}", "--json"]
    assert main(run) in (0, 1)
    assert "pegasus4" in capsys.readouterr().out


def test_bad_arguments_fit_in_one_line(
    qubo: Qubo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = str(tmp_path / "qubo.json")
    save_qubo(qubo, problem)
    for arguments, message in (
        (["--machine", "none"], "advantage"),
        (["--machine", str(tmp_path / "no.toml")], "no such file"),
        (["--chain-strength", "strong"], "expected torque"),
        (["--chain-strength", "-1"], "expected a number above 0"),
        (["--yield", "0"], "yield"),
        (["--yield", "published", "--machine", "zephyr3"], "no published number"),
        (["--target", "x.txt"], "ends in"),
        (["--plot", "x.txt"], "picture"),
        (["--tries", "0"], "1 to 1000 tries"),
        (["--seed", str(2**63 - 1)], "seed"),
        (["--time-limit", "inf"], "a time above 0"),
        (["--chain-strength", "sweep", "--reads", "0"], "at least one read"),
        (["--yield", "0.5", "--yield-seed", "-1"], "seed -1"),
        (["-o", problem], "is also an input"),
        (["--preflight", "-o", str(tmp_path / "e.json")], "nothing to write"),
        (["-o", str(tmp_path / "no" / "e.json")], "no"),
    ):
        assert main(["embed", problem, *arguments]) == 2, arguments
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["embed", problem, "--dead-qubits", "a,b"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["qubo.json"]


def test_preflight_says_what_would_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = str(tmp_path / "qubo.json")
    save_qubo(
        compile("breast-cancer", bits=2, features=10, scale="standard", bias=False).quadratize(),
        problem,
    )
    assert main(["embed", problem, "--machine", "chimera4", "--preflight", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["impossible"] and "advantage" in report["advice"]
    assert main(["embed", problem, "--machine", "advantage", "--preflight", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert not report["impossible"] and report["advice"] == ""


def test_estimates_know_machines(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["estimate", "--features", "12", "--bits", "2", "--machine", "advantage", "--json"]
    assert main(run) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["fits"] and 600 < row["physical_qubits_about"] < 800
    assert main(["estimate", "--features", "100", "--machine", "advantage", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["fits"] is False
    assert main([*run[:2], "5", "--order", "6", "--machine", "advantage", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["physical_qubits_about"] is None and row["fits"] is None
    assert main(["estimate", "--machine", "advantage", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["features"] for r in rows] == [43 // d for d in range(1, 9)]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_on_the_command_line_writes_the_best(tmp_path: Path) -> None:
    problem, chains = tmp_path / "qubo.json", tmp_path / "embedding.json"
    save_qubo(
        compile("breast-cancer", bits=2, features=8, scale="standard", bias=False).quadratize(),
        problem,
    )
    run = [sys.executable, "-m", "qcompile", "embed", str(problem), "--machine", "advantage"]
    run += ["-o", str(chains), "--effort", "100000", "--time-limit", "600", "--method", "biclique"]
    process = subprocess.Popen(
        run,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # a shell's background jobs ignore the signal, and so would their children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(8)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    if process.returncode == 130:  # a slow machine: nothing had been found yet
        pytest.skip("interrupted before the first embedding")
    assert process.returncode == 0, errors
    assert "keeping the best" in errors
    assert load_embedding(chains).qubits > 0


def test_the_command_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"]: row["qubits"] for row in rows}["advantage"] == 5640
    assert main(["machines", "advantage", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["working_qubits"] == 5612 and row["source"] and row["extended_j_range"] == [-2, 1]
    assert row["complete_cubic_bits_at_most_by_any_method"] == 65
    assert main(["machines", "nonsense"]) == 2
    assert "advantage" in capsys.readouterr().err
