"""Two robust rivals that scikit-learn does not have: sigmoid loss, and 0-1 loss by local search.

Both take rows that are standardised already, and labels -1 and +1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["SigmoidLoss", "ZeroOneSearch", "best_step"]

Floats = NDArray[np.float64]


class _Linear(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Weights, the last of which belongs to a constant column."""

    weights_: Floats

    def predict(self, X: Any) -> Floats:
        """Return labels -1 and +1."""
        return np.where(_with_constant(X) @ self.weights_ > 0, 1.0, -1.0)


class SigmoidLoss(_Linear):
    """Minimise mean 1/(1 + exp(y w·x)) + l2/2 |w|² by L-BFGS; keep the lowest of several starts.

    The starts are zero, the weights of logistic regression, and random ones. The constant column's
    weight is not charged.
    """

    def __init__(self, *, l2: float = 1e-4, random_starts: int = 4, seed: int = 0) -> None:
        self.l2 = l2
        self.random_starts = random_starts
        self.seed = seed

    def fit(self, X: Any, y: Any) -> SigmoidLoss:
        """Train on standardised rows with labels -1 and +1."""
        from scipy.optimize import minimize
        from scipy.special import expit

        self.classes_ = np.unique(y)
        signed = _with_constant(X) * np.asarray(y)[:, None]
        charge = np.full(signed.shape[1], self.l2)
        charge[-1] = 0.0

        def risk(w: Floats) -> tuple[float, Floats]:
            loss = expit(-(signed @ w))
            slope = signed.T @ (-loss * (1 - loss)) / len(signed)
            return float(loss.mean() + charge @ (w * w) / 2), slope + charge * w

        rng = np.random.default_rng(self.seed)
        width = signed.shape[1]
        starts = [np.zeros(width), _logistic_weights(X, y)]
        starts += [rng.normal(size=width) / np.sqrt(width) for _ in range(self.random_starts)]
        found = [minimize(risk, start, jac=True, method="L-BFGS-B") for start in starts]
        self.weights_ = np.asarray(min(found, key=lambda one: float(one.fun)).x)
        return self


class ZeroOneSearch(_Linear):
    """Lower the number of training errors, one weight at a time, from logistic regression's.

    Each move is the exact best step of one weight. When no move helps, random kicks of all weights
    follow; the best classifier is kept.
    """

    def __init__(self, *, kicks: int = 3, passes: int = 10, seed: int = 0) -> None:
        self.kicks = kicks
        self.passes = passes
        self.seed = seed

    def fit(self, X: Any, y: Any) -> ZeroOneSearch:
        """Train on standardised rows with labels -1 and +1."""
        self.classes_ = np.unique(y)
        signed = _with_constant(X) * np.asarray(y)[:, None]
        rng = np.random.default_rng(self.seed)
        start = _logistic_weights(X, y)
        best, least = self._descend(signed, start / max(float(np.linalg.norm(start)), 1e-12), rng)
        for _ in range(self.kicks):
            kick = rng.normal(size=len(best)) * np.linalg.norm(best) / np.sqrt(len(best))
            other, errors = self._descend(signed, best + 0.2 * kick, rng)
            if errors < least:
                best, least = other, errors
        self.weights_ = best
        return self

    def _descend(
        self, signed: Floats, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, int]:
        weights, margins = weights.copy(), signed @ weights
        errors = int(np.count_nonzero(margins <= 0))
        for _ in range(self.passes):
            before = errors
            for j in rng.permutation(len(weights)):
                step, fewer = best_step(margins, signed[:, j])
                if fewer < errors:
                    weights[j] += step
                    margins = signed @ weights
                    errors = int(np.count_nonzero(margins <= 0))
            if errors == before:
                break
        return weights, errors


def best_step(margins: Floats, slopes: Floats) -> tuple[float, int]:
    """Return the step t with the fewest rows of margins + t slopes <= 0, and their number.

    It is the middle of the widest interval with the fewest errors.
    """
    moving = np.flatnonzero(slopes)
    still = int(np.count_nonzero((slopes == 0) & (margins <= 0)))
    if not len(moving):
        return 0.0, still
    places = -margins[moving] / slopes[moving]
    order = np.argsort(places, kind="stable")
    rising = slopes[moving][order] > 0
    places = places[order]
    # Left of all places the rising rows are wrong; a place passed rights a rising row.
    counts = np.concatenate([[0], np.cumsum(np.where(rising, -1, 1))]) + int(rising.sum()) + still
    ends = np.concatenate([[places[0] - 2.0], places, [places[-1] + 2.0]])
    widths = np.diff(ends)
    counts = np.where(widths > 1e-9, counts, len(margins) + 1)
    least = int(counts.min())
    chosen = int(np.argmax(np.where(counts == least, widths, -1.0)))
    return float((ends[chosen] + ends[chosen + 1]) / 2), least


def _with_constant(x: Any) -> Floats:
    return np.hstack([np.asarray(x, dtype=np.float64), np.ones((len(x), 1))])


def _logistic_weights(x: Any, y: Any) -> Floats:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(x, y)
    return np.concatenate([model.coef_[0], model.intercept_])
