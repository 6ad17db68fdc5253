"""Functions take a file, the name of a set or an object alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qcompile
from qcompile.data.svmlight import save_svmlight

DATA = "synthetic:examples=60,features=3"


@pytest.fixture
def compiled() -> qcompile.Compiled:
    return qcompile.compile(DATA, order=3, bits=2)


def test_a_file_and_its_object_are_verified_solved_and_decoded_alike(
    compiled: qcompile.Compiled, tmp_path: Path
) -> None:
    qubo, pubo = compiled.quadratize(), compiled.pubo
    qcompile.save_qubo(qubo, tmp_path / "qubo.json", pubo=pubo)
    qcompile.save_pubo(pubo, tmp_path / "pubo.npz")
    for file in (tmp_path / "qubo.json", str(tmp_path / "qubo.json")):
        proved = qcompile.verify(file, pubo=tmp_path / "pubo.npz", data=DATA)
        assert proved.holds
        assert {check.name for check in proved.checks} >= {"data", "gates"}
        solved = qcompile.solve(file, solver="exact", keep=5)
        np.testing.assert_array_equal(
            solved.bits, qcompile.solve(qubo, solver="exact", keep=5).bits
        )
    again = qcompile.quadratize(tmp_path / "pubo.npz")
    np.testing.assert_array_equal(again.quadratic, qubo.quadratic)
    qcompile.save_samples(solved, tmp_path / "samples.json", problem=qubo)
    wanted = qcompile.decode(qubo, solved)
    found = qcompile.decode(tmp_path / "qubo.json", tmp_path / "samples.json", validation=DATA)
    assert found.source.validation_error is not None
    found = qcompile.decode(tmp_path / "qubo.json", str(tmp_path / "samples.json"))
    np.testing.assert_array_equal(found.weights, wanted.weights)


def test_a_file_that_holds_another_problem_is_not_proved(
    compiled: qcompile.Compiled, tmp_path: Path
) -> None:
    qcompile.save_qubo(compiled.quadratize(), tmp_path / "qubo.json", pubo=compiled.pubo)
    other = qcompile.compile(DATA, order=3, bits=2, l2=0.7)
    qcompile.save_pubo(other.pubo, tmp_path / "pubo.json")
    assert not qcompile.verify(tmp_path / "qubo.json", pubo=tmp_path / "pubo.json").holds
    rows = qcompile.read("synthetic:examples=120,features=3").take(slice(60, None))
    save_svmlight(rows, tmp_path / "others.svm")
    assert not qcompile.verify(tmp_path / "qubo.json", data=tmp_path / "others.svm").holds


def test_terms_and_models_of_dimod_are_quadratized() -> None:
    assert len(qcompile.quadratize({("a", "b", "c"): 2.0, ("a",): -1.0}).ancillas) == 1


def test_dir_shows_the_public_names_and_only_them() -> None:
    assert dir(qcompile) == sorted(qcompile.__all__)
    assert len(set(qcompile.__all__)) == len(qcompile.__all__)
    for name in dir(qcompile):
        assert getattr(qcompile, name) is not None
