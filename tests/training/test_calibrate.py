from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr

from qcompile import (
    Calibration,
    Classifier,
    Dataset,
    InputError,
    add_noise,
    calibrate,
    from_arrays,
    prepare,
    read,
    split,
    train,
)
from qcompile.data.prepare import PrepareOptions
from qcompile.data.row_hash import row_hashes
from qcompile.training.calibrate import (
    calibrated_by_folds,
    fit_calibration,
    held_out_decisions,
    stratified_folds,
)
from tests.problems import identity


def _entropy(found: Calibration, d: np.ndarray, target: np.ndarray, count: np.ndarray) -> float:
    p = 1 / (1 + np.exp(-(found.slope * d + found.intercept)))
    return float(-np.sum(count * (target * np.log(p) + (1 - target) * np.log(1 - p))))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sigmoid_is_the_best_of_its_neighbours(weighted: bool) -> None:
    rng = np.random.default_rng(5)
    d = 40 * rng.normal(size=300)
    y = np.where(rng.random(300) < expit(0.05 * d - 0.4), 1.0, -1.0)
    count = rng.integers(1, 4, 300).astype(float) if weighted else np.ones(300)
    found = fit_calibration(d, y, count if weighted else None)
    up, down = count[y > 0].sum(), count[y < 0].sum()
    target = np.where(y > 0, (up + 1) / (up + 2), 1 / (down + 2))
    least = _entropy(found, d, target, count)
    for more, higher in ((1.01, 0), (0.99, 0), (1, 0.01), (1, -0.01), (1.01, 0.01), (0.99, -0.01)):
        other = Calibration(found.slope * more, found.intercept + higher)
        assert _entropy(other, d, target, count) > least
    if weighted:
        many = np.repeat(np.arange(300), count.astype(int))
        again = fit_calibration(d[many], y[many])
        assert (again.slope, again.intercept) == pytest.approx((found.slope, found.intercept))


def test_classes_that_are_apart_have_a_finite_slope_and_decisions_of_no_use_have_none() -> None:
    apart = fit_calibration([-1.0, -2.0, 1.0, 2.0], [-1, -1, 1, 1])
    assert 0 < apart.slope < 100
    against = fit_calibration([-1.0, -2.0, 1.0, 2.0], [1, 1, -1, -1])
    assert against == Calibration(0.0, 0.0)
    same = fit_calibration([0.0, 0.0, 0.0], [1, 1, -1])
    assert same.probabilities([0.0]) == pytest.approx([(2 * 3 / 4 + 1 / 3) / 3])
    with pytest.raises(InputError, match="2 decisions, 3 labels"):
        fit_calibration([0.0, 1.0], [1, 1, -1])


def test_folds_are_a_partition_with_both_classes() -> None:
    signs = np.where(np.arange(53) % 7 == 0, 1.0, -1.0)
    keys = np.random.default_rng(0).permutation(53).astype(np.uint64)
    parts = stratified_folds(signs, 4, keys=keys)
    assert sorted(np.concatenate(parts).tolist()) == list(range(53))
    assert {int(np.sum(signs[part] > 0)) for part in parts} == {2}
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(InputError, match="9 folds with 8 rows of the rarer class"):
        stratified_folds(signs, 9, keys=keys)
    with pytest.raises(InputError, match="1 rows of the rarer class; folds need at least 2"):
        stratified_folds(np.array([1.0, -1.0, -1.0]), 2, keys=keys[:3])


def test_copies_of_a_row_share_a_fold_and_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    rows = from_arrays(np.round(rng.normal(size=(40, 3)), 1), rng.integers(0, 2, 40))
    counts = rng.integers(1, 4, 40)
    order = rng.permutation(np.repeat(np.arange(40), counts))
    how = PrepareOptions("robust", bias=True)
    one = replace(rows, weights=counts.astype(float))
    many = rows.take(order)
    found = [held_out_decisions(part, l2=0.1, preparation=how) for part in (one, many)]
    assert found[0][order] == pytest.approx(found[1], abs=1e-4)
    mine, theirs = (calibrated_by_folds(part, l2=0.1, preparation=how) for part in (one, many))
    assert mine is not None and theirs is not None
    assert mine.slope == pytest.approx(theirs.slope, rel=1e-4)
    sparse = replace(rows, x=sp.csr_array(rows.x))
    assert (row_hashes(sparse.x, seed=3) == row_hashes(rows.x, seed=3)).all()
    assert (row_hashes(rows.x) != row_hashes(rows.x, seed=3)).all()


