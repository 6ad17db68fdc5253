from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import orjson
import pytest

import qcompile
from qcompile import Pubo
from qcompile.cli.app import main
from qcompile.errors import InputError
from qcompile.files.classifier import save_classifier
from qcompile.files.loss import save_loss
from qcompile.files.moments import save_moments
from qcompile.files.pubo import save_pubo
from qcompile.files.qubo import save_qubo
from qcompile.files.samples import save_samples
from qcompile.moments.accumulate import moments_of
from qcompile.objective.decode import decode
from qcompile.report.gather import gather, with_data
from qcompile.report.run import Run
from qcompile.stages.arrays import frozen
from qcompile.stages.samples import samples_of


def test_artifacts_of_different_runs_are_refused(folder: Path, tmp_path: Path) -> None:
    other = qcompile.compile("synthetic", scale="none", bias=False, bits=2).quadratize()
    save_qubo(other, tmp_path / "qubo.json")
    with pytest.raises(InputError, match="two files that hold a qubo"):
        gather([str(folder), str(tmp_path / "qubo.json")])
    for name, words in {
        "chains.json": "made for another problem",
        "answers.json": "variable 6 is missing",
        "clf.json": "of another run",
    }.items():
        assert main(["report", str(tmp_path / "qubo.json"), str(folder / name), "-q",
                     "-o", str(tmp_path / "x.html")]) == 2  # fmt: skip
        with pytest.raises(ValueError, match=words):
            gather([str(tmp_path / "qubo.json"), str(folder / name)])


def test_chains_on_qubits_that_are_not_there_are_refused(folder: Path, tmp_path: Path) -> None:
    content = orjson.loads((folder / "chains.json").read_bytes())
    content["chains"][2][1] = [9999]
    (tmp_path / "chains.json").write_bytes(orjson.dumps(content))
    with pytest.raises(InputError, match="variable 2 uses qubit 9999"):
        gather([str(tmp_path / "chains.json")])


def _other(made: SimpleNamespace, kind: str, place: Path) -> Path:
    """Write a file of another run that looks like one of this."""
    path = place / f"other-{kind}{'.npz' if kind == 'moments' else '.json'}"
    rows = made.rows
    turned = replace(rows, y=frozen(np.where(np.arange(len(rows)) % 3, rows.y, -rows.y)))
    if kind == "loss":
        save_loss(replace(made.loss, range_=made.loss.range_ * 0.9), path)
    elif kind == "moments":
        save_moments(moments_of(turned, 3), path)
    elif kind == "pubo":
        values = [c.copy() for c in made.pubo.coefficients]
        values[2][5] *= 1.1
        save_pubo(replace(made.pubo, coefficients=tuple(map(frozen, values))), path)
    elif kind == "model":
        save_classifier(replace(made.classifier, weights=made.classifier.weights * 0.9), path)
    else:
        prepared = made.classifier.preparation
        shifted = replace(prepared, center=frozen(prepared.center + 1))
        save_classifier(replace(made.classifier, preparation=shifted), path)
    return path


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("loss", "other coefficients or another range"),
        ("moments", "moments of other rows"),
        ("pubo", "other energies"),
        ("model", "weights that the problem cannot say"),
        ("prepared", "prepared differently"),
    ],
)
def test_a_file_of_another_run_is_refused_by_name(
    kind: str, why: str, made: SimpleNamespace, made_folder: Path, tmp_path: Path
) -> None:
    other = _other(made, kind, tmp_path)
    with pytest.raises(InputError, match=why) as told:
        gather([str(made_folder / "QUBO.JSON"), str(other)])
    assert str(told.value).startswith(str(other)) and "\n" not in str(told.value)
    assert "name the files that belong together" in str(told.value)


def test_only_the_very_rows_are_training_rows(made: SimpleNamespace) -> None:
    run = Run("x", qubo=made.qubo, samples=made.samples, loss=made.loss,
              classifier=made.classifier)  # fmt: skip
    rows = made.rows
    assert with_data(run, rows, lambda: rows).risks
    turned = replace(rows, y=frozen(np.roll(rows.y, 1)))
    twice = rows.take(np.tile(np.arange(len(rows)), 2))
    for other in (turned, twice, rows.take(slice(568))):
        found = with_data(run, other, lambda: rows)
        assert not found.risks and found.parts[0][0] == "the data given"
    # the zero state has the same energy on all data
    zero = samples_of(made.qubo, np.zeros((1, 8), dtype=np.int8))
    still = replace(run, samples=zero, classifier=decode(made.qubo, zero))
    assert not with_data(still, turned, lambda: rows).risks
    assert with_data(still, rows, lambda: rows).risks
    much = replace(still, qubo=replace(made.qubo, dropped=1e3))
    told = with_data(much, rows, lambda: rows)
    assert not told.risks and "smaller threshold" in told.reasons["risks"]


def test_the_zero_state_alone_tells_nothing_about_rows(made: SimpleNamespace) -> None:
    """A problem that was never written out has only its samples to be known by."""
    empty = replace(made.pubo, constant=0.0, indices=(), coefficients=())
    zero = samples_of(empty, np.zeros((1, 8), dtype=np.int8))
    zero = replace(zero, energies=frozen([made.loss.coefficients[0]]))
    run = Run("x", pubo=empty, samples=zero, loss=made.loss, classifier=decode(empty, zero))
    assert not with_data(run, made.rows, lambda: made.rows).risks


def test_chains_that_share_a_qubit_are_refused(made_folder: Path, tmp_path: Path) -> None:
    content = orjson.loads((made_folder / "chains.json").read_bytes())
    content["chains"][3][1] = content["chains"][2][1]
    place = tmp_path / "chains.json"
    place.write_bytes(orjson.dumps(content))
    with pytest.raises(InputError, match="is used twice"):
        gather([str(place)])


def test_numbers_that_cannot_be_drawn_are_refused(
    made: SimpleNamespace, made_folder: Path, tmp_path: Path
) -> None:
    huge = replace(made.classifier, weights=frozen([1e308] * 4))
    save_classifier(huge, tmp_path / "model.json")
    with pytest.raises(InputError, match=r"model\.json: weights beyond 1e\+150"):
        gather([str(tmp_path / "model.json")])
    pubo = Pubo.from_dict({(0,): 1e308, (1,): -1e308})
    save_pubo(pubo, tmp_path / "pubo.json")
    save_samples(samples_of(pubo, np.eye(2, dtype=np.int8)), tmp_path / "samples.json")
    with pytest.raises(InputError, match=r"samples\.json: energies beyond"):
        gather([str(tmp_path / "pubo.json"), str(tmp_path / "samples.json")])
