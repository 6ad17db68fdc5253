"""The nine methods of Figure 4: four convex ones, four annealed on the margins, and rounds.

A method has settings to choose from and a path of prices of the weights, from large to small.
`fit` gives weights for each price of the path: for searched methods the classifier of least
validation error among fifty states of low energy, as in the paper.

All annealed methods search alike. At the first price of a path some reads begin in valleys that
descent in the continuum found, from the smooth hinge's classifiers at several strengths, and the
others begin anywhere. At the next price the valleys are followed by descent, and the lowest states
are starts as well. Some of the fifty are the lowest of each read, the others the lowest of all: the
fifty lowest alone are often neighbours of one state, and leave validation nothing to choose. What
is fixed, and why, is in `PROTOCOL.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qcompile import (
    Dataset,
    Encoding,
    Loss,
    Moments,
    RoundOptions,
    SolveOptions,
    anneal_examples,
    fit_loss,
    moments_of,
)
from qcompile.moments.unit_rows import UnitRows
from qcompile.stages.loss import QLoss, ZeroOneLoss
from qcompile.training.l2_path import inner_of
from qcompile.training.rounds import Task, run_rounds
from qcompile.training.start import least_squares

from .sets import SCALINGS, Cut

__all__ = ["CONVEX", "GRID", "METHODS", "Effort", "Method", "Setting"]

Floats = NDArray[np.float64]
Setting = dict[str, Any]
Path = tuple[float, ...]
# λ and ω were offered at these ten values.
GRID = tuple(2.0 * 0.199483**i for i in range(10))
_SIXTH = (0.44844866, -1.77700378, 0.81789600, 2.65918754, -1.85194476, -1.28429842, 1.0)


@dataclass(frozen=True)
class Effort:
    """How long to search, and on how many rows at most."""

    valleys: int
    others: int  # reads that begin anywhere, later at the lowest states of the price before
    sweeps: int
    rows: int | None


@dataclass(frozen=True)
class Method:
    """A name, the settings that are offered, the prices, and how to fit weights along them."""

    name: str
    settings: tuple[Setting, ...]
    path: Path
    fit: Callable[[Cut, Setting, Path, Effort], Sequence[Floats]]
    annealed: bool = False


def _settings(scalings: Sequence[str] = SCALINGS, **values: tuple[float, ...]) -> Any:
    names = ("scaling", *values)
    return tuple(
        dict(zip(names, chosen, strict=True)) for chosen in product(scalings, *values.values())
    )


# --- annealed ------------------------------------------------------------------------------


def _root_mean_square(data: Dataset) -> float:
    stored = data.x.data if sp.issparse(data.x) else np.asarray(data.x)
    return float(np.sqrt(np.sum(stored**2) / len(data)))


_CANDIDATES = 50
_DESCENT = 30  # steps
_BEGINNINGS = (1e-5, 1e-3, 1e-4, 1e-2)  # the smooth hinge's λ
_SIZE = 0.9  # root mean square of its margins
Valued = Loss | QLoss | ZeroOneLoss


def _anneal(
    cut: Cut, losses: tuple[Valued, ...], zeta: float, bits: int, effort: Effort, seed: int = 1
) -> list[Floats]:
    """Return the classifier that validation chooses for each loss of a path."""
    encoding = Encoding(cut.train.features, bits, zeta)
    reads = effort.valleys + effort.others
    assert effort.others <= 2  # that many low states are carried on
    keep = _CANDIDATES // reads
    valleys = [_valley(cut, losses, zeta, ridge) for ridge in _BEGINNINGS[: effort.valleys]]
    chosen: list[Floats] = []
    carried: Floats | None = None
    for number, loss in enumerate(losses):
        starts = np.stack([along[number] for along in valleys])
        groups: list[tuple[Floats | None, int]] = [(starts, effort.valleys), (None, effort.others)]
        if carried is not None:
            groups = [(np.concatenate([starts, carried]), reads)]
        found = [
            anneal_examples(
                cut.train, loss, encoding, start=start, reads=count, sweeps=effort.sweeps,
                keep=keep * count, each=max(1, keep // 2), seed=seed + 2 * number + group,
            )
            for group, (start, count) in enumerate(groups)
        ]  # fmt: skip
        firsts = [group[0] for group in found] + [group[min(1, len(group) - 1)] for group in found]
        carried = np.stack(firsts)[: effort.others]
        candidates = np.concatenate(found)
        chosen.append(candidates[np.argmin(cut.validation.errors(candidates))])
    return chosen


@lru_cache(maxsize=256)
def _valley(cut: Cut, losses: tuple[Valued, ...], zeta: float, ridge: float) -> tuple[Floats, ...]:
    """Return points in a valley, followed along a path; settings that differ in bits share it."""
    points = []
    here = _SIZE * _hinge(cut, ridge)
    for loss in losses:
        here = _descend(cut, loss, zeta, here)
        points.append(here)
    return tuple(points)


@lru_cache(maxsize=64)
def _hinge(cut: Cut, ridge: float) -> Floats:
    """Return the smooth hinge's weights, scaled to margins of root mean square 1."""
    weights = _hinge_at(cut, ridge, np.zeros(cut.train.features), 50)
    size = float(np.sqrt(np.mean(np.asarray(cut.train.x @ weights) ** 2)))
    return weights / (size or 1.0)


