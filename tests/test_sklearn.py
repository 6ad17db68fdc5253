from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from dwave.samplers import SimulatedAnnealingSampler
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

from qcompile import PolynomialLossClassifier


@pytest.mark.slow
@pytest.mark.lowest
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
