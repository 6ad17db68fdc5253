"""Samples -> Classifier: the bits of one state as weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcompile.errors import InputError
from qcompile.stages.arrays import frozen
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset, wrong_answers
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = ["decode"]


def decode(
    problem: Pubo | Qubo, samples: Samples, *, validation: Dataset | None = None
) -> Classifier:
    """Return the classifier of the lowest sample, or of the one with the least validation error.

    The paper's choice: of the k lowest states that with the lowest validation error, the lower
    energy among equals. `validation` must be prepared as the training data were.
    """
    if problem.preparation is None or problem.encoding is None:
        raise InputError("this problem was not compiled from data: it encodes no classifier")
    if not len(samples):
        raise InputError("no samples to decode")
    order = np.argsort(samples.energies, kind="stable")
    weights = problem.decode(samples.bits[order])
    chosen, error = 0, None
    if validation is not None:
        errors = wrong_answers(validation, weights)
        chosen = int(np.argmin(errors))
        error = float(errors[chosen])
    source: dict[str, Any] = {
        **dict(problem.source),
        "energy": float(samples.energies[order[chosen]]),
        "rank": chosen,
        **{k: samples.info[k] for k in ("solver", "seed", "space") if k in samples.info},
    }
    if error is not None:
        source["validation_error"] = error
    if problem.loss is not None:
        source |= {"order": problem.loss.order, "loss": list(problem.loss.coefficients)}
    source |= {"bits": problem.encoding.bits, "zeta": problem.encoding.zeta}
    return Classifier(frozen(weights[chosen]), problem.preparation, source)
