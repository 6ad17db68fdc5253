"""The eight methods of Figure 4: four convex ones, and four that are annealed on the margins.

A method has settings to choose from, and `fit` gives weights for a cut: for annealed methods the
classifier of least validation error among fifty states of low energy, as in the paper.

All annealed methods search alike. Two reads of three begin in a valley that descent in the
continuum found, from the smooth hinge's classifiers at several strengths and sizes; the others
begin anywhere. Some of the fifty are the lowest of each read, the others the lowest of all: the
fifty lowest alone are often neighbours of one state, and leave validation nothing to choose.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qcompile import Dataset, Encoding, Loss, Moments, anneal_examples, fit_loss, moments_of
from qcompile.stages.loss import QLoss, ZeroOneLoss

from .sets import Cut

__all__ = ["GRID", "METHODS", "Effort", "Method", "Setting"]

Setting = dict[str, float]
# λ and ω were offered at these ten values.
GRID = tuple(2.0 * 0.199483**i for i in range(10))
_SIXTH = (0.44844866, -1.77700378, 0.81789600, 2.65918754, -1.85194476, -1.28429842, 1.0)


@dataclass(frozen=True)
class Effort:
    """How long to anneal, and on how many rows at most."""

    reads: int
    sweeps: int
    rows: int | None


@dataclass(frozen=True)
class Method:
    """A name, the settings that are offered, and how to fit weights with one of them."""

    name: str
    settings: tuple[Setting, ...]
    fit: Callable[[Cut, Setting, Effort], NDArray[np.float64]]
    annealed: bool


def _settings(**values: tuple[float, ...]) -> tuple[Setting, ...]:
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


# --- annealed ------------------------------------------------------------------------------


def _root_mean_square(data: Dataset) -> float:
    stored = data.x.data if sp.issparse(data.x) else np.asarray(data.x)
    return float(np.sqrt(np.sum(stored**2) / len(data)))


_CANDIDATES = 50
_DESCENT = 60  # steps
# The smooth hinge's λ, and how large its margins are made.
_BEGINNINGS = (
    (1e-5, 0.9), (1e-3, 0.4), (1e-6, 0.4), (1e-2, 0.9), (1e-4, 0.4), (1e-4, 0.9), (1e-6, 0.9),
    (1e-5, 0.4),
)  # fmt: skip
Valued = Loss | QLoss | ZeroOneLoss


def _anneal(
    cut: Cut, loss: Valued, zeta: float, bits: int, effort: Effort, seed: int = 1
) -> NDArray[np.float64]:
    encoding = Encoding(cut.train.features, bits, zeta)
    warm = min(len(_BEGINNINGS), -(-2 * effort.reads // 3))
    found = []
    starts: list[Any] = [_valleys(cut, loss, zeta, warm), None]
    for number, (start, reads) in enumerate(zip(starts, (warm, effort.reads - warm), strict=True)):
        keep = _CANDIDATES * reads // effort.reads
        if reads:
            found.append(
                anneal_examples(
                    cut.train,
                    loss,
                    encoding,
                    start=start,
                    reads=reads,
                    sweeps=effort.sweeps,
                    keep=keep,
                    each=max(1, keep // reads // 2),
                    seed=seed + number,
                )
            )
    candidates = np.concatenate(found)
    return np.asarray(candidates[np.argmin(cut.validation.errors(candidates))])


@lru_cache(maxsize=64)
def _valleys(cut: Cut, loss: Valued, zeta: float, count: int) -> NDArray[np.float64]:
    """Return points in valleys of the loss, one a row; settings that differ in bits share them."""
    return np.stack(
        [
            _descend(cut, loss, zeta, size * _hinge(cut, ridge))
            for ridge, size in _BEGINNINGS[:count]
        ]
    )


@lru_cache(maxsize=64)
def _hinge(cut: Cut, ridge: float) -> NDArray[np.float64]:
    """Return the smooth hinge's weights, scaled to margins of root mean square 1."""
    weights = _smooth_hinge(cut, {"lambda": ridge}, None)
    size = float(np.sqrt(np.mean(np.asarray(cut.train.x @ weights) ** 2)))
    return weights / (size or 1.0)


