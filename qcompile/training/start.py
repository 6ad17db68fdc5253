"""Where a training in rounds begins: the least-squares classifier, and a price of the weights."""

from __future__ import annotations

import numpy as np

from qcompile.errors import InputError
from qcompile.moments.local import mean_and_product, objective_at, row_sums
from qcompile.moments.unit_rows import UnitRows
from qcompile.stages.arrays import Floats
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.preparation import Preparation

__all__ = ["carried_over", "default_l2", "least_squares", "price_of", "scaled_to_lowest"]


# Added to the squares of all weights, as a share of their mean: columns may depend on each other.
_RIDGE = 1e-2
# Lengths of the weights that are tried.
_LENGTHS = 2.0 ** np.arange(-1, 10)
# Up to so many weights a matrix of all products is made; beyond, so many passes at most.
_MOST_SOLVED, _MOST_PASSES = 1000, 50
_PRICE = 0.2
_MOST_WRONG = 0.45  # labels at random leave nothing to divide by


def least_squares(rows: UnitRows) -> Floats:
    """Return the direction of the weights with the least squares of 1 - u·w, at unit length.

    It has a closed form and is convex. Rounds that start from 0 may end in a minimum that is not
    low at all, since rows far on the wrong side have no slope.
    """
    size = rows.features
    if size <= _MOST_SOLVED:
        mean, products = row_sums(rows)
        ridge = _RIDGE * max(float(np.trace(products)) / size, 1e-12)
        weights = np.linalg.solve(products + ridge * np.eye(size), mean)
    else:
        # the rows are at unit length, so that the products of the diagonal add up to 1 at most
        weights = _by_conjugate_gradients(rows, _RIDGE / size)
    return np.asarray(weights / max(float(np.linalg.norm(weights)), 1e-300))


def _by_conjugate_gradients(rows: UnitRows, ridge: float) -> Floats:
    """Solve for the least squares by passes over the rows, without a matrix of all products."""
    weights = np.zeros(rows.features)
    rest, _ = mean_and_product(rows, weights)
    way, square = rest.copy(), float(rest @ rest)
    enough = 1e-6 * square
    for _ in range(_MOST_PASSES):
        if square <= enough:
            break
        _, product = mean_and_product(rows, way)
        product = product + ridge * way
        share = square / float(way @ product)
        weights = weights + share * way
        rest = rest - share * product
        before, square = square, float(rest @ rest)
        way = rest + square / before * way
    return weights


def default_l2(data: Dataset, direction: Floats) -> float:
    """Return the price of the weights that needs no search.

    It is 0.2 (4 p (1 - p))² / (m (1 - 2 e)) for rows that count m in all, a share p of positive
    ones, and a share e of wrong answers of the least-squares classifier. More rows need less of it,
    noisy labels more. With the price of equal classes a rare class would be given up.
    """
    return price_of(float(data.mean(data.y > 0)), data.error(direction), data.total)


def price_of(positive: float, wrong: float, total: float) -> float:
    """Return the default price for a share of positive rows, one of wrong answers, and their sum.

    >>> price_of(0.5, 0.0, 100.0)
    0.002
    """
    balance = max(4 * positive * (1 - positive), 1e-3)
    return _PRICE * balance**2 / (total * (1 - 2 * min(wrong, _MOST_WRONG)))


def carried_over(classifier: Classifier, preparation: Preparation) -> Floats:
    """Return the weights for rows prepared otherwise that decide as the classifier does.

    A column that is new has the weight 0. Without a bias the intercept is left out.
    """
    made = classifier.preparation
    if made.raw_features != preparation.raw_features:
        raise InputError(
            f"a classifier of {made.raw_features} columns to begin at; these rows have "
            f"{preparation.raw_features}"
        )
    if made.same_but_wider(preparation):
        return np.array(classifier.weights)
    raw, intercept = classifier.raw_weights()
    own = raw if preparation.columns is None else raw[preparation.columns]
    if preparation.center is not None:
        intercept += float(own @ preparation.center)
    if preparation.scale is not None:
        own = own * preparation.scale
    return np.append(own, intercept) if preparation.bias else np.array(own)


def scaled_to_lowest(rows: UnitRows, direction: Floats, l2: float) -> Floats:
    """Return the direction at the length, of a few, with the lowest objective."""
    many = np.multiply.outer(_LENGTHS, direction)
    return np.asarray(many[int(np.argmin(objective_at(rows, many, l2)))])
