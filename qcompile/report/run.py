"""The artifacts of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qcompile.report.figures import Trace
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.source import Source
from qcompile.stages.step import Step
from qcompile.training.risks import Risk

if TYPE_CHECKING:
    from qcompile.rehearsal.record import Rehearsal
    from qcompile.stages.classifier import Classifier
    from qcompile.stages.embedded import Embedding
    from qcompile.stages.samples import Samples

__all__ = ["ROUNDING", "SAME", "Run"]


# Tolerances for equal energies, as shares of their spread and of their size. The objective is a sum
# over rows, the energy a sum over terms: rounding makes them differ.
SAME, ROUNDING = 1e-6, 1e-11


@dataclass(frozen=True, eq=False)
class Run:
    """The artifacts of a run; any of them may be missing.

    `copies` are the chains of every copy on the machine, if there is more than one; `embedding` is
    then the first. `parts` are named rows with known labels, prepared as in training; `raw` are
    the data given before that. `risks` show where accuracy is lost. `trace` holds the rounds of a
    training; the problem and the samples are then those of the last step that was taken.
    `rehearsal` is of the problem. `told` holds facts in words by name, `made` how and when the run
    was made (command, seed, date), `reasons` why a section cannot be shown.
    """

    name: str
    moments: Moments | None = None
    loss: Loss | None = None
    pubo: Pubo | None = None
    qubo: Qubo | None = None
    embedding: Embedding | None = None
    copies: tuple[Embedding, ...] = ()
    samples: Samples | None = None
    classifier: Classifier | None = None
    parts: tuple[tuple[str, Dataset], ...] = ()
    raw: Dataset | None = None
    risks: tuple[Risk, ...] = ()
    trace: Trace | None = None
    rehearsal: Rehearsal | None = None
    told: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> Pubo | Qubo | None:
        """The problem that was solved: the QUBO if it is known, or else the polynomial."""
        return self.qubo if self.qubo is not None else self.pubo

    @property
    def embeddings(self) -> tuple[Embedding, ...]:
        """The chains of every copy of the problem."""
        if self.embedding is None:
            return ()
        return self.copies or (self.embedding,)

    @property
    def in_rounds(self) -> bool:
        """Whether the classifier comes from rounds, or the problem is one step of them."""
        if self.trace is not None or self.of_step:
            return True
        known = None if self.classifier is None else self.classifier.source.method
        return self.problem is None and self.loss is None and known == "rounds"

    @property
    def of_step(self) -> bool:
        """Whether the problem is a step from given weights."""
        return self.problem is not None and isinstance(self.problem.encoding, Step)

    @property
    def origin(self) -> Pubo | Qubo | Classifier | None:
        """The artifact that records how the data were prepared."""
        known = (self.problem, self.classifier)
        return next((x for x in known if x is not None and x.preparation is not None), None)

    @property
    def preparation(self) -> Preparation | None:
        """How the raw rows were prepared."""
        return None if self.origin is None else self.origin.preparation

    @property
    def source(self) -> Source:
        """Where the data come from."""
        known = (self.problem, self.classifier, self.moments)
        return next((x.source for x in known if x is not None and x.source), Source())
