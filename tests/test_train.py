from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from dwave.samplers import SimulatedAnnealingSampler
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

from qcompile import (
    Classifier,
    Dataset,
    InputError,
    PolynomialLossClassifier,
    QcompileError,
    compile,
    decode,
    discretize,
    fit_loss,
    folds,
    from_arrays,
    load_classifier,
    moments_of,
    prepare,
    read,
    save_classifier,
    solve,
    split,
    train,
)
from qcompile.cli.app import main
from qcompile.data.svmlight import save_svmlight
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.training.cross_validation import cross_validate
from qcompile.training.search import _effort


@pytest.fixture(scope="module")
def data() -> Dataset:
    return prepare(read("breast-cancer"), scale="standard", features=5, bias=True)


# Classifiers


def test_a_classifier_works_on_raw_rows(data: Dataset, tmp_path: Path) -> None:
    raw = read("breast-cancer")
    compiled = compile("breast-cancer", bits=2, features=5, scale="standard", bias=True)
    found = decode(compiled.pubo, solve(compiled.pubo, solver="exact"))
    decisions = np.asarray(data.x) @ found.weights
    assert found.decision_function(raw.x) == pytest.approx(decisions)
    labels = raw.preparation.labels(raw.y)
    assert set(found.predict(raw.x)) == {0.0, 1.0}
    assert found.error(raw.x, labels) == pytest.approx(np.mean((decisions > 0) != (raw.y > 0)))
    path = tmp_path / "model.json"
    save_classifier(found, path)
    back = load_classifier(path)
    assert (back.predict(raw.x) == found.predict(raw.x)).all()
    assert back.source == found.source
    assert back.source["order"] == 3 and "energy" in back.source


def test_of_the_lowest_states_the_best_on_validation_is_taken(data: Dataset) -> None:
    compiled = compile(data, bits=2)
    samples = solve(compiled.pubo, solver="exact", keep=30)
    weights = compiled.pubo.decode(samples.bits)
    errors = [data.error(w) for w in weights]
    chosen = decode(compiled.pubo, samples, validation=data)
    assert data.error(chosen.weights) == min(errors)
    assert chosen.source["rank"] == errors.index(min(errors))
    plain = decode(compiled.pubo, samples)
    assert plain.source["rank"] == 0
    assert (plain.weights == weights[0]).all()


def test_narrow_sparse_rows_are_widened_and_wide_ones_refused() -> None:
    rows = sp.csr_array(np.eye(3))
    model = Classifier(np.array([1.0, -1.0, 2.0, 3.0]), _identity(4))
    assert model.decision_function(rows) == pytest.approx([1, -1, 2])
    with pytest.raises(InputError, match="3 features, expected 4"):
        model.decision_function(np.eye(3))
    with pytest.raises(InputError, match="5 features, expected 4"):
        model.decision_function(sp.csr_array(np.eye(5)))
    with pytest.raises(InputError, match="2 weights"):
        Classifier(np.zeros(2), _identity(4))


def _identity(features: int) -> Any:
    from qcompile import Preparation

    return Preparation(raw_features=features)


def test_a_model_file_cut_or_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    save_classifier(Classifier(np.array([1.0, 2.0]), _identity(2)), path)
    whole = path.read_text()
    for size in range(0, len(whole) - 2, 23):
        path.write_text(whole[:size])
        with pytest.raises(QcompileError, match=r"model\.json"):
            load_classifier(path)
    content = json.loads(whole)
    for name, value in {
        "weights": [[1.0, 2.0]],
        "type": "qcompile.loss",
        "preparation": {},
        "version": 9,
    }.items():
        path.write_text(json.dumps({**content, name: value}))
        with pytest.raises(QcompileError, match=r"model\.json"):
            load_classifier(path)
    path.write_text(whole.replace("1.0", "1e999"))
    with pytest.raises(QcompileError, match=r"model\.json"):
        load_classifier(path)


