"""A robust linear classifier with the methods and attributes that scikit-learn expects."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from qcompile.errors import InputError
from qcompile.runtime import processes
from qcompile.sklearn.checks import (
    checked_classes,
    checked_columns,
    checked_weights,
    of_two_classes,
    times_class_weight,
)
from qcompile.sklearn.settings import Fitted, Settings
from qcompile.stages.arrays import Floats
from qcompile.stages.calibration import Calibration
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset, answers
from qcompile.training.batches import Batches, begun

__all__ = ["PolynomialLossClassifier"]


def _wants_probabilities(model: PolynomialLossClassifier) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class PolynomialLossClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier for noisy labels: 0-1 loss, trained in rounds or as in the paper.

    By default it is trained in rounds: small problems without ancillas, solved by `solver`, around
    weights that become better. `l2` is the price of the weights: a number, "cv" to choose it by
    cross-validation, or None for a value that needs no search. `rounds`, `starts`, `block` and
    `time_limit` are those of `qcompile.train`. With `warm_start` the rounds of the next `fit`
    begin where the last one ended.

    The paper's method is one polynomial over all classifiers. It is taken if `method` is "paper",
    or if one of its parameters is given: `order`, `bits`, `fit_to`, `omega`, `prior_std`, `l0` or
    `weight_range`.

    Of several classes each is trained against the rest, and the most probable one wins. `n_jobs`
    processes share the classes, or the `starts` of two classes; the result does not depend on it.
    `class_weight` ("balanced", or a weight for each label) multiplies the `sample_weight` of `fit`.
    A weight of 2 is a row that is there twice, a weight of 0 is no row; weights that add up to less
    than the number of rows are made larger by one factor.

    `probability` lets `fit` calibrate decisions by rows that were held out in turn, which takes
    about a third of the time of rounds besides, and more in the paper's method. `predict_proba` is
    a sigmoid of the decision then. Probabilities are those of the rows as they are weighted.
    `partial_fit` trains on batches.

    `solver` is a name of `qcompile.solve`, "descent" (L-BFGS, rounds only), any dimod sampler, or a
    QPU: "leap" or a `LeapMachine`, which holds names and settings, so that clones and grid searches
    work. Each class and fit on a QPU is a job of its own (`job_`), and its budget is that of one.
    `rounds` is None for 100, on Leap 40 for each block.

    Rows may be sparse. `scale` brings features to comparable size first, `bias` appends a constant
    one. `keep` weights are compared on the share `validation` of the rows.

    `classifiers_` are the classifiers of each class, of two classes the one of the second. For two
    classes `classifier_`, `loss_`, `l2_`, `rounds_`, `job_`, `energy_`, `n_iter_` (rounds) and
    `loss_curve_` (the objective after each) are those of the one training; for several they hold
    one for each class, and there is no `classifier_`.

    >>> from sklearn.datasets import load_breast_cancer
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> model = PolynomialLossClassifier().fit(x, y)
    >>> bool(model.score(x, y) > 0.97), model.predict_proba(x).shape
    (True, (569, 2))
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
        class_weight: Any = None,
        probability: bool = True,
        solver: Any = "anneal",
        reads: int | None = None,
        keep: int = 50,
        sweeps: int | None = None,
        rounds: int | None = None,
        starts: int = 1,
        block: int | None = None,
        time_limit: float | None = None,
        validation: float = 0.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
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
        self.class_weight = class_weight
        self.probability = probability
        self.solver = solver
        self.reads = reads
        self.keep = keep
        self.sweeps = sweeps
        self.rounds = rounds
        self.starts = starts
        self.block = block
        self.time_limit = time_limit
        self.validation = validation
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PolynomialLossClassifier:
        """Train on rows X with labels y, which count `sample_weight` times (once by default)."""
        before = self._earlier() if self.warm_start else None
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=False)
        check_classification_targets(y)
        weights = checked_weights(sample_weight, X)
        if weights is not None and not weights.all():  # a row that counts nothing is no row
            there = np.flatnonzero(weights)
            X, y, weights = X[there], y[there], weights[there]
        self.classes_, codes = np.unique(y, return_inverse=True)
        checked_classes(self.classes_)
        checked_columns(X)
        weights = times_class_weight(weights, self.class_weight, self.classes_, codes)
        data = self._one_against_the_rest(X, codes, weights)
        settings = self._settings()
        begins: Sequence[Classifier | None] = [None] * len(data)
        if before is not None:
            begins = self._still_fitting(before, X)
        with processes.using(self.n_jobs):
            found = self._made(partial(_fit, settings), list(zip(data, begins, strict=True)))
        self._batches: list[Batches] | None = None
        return self._keep(found)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> PolynomialLossClassifier:
        """Train on one more batch of rows; the first one needs all `classes`, and sets the scales.

        In the paper's method moments are added up: the result is that of all rows together. In
        rounds every batch leaves a quadratic in the place of its rows. After `fit` it begins at the
        classifier and the scales of `fit`, whose rows are forgotten. `class_weight` "balanced" is
        refused, as a batch does not know the rows of the others.
        """
        earlier: list[Batches] | None = getattr(self, "_batches", None)
        if earlier is None and hasattr(self, "classifiers_"):
            earlier = [begun(own) for own in self.classifiers_]
        first = earlier is None
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=False, reset=first
        )
        check_classification_targets(y)
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} with partial_fit; expected a weight for each "
                "label: compute them from all rows."
            )
        weights = checked_weights(sample_weight, X)
        _check_partial_fit_first_call(self, classes)
        checked_classes(self.classes_)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"label {unknown[0]} is not one of classes: {list(self.classes_)}.")
        codes = np.searchsorted(self.classes_, y)
        weights = times_class_weight(weights, self.class_weight, self.classes_, codes)
        data = self._one_against_the_rest(X, codes, weights)
        settings = self._settings()
        before: Sequence[Batches | None] = [None] * len(data) if earlier is None else earlier
        with processes.using(self.n_jobs):
            made = self._made(partial(_batch, settings), list(zip(data, before, strict=True)))
        self._batches = made
        return self._keep([Fitted.of_batches(own, settings.method) for own in made])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return w·x: above 0 means the second of two classes.

        Of several classes a column for each is the logarithm of its odds against the rest:
        decisions of different trainings are of one scale only after they are calibrated.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if len(self.classes_) == 2:
            return self.classifiers_[0].decision_function(X)
        return np.stack(
            [_odds(own).logits(own.decision_function(X)) for own in self.classifiers_], 1
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels."""
        decisions = self.decision_function(X)
        if decisions.ndim == 2:
            return np.asarray(self.classes_[decisions.argmax(axis=1)])
        return np.asarray(self.classes_[(answers(decisions) > 0).astype(np.int64)])

    @available_if(_wants_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; of several those against the rest, normalised."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(_wants_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities, exact where these are too small."""
        decisions = self.decision_function(X)
        if decisions.ndim == 1:
            made = self.classifiers_[0].calibration
            if made is None:
                raise AttributeError("predict_proba needs a fit with probability=True")
            both = [made.log_probabilities(decisions, positive=own) for own in (False, True)]
            return np.stack(both, axis=1)
        logs = -np.logaddexp(0.0, -decisions)
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))

    def _one_against_the_rest(
        self, X: Any, codes: NDArray[np.int64], weights: Floats | None
    ) -> list[Dataset]:
        """Return a data set for each classifier; of two classes one is enough."""
        chosen = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        names = getattr(self, "feature_names_in_", None)
        return [of_two_classes(X, codes, weights, self.classes_, own, names) for own in chosen]

    def _made(self, task: Any, items: Sequence[Any]) -> list[Any]:
        """Return what a task makes of each item; raise ValueError for input that is refused."""
        try:
            # a single training may use the processes for its starts
            return [task(items[0])] if len(items) == 1 else processes.spread(task, items)
        except InputError as error:
            raise ValueError(str(error)) from None

    def _keep(self, found: Sequence[Fitted]) -> PolynomialLossClassifier:
        """Set what is known after a training, and say what the user should know."""
        two = len(self.classes_) == 2
        for label, own in zip(self.classes_[-len(found) :], found, strict=True):
            for note in own.notes:
                where = "" if two else f"class {label} against the rest: "
                warnings.warn(f"{where}{note}", UserWarning, stacklevel=3)
        self.classifiers_ = tuple(own.classifier for own in found)
        self.method_ = found[0].method
        self.coef_: Any
        self.intercept_: Any
        self.coef_, self.intercept_ = self._as_linear()
        if two:
            one = found[0]
            self.classifier_ = one.classifier
            self.loss_: Any = one.loss
            self.l2_: Any = one.l2
            self.rounds_: Any = one.rounds
            self.job_, self.energy_ = one.job, one.energy
            self.n_iter_: Any = one.rounds_made
            self.loss_curve_: Any = one.curve
            return self
        self.__dict__.pop("classifier_", None)  # of an earlier fit
        for name in ("loss", "l2", "rounds", "job", "energy"):
            setattr(self, f"{name}_", tuple(getattr(own, name) for own in found))
        self.n_iter_ = np.array([own.rounds_made for own in found])
        self.loss_curve_ = [own.curve for own in found]
        return self

    def _earlier(self) -> tuple[Any, tuple[Classifier, ...]] | None:
        """Return the classes and classifiers of the last fit."""
        return (self.classes_, self.classifiers_) if hasattr(self, "classifiers_") else None

    def _still_fitting(
        self, before: tuple[NDArray[Any], Sequence[Classifier]], X: Any
    ) -> Sequence[Classifier | None]:
        """Return the classifiers to begin at: those of the last fit if it had the same classes."""
        classes, made = before
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start with classes {list(self.classes_)} after {list(classes)}; expected "
                "the same ones."
            )
        if made[0].preparation.raw_features != X.shape[1]:
            raise ValueError(
                f"warm_start with {X.shape[1]} features after {made[0].preparation.raw_features}; "
                "expected the same ones."
            )
        return made

    def _settings(self) -> Settings:
        several = len(self.classes_) > 2
        return Settings(self.get_params(deep=False), self._seed(), self.probability or several)

    def _seed(self) -> int:
        """Return the seed: random_state may be a number, None (0) or a RandomState."""
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return int(self.random_state or 0)
        return int(self.random_state.randint(2**31 - 1))

    def _as_linear(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Return the coefficients for raw rows if the preparation is linear, else None."""
        if self.classifiers_[0].preparation.unit_norm:
            return None, None
        made = [own.raw_weights() for own in self.classifiers_]
        weights, constants = np.stack([own for own, _ in made]), np.array([c for _, c in made])
        if len(self.classes_) == 2:
            return weights, constants
        odds = [_odds(own) for own in self.classifiers_]
        slopes = np.array([own.slope for own in odds])
        shifts = np.array([own.intercept for own in odds])
        return weights * slopes[:, None], constants * slopes + shifts

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn reads."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _odds(classifier: Classifier) -> Calibration:
    assert classifier.calibration is not None  # several classes are always calibrated
    return classifier.calibration


def _fit(settings: Settings, one: tuple[Dataset, Classifier | None]) -> Fitted:
    return settings.fit(*one)


def _batch(settings: Settings, one: tuple[Dataset, Batches | None]) -> Batches:
    return settings.batch(*one)
