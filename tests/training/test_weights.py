"""Rows that count w times, judged by the same rows written w times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from qcompile import (
    Dataset,
    InputError,
    compile,
    fit_around,
    from_arrays,
    load_moments,
    moments_of,
    prepare,
    save_moments,
    train,
    verify,
)
from qcompile.data.column_statistics import ColumnStatistics
from qcompile.data.robust import robust_scaling
from qcompile.data.weights import as_counts, weighted
from qcompile.files.rows import load_rows, save_rows
from qcompile.stages.arrays import Floats
from tests import judge

_ROWS = 60


def _rows(kind: str = "dense", features: int = 4) -> Dataset:
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=(_ROWS, features)), 1)
    x[:, 1] *= rng.random(_ROWS) < 0.6
    if kind == "binary":
        x = (x > 0.3).astype(float)
    labels = (x @ np.arange(1.0, features + 1) + rng.normal(size=_ROWS) > 0).astype(int)
    return from_arrays(x if kind == "dense" else sp.csr_array(x), labels)


def _counts() -> Floats:
    return np.random.default_rng(6).integers(0, 4, _ROWS).astype(float)


def _both(kind: str = "dense", features: int = 4) -> tuple[Dataset, Dataset]:
    """Return rows with whole weights, and the same rows repeated."""
    rows, counts = _rows(kind, features), _counts()
    repeated = np.repeat(np.arange(_ROWS), counts.astype(int))
    return replace(rows, weights=counts), rows.take(repeated)


@pytest.mark.parametrize("kind", ["dense", "sparse", "binary"])
def test_scaling_and_statistics_of_columns(kind: str) -> None:
    one, many = _both(kind)
    scalings = robust_scaling(one.x, one.weights), robust_scaling(many.x)
    for found, expected in zip(*scalings, strict=True):
        assert found == pytest.approx(expected, abs=1e-12)
    mine = ColumnStatistics.of(one.x, one.y, weights=one.weights)
    theirs = ColumnStatistics.of(many.x, many.y)
    for name in ("count", "mean", "squares", "label", "together"):
        assert getattr(mine, name) == pytest.approx(getattr(theirs, name), abs=1e-10), name
    for scale in ("standard", "robust", "max-abs"):
        made = [prepare(rows, scale=scale, features=3).preparation for rows in (one, many)]
        assert np.array_equal(made[0].columns, made[1].columns)  # type: ignore[arg-type]
        assert made[0].scale == pytest.approx(made[1].scale)


@pytest.mark.parametrize("kind", ["dense", "sparse", "binary"])
def test_moments(kind: str, tmp_path: Path) -> None:
    one, many = _both(kind)
    mine, theirs = moments_of(one, 3), moments_of(many, 3)
    assert (mine.count, mine.row_count, theirs.row_count) == (len(many), _ROWS, len(many))
    for key, tensor in theirs.tensors.items():
        assert mine.tensors[key] == pytest.approx(tensor, abs=1e-9), key
    half = replace(one, weights=_counts() / 2)
    total = moments_of(half, 3) + moments_of(half, 3)
    assert total.count == mine.count and total.rms_norm == pytest.approx(theirs.rms_norm)
    save_moments(mine, tmp_path / "m.npz")
    again = load_moments(tmp_path / "m.npz")
    assert (again.count, again.row_count) == (mine.count, _ROWS)


def test_a_fit_around_weights() -> None:
    one, many = _both()
    centre = np.array([0.5, -1.0, 2.0, 0.1])
    mine, theirs = (fit_around(rows, centre, 0.3, degree=3) for rows in (one, many))
    assert mine.constant == pytest.approx(theirs.constant)
    for a, b in ((mine.first, theirs.first), (mine.second, theirs.second)):
        assert a == pytest.approx(b)


@pytest.mark.parametrize("options", [{}, {"l2": 0.01}, {"solver": "descent"}])
def test_rounds(options: dict[str, float]) -> None:
    one, many = _both()
    mine, theirs = (train(rows, seed=3, **options) for rows in (one, many))  # type: ignore[arg-type]
    assert mine.classifier.weights == pytest.approx(theirs.classifier.weights, rel=1e-6)
    assert mine.l2 == pytest.approx(theirs.l2) and mine.l2 is not None
    assert mine.errors["train"] == pytest.approx(theirs.errors["train"])
    assert mine.baseline == pytest.approx(theirs.baseline)
    # the objective, straight from the formula
    x = mine.classifier.preparation.apply(one.x)
    u = x * one.y[:, None] / np.linalg.norm(x, axis=1)[:, None]
    w = mine.classifier.weights
    risk = np.average(norm.cdf(-u @ w), weights=one.weights)
    assert mine.objective == pytest.approx(risk + mine.l2 / 2 * w @ w)


@pytest.mark.parametrize("order", [1, 3, pytest.param(6, marks=pytest.mark.slow)])
def test_the_papers_method(order: int) -> None:
    features = 4 if order < 4 else 8  # a degree of 6 is annealed over the margins then
    one, many = _both(features=features)
    mine, theirs = (train(rows, order=order, bits=3, reads=10, seed=1) for rows in (one, many))
    assert mine.loss is not None and theirs.loss is not None and mine.samples is not None
    assert mine.loss.coefficients == pytest.approx(theirs.loss.coefficients)
    assert mine.loss.l2 == pytest.approx(theirs.loss.l2)
    assert mine.objective == pytest.approx(theirs.objective)
    assert (mine.samples.info["space"] == "margins") == (order == 6)
    made = mine.classifier.preparation.apply(many.x)
    w = mine.classifier.weights[None]
    direct = judge.objective(made, many.y, w, mine.loss.coefficients, mine.loss.l2)
    assert mine.objective == pytest.approx(direct[0])
    energies = [float(found.samples.energies[0]) for found in (mine, theirs) if found.samples]
    assert energies[0] == pytest.approx(energies[1])


def test_a_problem_is_proved_from_weighted_rows_and_from_no_others() -> None:
    rows = prepare(replace(_rows(), weights=_counts() / 3), scale="robust", bias=True)
    qubo = compile(rows, order=3, bits=2).quadratize()
    assert verify(qubo, data=rows).holds
    assert not verify(qubo, data=replace(rows, weights=None)).holds
    other = _counts() / 3
    other[[0, 1]] += 0.5
    assert not verify(qubo, data=replace(rows, weights=other)).holds


def test_folds_count_by_weights() -> None:
    rows = replace(_rows(), weights=_counts())
    path = train(rows, l2=[0.1, 0.001], solver="descent", folds=3)
    assert {trial.l2 for trial in path.trials} == {0.1, 0.001}
    flat = train(replace(rows, weights=np.full(_ROWS, 2.0)), l2=[0.1, 0.001], solver="descent")
    plain = train(_rows(), l2=[0.1, 0.001], solver="descent")
    assert [t.error for t in flat.trials] == pytest.approx([t.error for t in plain.trials])


def test_small_weights_are_shares_and_a_weight_of_0_is_no_row() -> None:
    rows, counts = _rows(), _counts()
    one = replace(rows, weights=counts / counts.sum())
    two = replace(rows, weights=counts / counts.sum() / 1e6)
    left = as_counts(one)
    assert left.weights is not None and left.total == pytest.approx(len(left))
    assert len(left) == np.count_nonzero(counts)
    found = [train(part, seed=2).classifier.weights for part in (one, two)]
    assert found[0] == pytest.approx(found[1])
    absent = replace(rows, weights=(counts > 0).astype(float))
    there = train(rows.take(np.flatnonzero(counts)), seed=2)
    assert train(absent, seed=2).classifier.weights == pytest.approx(there.classifier.weights)


def test_classes_may_count_alike() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2))
    rare = x[:, 0] + rng.normal(size=600) > 2.2
    rows = from_arrays(x, np.where(rare, "sick", "well"))
    assert rare.mean() < 0.1
    balanced = train(rows, class_weight="balanced").classifier
    plain = train(rows, l2=1.0).classifier
    recall = [float(np.mean(m.predict(x[rare]) == "sick")) for m in (balanced, plain)]
    assert recall[0] > 0.7 > recall[1]
    mine = weighted(rows, class_weight={"sick": 2.0})
    assert mine.weights is not None
    assert (mine.weights == np.where(rare, 2.0, 1.0)).all()
    again = weighted(mine, np.full(600, 0.5), "balanced")
    assert float(again.mean(again.y)) == pytest.approx(0)


def test_weights_are_in_files_of_rows(tmp_path: Path) -> None:
    rows = replace(_rows("sparse"), weights=_counts())
    save_rows({"train": rows, "test": _rows()}, tmp_path / "rows.npz")
    again = load_rows(tmp_path / "rows.npz")
    assert (again["train"].weights == rows.weights).all() and again["test"].weights is None  # type: ignore[union-attr]


def test_weights_that_are_none_are_refused() -> None:
    rows = _rows()
    with pytest.raises(InputError, match="finite numbers of 0 or more"):
        weighted(rows, np.full(_ROWS, -1.0))
    with pytest.raises(InputError, match="one for each of 60 rows"):
        weighted(rows, [1.0, 2.0])
    with pytest.raises(InputError, match="'balanced' or a weight for each label"):
        weighted(rows, class_weight="equal")
    with pytest.raises(InputError, match="class_weight= names label 7; the labels are 1 and 0"):
        weighted(rows, class_weight={7: 1.0})
