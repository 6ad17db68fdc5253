"""Dataset -> Calibration: probabilities from decisions about rows that were not trained on.

A classifier is too sure of the rows that it was trained on. So the rows are split into folds, and
each fold is decided by the classifier that minimises the objective of the rounds on the others. A
sigmoid is then fitted to these decisions and the labels (Platt), as one of Lin, Lin and Weng.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.data.prepare import PrepareOptions, prepare
from qcompile.data.row_hash import row_hashes
from qcompile.errors import InputError
from qcompile.moments.unit_rows import UnitRows
from qcompile.runtime import cluster
from qcompile.runtime.progress import muted
from qcompile.stages.arrays import Floats, frozen, row_norms
from qcompile.stages.calibration import Calibration
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.training.descent import descend_smoothly
from qcompile.training.start import default_l2, least_squares

__all__ = [
    "FOLDS",
    "calibrate",
    "calibrated_by_folds",
    "fit_calibration",
    "held_out_decisions",
    "stratified_folds",
]


FOLDS = 5
# Two numbers are fitted: more rows do not tell more about them, and take long.
_MOST_ROWS = 20_000
_STEPS = 100


def calibrate(classifier: Classifier, data: Dataset) -> Classifier:
    """Return the classifier with a calibration that is fitted to rows it was not trained on.

    `data` are raw rows or rows prepared like those of the classifier. On the rows that it was
    trained on the probabilities would be too close to 0 and 1; `train` calibrates by itself.

    >>> from qcompile import read, split, train
    >>> rows, held, new = split(read("breast-cancer"), (0.5, 0.25, 0.25), seed=1)
    >>> model = calibrate(train(rows).classifier, held)
    >>> model.probabilities(new.x).shape
    (142,)
    """
    x, y = _own_rows(classifier, data)
    made = fit_calibration(np.asarray(x @ classifier.weights), y, data.weights)
    return replace(classifier, calibration=made)


def _own_rows(classifier: Classifier, data: Dataset) -> tuple[NDArray[np.float64], Floats]:
    """Return the rows as the classifier takes them, and their labels as its signs."""
    made, given = classifier.preparation, data.preparation
    labels = given.labels(data.y)
    unknown = made.unknown_labels(labels)
    if unknown:
        raise InputError(f"label {unknown[0]!r} was never seen in training")
    prepared = made.same_but_wider(given) and not given.is_identity
    if not prepared and not given.is_identity:
        raise InputError(
            "these rows are prepared in another way than those of the classifier; expected raw "
            "rows, or prepare(data, like=rows)"
        )
    return data.x if prepared else made.apply(data.x), made.signs(labels)


def fit_calibration(
    decisions: ArrayLike,
    signs: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    through_half: bool = False,
) -> Calibration:
    """Return the sigmoid of the decisions that makes the labels (signs) most likely.

    Its targets are (n + 1) / (n + 2) for n positive rows, and 1 / (n + 2) for n negative ones, so
    that classes that are apart have no infinite slope. It never falls: a larger decision is not
    less likely to be positive. `weights` are how much each row counts. With `through_half` a
    decision of 0 has the probability 1/2, so that labels and probabilities agree.
    """
    d, y = np.asarray(decisions, dtype=np.float64), np.asarray(signs, dtype=np.float64)
    count = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not len(d) or d.shape != y.shape or count.shape != d.shape:
        raise InputError(f"{d.size} decisions, {y.size} labels, {count.size} weights of rows")
    positive, negative = float(count[y > 0].sum()), float(count[y <= 0].sum())
    target = np.where(y > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = float(np.max(np.abs(d))) or 1.0
    slope, intercept = _lowest(d / scale, target, count, through_half)
    return Calibration(slope / scale, intercept)


def _lowest(d: Floats, target: Floats, count: Floats, through_half: bool) -> tuple[float, float]:
    """Return slope (0 or more) and intercept with the least cross-entropy, by Newton's method."""
    from scipy.special import expit

    def entropy(at: Floats) -> float:
        logits = at[0] * d + at[1]
        return float((count * (np.logaddexp(0, logits) - target * logits)).sum())

    mean = float((count * target).sum() / count.sum())
    flat = np.array([0.0, 0.0 if through_half else np.log(mean / (1 - mean))])
    at, value = flat, entropy(flat)
    for _ in range(_STEPS):
        p = expit(at[0] * d + at[1])
        rest, curve = count * (p - target), count * p * (1 - p) + 1e-12
        slope = np.array([(rest * d).sum(), rest.sum()])
        across = (curve * d).sum()
        square = np.array([[(curve * d * d).sum(), across], [across, curve.sum()]])
        if through_half:
            slope[1] = square[0, 1] = square[1, 0] = 0.0
        step = np.linalg.solve(square + 1e-12 * np.trace(square) * np.eye(2), slope)
        share = 1.0
        while (after := entropy(at - share * step)) > value - 1e-4 * share * float(slope @ step):
            share /= 2
            if share < 1e-10:
                break
        if share < 1e-10 or value - after <= 1e-12 * max(1.0, abs(value)):
            break
        at, value = at - share * step, after
    found = at if at[0] > 0 else flat
    return float(found[0]), float(found[1])


