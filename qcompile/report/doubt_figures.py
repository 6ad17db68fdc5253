"""Figures about probabilities and labels: calibration, and rows that are likely mislabelled."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from qcompile.errors import InputError
from qcompile.report.figures import Reliability, ReliabilityBin, SuspectTable
from qcompile.report.run import Run
from qcompile.stages.dataset import Dataset
from qcompile.stages.interval import exact_interval
from qcompile.stages.labels import label_text
from qcompile.training.explain import explain

__all__ = ["reliability_of", "suspects_of"]


_BINS = 10
_MOST_SUSPECTS = 20
# Rows that are in the order of their file, so that the number of a row leads back to it.
_WHOLE = ("training rows", "the data given")


def reliability_of(run: Run) -> Iterable[Reliability]:
    """Yield how probabilities compare with labels, for each part of the data."""
    model = run.classifier
    if model is None or model.calibration is None:
        return
    for name, rows in run.parts:
        if len(rows):
            shares = model.calibration.probabilities(rows.x @ model.weights)
            yield Reliability(name, label_text(model.preparation.positive), _bins(shares, rows))


def _bins(shares: np.ndarray, rows: Dataset) -> tuple[ReliabilityBin, ...]:
    """Return the bins that hold rows, by probability."""
    places = np.minimum((shares * _BINS).astype(np.int64), _BINS - 1)
    found = []
    for place in np.unique(places).tolist():
        own = places == place
        count, positive = int(own.sum()), int((rows.y[own] > 0).sum())
        low, high = exact_interval(positive, count)
        found.append(ReliabilityBin(float(shares[own].mean()), positive, count, low, high))
    return tuple(found)


def suspects_of(run: Run) -> SuspectTable | None:
    """Return the rows of the data given whose labels are likely wrong."""
    model = run.classifier
    rows = next((rows for name, rows in run.parts if name in _WHOLE), None)
    if model is None or rows is None or run.trace is not None:
        return None
    if run.source.shuffle_seed is not None:  # the numbers of the rows would not be those of a file
        return None
    rows = rows if run.raw is None else run.raw  # as the command explain
    try:
        found = explain(model, rows)
    except InputError:  # too few rows of a class for folds
        found = explain(model, rows, folds=0)
    assert found.suspects is not None and found.noise is not None
    return SuspectTable(
        rows=len(rows),
        contradicted=len(found.suspects),
        given_up=int(found.suspects.given_up.sum()),
        likely=len(found.suspects.likely),
        rates=(found.noise.positive, found.noise.negative),
        labels=(label_text(found.positive), label_text(found.negative)),
        first=tuple(
            (own["row"], label_text(own["label"]), own["margin"], own["chance"])
            for own in found.suspects.records(_MOST_SUSPECTS)
        ),
    )