@lru_cache(maxsize=8)
def _signed(data: Dataset) -> tuple[Any, Any]:
    """Return y x, and its transpose stored by rows: products with both are fast."""
    x: Any = data.x
    signed = sp.diags_array(data.y) @ x if sp.issparse(x) else data.y[:, None] * np.asarray(x)
    if sp.issparse(signed):
        return sp.csr_array(signed), sp.csr_array(signed.T)
    return signed, np.ascontiguousarray(signed.T)


def _descend(cut: Cut, loss: Valued, zeta: float, start: Floats) -> Floats:
    """Go down from `start` within the range; 0-1 loss has no slope, there the range is filled."""
    from scipy.optimize import minimize

    if isinstance(loss, ZeroOneLoss):
        return np.asarray(start * zeta / (np.abs(start).max() or 1.0))
    rows, columns = _signed(cut.train)

    def risk(w: Floats) -> tuple[float, Floats]:
        margins = np.asarray(rows @ w)
        slope = np.asarray(columns @ _slope(loss, margins)) / len(margins)
        return float(np.mean(loss(margins))) + loss.l2 / 2 * float(w @ w), slope + loss.l2 * w

    found = minimize(
        risk, np.clip(start, -zeta, zeta), jac=True, method="L-BFGS-B",
        bounds=[(-zeta, zeta)] * len(start), options={"maxiter": _DESCENT},
    )  # fmt: skip
    return np.asarray(found.x)


def _slope(loss: Loss | QLoss, margins: Floats) -> Floats:
    if isinstance(loss, Loss):
        return np.asarray(np.polynomial.Polynomial(loss.coefficients).deriv()(margins))
    gap = np.maximum(0.0, 1.0 - margins)
    return np.where(gap * gap < loss.ceiling, -2.0 * gap, 0.0)


