"""The parameters of the estimator as options of one training: of one class against the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from qcompile.data.prepare import PrepareOptions
from qcompile.data.weights import as_counts
from qcompile.errors import InputError
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.stages.arrays import Floats
from qcompile.stages.calibration import Calibration
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.training.batches import Batches, paper_batch, rounds_batch
from qcompile.training.calibrate import calibrated_by_folds, fit_calibration
from qcompile.training.leap_machine import leap_machine_of
from qcompile.training.rounds import Round, RoundOptions
from qcompile.training.search import BITS, weights_with
from qcompile.training.train import METHODS, default_search, train
from qcompile.training.trained import Trained

__all__ = ["Fitted", "Settings"]


# Restarts of the search on each fold: with five folds as many as in the training itself.
_READS_OF_FOLDS, _FEWEST_READS = 5, 2


@dataclass(frozen=True, eq=False)
class Fitted:
    """The training of one class against the rest."""

    classifier: Classifier
    method: str
    energy: float
    l2: float | None
    loss: Loss | None = None
    rounds: tuple[Round, ...] = ()
    job: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Trained) -> Fitted:
        """Return what the estimator keeps of a training."""
        energy = found.classifier.source.energy
        return cls(
            found.classifier,
            found.method,
            found.objective if energy is None else energy,
            found.l2,
            found.loss,
            found.rounds,
            None if found.job is None else found.job.id,
            found.notes,
        )

    @classmethod
    def of_batches(cls, found: Batches, method: str) -> Fitted:
        """Return what the estimator keeps of a training on batches."""
        energy = found.classifier.source.energy
        assert energy is not None  # both ways of a batch know it
        rounds = () if found.found is None else found.found.rounds
        return cls(
            found.classifier, method, energy, found.l2, found.loss, rounds, notes=found.notes
        )

    @property
    def rounds_made(self) -> int:
        """The number of rounds, at least 1."""
        return max(1, len(self.rounds))

    @property
    def curve(self) -> list[float]:
        """The objective after each round."""
        return [own.objective for own in self.rounds] or [self.energy]


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of the estimator, by name, its seed, and whether decisions are calibrated."""

    params: Mapping[str, Any]
    seed: int
    calibrated: bool

    @property
    def loss(self) -> LossOptions:
        """The options of the loss."""
        names = ("order", "fit_to", "omega", "prior_std", "weight_range")
        return LossOptions(**{name: self.params[name] for name in names})

    @property
    def method(self) -> str:
        """The method: "rounds", or "paper" if one of its parameters is given."""
        given = self.loss != LossOptions() or self.params["bits"] is not None
        given = given or bool(self.params["l0"])
        method = str(self.params["method"])
        if method not in METHODS:
            raise InputError(f"method {method!r}; expected one of {', '.join(METHODS)}")
        if method == "rounds" and given:
            raise InputError(
                "order=, bits=, fit_to=, omega=, prior_std=, l0= and weight_range= belong to "
                'method="paper"'
            )
        return ("paper" if given else "rounds") if method == "auto" else method

    @property
    def search(self) -> SolveOptions:
        """How to search."""
        own = self.params
        usual = default_search(self.method, own["solver"], self.seed)
        return SolveOptions(
            own["solver"],
            usual.reads if own["reads"] is None else own["reads"],
            own["keep"],
            usual.sweeps if own["sweeps"] is None else own["sweeps"],
            self.seed,
        )

    @property
    def limit(self) -> float:
        """The time limit in seconds."""
        limit = self.params["time_limit"]
        return math.inf if limit is None else float(limit)

    def preparation(self, data: Dataset) -> PrepareOptions:
        """Return how rows are prepared; more features than there are columns are all of them."""
        features = self.params["features"]
        chosen = None if features is None else min(features, data.features)
        return PrepareOptions(self.params["scale"], chosen, self.params["bias"])

    def fit(self, data: Dataset, begin: Classifier | None = None) -> Fitted:
        """Train on raw rows."""
        own, how = self.params, self.preparation(data)
        shared: dict[str, Any] = {
            "options": self.search,
            "validation": own["validation"],
            "seed": self.seed,
            "preparation": how,
            "l2": own["l2"],
            "probabilities": self.calibrated,
        }
        if self.method == "paper":
            found = train(
                data, method="paper", bits=own["bits"], l0=own["l0"], loss=self.loss, **shared
            )
        else:
            found = train(
                data, method="rounds", rounds=own["rounds"], starts=own["starts"],
                block=own["block"], time_limit=self.limit, begin=begin, **shared,
            )  # fmt: skip
        fitted = Fitted.of(found)
        return self._with_probabilities(fitted, data, how) if self.calibrated else fitted

    def batch(self, data: Dataset, before: Batches | None) -> Batches:
        """Train on one more batch of raw rows."""
        own, how = self.params, self.preparation(data)
        if leap_machine_of(None, own["solver"]) is not None:
            raise InputError("partial_fit on Leap; expected a solver of this computer, or fit()")
        if own["l2"] == "cv" or own["validation"]:
            raise InputError(
                'partial_fit with l2="cv" or validation=; expected a number for l2=, or None, and '
                "no validation rows: a batch does not know the others"
            )
        if self.method == "paper":
            loss = self.loss if own["l2"] is None else replace(self.loss, l2=float(own["l2"]))
            bits = BITS if own["bits"] is None else own["bits"]
            made = paper_batch(
                data, before, how, loss, bits, own["l0"], self.search,
                probabilities=self.calibrated,
            )  # fmt: skip
        else:
            limits = {} if own["rounds"] is None else {"rounds": own["rounds"]}
            options = RoundOptions(
                l2=own["l2"], block=own["block"], starts=own["starts"], time_limit=self.limit,
                **limits,
            )  # fmt: skip
            made = rounds_batch(
                data, before, how, options, self.search, probabilities=self.calibrated
            )
        if not self.calibrated or made.classifier.calibration is not None:
            return made
        return replace(made, classifier=_calibrated_here(made.classifier, as_counts(data)))

    def _with_probabilities(self, found: Fitted, data: Dataset, how: PrepareOptions) -> Fitted:
        """Return the training with a calibration: by folds, or by its own rows if these are few."""
        classifier, made = found.classifier, found.classifier.calibration
        counted = as_counts(data)
        if made is None and found.loss is not None:
            made = self._of_folds(counted, how, found.loss)
        if made is None:
            return replace(found, classifier=_calibrated_here(classifier, counted))
        return replace(found, classifier=replace(classifier, calibration=made))

    def _of_folds(self, data: Dataset, how: PrepareOptions, loss: Loss) -> Calibration | None:
        """Return a calibration by trainings without each fold; None if one of them fails.

        They are annealed on this computer, whatever the solver, with a fifth of the restarts each,
        and with the loss of all rows.
        Few bits set the boundary coarsely: of two classes the sigmoid is 1/2 there, so that labels
        and probabilities agree.
        """
        own = self.params
        reads = max(_FEWEST_READS, self.search.reads // _READS_OF_FOLDS)
        search = SolveOptions("anneal", reads, self.search.keep, self.search.sweeps, self.seed)

        def lowest(rows: Dataset) -> Floats:
            bits = BITS if own["bits"] is None else own["bits"]
            return weights_with(rows, loss, bits, own["l0"], search)

        try:
            return calibrated_by_folds(
                data, preparation=how, seed=self.seed, weights_of=lowest,
                through_half=data.preparation.negative is not None,
            )  # fmt: skip
        except InputError:  # a fold that nothing can be learnt from
            return None


def _calibrated_here(classifier: Classifier, data: Dataset) -> Classifier:
    """Return the classifier with a calibration by the rows it was trained on."""
    made = fit_calibration(classifier.decision_function(data.x), data.y, data.weights)
    return replace(classifier, calibration=made)
