from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import (
    Dataset,
    InputError,
    compile,
    fit_loss,
    folds,
    from_arrays,
    moments_of,
    prepare,
    read,
    solve,
    train,
)
from qcompile.cli.app import main
from qcompile.data.svmlight import save_svmlight
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.training.cross_validation import _Folds, cross_validate


def test_cross_validation_equals_training_on_the_other_folds(cancer: Dataset) -> None:
    options = SolveOptions(solver="exact", keep=1)
    rows = cross_validate(cancer, {"bits": [1, 2]}, count=3, options=options, seed=5)
    assert [row["bits"] for row in rows] == sorted(
        (1, 2), key=lambda b: next(r["validation error"] for r in rows if r["bits"] == b)
    )
    parts = folds(cancer, 3, seed=5)
    errors = []
    for number, part in enumerate(parts):
        rest = np.concatenate([np.asarray(p.x) for i, p in enumerate(parts) if i != number])
        signs = np.concatenate([p.y for i, p in enumerate(parts) if i != number])
        others = Dataset(rest, signs, cancer.preparation)
        found = train(others, bits=2, options=options)
        errors.append(part.error(found.classifier.weights))
    two = next(row for row in rows if row["bits"] == 2)
    assert two["validation error"] == pytest.approx(np.mean(errors))
    assert two["standard error"] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))


def test_cross_validation_mixes_orders_and_refuses_nonsense(cancer: Dataset) -> None:
    options = SolveOptions(reads=10)
    grid: dict[str, list[Any]] = {"order": [3, 6], "bits": [2, 3], "weight_range": ["auto"]}
    rows = cross_validate(cancer, grid, count=2, options=options)
    assert len(rows) == 4 and all(row["validation error"] < 0.3 for row in rows)
    with pytest.raises(InputError, match="'colour' in the grid"):
        cross_validate(cancer, {"colour": [1]})
    with pytest.raises(InputError, match="1 folds"):
        cross_validate(cancer, {"bits": [1]}, count=1)


def test_a_trial_holds_the_options_it_was_made_with(cancer: Dataset) -> None:
    options = SolveOptions(solver="exact", keep=1)
    grid: dict[str, list[Any]] = {"weight_range": ["auto", 0.5], "bits": [1, 2]}
    loss = LossOptions(fit_to="loss", l2=0.25)
    trials = cross_validate(cancer, grid, count=2, loss=loss, options=options)
    assert {(trial.loss.weight_range, trial.bits) for trial in trials} == {
        ("auto", 1), ("auto", 2), (0.5, 1), (0.5, 2)
    }  # fmt: skip
    for trial in trials:
        assert (trial.loss.fit_to, trial.loss.l2) == ("loss", 0.25)
        assert list(trial)[:4] == ["weight_range", "bits", "validation error", "standard error"]
        assert (trial["weight_range"], trial["bits"]) == (trial.loss.weight_range, trial.bits)
        assert (trial["validation error"], trial["standard error"]) == (trial.error, trial.spread)
    assert [trial.error for trial in trials] == sorted(trial.error for trial in trials)


def test_cross_validation_takes_the_bits_that_were_asked_for(cancer: Dataset) -> None:
    options = SolveOptions(solver="exact", keep=1)
    one = cross_validate(cancer, {"order": [3]}, count=2, bits=1, options=options)
    two = cross_validate(cancer, {"order": [3], "bits": [1]}, count=2, options=options)
    assert one[0]["validation error"] == two[0]["validation error"]


@pytest.fixture
def noise() -> Dataset:
    """Rows about which nothing can be known: every error below a half is luck or a leak."""
    x = np.random.default_rng(5).normal(size=(100, 1000))
    return from_arrays(x, np.where(np.arange(100) % 2, 1, -1))


