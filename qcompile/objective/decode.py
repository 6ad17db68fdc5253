"""Samples -> Classifier: the bits of one state as weights."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np

from qcompile.data.given import DataSource
from qcompile.data.replay import prepared
from qcompile.errors import InputError
from qcompile.files.interchange import problem_of
from qcompile.files.samples import load_samples
from qcompile.stages.arrays import frozen
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.problem import Problem
from qcompile.stages.samples import Samples
from qcompile.stages.source import ClassifierSource

__all__ = ["decode"]


_Kind = TypeVar("_Kind", str, int)


def decode(
    problem: Problem | str | Path,
    samples: Samples | str | Path,
    *,
    validation: DataSource | None = None,
) -> Classifier:
    """Return the classifier of the lowest sample, or of the one with the least validation error.

    The paper's choice: of the k lowest states that with the lowest validation error, the lower
    energy among equals. A `Dataset` for `validation` must be prepared as the training data were;
    it may also be whatever `read` takes, which is prepared so. Problem and samples may be files.
    """
    problem = problem_of(problem)
    if isinstance(samples, str | Path):
        samples = load_samples(samples, problem)
    if problem.preparation is None or problem.encoding is None:
        raise InputError("this problem was not compiled from data: it encodes no classifier")
    if not len(samples):
        raise InputError("no samples to decode")
    order = np.argsort(samples.energies, kind="stable")
    weights = problem.decode(samples.bits[order])
    chosen, error = 0, None
    if validation is not None and not isinstance(validation, Dataset):
        validation = prepared(validation, problem)
    if validation is not None:
        errors = validation.errors(weights)
        chosen = int(np.argmin(errors))
        error = float(errors[chosen])
    loss, encoding = problem.loss, problem.encoding
    source = ClassifierSource(
        **vars(problem.source),
        energy=float(samples.energies[order[chosen]]),
        rank=chosen,
        solver=_told(samples, "solver", str),
        solver_seed=_told(samples, "seed", int),
        space=_told(samples, "space", str),
        validation_error=error,
        order=None if loss is None else loss.order,
        loss=None if loss is None else loss.coefficients,
        bits=encoding.bits,
        zeta=encoding.zeta,
        l2=None if problem.around is None else problem.around.l2,
    )
    return Classifier(frozen(weights[chosen]), problem.preparation, source)


def _told(samples: Samples, name: str, kind: type[_Kind]) -> _Kind | None:
    """Return what the solver said about itself; None for values of another kind."""
    value = samples.info.get(name)
    return value if isinstance(value, kind) else None
