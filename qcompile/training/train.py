"""Dataset -> Classifier: all passes in order, and how the result came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qcompile.data.prepare import PrepareOptions
from qcompile.data.split import set_aside
from qcompile.moments.accumulate import moments_of
from qcompile.objective.decode import decode
from qcompile.objective.fit import LossOptions, fit_loss_with, needs_fit
from qcompile.objective.weight_range import warnings_for
from qcompile.runtime import cluster
from qcompile.runtime.progress import Progress, shown_by
from qcompile.runtime.timing import passing
from qcompile.solvers.options import SolveOptions
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.display import Displayed, many
from qcompile.stages.loss import Loss
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples
from qcompile.training.risks import Risk, risks
from qcompile.training.search import BITS, Clock, Stage, Task, goes_over_margins, search_lowest

__all__ = ["Trained", "train"]


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Displayed):
    """A classifier, the stages of its training, and where accuracy was lost (`risks`).

    `errors` are by part of the data: train, validation, test. `baseline` is the error on the
    training rows of a classifier that always answers the more frequent label.
    """

    classifier: Classifier
    loss: Loss
    problem: Pubo | Qubo
    samples: Samples
    stages: tuple[Stage, ...]
    risks: tuple[Risk, ...]
    errors: Mapping[str, float]
    baseline: float
    notes: tuple[str, ...] = ()

    def _line(self) -> str:
        errors = [f"error {error:.2%} ({part})" for part, error in self.errors.items()]
        return ", ".join([many(len(self.classifier.weights), "weight"), *errors])

    def _facts(self) -> Mapping[str, object]:
        return {
            "classifier": self.classifier,
            "loss": self.loss,
            "problem": self.problem,
            "samples": self.samples,
            **{f"{part} error": error for part, error in self.errors.items()},
            "baseline error": self.baseline,
            "notes": "; ".join(self.notes) or None,
        }


def train(
    data: Dataset,
    *,
    bits: int = BITS,
    l0: float = 0.0,
    loss: LossOptions | None = None,
    options: SolveOptions | None = None,
    validation: Dataset | float = 0.0,
    test: Dataset | float = 0.0,
    preparation: PrepareOptions | Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    client: Any = None,
) -> Trained:
    """Train a classifier.

    `validation` and `test` are data sets prepared in the same way, or shares of `data` to set
    aside. `preparation` holds options of `prepare` for data that are not prepared yet: parts are
    set aside first, and features are chosen and scaled by the training rows alone. With validation
    data the best of the lowest samples is chosen by them. `progress(done, total)` counts the
    restarts of the search; with a Dask `client` its workers make them. If the range of weights is
    "auto" and the search ends at a classifier that the loss rewards for wrong answers, it is
    repeated with half of the range.

    >>> from qcompile import read
    >>> wanted = {"scale": "standard", "features": 5, "bias": True}
    >>> found = train(read("breast-cancer"), preparation=wanted, bits=2, test=0.3, seed=1)
    >>> found.errors["test"] < 0.15 < found.baseline
    True
    """
    loss, options = loss or LossOptions(), options or SolveOptions()
    rows, checked, tested = set_aside(data, validation, test, seed=seed, preparation=preparation)
    clock = Clock()
    on_examples = goes_over_margins(rows, bits, loss.degree, options)
    degree = 1 if on_examples and loss.degree % 2 == 0 else loss.degree
    with passing("moments"):
        moments = moments_of(rows, degree, fit=needs_fit(loss))
    clock.stage("moments", f"{len(rows):,} rows, {rows.features:,} features")
    with passing("fit loss"):
        fitted = fit_loss_with(moments, loss)
    clock.stage("loss", f"order {fitted.order}, range {fitted.range_:.3g}")
    task = Task(rows, moments, bits, l0, on_examples, options)
    narrow = loss.range_ == "auto"
    with shown_by(progress), cluster.using(client):
        samples, problem, fitted = search_lowest(task, fitted, narrow, clock)
    with passing("decode"):
        classifier = decode(problem, samples, validation=checked)
    rank, energy = classifier.source.rank, classifier.source.energy
    assert rank is not None and energy is not None  # `decode` knows both
    clock.stage("decode", f"state {rank + 1} of the {len(samples)} lowest")
    parts = {"train": rows, "validation": checked, "test": tested}
    errors = {
        name: part.error(classifier.weights) for name, part in parts.items() if part is not None
    }
    with passing("compare risks"):
        compared = tuple(risks(rows, moments, fitted, problem, samples, classifier))
    return Trained(
        classifier=classifier,
        loss=fitted,
        problem=problem,
        samples=samples,
        stages=tuple(clock.stages),
        risks=compared,
        errors=errors,
        baseline=rows.baseline_error,
        notes=(*fitted.notes, *warnings_for(fitted, rows, classifier.weights, energy)),
    )