def test_nothing_is_learnt_from_the_fold_that_judges(
    noise: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SolveOptions(reads=5)
    wanted: dict[str, Any] = {"scale": "standard", "features": 5}
    (row,) = cross_validate(noise, {"bits": [2]}, count=5, options=options, preparation=wanted)
    assert row["validation error"] > 0.38
    (leak,) = cross_validate(prepare(noise, **wanted), {"bits": [2]}, count=5, options=options)
    assert leak["validation error"] < 0.3
    save_svmlight(noise, tmp_path / "noise.svm")
    run = ["train", str(tmp_path / "noise.svm"), "--features", "5", "--scale", "standard"]
    assert main([*run, "--bits", "2", "-n", "5", "--cv", "5", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["cross_validation"]
    assert told["validation_error"] == pytest.approx(row["validation error"])


@pytest.mark.parametrize(
    "wanted",
    [
        {"scale": "standard", "bias": True},
        {"features": 2},
        {"scale": "unit-norm", "bias": True, "features": None},
    ],
)
def test_folds_are_prepared_like_the_rows_around_them(wanted: dict[str, Any]) -> None:
    columns = np.asarray(read("breast-cancer").x)[:60, :6]
    raw = from_arrays(columns, read("breast-cancer").y[:60])
    options = SolveOptions(solver="exact")
    (row,) = cross_validate(
        raw, {"bits": [2]}, count=3, options=options, seed=4, preparation={"features": 4} | wanted
    )
    whole = folds(raw, 3, seed=4)
    errors = []
    for number, held in enumerate(whole):
        others = [part for i, part in enumerate(whole) if i != number]
        x = np.concatenate([np.asarray(part.x) for part in others])
        labels = np.concatenate([part.preparation.labels(part.y) for part in others])
        rows = prepare(from_arrays(x, labels), **({"features": 4} | wanted))
        found = train(rows, bits=2, options=options)
        errors.append(found.classifier.error(held.x, held.preparation.labels(held.y)))
    assert row["validation error"] == pytest.approx(np.mean(errors))


def test_high_orders_are_cross_validated_on_unseen_folds(cancer: Dataset) -> None:
    options = SolveOptions(reads=30, keep=1)
    loss = LossOptions(order=6)
    (row,) = cross_validate(cancer, {"bits": [3]}, count=2, loss=loss, options=options, seed=1)
    one, two = folds(cancer, 2, seed=1)
    errors = []
    for rest, part in ((two, one), (one, two)):
        found = train(rest, bits=3, loss=loss, options=options)
        assert found.samples is not None and found.samples.info["space"] == "margins"
        errors.append(np.mean((np.asarray(part.x) @ found.classifier.weights > 0) != (part.y > 0)))
    assert row["validation error"] == pytest.approx(np.mean(errors))


def test_a_fold_is_judged_by_a_classifier_that_never_saw_it() -> None:
    """Against compiling the other folds' rows, put together by hand, one fold after the other."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(36, 4))
    data = from_arrays(x, np.where(rng.random(36) < 0.5, 1.0, -1.0))  # nothing to learn, all to fit
    options = SolveOptions(solver="exact", keep=1)
    found = cross_validate(data, {"bits": [2]}, count=4, options=options, seed=3)
    parts = folds(data, 4, seed=3)
    errors, seen = [], []
    for number, part in enumerate(parts):
        others = [p for i, p in enumerate(parts) if i != number]
        rows = from_arrays(
            np.concatenate([np.asarray(p.x) for p in others]),
            np.concatenate([p.y for p in others]),
        )
        pubo = compile(rows, bits=2, scale="none", bias=False).pubo
        weights = pubo.decode(solve(pubo, solver="exact", keep=1).best)
        errors.append(part.error(weights))
        everything = compile(data, bits=2, scale="none", bias=False).pubo
        seen.append(part.error(everything.decode(solve(everything, solver="exact", keep=1).best)))
    assert found[0]["validation error"] == pytest.approx(float(np.mean(errors)))
    assert np.mean(seen) != pytest.approx(float(np.mean(errors)))  # else this would prove nothing


def test_one_very_long_row_does_not_spoil_the_folds_without_it() -> None:
    """Moments of all folds but one are summed; subtracted, a_3 was wrong by a factor of 2.4."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], 60)
    x[:, 0] += y
    x[7] *= 1e4
    parts = folds(from_arrays(x, y), 4, seed=0)
    made = _Folds.of(parts, 5, None)
    for number in range(4):
        fold = made.without(number)
        own, direct = fit_loss(fold.moments), fit_loss(moments_of(fold.rows, 5))
        assert own.coefficients == pytest.approx(direct.coefficients, rel=1e-6)
        assert fold.moments.count == len(fold.rows) == 60 - len(fold.held)


def test_two_folds_are_each_others_moments() -> None:
    data = read("synthetic:examples=20,features=3")
    one, two = folds(data, 2, seed=0)
    made = _Folds.of((one, two), 3, None)
    for number, other in enumerate((two, one)):
        expected = moments_of(other, 3).tensors[3, 0]
        np.testing.assert_allclose(made.without(number).moments.tensors[3, 0], expected)
