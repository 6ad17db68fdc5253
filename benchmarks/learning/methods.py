"""The methods, each as its user would have it: raw rows in, labels out, no option tuned to a set.

Those of scikit-learn stand behind a StandardScaler; those of qcompile scale by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .rivals import SigmoidLoss, ZeroOneSearch

__all__ = ["CUBIC_COLUMNS", "METHODS", "OURS", "Method"]

OURS = "rounds"
# The complete cubic of more columns at four bits does not fit the memory of a small computer.
CUBIC_COLUMNS = 125


@dataclass(frozen=True)
class Method:
    """A name, whether its classifier is linear, and how to make one for a seed and a width."""

    name: str
    linear: bool
    make: Callable[[int, int], Any]


def _scaled(estimator: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), estimator)


def _logistic(seed: int, columns: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _scaled(LogisticRegression(max_iter=1000))


def _logistic_cv(seed: int, columns: int) -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return _scaled(LogisticRegressionCV(max_iter=1000))


def _svc(seed: int, columns: int) -> Any:
    from sklearn.svm import LinearSVC

    return _scaled(LinearSVC(random_state=seed))


def _ridge(seed: int, columns: int) -> Any:
    from sklearn.linear_model import RidgeClassifier

    return _scaled(RidgeClassifier())


def _sgd(seed: int, columns: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    return _scaled(SGDClassifier(loss="modified_huber", random_state=seed))


def _trees(seed: int, columns: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


def _sigmoid(seed: int, columns: int) -> Any:
    return _scaled(SigmoidLoss(seed=seed))


def _zero_one(seed: int, columns: int) -> Any:
    return _scaled(ZeroOneSearch(seed=seed))


def _cubic(seed: int, columns: int) -> Any:
    from qcompile.sklearn import PolynomialLossClassifier

    fewer = CUBIC_COLUMNS if columns > CUBIC_COLUMNS else None
    return PolynomialLossClassifier(order=3, features=fewer, random_state=seed)


def _sixth(seed: int, columns: int) -> Any:
    from qcompile.sklearn import PolynomialLossClassifier

    return PolynomialLossClassifier(order=6, random_state=seed)


def _rounds(seed: int, columns: int) -> Any:
    from qcompile.sklearn import PolynomialLossClassifier

    return PolynomialLossClassifier(random_state=seed)


def _rounds_cv(seed: int, columns: int) -> Any:
    from qcompile.sklearn import PolynomialLossClassifier

    options: dict[str, Any] = {"l2": "cv"}
    return PolynomialLossClassifier(**options, random_state=seed)


METHODS = {
    method.name: method
    for method in (
        Method("LogisticRegression", True, _logistic),
        Method("LogisticRegressionCV", True, _logistic_cv),
        Method("LinearSVC", True, _svc),
        Method("RidgeClassifier", True, _ridge),
        Method("SGD modified_huber", True, _sgd),
        Method("HistGradientBoosting", False, _trees),
        Method("sigmoid loss", True, _sigmoid),
        Method("0-1 search", True, _zero_one),
        Method("paper, cubic", True, _cubic),
        Method("paper, sixth order", True, _sixth),
        Method(OURS, True, _rounds),
        Method("rounds, cv", True, _rounds_cv),
    )
}
