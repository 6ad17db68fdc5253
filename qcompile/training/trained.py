"""The result of a training: a classifier and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.display import Displayed, many
from qcompile.stages.interval import ErrorInterval, with_interval
from qcompile.stages.loss import Loss
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples
from qcompile.training.l2_path import L2Trial
from qcompile.training.leap_job import TrainingJob
from qcompile.training.risks import Risk
from qcompile.training.rounds import Round
from qcompile.training.search import Stage

__all__ = ["Trained", "counted_rows"]


def counted_rows(parts: Mapping[str, Dataset | None]) -> dict[str, int]:
    """Return the number of rows of each part that an interval can be given for.

    A share of rows that count unlike is not binomial.
    """
    there = {name: part for name, part in parts.items() if part is not None}
    return {name: len(part) for name, part in there.items() if part.weights is None}


@dataclass(frozen=True, eq=False, repr=False)
class Trained(Displayed):
    """A classifier, the stages of its training, and where accuracy was lost (`risks`).

    `errors` and `rows`, their number, are by part of the data: train, validation, test. Rows that
    have weights count by them, and their number is left out. `baseline` is the error on the
    training rows of a classifier that always answers the more frequent label.

    `method` is "rounds" or "paper". A training in rounds has a record for each of its `rounds`, the
    price `l2` of its weights, and the `trials` if that was chosen by cross-validation; its
    `problem` and `samples` are those of the last step that was taken, and `ended` says why no more
    rounds were made. It has no `loss`. A training on Leap has a `job`.
    """

    classifier: Classifier
    loss: Loss | None
    problem: Pubo | Qubo | None
    samples: Samples | None
    stages: tuple[Stage, ...]
    risks: tuple[Risk, ...]
    errors: Mapping[str, float]
    baseline: float
    notes: tuple[str, ...] = ()
    method: str = "paper"
    l2: float | None = None
    rounds: tuple[Round, ...] = ()
    trials: tuple[L2Trial, ...] = ()
    ended: str = ""
    job: TrainingJob | None = None
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def objective(self) -> float:
        """The objective of the classifier on the training rows."""
        return self.risks[-1].objective if self.method == "paper" else self.risks[0].objective

    @property
    def intervals(self) -> dict[str, ErrorInterval]:
        """The exact 95% interval of each error, by part of the data.

        Only that of rows which nothing was chosen by, the test rows, says what to expect of others.
        """
        return {part: ErrorInterval.of(self.errors[part], rows) for part, rows in self.rows.items()}

    def _line(self) -> str:
        errors = [f"error {error:.2%} ({part})" for part, error in self.errors.items()]
        return ", ".join([many(len(self.classifier.weights), "weight"), *errors])

    def error_text(self, part: str) -> str:
        """Return the error of a part of the data as text, with its rows and its interval."""
        rows = self.rows.get(part)
        error = self.errors[part]
        return f"{error:.4f}" if rows is None else with_interval(error, rows)

    def _facts(self) -> Mapping[str, object]:
        return {
            "classifier": self.classifier,
            "method": self.method,
            "loss": self.loss,
            "problem": self.problem,
            "samples": self.samples,
            **{f"{part} error": self.error_text(part) for part in self.errors},
            "baseline error": self.baseline,
            "rounds": len(self.rounds) or None,
            "job": None if self.job is None else self.job.id,
            "l2": self.l2,
            "notes": "; ".join(self.notes) or None,
        }