def _descend(
    cut: Cut, loss: Valued, zeta: float, start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Go down from `start` within the range; 0-1 loss has no slope, there the range is filled."""
    from scipy.optimize import minimize

    if isinstance(loss, ZeroOneLoss):
        return np.asarray(start * zeta / (np.abs(start).max() or 1.0))
    x, y = cut.train.x, cut.train.y

    def risk(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = y * np.asarray(x @ w)
        slope = np.asarray((y * _slope(loss, margins)) @ x).ravel() / len(y)
        return float(np.mean(loss(margins))) + loss.l2 / 2 * float(w @ w), slope + loss.l2 * w

    found = minimize(
        risk, np.clip(start, -zeta, zeta), jac=True, method="L-BFGS-B",
        bounds=[(-zeta, zeta)] * len(start), options={"maxiter": _DESCENT},
    )  # fmt: skip
    return np.asarray(found.x)


def _slope(loss: Loss | QLoss, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    if isinstance(loss, Loss):
        return np.asarray(np.polynomial.Polynomial(loss.coefficients).deriv()(margins))
    gap = np.maximum(0.0, 1.0 - margins)
    return np.where(gap * gap < loss.ceiling, -2.0 * gap, 0.0)


def _sixth(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    """Sixth-order loss with ω = 1.

    ω only sets the scale of the weights: (λ, ω, ζ) and (λ ω^(-1/3), 1, ζ ω^(1/6)) are the same
    problem. `range` is ζ in units of 1/rms|x|; `charge` is λζ/2, what a weight of full size costs
    for each unit of it, to be compared with the slope of the loss.
    """
    zeta = setting["range"] / _root_mean_square(cut.train)
    loss = Loss(_SIXTH, l2=2 * setting["charge"] / zeta)
    return _anneal(cut, loss, zeta, int(setting["bits"]), effort)


def _zero_one(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    return _anneal(cut, ZeroOneLoss(l2=setting["charge"]), 1.0, int(setting["bits"]), effort)


def _q_loss(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    zeta = setting["range"] / _root_mean_square(cut.train)
    loss = QLoss(setting["q"], l2=2 * setting["charge"] / zeta)
    return _anneal(cut, loss, zeta, int(setting["bits"]), effort)


@lru_cache(maxsize=12)
def _moments(data: Dataset) -> Moments:
    """All settings share the moments of a cut."""
    return moments_of(data, order=3)


def _cubic(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    """Cubic loss, fitted to the risk; `range` is a share of the range that is always safe."""
    moments = _moments(cut.train)
    safe = float(np.sqrt(3.0 / cut.train.features))
    loss = fit_loss(moments, order=3, weight_range=setting["range"] * safe)
    loss = replace(loss, l2=2 * setting["charge"] / loss.zeta)
    return _anneal(cut, loss, loss.zeta, int(setting["bits"]), effort)


# --- convex --------------------------------------------------------------------------------


def _square(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    x, y = cut.train.x, cut.train.y
    gram = x.T @ x
    gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram)
    ridge = setting["lambda"] * len(y) * np.eye(len(gram))
    return np.asarray(np.linalg.lstsq(gram + ridge, np.asarray(x.T @ y).ravel(), rcond=None)[0])


def _liblinear(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    from sklearn.svm import LinearSVC

    c = 1 / (setting["lambda"] * len(cut.train))
    model = LinearSVC(C=c, dual=False, fit_intercept=False, tol=1e-2, max_iter=100)
    return np.asarray(model.fit(_rows(cut.train), cut.train.y).coef_.ravel())


def _logistic(cut: Cut, setting: Setting, effort: Effort) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression

    c = 1 / (setting["lambda"] * len(cut.train))
    model = LogisticRegression(C=c, fit_intercept=False, tol=1e-3, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stopped early is meant
        return np.asarray(model.fit(_rows(cut.train), cut.train.y).coef_.ravel())


def _smooth_hinge(cut: Cut, setting: Setting, effort: Effort | None) -> NDArray[np.float64]:
    """Hinge with a quadratic corner: 1/2 - γ below 0, (1 - γ)²/2 up to 1, then 0."""
    from scipy.optimize import minimize

    x, y, ridge = cut.train.x, cut.train.y, setting["lambda"]

    def risk(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = y * np.asarray(x @ w)
        gap = np.clip(1 - margins, 0, 1)
        values = np.where(margins < 0, 0.5 - margins, gap**2 / 2)
        slope = -np.asarray(x.T @ (y * gap)).ravel() / len(y)
        return float(np.mean(values)) + ridge / 2 * float(w @ w), slope + ridge * w

    start = np.zeros(cut.train.features)
    found = minimize(risk, start, jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return np.asarray(found.x)


def _rows(data: Dataset) -> Any:
    # scikit-learn takes sparse matrices with 32-bit indices only
    if not sp.issparse(data.x):
        return np.asarray(data.x)
    x = data.x
    return sp.csr_matrix((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), x.shape)


_BITS = (1.0, 2.0, 3.0, 6.0, 8.0)
_CHARGES = (0.0, 0.003, 0.03, 0.1)
_RIDGES = tuple(value for value in GRID if value < 1)
METHODS = {
    method.name: method
    for method in (
        Method("liblinear", _settings(**{"lambda": _RIDGES}), _liblinear, False),
        Method("logistic", _settings(**{"lambda": _RIDGES}), _logistic, False),
        Method("square", _settings(**{"lambda": _RIDGES}), _square, False),
        Method("smooth hinge", _settings(**{"lambda": _RIDGES}), _smooth_hinge, False),
        Method(
            "q-loss",
            _settings(range=(1.0, 3.0, 6.0, 12.0), q=(-0.1, -1.0), charge=_CHARGES[:3], bits=_BITS),
            _q_loss,
            True,
        ),
        Method("0-1", _settings(charge=(0.0, 1e-5, 1e-4, 1e-3), bits=_BITS), _zero_one, True),
        Method(
            "sixth-order",
            _settings(range=(0.02, 0.4, 1.2, 2.5, 6.0, 12.0), charge=_CHARGES, bits=_BITS),
            _sixth,
            True,
        ),
        Method(
            "cubic",
            _settings(range=(0.3, 1.0, 2.0, 4.0), charge=_CHARGES, bits=_BITS),
            _cubic,
            True,
        ),
    )
}
