"""The scikit-learn face: a classifier with fit and predict, for pipelines and grid searches."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from qcompile.data.prepare import PrepareOptions
from qcompile.errors import InputError
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset, answers
from qcompile.stages.preparation import Preparation
from qcompile.training.train import default_search, train
from qcompile.training.trained import Trained

__all__ = ["PolynomialLossClassifier"]


class PolynomialLossClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier for noisy labels: 0-1 loss, trained in rounds or as in the paper.

    By default it is trained in rounds: small problems without ancillas, solved by `solver`, around
    weights that become better. `l2` is the price of the weights: a number, "cv" to choose it by
    cross-validation, or None for a value that needs no search. `rounds`, `starts`, `block` and
    `time_limit` are those of `qcompile.train`.

    The paper's method is one polynomial over all classifiers. It is taken if `method` is "paper",
    or if one of its parameters is given: `order`, `bits`, `fit_to`, `omega`, `prior_std`, `l0` or
    `weight_range`.

    Binary only. `solver` is a name of `qcompile.solve`, "descent" (L-BFGS, rounds only), any dimod
    sampler, or a QPU: "leap" or a `LeapMachine`, which holds names and settings, so that clones and
    grid searches work. Each fit on a QPU is a job of its own (`job_`), and its budget is that of
    one fit. `rounds` is None for 100, on Leap 40 for each block.

    Rows may be sparse. `scale` brings features to comparable size first, `bias` appends a constant
    one. `keep` weights are compared on the share `validation` of the rows.

    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> model = PolynomialLossClassifier().fit(x, y)
    >>> bool(model.score(x, y) > 0.97)
    True
    """

    def __init__(
        self,
        *,
        method: str = "auto",
        order: int | None = None,
        bits: int | None = None,
        fit_to: str = "risk",
        omega: float | None = None,
        prior_std: float | None = None,
        l2: float | str | None = None,
        l0: float = 0.0,
        weight_range: float | str = "auto",
        scale: str = "robust",
        features: int | None = None,
        bias: bool = True,
        solver: Any = "anneal",
        reads: int | None = None,
        keep: int = 50,
        sweeps: int | None = None,
        rounds: int | None = None,
        starts: int = 1,
        block: int | None = None,
        time_limit: float | None = None,
        validation: float = 0.0,
        random_state: int | None = None,
    ) -> None:
        self.method = method
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
        self.rounds = rounds
        self.starts = starts
        self.block = block
        self.time_limit = time_limit
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
        try:
            found = self._train(self._dataset(X, codes))
        except InputError as error:
            raise ValueError(str(error)) from None
        for note in found.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        self.classifier_ = found.classifier
        self.loss_ = found.loss
        self.l2_ = found.l2
        self.rounds_ = found.rounds
        self.job_ = None if found.job is None else found.job.id
        self.n_iter_ = max(1, len(found.rounds))
        self.method_ = found.method
        energy = found.classifier.source.energy
        self.energy_ = found.objective if energy is None else energy
        self.coef_: Any
        self.intercept_: Any
        self.coef_, self.intercept_ = self._as_linear()
        return self

    def _train(self, data: Dataset) -> Trained:
        loss = LossOptions(
            order=self.order,
            fit_to=self.fit_to,
            omega=self.omega,
            prior_std=self.prior_std,
            weight_range=self.weight_range,
        )
        given = loss != LossOptions() or self.bits is not None or bool(self.l0)
        method = ("paper" if given else "rounds") if self.method == "auto" else self.method
        seed = self._seed()
        usual = default_search(method, self.solver, seed)
        options = SolveOptions(
            self.solver,
            usual.reads if self.reads is None else self.reads,
            self.keep,
            usual.sweeps if self.sweeps is None else self.sweeps,
            seed,
        )
        limit = math.inf if self.time_limit is None else self.time_limit
        shared: dict[str, Any] = {"options": options, "validation": self.validation, "seed": seed}
        how = PrepareOptions(self.scale, self._chosen(data.features), self.bias)
        if method == "paper":
            return train(
                data, method="paper", bits=self.bits, l0=self.l0, l2=self.l2, loss=loss,
                preparation=how, **shared,
            )  # fmt: skip
        if given:
            raise InputError(
                "order=, bits=, fit_to=, omega=, prior_std=, l0= and weight_range= belong to "
                'method="paper"'
            )
        return train(
            data, method=method, l2=self.l2, rounds=self.rounds, starts=self.starts,
            block=self.block, time_limit=limit, preparation=how, **shared,
        )  # fmt: skip

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
        return Dataset(rows, signs, Preparation(raw_features=rows.shape[1]))

    def _chosen(self, columns: int) -> int | None:
        """Return the number of features to choose; None is all of them."""
        return None if self.features is None else min(self.features, columns)

    def _as_linear(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Return the coefficients for raw rows if the preparation is linear, else None."""
        if self.classifier_.preparation.unit_norm:
            return None, None
        weights, intercept = self.classifier_.raw_weights()
        return weights[None, :], np.array([intercept])

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn reads."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
