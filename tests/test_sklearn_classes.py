"""Several classes, weights, probabilities and batches in the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from qcompile import PolynomialLossClassifier, add_noise, from_arrays, train
from qcompile.stages.arrays import Floats

_IRIS, _DIGITS = load_iris(return_X_y=True), load_digits(return_X_y=True)


def _quick(**parameters: Any) -> PolynomialLossClassifier:
    return PolynomialLossClassifier(solver="descent", **parameters)


@pytest.mark.filterwarnings("ignore:class versicolor against:UserWarning")  # in the middle
def test_each_class_is_trained_against_the_rest() -> None:
    x, codes = _IRIS
    y = np.array(["setosa", "versicolor", "virginica"])[codes]
    model = _quick().fit(x, y)
    decisions = model.decision_function(x)
    assert decisions.shape == (150, 3) and list(model.classes_) == sorted(set(y))
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == (3,)
    assert x @ model.coef_.T + model.intercept_ == pytest.approx(decisions)
    for label, own in zip(model.classes_, model.classifiers_, strict=True):
        alone = train(from_arrays(x, y, positive=label), solver="descent").classifier
        assert own.weights == pytest.approx(alone.weights)
        assert own.preparation.positive == label and own.preparation.negative is None
    p = model.predict_proba(x)
    assert p.sum(axis=1) == pytest.approx(1)
    odds = 1 / (1 + np.exp(-decisions))
    assert p == pytest.approx(odds / odds.sum(axis=1, keepdims=True))
    assert (model.predict(x) == model.classes_[p.argmax(axis=1)]).all()
    assert (model.predict(x) == model.classes_[decisions.argmax(axis=1)]).all()
    assert np.log(p) == pytest.approx(model.predict_log_proba(x))
    assert model.score(x, y) > 0.9 and model.n_iter_.shape == (3,)
    assert len(model.l2_) == len(model.loss_curve_) == 3 and not hasattr(model, "classifier_")
    sparse = _quick(scale="max-abs").fit(sp.csr_array(x), y)
    assert sparse.predict_proba(sp.csr_array(x)).shape == (150, 3)


@pytest.mark.filterwarnings("ignore:class 1 against the rest:UserWarning")  # in the middle
def test_the_papers_method_takes_several_classes() -> None:
    x, y = _IRIS
    model = PolynomialLossClassifier(bits=2, reads=4).fit(x, y)
    assert model.method_ == "paper" and model.score(x, y) > 0.7
    assert model.predict_proba(x).shape == (150, 3) and len(model.loss_) == 3


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_processes_change_nothing(several: bool) -> None:
    x, y = _IRIS
    y = y if several else y == 1
    models = [PolynomialLossClassifier(rounds=4, starts=3, n_jobs=jobs, keep=20) for jobs in (1, 2)]
    with pytest.warns(UserWarning):  # few rounds
        one, two = (model.fit(x, y) for model in models)
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.predict_proba(x).tobytes() == two.predict_proba(x).tobytes()
    assert np.array_equal(one.n_iter_, two.n_iter_)
    if not several:
        found = [[own.objective for own in model.rounds_] for model in models]
        assert found[0] == found[1] and {own.start for own in two.rounds_} == {0, 1, 2}


def _rows(kind: str = "") -> tuple[Floats, Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 4)) * [1, 10, 0.1, 1]
    score = x @ [1.0, 0.1, 5.0, 0.0] + rng.normal(size=80)
    y = np.digitize(score, [-0.5, 0.8]) if kind == "several" else (score > 0.3).astype(int)
    return x, y, rng.integers(0, 4, 80).astype(float)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("", {}),
        ("several", {}),
        ("", {"solver": "descent", "class_weight": "balanced"}),
        ("several", {"solver": "descent", "class_weight": {0: 2.0, 2: 0.5}}),
        ("", {"bits": 2, "reads": 4}),
    ],
)
def test_whole_weights_are_repeated_rows(kind: str, options: dict[str, Any]) -> None:
    x, y, weights = _rows(kind)
    repeated = np.repeat(np.arange(80), weights.astype(int))
    mine = PolynomialLossClassifier(**options).fit(x, y, sample_weight=weights)
    theirs = PolynomialLossClassifier(**options).fit(x[repeated], y[repeated])
    for method in ("decision_function", "predict_proba"):
        one, two = (getattr(model, method)(x) for model in (mine, theirs))
        assert one == pytest.approx(two, rel=1e-3, abs=1e-4), method
    order = np.random.default_rng(0).permutation(80)
    again = PolynomialLossClassifier(**options).fit(x[order], y[order], weights[order])
    assert again.predict_proba(x) == pytest.approx(mine.predict_proba(x), rel=1e-3, abs=1e-4)


def test_weights_of_classes_multiply_those_of_rows() -> None:
    x, y, weights = _rows("several")
    by_class = _quick(class_weight={0: 3.0}).fit(x, y, weights)
    by_row = _quick().fit(x, y, weights * np.where(y == 0, 3.0, 1.0))
    assert by_class.decision_function(x) == pytest.approx(by_row.decision_function(x))
    even = _quick(class_weight="balanced").fit(x, y, weights)
    sums = np.bincount(y, weights)
    balanced = weights * (weights.sum() / 3 / sums)[y]
    assert even.coef_ == pytest.approx(_quick().fit(x, y, balanced).coef_, rel=1e-4)


_SETS = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "versicolor": (_IRIS[0], _IRIS[1] == 1),
    "iris": _IRIS,
    "a digit": (_DIGITS[0][:600], _DIGITS[1][:600] == 3),
    "made": make_classification(600, 10, n_informative=6, flip_y=0.1, random_state=1),
    "rare": make_classification(900, 8, weights=[0.93], flip_y=0.02, random_state=3),
}


def _of_margins(model: PolynomialLossClassifier, x: Floats) -> Floats:
    """Return the probabilities of a sigmoid of the margin itself."""
    margins = np.stack([own.decision_function(x) for own in model.classifiers_], axis=1)
    odds = 1 / (1 + np.exp(-np.clip(margins, -700, 700)))
    return np.hstack([1 - odds, odds]) if odds.shape[1] == 1 else odds / odds.sum(1, keepdims=True)


@pytest.mark.parametrize("name", _SETS)
def test_probabilities_are_better_than_a_sigmoid_of_the_margin(name: str) -> None:
    x, y = _SETS[name]
    losses = []
    for seed in range(2):
        rows, held, labels, truth = train_test_split(x, y, test_size=0.4, random_state=seed)
        model = _quick().fit(rows, labels)
        plain = np.clip(_of_margins(model, held), 1e-15, 1)
        plain /= plain.sum(axis=1, keepdims=True)
        losses.append([log_loss(truth, p) for p in (model.predict_proba(held), plain)])
    calibrated, uncalibrated = np.mean(losses, axis=0)
    assert calibrated < uncalibrated, losses


def test_flipped_labels_do_not_make_it_too_sure() -> None:
    clean = from_arrays(*_SETS["breast cancer"])
    noisy = add_noise(clean, 0.2, seed=2)
    model = _quick().fit(noisy.x[:300], noisy.y[:300])
    rows, truth = noisy.x[300:], noisy.y[300:]
    calibrated = log_loss(truth, model.predict_proba(rows))
    assert calibrated < 0.6 < log_loss(truth, _of_margins(model, rows))
    paper = PolynomialLossClassifier(bits=2, features=5, reads=4).fit(noisy.x[:300], noisy.y[:300])
    calibrated = log_loss(truth, paper.predict_proba(rows))
    assert calibrated < 0.62 and calibrated < log_loss(truth, _of_margins(paper, rows)) + 0.01
    chosen = paper.classes_[paper.predict_proba(noisy.x).argmax(axis=1)]
    assert (chosen == paper.predict(noisy.x)).all()


def test_probabilities_may_be_left_out() -> None:
    x, y = _IRIS
    model = _quick(probability=False).fit(x, y == 2)
    assert not hasattr(model, "predict_proba") and model.classifier_.calibration is None
    with pytest.raises(AttributeError, match="predict_log_proba"):
        model.predict_log_proba(x)
    with_them = _quick().fit(x, y == 2)
    assert (with_them.coef_ == model.coef_).all()
    # of several classes decisions are compared after calibration, with or without probabilities
    several = _quick(probability=False).fit(x, y)
    assert (several.decision_function(x) == _quick().fit(x, y).decision_function(x)).all()


def test_a_warm_start_begins_where_the_last_fit_ended() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    model = PolynomialLossClassifier(warm_start=True).fit(x, y)
    cold, energy = model.n_iter_, model.energy_
    model.fit(x, y)
    assert model.n_iter_ < cold / 2 and model.energy_ <= energy
    assert len(model.loss_curve_) == model.n_iter_ and model.loss_curve_[-1] == model.energy_
    assert np.all(np.diff(model.loss_curve_) <= 0)
    model.set_params(features=20, scale="standard").fit(x[:400], y[:400])  # prepared otherwise
    assert model.score(x, y) > 0.95
    with pytest.raises(ValueError, match="warm_start with 5 features after 30"):
        model.fit(x[:, :5], y)
    with pytest.raises(ValueError, match="warm_start with classes"):
        model.fit(x, y + 1)


def test_moments_of_batches_are_those_of_all_rows() -> None:
    x, y, weights = _rows()
    options: dict[str, Any] = {"scale": "none", "bits": 3, "reads": 20, "prior_std": 0.5}
    model = PolynomialLossClassifier(**options)
    for part in np.array_split(np.arange(80), 4):
        model.partial_fit(x[part], y[part], classes=[0, 1], sample_weight=weights[part])
    whole = PolynomialLossClassifier(**options).fit(x, y, weights)
    assert model.loss_.coefficients == pytest.approx(whole.loss_.coefficients)
    assert model.energy_ == pytest.approx(whole.energy_)
    assert model.decision_function(x) == pytest.approx(whole.decision_function(x))


@pytest.mark.parametrize("solver", ["descent", pytest.param("anneal", marks=pytest.mark.slow)])
def test_rounds_over_batches_come_near_to_those_over_all_rows(solver: str) -> None:
    x, y = make_classification(2400, 8, n_informative=5, flip_y=0.05, random_state=4)
    order = np.argsort(y[:1600], kind="stable")  # the worst case: the classes one after the other
    for rows in (np.arange(1600), np.concatenate([order[:40], order[-40:], order[40:-40]])):
        model = PolynomialLossClassifier(solver=solver)
        for part in np.array_split(rows, 16):
            model.partial_fit(x[part], y[part], classes=[0, 1])
        whole = PolynomialLossClassifier(solver=solver).fit(x[:1600], y[:1600])
        last = PolynomialLossClassifier(solver=solver).fit(x[:100], y[:100])
        held = x[1600:], y[1600:]
        assert model.score(*held) > whole.score(*held) - 0.03
        assert model.score(*held) > last.score(*held) - 0.01
        assert log_loss(held[1], model.predict_proba(held[0])) < 0.6


def test_batches_of_several_classes_after_a_fit_and_with_one_class() -> None:
    x, y = _IRIS
    order = np.random.default_rng(0).permutation(150)
    model = _quick()
    for part in np.array_split(order, 5):
        model.partial_fit(x[part], y[part], classes=[0, 1, 2])
    assert model.score(x, y) > 0.88 and model.predict_proba(x).shape == (150, 3)
    model = _quick().fit(x[order[:75]], y[order[:75]])
    before = model.score(x, y)
    model.partial_fit(x[order[75:]], y[order[75:]])
    assert model.score(x, y) > before - 0.05
    alone = _quick().partial_fit(x[:20], y[:20], classes=[0, 1])  # all of one class
    assert alone.score(x[:50], y[:50]) > 0.9
    alone.partial_fit(x[50:100], y[50:100]).partial_fit(x[20:50], y[20:50])
    assert alone.score(x[:100], y[:100]) > 0.9
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"class_weight": "balanced"}, "compute them from all rows"),
        ({"l2": "cv"}, "a batch does not know the others"),
        ({"solver": "leap"}, "partial_fit on Leap"),
    )
    for bad, message in refused:
        with pytest.raises(ValueError, match=message):
            PolynomialLossClassifier(**bad).partial_fit(x, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="label 2 is not one of classes"):
        _quick().partial_fit(x, y, classes=[0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.nan}, "contains NaN"),
        ({"x": np.inf}, "infinity"),
        ({"y": 1}, "only one class is present: all rows that count have the label 1"),
        ({"sample_weight": np.ones(3)}, "inconsistent|shape"),
        ({"sample_weight": np.full(40, np.nan)}, "NaN"),
        ({"sample_weight": np.full(40, -1.0)}, "Negative values in data passed to `sample_weight`"),
        ({"sample_weight": np.zeros(40)}, "0 for all rows|at least one non-zero"),
        ({"sample_weight": np.arange(40) % 2}, "only one class is present"),
        ({"class_weight": "even"}, "expected 'balanced'"),
        ({"class_weight": {0: -1.0}}, "class_weight of label 0 is -1"),
        ({"constant": True}, "every column is constant"),
    ],
)
def test_bad_input_is_refused_in_a_line(change: dict[str, Any], message: str) -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    y = np.arange(40) % 2
    if "x" in change:
        x[7, 1] = change["x"]
    if "y" in change:
        y = np.full(40, change["y"])
    if "constant" in change:
        x[:] = [1.0, 0.0, 5.0]
    model = _quick(class_weight=change.get("class_weight"))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(x, y, sample_weight=change.get("sample_weight"))
    first = str(caught.value).splitlines()[0]
    assert message in ("contains NaN", "infinity", "NaN") or str(caught.value) == first


def test_a_hundred_thousand_columns() -> None:
    rng = np.random.default_rng(0)
    x = sp.random_array((60, 100_000), density=1e-3, rng=rng, format="csr")
    y = np.arange(60) % 2
    x = sp.csr_array(x + sp.csr_array((y.astype(float), (np.arange(60), np.full(60, 7))), x.shape))
    model = _quick().fit(x, y)
    assert model.score(x, y) == 1 and model.coef_.shape == (1, 100_000)
    with pytest.raises(ValueError, match="expected up to 2,000: choose features="):
        _quick().partial_fit(x, y, classes=[0, 1])
    few = _quick(features=20).partial_fit(x, y, classes=[0, 1])
    assert few.score(x, y) == 1