def test_what_was_not_compiled_from_data_has_no_classifier() -> None:
    from qcompile import Pubo

    pubo = Pubo.from_dict({(0, 1): 1.0})
    with pytest.raises(InputError, match="no classifier"):
        decode(pubo, solve(pubo))


# Training


def test_training_accounts_for_every_stage(data: Dataset) -> None:
    found = train(data, bits=3, validation=0.2, test=0.3, seed=2)
    assert [s["stage"] for s in found.stages] == ["moments", "loss", "pubo", "anneal", "decode"]
    names = [r["classifier"] for r in found.risks]
    assert names == ["best continuous", "rounded to the grid", "lowest state found", "returned"]
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["best continuous"] <= objective["lowest state found"] + 1e-9
    assert objective["lowest state found"] <= objective["rounded to the grid"] + 1e-9
    assert objective["lowest state found"] == pytest.approx(found.samples.energies[0])
    assert set(found.errors) == {"train", "validation", "test"}
    assert all(error < 0.2 for error in found.errors.values())


@pytest.mark.parametrize("solver", ["exact", "neal", "mock"])
def test_training_takes_any_solver(data: Dataset, solver: str) -> None:
    small = prepare(read("breast-cancer"), scale="standard", features=4)
    found = train(small, bits=1, options=SolveOptions(solver=solver, reads=20))
    exact = train(small, bits=1, options=SolveOptions(solver="exact"))
    assert found.samples.energies[0] == pytest.approx(exact.samples.energies[0])
    stages = [s["stage"] for s in found.stages]
    assert ("qubo" in stages) == (solver != "exact")


def test_high_orders_are_annealed_over_the_margins(data: Dataset) -> None:
    found = train(data, bits=4, loss=LossOptions(order=6), options=SolveOptions(reads=30))
    assert found.samples.info["space"] == "margins"
    weights = found.classifier.weights
    objective = float(np.mean(found.loss(data.margins(weights))))
    assert found.classifier.source["energy"] == pytest.approx(objective)
    assert found.errors["train"] < 0.1


def test_parts_may_be_given_or_set_aside(data: Dataset) -> None:
    half = data.take(slice(0, 300))
    rest = data.take(slice(300, None))
    found = train(half, bits=2, test=rest)
    assert found.errors["test"] == pytest.approx(rest.error(found.classifier.weights))
    with pytest.raises(InputError, match="leave rows for training"):
        train(data, validation=0.6, test=0.5)
    with pytest.raises(InputError, match="leave rows for training"):
        train(data, validation=-0.1)


def test_cross_validation_equals_training_on_the_other_folds(data: Dataset) -> None:
    options = SolveOptions(solver="exact", keep=1)
    rows = cross_validate(data, {"bits": [1, 2]}, count=3, options=options, seed=5)
    assert [row["bits"] for row in rows] == sorted(
        (1, 2), key=lambda b: next(r["validation error"] for r in rows if r["bits"] == b)
    )
    parts = folds(data, 3, seed=5)
    errors = []
    for number, part in enumerate(parts):
        rest = np.concatenate([np.asarray(p.x) for i, p in enumerate(parts) if i != number])
        signs = np.concatenate([p.y for i, p in enumerate(parts) if i != number])
        others = Dataset(rest, signs, data.preparation)
        found = train(others, bits=2, options=options)
        errors.append(part.error(found.classifier.weights))
    two = next(row for row in rows if row["bits"] == 2)
    assert two["validation error"] == pytest.approx(np.mean(errors))
    assert two["standard error"] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))


def test_cross_validation_mixes_orders_and_refuses_nonsense(data: Dataset) -> None:
    options = SolveOptions(reads=10)
    grid: dict[str, list[Any]] = {"order": [3, 6], "bits": [2, 3], "range_": ["auto"]}
    rows = cross_validate(data, grid, count=2, options=options)
    assert len(rows) == 4 and all(row["validation error"] < 0.3 for row in rows)
    with pytest.raises(InputError, match="'colour' in the grid"):
        cross_validate(data, {"colour": [1]})
    with pytest.raises(InputError, match="1 folds"):
        cross_validate(data, {"bits": [1]}, count=1)