def held_out_decisions(
    data: Dataset,
    *,
    l2: float | None = None,
    preparation: PrepareOptions | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    unit_rows: bool = False,
    weights_of: Callable[[Dataset], Floats] | None = None,
) -> Floats:
    """Return the decision about each row by a classifier that was trained without its fold.

    The classifiers minimise the objective of the rounds by L-BFGS, at the price `l2` of the
    weights; None is the price that needs no search. `weights_of` trains otherwise. `preparation` is
    for raw rows: each fold is prepared like the others, which do not know it. `unit_rows` divides
    each decision by the length of its row.
    """
    decisions = np.zeros(len(data))
    with cluster.locally(), muted():
        keys = row_hashes(data.x, seed=seed)
        for held in stratified_folds(data.y, folds, keys=keys):
            rest = np.setdiff1d(np.arange(len(data)), held)
            rows, tested = data.take(rest), data.take(held)
            if preparation is not None:
                rows = preparation.apply(rows)
                tested = prepare(tested, like=rows)
            made = _lowest_weights(rows, l2) if weights_of is None else weights_of(rows)
            found = np.asarray(tested.x @ made)
            if unit_rows:
                norms = row_norms(tested.x)
                found = np.divide(found, norms, out=np.zeros_like(found), where=norms > 0)
            decisions[held] = found
    return frozen(decisions)


def _lowest_weights(rows: Dataset, l2: float | None) -> Floats:
    unit = UnitRows.of(rows)
    direction = least_squares(unit)
    price = default_l2(rows, direction) if l2 is None else l2
    return descend_smoothly(unit, price, direction=direction)[0]


def stratified_folds(
    signs: Floats, folds: int, *, keys: NDArray[np.uint64]
) -> list[NDArray[np.int64]]:
    """Return the rows of each fold, ascending; the classes are spread evenly over the folds.

    Rows of a class with the same key are in the same fold, and the order of the rows does not
    matter. With keys that depend on the values of a row, no row is decided by its own copy, and a
    row that is there twice is treated as one of weight 2.
    """
    both = np.stack([signs > 0, keys], axis=1)
    distinct, groups = np.unique(both, axis=0, return_inverse=True)
    fewest = fewest_rows(signs, keys)
    if not 2 <= folds <= fewest:
        raise InputError(
            f"{folds} folds with {fewest} rows of the rarer class; expected 2 to {fewest}"
            if fewest >= 2
            else f"{fewest} rows of the rarer class; folds need at least 2 of each"
        )
    place = np.arange(len(distinct)) % folds
    return [np.flatnonzero(place[groups.ravel()] == fold) for fold in range(folds)]


def fewest_rows(signs: Floats, keys: NDArray[np.uint64]) -> int:
    """Return the number of different rows of the class that has fewer of them."""
    return min(len(np.unique(keys[own])) for own in (signs > 0, signs <= 0))


def calibrated_by_folds(
    data: Dataset,
    *,
    l2: float | None = None,
    preparation: PrepareOptions | None = None,
    seed: int = 0,
    weights_of: Callable[[Dataset], Floats] | None = None,
    through_half: bool = False,
) -> Calibration | None:
    """Return a calibration from held-out decisions; None if a class has no two different rows.

    Of many rows some are drawn: two numbers need no more.
    """
    if len(data) > _MOST_ROWS:
        drawn = np.random.default_rng([seed, 31]).permutation(len(data))[:_MOST_ROWS]
        data = data.take(np.sort(drawn))
    fewest = fewest_rows(data.y, row_hashes(data.x, seed=seed))
    if fewest < 2:
        return None
    count = min(FOLDS, fewest)
    decisions = held_out_decisions(
        data, l2=l2, preparation=preparation, folds=count, seed=seed, weights_of=weights_of
    )
    return fit_calibration(decisions, data.y, data.weights, through_half=through_half)
