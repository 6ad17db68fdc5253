from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from dwave.samplers import SimulatedAnnealingSampler
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from qcompile import LeapMachine, PolynomialLossClassifier, TrainingJob, list_jobs, load_job
from tests.leap.jobs import QUICK
from tests.sapi import Sapi

_CHECKS = """
import json, sys, warnings
warnings.simplefilter("ignore")  # labels of the checks are often random
from sklearn.utils.estimator_checks import check_estimator
from qcompile import PolynomialLossClassifier
model = PolynomialLossClassifier(**json.loads(sys.argv[1]))
results = check_estimator(model, on_fail=None, on_skip=None)
print(json.dumps([(r["check_name"], r["status"], repr(r["exception"])) for r in results]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({}, marks=pytest.mark.lowest),
        {"method": "paper", "bits": 2, "reads": 4, "features": 4},
    ],
)
def test_scikit_learns_own_checks_pass_and_none_is_skipped(parameters: dict[str, Any]) -> None:
    # one check is skipped unless SciPy finds this in the environment when it is imported
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    made = subprocess.run(
        [sys.executable, "-c", _CHECKS, json.dumps(parameters)],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    results = json.loads(made.stdout)
    assert [found for found in results if found[1] != "passed"] == []
    assert len(results) > 40


@pytest.mark.filterwarnings("ignore::UserWarning")  # few rounds, a high price
def test_the_default_in_pipelines_grids_and_clones() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(MaxAbsScaler(), PolynomialLossClassifier(rounds=15))
    prices = [1e-3, 10.0]
    grid = GridSearchCV(model, {"polynomiallossclassifier__l2": prices}, cv=3).fit(x, y)
    assert grid.best_params_ == {"polynomiallossclassifier__l2": 1e-3}
    assert grid.best_score_ > 0.95
    fitted = grid.best_estimator_[-1]
    assert (fitted.method_, fitted.l2_, fitted.loss_) == ("rounds", 1e-3, None)
    assert fitted.n_iter_ == len(fitted.rounds_) <= 15
    assert fitted.energy_ == pytest.approx(fitted.rounds_[-1].objective)
    scaled = grid.best_estimator_[:-1].transform(x)
    linear = scaled @ fitted.coef_[0] + fitted.intercept_
    assert linear == pytest.approx(grid.decision_function(x))
    again = clone(fitted)
    assert again.get_params() == fitted.get_params() and not hasattr(again, "coef_")
    assert (again.fit(scaled, y).coef_ == fitted.coef_).all()
    kept = pickle.loads(pickle.dumps(grid.best_estimator_))
    assert (kept.decision_function(x) == grid.decision_function(x)).all()
    sparse = PolynomialLossClassifier(rounds=15).fit(sp.csr_array(x), y)
    assert sparse.score(sp.csr_array(x), y) > 0.95


def test_rounds_take_samplers_descent_and_a_price_by_cross_validation() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x = x[:, :6]
    descent = PolynomialLossClassifier(solver="descent").fit(x, y)
    assert descent.n_iter_ == 1 and not descent.rounds_
    ocean = PolynomialLossClassifier(solver=SimulatedAnnealingSampler(), reads=5).fit(x, y)
    assert descent.energy_ - 1e-6 < ocean.energy_ < descent.energy_ + 2e-3
    chosen = PolynomialLossClassifier(solver="descent", l2="cv").fit(x, y)
    assert chosen.l2_ and chosen.score(x, y) > 0.85


def test_parameters_of_the_paper_choose_it_or_are_refused() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x = x[:, :3]
    for own in ({"bits": 2}, {"order": 1}, {"l0": 0.01}, {"prior_std": 1.0}, {"method": "paper"}):
        model = PolynomialLossClassifier(**own, reads=2).fit(x, y)
        assert model.method_ == "paper" and model.loss_ is not None and model.n_iter_ == 1
    with pytest.raises(ValueError, match='belong to method="paper"'):
        PolynomialLossClassifier(method="rounds", bits=2).fit(x, y)
    with pytest.raises(ValueError, match="expected one of auto, rounds, paper"):
        PolynomialLossClassifier(method="magic").fit(x, y)


def test_the_paper_in_pipelines_grids_pickles_and_sparse_rows() -> None:
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


@pytest.mark.filterwarnings("ignore:no better:UserWarning")
def test_the_estimator_takes_samplers() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    model = PolynomialLossClassifier(
        bits=1, features=4, bias=False, solver=SimulatedAnnealingSampler(), reads=10
    )
    exact = PolynomialLossClassifier(bits=1, features=4, bias=False, solver="exact")
    assert model.fit(x, y).energy_ == pytest.approx(exact.fit(x, y).energy_)
    unit = PolynomialLossClassifier(bits=2, scale="unit-norm", features=5, reads=5).fit(x, y)
    assert unit.coef_ is None


def test_a_classifier_no_better_than_the_baseline_is_warned_about() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), np.zeros(200, dtype=int)
    y[:6] = 1  # 3% that nothing tells from the others
    with pytest.warns(UserWarning, match="no better than always giving the commoner label"):
        PolynomialLossClassifier(order=3, bits=2, bias=False).fit(x, y)


@pytest.mark.filterwarnings("ignore::UserWarning")  # few rounds
@pytest.mark.parametrize("processes", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_a_qpu_behind_the_estimator_in_clones_and_grids(
    server: Sapi, processes: int | None
) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    machine = LeapMachine(patience=QUICK, budget="500ms")
    model = PolynomialLossClassifier(solver=machine, features=3, rounds=2, reads=20)
    again = clone(model)
    assert again.get_params() == model.get_params() and again.solver is not machine
    grid = GridSearchCV(model, {"l2": [1e-3, 10.0]}, cv=2, n_jobs=processes).fit(x, y)
    assert grid.best_params_ == {"l2": 1e-3} and grid.best_score_ > 0.85
    # two prices on two folds, and the best one on all rows: each fit is a job of its own
    jobs = list_jobs()
    assert len(jobs) == 5 and server.billed == len(server.problems) == 10
    own = load_job(grid.best_estimator_.job_)
    assert isinstance(own, TrainingJob) and own.progress.budget == 0.5
    assert pickle.loads(pickle.dumps(grid.best_estimator_)).score(x, y) > 0.85
    here = PolynomialLossClassifier(solver="exact", features=3, rounds=2, l2=1e-3).fit(x, y)
    assert here.job_ is None


def test_a_refused_qpu_is_a_value_error(server: Sapi) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    machine = LeapMachine(budget="1ms")
    with pytest.raises(ValueError, match="one round takes"):
        PolynomialLossClassifier(solver=machine, features=3).fit(x, y)
    with pytest.raises(ValueError, match="a training on Leap is in rounds"):
        PolynomialLossClassifier(solver="leap", bits=2).fit(x, y)
    assert list_jobs() == [] and not server.problems
