"""The scikit-learn face: a classifier with fit and predict, for pipelines and grid searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from qcompile.data.prepare import prepare
from qcompile.errors import InputError
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset, answers
from qcompile.stages.preparation import Preparation
from qcompile.training.train import train

__all__ = ["PolynomialLossClassifier"]


class PolynomialLossClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier trained on a polynomial that stands in for 0-1 loss.

    Binary only. `solver` is a name of `qcompile.solve` or any dimod sampler. Rows may be sparse.
    `scale` brings features to comparable size first, `bias` appends a constant one.

    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> model = PolynomialLossClassifier(bits=2, scale="standard", features=6).fit(x, y)
    >>> bool(model.score(x, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        order: int = 3,
        bits: int = 4,
        fit_to: str = "risk",
        omega: float | None = None,
        prior_std: float | None = None,
        l2: float | None = None,
        l0: float = 0.0,
        weight_range: float | str = "auto",
        scale: str = "standard",
        features: int | None = None,
        bias: bool = True,
        solver: Any = "anneal",
        reads: int = 50,
        keep: int = 50,
        sweeps: int | None = None,
        validation: float = 0.0,
        random_state: int | None = None,
    ) -> None:
        self.order = order
        self.bits = bits
        self.fit_to = fit_to
        self.omega = omega
        self.prior_std = prior_std
        self.l2 = l2
        self.l0 = l0
        self.weight_range = weight_range
        self.scale = scale
        self.features = features
        self.bias = bias
        self.solver = solver
        self.reads = reads
        self.keep = keep
        self.sweeps = sweeps
        self.validation = validation
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PolynomialLossClassifier:
        """Train on rows X with two labels y."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=False)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
                if len(self.classes_) > 2
                else "Classifier can't train when only one class is present."
            )
        data = self._dataset(X, codes)
        options = SolveOptions(self.solver, self.reads, self.keep, self.sweeps, self._seed())
        loss = LossOptions(
            order=self.order,
            fit=self.fit_to,
            omega=self.omega,
            prior_std=self.prior_std,
            l2=self.l2,
            range_=self.weight_range,
        )
        found = train(
            data,
            bits=self.bits,
            l0=self.l0,
            loss=loss,
            options=options,
            validation=self.validation,
            seed=self._seed(),
        )
        self.classifier_ = found.classifier
        self.loss_ = found.loss
        self.energy_ = found.classifier.source.energy
        self.coef_, self.intercept_ = self._as_linear()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return w·x: above 0 means the second of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.classifier_.decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels."""
        positive = answers(self.decision_function(X)) > 0
        return np.asarray(self.classes_[positive.astype(np.int64)])

    def _seed(self) -> int:
        """Return the seed: random_state may be a number, None (0) or a RandomState."""
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return int(self.random_state or 0)
        return int(self.random_state.randint(2**31 - 1))

    def _dataset(self, rows: Any, codes: NDArray[np.int64]) -> Dataset:
        signs = frozen(np.where(codes == 1, 1.0, -1.0))
        raw = Dataset(rows, signs, Preparation(raw_features=rows.shape[1]))
        chosen = None if self.features is None else min(self.features, rows.shape[1])
        try:
            return prepare(raw, scale=self.scale, features=chosen, bias=self.bias)
        except InputError as error:
            raise ValueError(str(error)) from None

    def _as_linear(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Return the coefficients for raw rows if the preparation is linear, else None."""
        made, weights = self.classifier_.preparation, self.classifier_.weights
        if made.unit_norm:
            return None, None
        own = weights[:-1] if made.bias else weights
        intercept = float(weights[-1]) if made.bias else 0.0
        if made.scale is not None:
            own = own / made.scale
        if made.center is not None:
            intercept -= float(own @ made.center)
        full = np.zeros(made.raw_features)
        full[slice(None) if made.columns is None else made.columns] = own
        return full[None, :], np.array([intercept])

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn reads."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
