"""Embeddings with copies; tests/cli/test_machines.py has the rest of `embed`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile import Pubo, Qubo, load_embeddings, load_samples, quadratize, save_qubo
from qcompile.cli.app import main


@pytest.fixture(scope="module")
def qubo() -> Qubo:
    """A small problem: many copies of it are found at once."""
    return quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))


@pytest.fixture
def run(
    qubo: Qubo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[int, Any, str]]:
    """Run a command in a folder with a problem; return exit code, figures and errors."""
    monkeypatch.chdir(tmp_path)
    save_qubo(qubo, "qubo.json")

    def line(text: str) -> tuple[int, Any, str]:
        code = main([*text.split(), "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return line


def test_copies_are_found_written_checked_solved_and_shown(
    run: Callable[[str], tuple[int, Any, str]], qubo: Qubo, tmp_path: Path
) -> None:
    found = run("embed qubo.json --machine chimera4 --copies auto -o c.json --plot c.svg")
    code, figures, _ = found
    copies = load_embeddings("c.json")
    assert code == 0 and figures["copies"] == len(copies) >= 2
    assert figures["qubits_of_all_copies"] == sum(one.qubits for one in copies)
    assert figures["longest_chain_of_all_copies"] == max(one.longest for one in copies)
    assert figures["qubits"] == copies[0].qubits
    code, checks, _ = run("verify qubo.json --embedding c.json")
    assert code == 0 and f"{len(copies)} copies that share no qubit" in checks["embedding"]
    code, figures, _ = run("solve qubo.json --embedding c.json --solver neal -n 20 -o s.json")
    assert code == 0 and figures["copies"] == len(copies)
    samples = load_samples("s.json", qubo)
    assert samples.occurrences.sum() == 20 * len(copies)
    assert samples.info["copy_reads"] == [20] * len(copies)
    assert samples.energies[0] == -2.0
    code, _, _ = run("report qubo.json c.json s.json -o r.html")
    assert code == 0 and f"{len(copies)} copies of" in (tmp_path / "r.html").read_text()
    code, figures, _ = run("embed qubo.json --reuse c.json --copies 1 -o one.json")
    assert code == 0 and load_embeddings("one.json") == copies[:1] and figures["copies"] == 1
    code, figures, _ = run("embed qubo.json --reuse c.json -o again.json")
    assert code == 0 and load_embeddings("again.json") == copies


def test_bad_copies_fit_in_one_line(
    run: Callable[[str], tuple[int, Any, str]], qubo: Qubo, tmp_path: Path
) -> None:
    machine = qcompile.load_machine("chimera4")
    two = qcompile.find_copies(qubo, machine, copies=2)
    qcompile.save_embeddings(two, "two.json")
    before = sorted(tmp_path.iterdir())
    for arguments, message in (
        ("--machine chimera4 --copies 50 -o no.json", "use at most --copies"),
        ("--copies 0", "--copies 0; expected"),
        ("--copies -2", "--copies -2; expected"),
        ("--copies many", "expected auto or a number"),
        ("--copies 2 --effort 2", "--effort with --copies"),
        ("--reuse two.json --copies 3", "two.json holds 2 copies"),
    ):
        code, _, error = run(f"embed qubo.json {arguments}")
        assert code == 2 and message in error and error.count("\n") == 1, error
    dead = two[1].chains[0][0]  # only the second copy uses it
    code, checks, _ = run(f"verify qubo.json --embedding two.json --dead-qubits {dead}")
    assert code == 1 and f"copy 2: variable 0 uses qubit {dead}" in checks["embedding"]
    code, _, error = run(f"embed qubo.json --reuse two.json --dead-qubits {dead}")
    assert code == 2 and f"qubit {dead}" in error
    assert sorted(tmp_path.iterdir()) == before
