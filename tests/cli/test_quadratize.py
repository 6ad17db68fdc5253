from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import dimod
import numpy as np
import pytest

from qcompile import load_qubo, load_samples, save_qubo
from qcompile.cli.app import main
from qcompile.files.interchange import read_pubo
from tests.by_brute_force import energy
from tests.strategies import Terms


@pytest.fixture
def cubic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Terms, float]:
    """A file of spins with texts as labels, and its lowest energy by brute force."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    names = ["f", "a", "d", "b", "c", "e"]
    given: Terms = {t: float(rng.integers(-9, 10)) for t in itertools.combinations(names, 3)}
    given |= {(name,): float(rng.integers(-9, 10)) for name in names}
    content = {"vartype": "SPIN", "terms": [[list(t), c] for t, c in given.items()]}
    Path("terms.json").write_text(json.dumps(content))
    states = itertools.product((-1, 1), repeat=6)
    return given, min(energy(given, dict(zip(names, s, strict=True))) for s in states)


def test_quadratize_writes_a_qubo_that_is_proved_and_solved(
    cubic: tuple[Terms, float], capsys: pytest.CaptureFixture[str]
) -> None:
    given, lowest = cubic
    assert main(["quadratize", "terms.json", "-o", "qubo.json", "--compare-dimod", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["degree"] == 3 and said["product_ancillas"] <= said["dimod_ancillas"]
    content = json.loads(Path("qubo.json").read_text())
    bqm = dimod.BinaryQuadraticModel.from_serializable(content)
    assert dimod.ExactSolver().sample(bqm).first.energy == pytest.approx(lowest)
    assert main(["verify", "qubo.json", "--pubo", "terms.json"]) == 0
    assert "proved" in capsys.readouterr().out
    for problem in ("qubo.json", "terms.json"):
        assert main(["solve", problem, "--solver", "exact", "-o", "samples.json", "-q"]) == 0
        found = dimod.SampleSet.from_serializable(json.loads(Path("samples.json").read_text()))
        assert found.vartype is dimod.SPIN
        assert found.first.energy == lowest == energy(given, found.first.sample)
    pubo = read_pubo("terms.json")
    again = load_samples("samples.json", pubo)
    assert again.energies[0] == lowest == pubo.energies([again.best])[0]


def test_quadratize_takes_the_options_of_compile(
    cubic: tuple[Terms, float], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["quadratize", "terms.json", "-o", "a.npz", "--cover", "halves", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cover"] == "halves"
    assert main(["quadratize", "terms.json", "--max-ancillas", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["product_ancillas"] == 2
    assert main(["quadratize", "a.npz", "-o", "b.json"]) == 2
    assert main(["quadratize", "terms.json", "-o", "terms.json"]) == 2
    assert main(["quadratize", "terms.json", "-o", "b.txt"]) == 2
    assert "expected a QUBO file ending in" in capsys.readouterr().err
    Path("plain.json").write_text('{"0,1,2": 4.0}')
    assert main(["quadratize", "plain.json", "--spins", "-o", "c.json", "-q"]) == 0
    assert main(["solve", "c.json", "--solver", "exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lowest_energy"] == -4.0


def test_a_polynomial_of_any_origin_is_embedded(
    cubic: tuple[Terms, float], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", "terms.json", "--machine", "pegasus4", "-o", "chains.json", "-q"]) == 0
    assert main(["quadratize", "terms.json", "-o", "qubo.json", "-q"]) == 0
    machine = ["--machine", "pegasus4", "--embedding", "chains.json"]
    assert main(["verify", "qubo.json", *machine]) == 0
    assert main(["solve", "qubo.json", "--solver", "neal", *machine, "-o", "s.json", "-q"]) == 0
    found = dimod.SampleSet.from_serializable(json.loads(Path("s.json").read_text()))
    assert set(found.variables) == set("abcdef")
    assert "embedding" in capsys.readouterr().out


def test_small_terms_are_left_out_around_a_minimum_that_verify_proves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    sets = [t for size in (1, 2, 3) for t in itertools.combinations(range(6), size)]
    given: Terms = {t: float(rng.normal() * rng.choice([1.0, 30.0, 900.0])) for t in sets}
    content = {"vartype": "BINARY", "terms": [[list(t), c] for t, c in given.items()]}
    Path("terms.json").write_text(json.dumps(content))
    states = itertools.product((0, 1), repeat=6)
    lowest = min(energy(given, dict(enumerate(s))) for s in states)
    assert main(["quadratize", "terms.json", "-o", "plain.json", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    options = ["-o", "qubo.json", "--compress", "0.5"]
    assert main(["quadratize", "terms.json", *options, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["share_of_heights_kept"] == 0.5 and "share_of_heights_kept" not in plain
    assert said["quadratic_terms"] < plain["quadratic_terms"]
    assert main(["verify", "qubo.json", "--pubo", "terms.json"]) == 0
    told = capsys.readouterr().out
    assert "64 assignments tried: the minimum stays one, each keeps 50%" in told
    assert main(["solve", "qubo.json", "--solver", "exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lowest_energy"] == pytest.approx(lowest)
    qubo, _ = load_qubo("qubo.json")
    assert qubo.compression is not None
    wrong = tuple(1 - bit for bit in qubo.compression.minimiser)
    forged = replace(qubo, compression=replace(qubo.compression, minimiser=wrong))
    save_qubo(forged, "forged.json")  # sealed as if it were made so
    assert main(["verify", "forged.json", "--pubo", "terms.json"]) == 1
    told = capsys.readouterr().out
    assert "are lower than the minimum that was kept" in told and "NOT proved" in told
    for words in (["0"], ["1.5"]):
        assert main(["quadratize", "terms.json", "-o", "x.json", "--compress", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert not Path("x.json").exists()


def test_compile_leaves_out_small_terms_of_data(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["breast-cancer", "--features", "4", "--bits", "2", "--json"]
    assert main(["compile", *words, "--compress", "--emit", "qubo=qubo.json"]) == 0
    capsys.readouterr()
    assert main(["verify", "qubo.json", "--data", "breast-cancer"]) == 0
    assert (
        "1,024 assignments tried: the minimum stays one, each keeps 90%" in capsys.readouterr().out
    )
