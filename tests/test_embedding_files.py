from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dimod
import pytest

from qcompile import (
    Embedded,
    QcompileError,
    Qubo,
    compile,
    embed,
    load_embedding,
    load_machine,
    save_embedding,
    save_qubo,
)
from qcompile.cli.app import main
from qcompile.files.embedding import save_target


@pytest.fixture(scope="module")
def qubo() -> Qubo:
    return compile("breast-cancer", bits=1, features=5, scale="standard").qubo


@pytest.fixture(scope="module")
def embedded(qubo: Qubo) -> Embedded:
    return embed(qubo, load_machine("pegasus4").without([40]), method="biclique", seed=3)


def test_an_embedding_comes_back_whole(embedded: Embedded, tmp_path: Path) -> None:
    path = tmp_path / "embedding.json"
    save_embedding(embedded.embedding, path)
    back = load_embedding(path)
    assert back.chains == embedded.embedding.chains
    assert back.machine == embedded.embedding.machine
    assert back.machine.graph_id == embedded.embedding.machine.graph_id
    assert (back.method, back.seed, back.problem) == (
        "biclique",
        3,
        embedded.embedding.problem,
    )
    assert back.options["tries"] == 4
    first = path.read_bytes()
    save_embedding(back, path)
    assert path.read_bytes() == first


def test_the_target_opens_with_dimod(embedded: Embedded, tmp_path: Path) -> None:
    for name in ("target.json", "target.bqm"):
        save_target(embedded, tmp_path / name)
    content = json.loads((tmp_path / "target.json").read_text())
    assert dimod.BinaryQuadraticModel.from_serializable(content) == embedded.to_bqm()
    assert content["info"]["chain_strength"] == embedded.chain_strength
    with (tmp_path / "target.bqm").open("rb") as stream:
        assert dimod.BinaryQuadraticModel.from_file(stream) == embedded.to_bqm()
    with pytest.raises(QcompileError, match=r"\.json or \.bqm"):
        save_target(embedded, tmp_path / "target.txt")


def _change(content: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    for step in way:
        content = content[int(step)] if isinstance(content, list) else content[step]
    if isinstance(content, list):
        content[int(last)] = value
    else:
        content[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("type", "qcompile.loss"),
        ("version", 99),
        ("graph_id", "0" * 32),
        ("chains", 7),
        ("chains.0", [1, [3]]),
        ("chains.0.1", ["a"]),
        ("chains.0.1", [-4]),
        ("chains.0.1", 5),
        ("machine.shape", [1000000]),
        ("machine.topology", "torus"),
        ("machine.dead_qubits", [10**9]),
        ("machine.h_range", [0, 0]),
        ("machine.h_range", None),
        ("machine.j_range", ["a", "b"]),
        ("machine.j_range", [1, -1]),
        ("machine.precision", [0.1]),
        ("machine.precision", [0.1, -1]),
        ("machine", {}),
        ("machine", None),
        ("seed", "many"),
    ],
)
def test_a_hostile_file_is_refused_by_name(
    embedded: Embedded, tmp_path: Path, path: str, value: Any
) -> None:
    file = tmp_path / "embedding.json"
    save_embedding(embedded.embedding, file)
    content = json.loads(file.read_text())
    _change(content, path, value)
    file.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match=r"embedding\.json"):
        load_embedding(file)


def test_a_file_cut_anywhere_is_refused(embedded: Embedded, tmp_path: Path) -> None:
    file = tmp_path / "embedding.json"
    save_embedding(embedded.embedding, file)
    whole = file.read_bytes()
    for size in range(0, len(whole) - 2, 97):
        file.write_bytes(whole[:size])
        with pytest.raises(QcompileError, match=r"embedding\.json"):
            load_embedding(file)


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
    other = compile("breast-cancer", bits=1, features=6, scale="standard").qubo
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
        (["-o", problem], "is read as input"),
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
    save_qubo(compile("breast-cancer", bits=2, features=10, scale="standard").qubo, problem)
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
    save_qubo(compile("breast-cancer", bits=2, features=8, scale="standard").qubo, problem)
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
