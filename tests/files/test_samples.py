from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from dwave.samplers import SimulatedAnnealingSampler

from qcompile import Pubo, QcompileError, compile, load_samples, save_samples, solve
from qcompile.stages.arrays import frozen
from qcompile.stages.samples import samples_of
from tests.problems import polynomial


def test_samples_come_back_and_open_with_dimod(tmp_path: Path) -> None:
    compiled = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False)
    found = solve(compiled.quadratize(), solver="neal", reads=20)
    path = tmp_path / "samples.json"
    save_samples(found, path)
    theirs = dimod.SampleSet.from_serializable(json.loads(path.read_text()))
    assert theirs.record.energy == pytest.approx(found.energies)
    assert "seconds" not in theirs.info and theirs.info["solver"] == "neal"
    for problem in (compiled.quadratize(), compiled.pubo):
        back = load_samples(path, problem)
        assert (back.bits == found.bits).all()
        assert (back.violations == found.violations).all()
        assert (back.occurrences == found.occurrences).all()
    first = path.read_bytes()
    save_samples(solve(compiled.quadratize(), solver="neal", reads=20), path)
    assert path.read_bytes() == first


def test_answers_with_ancillas_are_checked_and_read(tmp_path: Path) -> None:
    qubo = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False).quadratize()
    answer = SimulatedAnnealingSampler().sample(qubo.to_bqm(), num_reads=5, seed=1)
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer.to_serializable()))
    back = load_samples(path, qubo)
    assert back.bits.shape[1] == qubo.logical
    assert back.energies == pytest.approx(qubo.score(back.bits))
    spins = answer.change_vartype("SPIN", inplace=False)
    path.write_text(json.dumps(spins.to_serializable()))
    assert (load_samples(path, qubo).bits == back.bits).all()


def test_samples_of_another_problem_are_refused(tmp_path: Path) -> None:
    one = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False).pubo
    path = tmp_path / "samples.json"
    save_samples(solve(one, reads=3), path)
    others = {
        "energy": compile("breast-cancer", bits=2, features=3, scale="max-abs", bias=False).pubo,
        "variable 6 is missing": compile(
            "breast-cancer", bits=2, features=4, scale="standard", bias=False
        ).pubo,
        "expected 4, as in the problem": compile(
            "breast-cancer", bits=2, features=2, scale="standard", bias=False
        ).pubo,
    }
    for message, other in others.items():
        with pytest.raises(QcompileError, match=rf"samples\.json.*{message}"):
            load_samples(path, other)


def test_a_file_cut_or_turned_hostile_is_refused(tmp_path: Path) -> None:
    pubo = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False).pubo
    path = tmp_path / "samples.json"
    save_samples(solve(pubo, reads=3), path)
    whole = path.read_text()
    for size in range(0, len(whole) - 2, 41):
        path.write_text(whole[:size])
        with pytest.raises(QcompileError, match=r"samples\.json"):
            load_samples(path, pubo)
    content = json.loads(whole)
    changes: dict[str, Any] = {
        "type": "BinaryQuadraticModel",
        "num_rows": 10**12,
        "num_variables": -1,
        "sample_data": {},
        "sample_type": "int8",
        "vectors": {},
        "variable_labels": [0],
        "use_bytes": True,
        "variable_type": "NONE",
    }
    for name, value in changes.items():
        path.write_text(json.dumps({**content, name: value}))
        if name == "sample_type":
            continue
        with pytest.raises(QcompileError, match=r"samples\.json"):
            load_samples(path, pubo)


@pytest.mark.parametrize(
    ("vector", "value"),
    [
        ("chain_break_fraction", -0.1),
        ("chain_break_fraction", 1.5),
        ("chain_break_fraction", float("nan")),
        ("ancilla_violations", -1),
        ("reads_with_wrong_ancilla", 3),
        ("reads_with_broken_chain", -1),
        ("reads_with_broken_chain", 1),
    ],
)
def test_counts_and_shares_that_cannot_be_are_refused(
    tmp_path: Path, vector: str, value: float
) -> None:
    pubo = polynomial(4, 2)
    zeros = frozen(np.zeros(2), np.int64)
    one = samples_of(pubo, np.eye(4, dtype=np.int8)[:2], occurrences=np.array([2, 2]))
    path = tmp_path / "samples.json"
    save_samples(replace(one, broken=zeros, wrong=zeros), path)
    assert len(load_samples(path, pubo)) == 2
    content = json.loads(path.read_text())
    content["vectors"][vector]["data"] = [0, value]
    if isinstance(value, float):
        content["vectors"][vector]["data_type"] = "float64"
    path.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match=vector if value == value else "samples"):
        load_samples(path, pubo)


def test_whole_energies_of_any_size_are_written(tmp_path: Path) -> None:
    pubo = Pubo.from_dict({(0,): 3e19, (1,): -5e25, (0, 1): 1.0})
    found = solve(pubo, solver="exact")
    save_samples(found, tmp_path / "samples.json")
    back = load_samples(tmp_path / "samples.json", pubo)
    assert back.energies.tolist() == found.energies.tolist()


def test_answers_with_ancillas_of_another_problem_are_refused(tmp_path: Path) -> None:
    one = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False).quadratize()
    other = compile(
        "breast-cancer", bits=2, features=3, scale="standard", bias=False, positive=0.0
    ).quadratize()
    answer = SimulatedAnnealingSampler().sample(one.to_bqm(), num_reads=3, seed=1)
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer.to_serializable()))
    load_samples(path, one)
    with pytest.raises(QcompileError, match="another problem"):
        load_samples(path, other)
    content = answer.to_serializable()
    content["vectors"]["num_occurrences"]["data"] = [0, 1, 1]
    path.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match="num_occurrences: expected 1 or more"):
        load_samples(path, one)
