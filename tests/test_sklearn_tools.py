"""The estimator inside what scikit-learn's users put estimators into."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qcompile import PolynomialLossClassifier
from qcompile.files.classifier import load_classifier, save_classifier

_X, _Y = load_breast_cancer(return_X_y=True)
_QUICK = PolynomialLossClassifier(solver="descent")


def test_probabilities_in_cross_validation() -> None:
    p = cross_val_predict(_QUICK, _X, _Y, cv=3, method="predict_proba")
    assert log_loss(_Y, p) < 0.15
    scores = cross_validate(_QUICK, _X, _Y, cv=3, scoring=["neg_log_loss", "roc_auc"])
    assert scores["test_roc_auc"].min() > 0.97


def test_calibrated_boosted_bagged_and_one_against_one() -> None:
    x, y = load_iris(return_X_y=True)
    calibrated = CalibratedClassifierCV(_QUICK, cv=3).fit(_X, _Y)
    assert log_loss(_Y, calibrated.predict_proba(_X)) < 0.15
    one = _QUICK.fit(_X, _Y)
    boosted = AdaBoostClassifier(clone(_QUICK), n_estimators=3).fit(_X, _Y)
    assert boosted.score(_X, _Y) > 0.95 and len(boosted.estimators_) > 1
    assert not np.array_equal(boosted.estimators_[1].coef_, one.coef_)  # rows count otherwise
    bagged = BaggingClassifier(clone(_QUICK), n_estimators=3, random_state=0).fit(_X, _Y)
    assert bagged.predict_proba(_X).shape == (569, 2)
    pairs = OneVsOneClassifier(clone(_QUICK)).fit(x, y)
    assert pairs.score(x, y) > 0.93
    assert len(pairs.estimators_) == 3


@pytest.mark.parametrize("several", [False, True])
def test_files_of_every_kind_bring_it_back(several: bool, tmp_path: Path) -> None:
    x, y = load_iris(return_X_y=True) if several else (_X, _Y)
    model = clone(_QUICK).fit(x, y)
    wanted = model.predict_proba(x)
    again = [pickle.loads(pickle.dumps(model))]
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    again.append(joblib.load(stream))
    skops = pytest.importorskip("skops.io")
    content = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=content)
    assert all(name.startswith("qcompile.") for name in unknown)
    again.append(skops.loads(content, trusted=unknown))
    for own in again:
        assert (own.predict_proba(x) == wanted).all() and own.get_params() == model.get_params()
    if not several:
        save_classifier(model.classifier_, tmp_path / "model.json")
        kept = load_classifier(tmp_path / "model.json")
        assert (kept.probabilities(x) == wanted[:, 1]).all()
        assert (kept.predict(x) == model.predict(x)).all()


def test_names_of_columns_come_through_pipelines() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"column {i}" for i in range(30)]
    table = pandas.DataFrame(_X, columns=names)
    labels = pandas.Series(np.where(_Y == 1, "benign", "malignant"))
    pipe = make_pipeline(StandardScaler(), clone(_QUICK)).set_output(transform="pandas")
    pipe.fit(table, labels)
    model = pipe[-1]
    assert list(model.feature_names_in_) == names and model.n_features_in_ == 30
    assert model.classifier_.preparation.names == tuple(names)
    assert pipe.score(table, labels) > 0.96
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*column 0"):
        pipe.predict(table.rename(columns={"column 0": "other"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(_X)
    chosen = make_pipeline(SelectFromModel(clone(_QUICK)), clone(_QUICK))
    chosen.set_output(transform="pandas").fit(table, labels)
    assert 1 < chosen[-1].n_features_in_ < 30
    assert set(chosen[-1].feature_names_in_) < set(names)


def test_weights_are_routed_to_it() -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(_Y)).astype(float)
    with config_context(enable_metadata_routing=True):
        asked = clone(_QUICK).set_fit_request(sample_weight=True)
        asked = asked.set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        pipe.fit(_X, _Y, sample_weight=weights)
        alone = clone(_QUICK).fit(pipe[:-1].transform(_X), _Y, weights)
        assert (pipe[-1].coef_ == alone.coef_).all()
        grid = GridSearchCV(pipe, {"polynomiallossclassifier__l2": [1e-3, 1.0]}, cv=2)
        grid.fit(_X, _Y, sample_weight=weights)
        assert grid.best_params_ == {"polynomiallossclassifier__l2": 1e-3}
        assert (grid.best_estimator_[-1].coef_ != clone(asked).fit(_X, _Y).coef_).any()
        ignored = make_pipeline(clone(_QUICK).set_fit_request(sample_weight=False))
        with pytest.raises(TypeError, match="sample_weight"):
            ignored.fit(_X, _Y, sample_weight=weights)


def test_grids_over_its_own_parameters() -> None:
    grid: dict[str, list[Any]] = {"class_weight": [None, "balanced"], "probability": [True, False]}
    found = GridSearchCV(clone(_QUICK), grid, cv=2, scoring="balanced_accuracy").fit(_X, _Y)
    assert found.best_score_ > 0.93
    assert clone(found.best_estimator_).get_params() == found.best_estimator_.get_params()