def test_streams_add_up(data: Dataset) -> None:
    chunks = [data.take(slice(i, i + 100)) for i in range(0, len(data), 100)]
    moments = sum(map(moments_of, chunks))
    whole = moments_of(data)
    assert isinstance(moments, type(whole))
    assert np.allclose(moments.tensors[3, 0], whole.tensors[3, 0])


def test_the_command_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "model.json")
    run = ["train", "breast-cancer", "--scale", "standard", "--features", "4", "-o", model]
    assert main([*run, "--bits", "2", "--test", "0.3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["errors"]["test"] < 0.2
    first = Path(model).read_bytes()
    assert main([*run, "--bits", "2", "--test", "0.3", "-q"]) == 0
    assert Path(model).read_bytes() == first
    cv = ["--cv", "2", "--grid", "bits=1,2", "--grid", "range=auto,0.5", "-n", "5"]
    assert main([*run, *cv]) == 0
    shown = capsys.readouterr().out
    assert shown.count("cv: ") == 4 and "best continuous" in shown
    for bad, message in (
        (["--grid", "bits=1"], "needs --cv"),
        (["--cv", "2", "--grid", "colour=1"], "expected order, bits"),
        (["--cv", "2", "--grid", "bits=a"], "separated by commas"),
        (["--cv", "1"], "folds"),
        (["--test", "1.5"], "leave rows"),
        (["-n", "0"], "at least one"),
    ):
        assert main([*run, *bad]) == 2
        assert message in capsys.readouterr().err


def test_predict_minds_features_and_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_file, model = tmp_path / "train.svm", str(tmp_path / "model.json")
    train_file.write_text("1 1:1 2:2\n-1 1:-1 2:-1\n1 1:2\n-1 2:-3\n")
    assert main(["train", str(train_file), "--bits", "2", "-o", model, "-q"]) == 0
    new = tmp_path / "new.svm"
    new.write_text("0 1:5\n0 1:-5\n")  # labels need not be known
    assert main(["predict", model, str(new)]) == 0
    assert len(capsys.readouterr().out.split()) == 2
    new.write_text("1 1:5 7:2\n")
    assert main(["predict", model, str(new)]) == 2
    assert "new.svm" in capsys.readouterr().err
    out = str(tmp_path / "labels.txt")
    new.write_text("1 1:5\n-1 1:-5\n")
    assert main(["predict", model, str(new), "-o", out, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["rows"] == 2
    assert "error_if_the_labels_of_the_file_are_true" in report
    assert main(["predict", model, str(new), "--decision"]) == 0
    assert float(capsys.readouterr().out.split()[0]) != 0


# scikit-learn


def test_scikit_learns_own_checks_pass() -> None:
    results = check_estimator(
        PolynomialLossClassifier(bits=3, reads=10), on_fail="raise", on_skip=None
    )
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    # skipped by scikit-learn itself where SCIPY_ARRAY_API is not set
    assert skipped <= {"check_array_api_input"}
    assert len(results) > 40


def test_pipelines_grids_pickles_and_sparse_rows() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    grid = GridSearchCV(
        make_pipeline(
            MaxAbsScaler(), PolynomialLossClassifier(features=5, scale="standard", reads=10)
        ),
        {"polynomiallossclassifier__bits": [2, 3]},
        cv=3,
    )
    grid.fit(x, y)
    assert grid.best_score_ > 0.85
    again = pickle.loads(pickle.dumps(grid.best_estimator_))
    assert (again.predict(x) == grid.predict(x)).all()
    sparse = PolynomialLossClassifier(bits=2, scale="max-abs", features=6, reads=10)
    names = np.where(y == 1, "benign", "malignant")
    sparse.fit(sp.csr_array(x), names)
    assert sparse.score(sp.csr_array(x), names) > 0.8
    assert sparse.coef_ @ x[0] + sparse.intercept_ == pytest.approx(
        sparse.decision_function(x[:1])[0]
    )


def test_the_estimator_takes_samplers_and_refuses_three_classes() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    model = PolynomialLossClassifier(
        bits=1, features=4, bias=False, solver=SimulatedAnnealingSampler(), reads=10
    )
    exact = PolynomialLossClassifier(bits=1, features=4, bias=False, solver="exact")
    assert model.fit(x, y).energy_ == pytest.approx(exact.fit(x, y).energy_)
    with pytest.raises(ValueError, match="Only binary"):
        PolynomialLossClassifier().fit(np.eye(6), [0, 1, 2, 0, 1, 2])
    unit = PolynomialLossClassifier(bits=2, scale="unit-norm", features=5, reads=5).fit(x, y)
    assert unit.coef_ is None


# What a first try-out found


def test_sixteen_bits_reach_the_largest_weight() -> None:
    x = np.ones((6, 2)) * np.array([1, -1, 1, -1, 1, -1])[:, None]
    data = from_arrays(x, np.array([1, -1, 1, -1, 1, -1]))
    for bits in (15, 16):
        found = train(data, bits=bits, loss=LossOptions(order=1, range_=1.0))
        assert found.classifier.weights == pytest.approx([1.0, 1.0])


def test_fine_grids_are_searched_at_all_scales() -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=2)
    found = train(data, bits=15)
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["lowest state found"] <= objective["rounded to the grid"] + 1e-6


def test_cross_validation_takes_the_bits_that_were_asked_for(data: Dataset) -> None:
    options = SolveOptions(solver="exact", keep=1)
    one = cross_validate(data, {"order": [3]}, count=2, bits=1, options=options)
    two = cross_validate(data, {"order": [3], "bits": [1]}, count=2, options=options)
    assert one[0]["validation error"] == two[0]["validation error"]


def test_nothing_is_learnt_from_the_test_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    noise = from_arrays(rng.normal(size=(120, 800)), rng.choice([-1, 1], 120))
    path = tmp_path / "noise.svm"
    save_svmlight(noise, path)
    run = ["train", str(path), "--features", "5", "--scale", "standard", "--bits", "2"]
    errors = []
    for seed in range(3):
        assert main([*run, "--test", "0.5", "--seed", str(seed), "-n", "5", "--json"]) == 0
        errors.append(json.loads(capsys.readouterr().out)["errors"]["test"])
    assert np.mean(errors) > 0.38  # choosing features with the test rows gives about 0.2


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


def test_parts_are_set_aside_before_they_are_prepared() -> None:
    raw = read("breast-cancer")
    wanted: dict[str, Any] = {"scale": "standard", "features": 4, "bias": True}
    found = train(raw, bits=2, test=0.4, validation=0.1, seed=3, preparation=wanted)
    rows, _, held = split(raw, (0.5, 0.1, 0.4), seed=3)
    made = prepare(rows, **wanted).preparation
    assert found.classifier.preparation.to_dict() == made.to_dict()
    labels = held.preparation.labels(held.y)
    assert found.errors["test"] == found.classifier.error(held.x, labels)
    assert found.baseline == pytest.approx(min(np.mean(rows.y > 0), np.mean(rows.y < 0)))


def test_rows_are_prepared_like_others() -> None:
    rows, held = split(read("breast-cancer"), (0.7, 0.3), seed=1)
    made = prepare(rows, scale="standard", features=5, bias=True)
    like = prepare(held, like=made)
    kept = np.asarray(rows.x)[:, made.preparation.columns]
    scaled = np.asarray(held.x)[:, made.preparation.columns] - kept.mean(axis=0)
    np.testing.assert_allclose(np.asarray(like.x)[:, :-1], scaled / kept.std(axis=0), rtol=1e-9)
    assert (np.asarray(like.x)[:, -1] == 1).all()
    with pytest.raises(InputError, match="not both"):
        prepare(held, like=made, bias=True)
    with pytest.raises(InputError, match="prepared already"):
        prepare(like, like=made)
    with pytest.raises(InputError, match="labels 2 and 1; expected 1 and 0"):
        prepare(from_arrays(np.eye(30), np.arange(30) % 2 + 1), like=made)


@pytest.mark.parametrize(("order", "bits"), [(4, 4), (6, 3), (8, 3)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_search_over_the_margins_ends_at_the_lowest_state(
    order: int, bits: int, seed: int
) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    loss = LossOptions(order=order)
    found = train(data, bits=bits, loss=loss, options=SolveOptions(seed=seed))
    assert found.samples.info["space"] == "margins"
    pubo = discretize(moments_of(data, order), found.loss, bits)
    exact = solve(pubo, solver="exact")
    assert found.samples.energies.min() == pytest.approx(exact.energies.min(), abs=1e-9)
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["lowest state found"] <= objective["that rounded to the grid"] + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_a_short_search_is_no_worse_than_rounding(data: Dataset, seed: int) -> None:
    options = SolveOptions(reads=1, sweeps=1, seed=seed)
    found = train(data, bits=4, loss=LossOptions(order=6), options=options)
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["lowest state found"] <= objective["that rounded to the grid"] + 1e-12


def test_ctrl_c_near_the_end_keeps_what_was_found(
    data: Dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = sys.modules["qcompile.training.train"]  # the pass of this name hides it
    inner, calls = module._descend, []

    def interrupted(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return inner(*given)

    monkeypatch.setattr(module, "_descend", interrupted)
    found = train(data, bits=3, loss=LossOptions(order=6), options=SolveOptions(reads=5))
    assert found.samples.info["space"] == "margins"
    assert "keeping the best states so far" in caplog.text
    assert found.errors["train"] < 0.2


def test_small_data_get_all_restarts_and_large_ones_a_fifth_at_least() -> None:
    small, options = read("synthetic").take(slice(50)), SolveOptions(reads=40)
    assert _effort(small, options) == (40, 1000)
    large = read("synthetic:examples=200000,features=100")
    assert _effort(large, options) == (8, 200)
    assert _effort(large, SolveOptions(reads=40, sweeps=7)) == (8, 7)
    assert _effort(large, SolveOptions(reads=1)) == (1, 200)


def test_a_loss_that_pays_for_wrong_answers_gets_a_narrower_range(data: Dataset) -> None:
    found = train(data, loss=LossOptions(order=8))
    assert found.errors["train"] < 0.2
    first = fit_loss(moments_of(data, 1), 8).range_
    assert found.loss.range_ < first
    assert sum("narrowed to" in note for note in found.notes) == 1
    own = train(data, loss=LossOptions(order=8, range_=first), options=SolveOptions(reads=20))
    assert own.loss.range_ == first and own.errors["train"] > 0.5
    assert any("wrong margins are rewarded" in note for note in own.notes)


def test_a_classifier_that_learnt_nothing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.svm"
    rows = [(1, 180, 80), (1, 190, 95), (1, 175, 82), (-1, 160, 55), (-1, 165, 52), (-1, 158, 60)]
    file.write_text("".join(f"{y} 1:{a} 2:{b}\n" for y, a, b in rows))
    assert main(["train", str(file)]) == 0
    told = capsys.readouterr()
    assert "no better than" in told.err and "--scale standard, --bias" in told.err
    assert "baseline error" in told.out
    assert main(["train", str(file), "--scale", "standard", "--bias"]) == 0
    assert capsys.readouterr().err == ""


def test_train_and_predict_count_the_same_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model.json")
    run = ["breast-cancer", "--features", "2", "--scale", "standard", "--bits", "1"]
    assert main(["train", *run, "-o", model, "--json"]) == 0  # all weights 0: every margin is 0
    trained = json.loads(capsys.readouterr().out)["errors"]["train"]
    assert main(["predict", model, "breast-cancer", "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert predicted["error_if_the_labels_of_the_file_are_true"] == pytest.approx(trained)


def test_zero_based_files_stay_zero_based(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, model = tmp_path / "zero.svm", str(tmp_path / "model.json")
    file.write_text("1 0:1 1:3\n-1 0:-1 1:1\n1 0:2\n-1 0:-2 1:-3\n1 1:2\n-1 1:-1\n")
    assert main(["train", str(file), "--bits", "3", "-o", model, "-q"]) == 0
    assert main(["predict", model, str(file), "--decision"]) == 0
    whole = capsys.readouterr().out.split()
    file.write_text("1 1:2\n-1 1:-1\n")  # no index 0 here
    assert main(["predict", model, str(file), "--decision"]) == 0
    assert capsys.readouterr().out.split() == whole[-2:]


def test_a_model_never_replaces_its_validation_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data.svm"
    file.write_text("1 1:1 2:2\n-1 1:-1 2:-1\n1 1:2\n-1 2:-3\n")
    pubo, samples = str(tmp_path / "pubo.json"), str(tmp_path / "samples.json")
    assert main(["compile", str(file), "--bits", "2", "--emit", pubo, "-q"]) == 0
    assert main(["solve", pubo, "-o", samples, "-q"]) == 0
    run = ["decode", samples, "--problem", pubo, "--validation", str(file)]
    assert main([*run, "-o", str(file)]) == 2
    assert "is read as input" in capsys.readouterr().err
    assert main(run) == 0
    file.write_text("7 1:1\n-1 2:1\n")
    assert main(run) == 2
    assert "label 7 was never seen" in capsys.readouterr().err


def test_rows_of_strange_kinds_are_read_or_refused(data: Dataset) -> None:
    model = Classifier(np.array([1.0, -1.0, 2.0]), _identity(3))
    assert model.decision_function(sp.csc_array(np.eye(2))) == pytest.approx([1, -1])
    assert model.decision_function([[1.0, 0.0, 1.0]]) == pytest.approx([3])
    for rows, message in (([1.0, 2.0, 3.0], "expected a table"), ([[np.nan] * 3], "NaN")):
        with pytest.raises(InputError, match=message):
            model.predict(np.array(rows))
    with pytest.raises(InputError, match="label 5"):
        model.error(np.eye(3), np.array([1, -1, 5]))
    with pytest.raises(InputError, match="with 3 features; expected 6"):
        train(data, test=prepare(read("breast-cancer"), scale="standard", features=3))
    with pytest.raises(InputError, match="leave rows"):
        train(data, test=float("nan"))


def test_high_orders_tell_where_accuracy_is_lost(data: Dataset) -> None:
    found = train(data, bits=2, loss=LossOptions(order=6), options=SolveOptions(reads=30))
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["best continuous near it"] <= objective["lowest state found"] + 1e-9


def test_high_orders_are_cross_validated_on_unseen_folds(data: Dataset) -> None:
    options = SolveOptions(reads=30, keep=1)
    loss = LossOptions(order=6)
    (row,) = cross_validate(data, {"bits": [3]}, count=2, loss=loss, options=options, seed=1)
    one, two = folds(data, 2, seed=1)
    errors = []
    for rest, part in ((two, one), (one, two)):
        found = train(rest, bits=3, loss=loss, options=options)
        assert found.samples.info["space"] == "margins"
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
        pubo = compile(rows, bits=2).pubo
        weights = pubo.decode(solve(pubo, solver="exact", keep=1).best)
        errors.append(part.error(weights))
        everything = compile(data, bits=2).pubo
        seen.append(part.error(everything.decode(solve(everything, solver="exact", keep=1).best)))
    assert found[0]["validation error"] == pytest.approx(float(np.mean(errors)))
    assert np.mean(seen) != pytest.approx(float(np.mean(errors)))  # else this would prove nothing