def _sixth(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    """Sixth-order loss with ω = 1.

    ω only sets the scale of the weights: (λ, ω, ζ) and (λ ω^(-1/3), 1, ζ ω^(1/6)) are the same
    problem. `range` is ζ in units of 1/rms|x|; a price is λζ/2, what a weight of full size costs
    for each unit of it, to be compared with the slope of the loss.
    """
    zeta = setting["range"] / _root_mean_square(cut.train)
    losses = tuple(Loss(_SIXTH, l2=2 * price / zeta) for price in path)
    return _anneal(cut, losses, zeta, int(setting["bits"]), effort)


def _zero_one(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    losses = tuple(ZeroOneLoss(l2=price) for price in path)
    return _anneal(cut, losses, 1.0, int(setting["bits"]), effort)


def _q_loss(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    zeta = setting["range"] / _root_mean_square(cut.train)
    losses = tuple(QLoss(setting["q"], l2=2 * price / zeta) for price in path)
    return _anneal(cut, losses, zeta, int(setting["bits"]), effort)


@lru_cache(maxsize=12)
def _moments(data: Dataset) -> Moments:
    """All settings share the moments of a cut."""
    return moments_of(data, order=3)


def _cubic(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    """Cubic loss, fitted to the risk; `range` is a share of the range that is always safe."""
    moments = _moments(cut.train)
    safe = float(np.sqrt(3.0 / cut.train.features))
    loss = fit_loss(moments, order=3, weight_range=setting["range"] * safe)
    losses = tuple(replace(loss, l2=2 * price / loss.zeta) for price in path)
    return _anneal(cut, losses, loss.zeta, int(setting["bits"]), effort)


# --- rounds --------------------------------------------------------------------------------

_ROUND_READS = 10


def _rounds(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    """Train in rounds, one bit a weight; each price begins at the weights of the one before."""
    rows = UnitRows.of(cut.train)
    solver = SolveOptions("anneal", reads=_ROUND_READS, keep=_CANDIDATES, seed=1)
    options = RoundOptions()
    inner = inner_of(options, solver, cut.train.features, None)
    task = Task(rows, path[0], options, solver, inner, cut.train, least_squares(rows))
    chosen = []
    for price in path:
        found = run_rounds(replace(task, l2=price))
        length = float(np.linalg.norm(found.weights))
        task = replace(task, direction=found.weights / length if length else task.direction)
        chosen.append(found.lowest[np.argmin(cut.validation.errors(found.lowest))])
    return chosen


# --- convex --------------------------------------------------------------------------------


def _square(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    x, y = cut.train.x, cut.train.y
    gram = x.T @ x
    gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram)
    right = np.asarray(x.T @ y).ravel()
    eye = len(y) * np.eye(len(gram))
    return [np.asarray(np.linalg.lstsq(gram + ridge * eye, right)[0]) for ridge in path]


def _liblinear(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    from sklearn.svm import LinearSVC

    found = []
    for ridge in path:
        c = 1 / (ridge * len(cut.train))
        model = LinearSVC(C=c, dual=False, fit_intercept=False, tol=1e-2, max_iter=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it stopped early is meant
            found.append(np.asarray(model.fit(_rows(cut.train), cut.train.y).coef_.ravel()))
    return found


def _logistic(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(fit_intercept=False, tol=1e-4, max_iter=100, warm_start=True)
    found = []
    for ridge in path:
        model.set_params(C=1 / (ridge * len(cut.train)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it stopped early is meant
            model.fit(_rows(cut.train), cut.train.y)
        found.append(np.array(model.coef_.ravel()))
    return found


def _smooth_hinge(cut: Cut, setting: Setting, path: Path, effort: Effort) -> list[Floats]:
    found, here = [], np.zeros(cut.train.features)
    for ridge in path:
        here = _hinge_at(cut, ridge, here, 100)
        found.append(here)
    return found


def _hinge_at(cut: Cut, ridge: float, start: Floats, steps: int) -> Floats:
    """Hinge with a quadratic corner: 1/2 - γ below 0, (1 - γ)²/2 up to 1, then 0."""
    from scipy.optimize import minimize

    rows, columns = _signed(cut.train)

    def risk(w: Floats) -> tuple[float, Floats]:
        margins = np.asarray(rows @ w)
        gap = np.clip(1 - margins, 0, 1)
        values = np.where(margins < 0, 0.5 - margins, gap**2 / 2)
        slope = -np.asarray(columns @ gap) / len(margins)
        return float(np.mean(values)) + ridge / 2 * float(w @ w), slope + ridge * w

    found = minimize(risk, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x)


def _rows(data: Dataset) -> Any:
    # scikit-learn takes sparse matrices with 32-bit indices only
    if not sp.issparse(data.x):
        return np.asarray(data.x)
    x = data.x
    return sp.csr_matrix((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), x.shape)


_BITS = (1, 3, 8)
_CHARGES = (0.1, 0.03, 0.003, 0.0003, 0.0)
_RIDGES = tuple(value for value in GRID if value < 1)
CONVEX = ("liblinear", "logistic", "square", "smooth hinge")
METHODS = {
    method.name: method
    for method in (
        Method("liblinear", _settings(), _RIDGES, _liblinear),
        Method("logistic", _settings(), _RIDGES, _logistic),
        Method("square", _settings(), _RIDGES, _square),
        Method("smooth hinge", _settings(), _RIDGES, _smooth_hinge),
        Method(
            "q-loss",
            _settings(range=(1.0, 3.0, 9.0), q=(-0.1, -1.0), bits=_BITS),
            _CHARGES[1:],
            _q_loss,
            True,
        ),
        Method("0-1", _settings(bits=_BITS), (1e-3, 1e-4, 1e-5, 0.0), _zero_one, True),
        Method(
            "sixth-order",
            _settings(range=(0.02, 0.4, 1.2, 4.0, 12.0), bits=_BITS),
            _CHARGES,
            _sixth,
            True,
        ),
        Method("cubic", _settings(range=(0.3, 1.0, 2.0, 4.0), bits=_BITS), _CHARGES, _cubic, True),
        # its rows are at unit length in any case
        Method("rounds", _settings(("raw unit", "standard unit")), _RIDGES, _rounds),
    )
}