def test_a_row_is_decided_by_weights_that_never_saw_it() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3)) * [1.0, 5.0, 0.2] + 2
    raw = from_arrays(x, np.where(x @ [1.0, 0.2, -3.0] + rng.normal(size=60) > -3.6, 1, -1))
    how = PrepareOptions("standard", bias=True)
    found = held_out_decisions(raw, l2=0.01, preparation=how, folds=3, seed=4)
    for held in stratified_folds(raw.y, 3, keys=row_hashes(x, seed=4)):
        rest = np.setdiff1d(np.arange(60), held)
        mean, deviation = x[rest].mean(axis=0), x[rest].std(axis=0)
        rows = np.hstack([(x - mean) / deviation, np.ones((60, 1))])
        units = rows[rest] / np.linalg.norm(rows[rest], axis=1)[:, None] * raw.y[rest, None]

        def risk(w: np.ndarray, units: np.ndarray = units) -> float:
            return float(np.mean(ndtr(-units @ w)) + 0.005 * w @ w)

        least = minimize(risk, 3 * units.mean(axis=0), method="BFGS", options={"gtol": 1e-8})
        assert found[held] == pytest.approx(rows[held] @ least.x, abs=0.05)


def _log_loss(found: Classifier, rows: Dataset) -> float:
    logs = Calibration(1.0, 0.0) if found.calibration is None else found.calibration
    decisions = found.decision_function(rows.x)
    return -float(np.mean(np.where(
        rows.y > 0, logs.log_probabilities(decisions),
        logs.log_probabilities(decisions, positive=False),
    )))  # fmt: skip


def test_training_in_rounds_calibrates_without_other_rows() -> None:
    rows, held = split(add_noise(read("breast-cancer"), 0.2), (0.6, 0.4), seed=1)
    found = train(rows, seed=3)
    model = found.classifier
    assert model.calibration is not None and found.l2 is not None
    again = calibrated_by_folds(
        rows, l2=found.l2, preparation=PrepareOptions("robust", bias=True), seed=3
    )
    assert model.calibration == again
    plain = Classifier(model.weights, model.preparation)
    assert _log_loss(model, held) < 0.6 < _log_loss(plain, held)
    margins = held.y * model.decision_function(held.x)
    gauss = -float(np.mean(log_ndtr(margins)))  # the probability that the objective itself has
    assert _log_loss(model, held) < gauss
    assert np.mean((model.probabilities(held.x) > 0.5) == (held.y > 0)) > 0.72


def test_the_papers_method_is_calibrated_by_the_validation_rows() -> None:
    raw = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    rows, checked = split(raw, (0.7, 0.3), seed=1)
    found = train(rows, bits=1, solver="exact", validation=checked).classifier
    wanted = fit_calibration(checked.x @ found.weights, checked.y)
    assert found.calibration == wanted
    assert train(rows, bits=1, solver="exact").classifier.calibration is None


def test_other_rows_calibrate_raw_or_prepared() -> None:
    raw = read("breast-cancer")
    rows, held = split(raw, (0.5, 0.5), seed=1)
    made = prepare(rows, scale="standard", bias=True)
    model = Classifier(np.asarray(made.x.T @ made.y), made.preparation)
    one, two = calibrate(model, held), calibrate(model, prepare(held, like=made))
    assert one.calibration == two.calibration is not None
    assert model.calibration is None
    with pytest.raises(InputError, match="prepared in another way"):
        calibrate(model, prepare(held, scale="max-abs"))
    swapped = from_arrays(held.x, np.where(held.y > 0, 7, 5))
    with pytest.raises(InputError, match=r"label 5\.0 was never seen"):
        calibrate(model, swapped)


def test_too_few_rows_of_a_class_have_no_calibration() -> None:
    data = from_arrays([[0.0], [1.0], [2.0]], [-1, -1, 1])
    assert calibrated_by_folds(data) is None
    assert Classifier(np.array([1.0]), identity(1)).calibration is None
