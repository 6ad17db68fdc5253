"""Figure 2: all 262,144 classifiers of nine two-bit weights, six losses, label noise to 45%.

Two curves are not in the paper. The best cubic of every row (`fit_around` at 0) does not see the
lengths of the rows, as 0-1 risk does not. Rounds have no grid: their classifiers are the fifty
lowest weights that were judged, and have no position in a spectrum; they run on fewer data sets.

Nothing but the signs of the products w·x decides 0-1 risk, so they are computed once for a data
set and multiplied with the labels of all noise levels. Cubic and square risk follow from moments.
Logistic risk splits into a part without labels, a sum of log(1 + e^-γ) taken as the log of
products, and a linear part; hinge into a part without labels and an odd one.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from qcompile import (
    Dataset,
    Encoding,
    RoundOptions,
    SolveOptions,
    discretize,
    fit_around,
    fit_loss,
    from_arrays,
    moments_of,
)
from qcompile.moments.unit_rows import UnitRows
from qcompile.objective.weight_space import weight_cubic
from qcompile.training.inner import Inner
from qcompile.training.rounds import Task, run_rounds
from qcompile.training.start import default_l2, least_squares

from . import common

__all__ = ["run"]

LOSSES = ("0-1", "cubic", "cubic, row by row", "square", "logistic", "hinge")
_SCANNED = ("0-1", "hinge")  # found together, in one scan of the examples
_ROUNDS = "rounds"
_NOISES = tuple(range(0, 50, 5))
_LOWEST = 50
Floats = NDArray[np.float64]


def run(options: Any) -> None:
    """Enumerate, average over data sets, write and draw."""
    quick = options.quick
    features, examples, sets = (5, 500, 2) if quick else (9, 10_000, options.data_sets)
    wanted = tuple(options.loss) or (*LOSSES, _ROUNDS)
    found = []
    for number in range(sets):
        found.append(_one(features, examples, options.seed + number, wanted))
        if number % 10 == 9:
            print(f"{number + 1} data sets", flush=True)
    rows = _averaged(np.array(found), wanted)
    if options.loss:  # the other curves stay as they are
        rows = _kept_rows(options, wanted) + rows
    common.write_csv("figure2", rows, options)
    for loss in wanted:
        own = [r for r in rows if r["loss"] == loss]
        shown = "  ".join(f"{r['error_of_lowest_percent']:.1f}" for r in own)
        rank = "  ".join(f"{r['position_of_the_minimum']:.0f}" for r in own)
        print(f"{loss:<9} error of the lowest state {shown}   position {rank}", flush=True)
    _draw(rows, options)


def _kept_rows(options: Any, wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {key: value if key == "loss" else float(value) for key, value in row.items()}
        for row in common.read_csv("figure2", options)
        if row["loss"] not in wanted
    ]


def _one(features: int, examples: int, seed: int, wanted: tuple[str, ...]) -> Floats:
    """Return for each noise, loss: error of the lowest, best of fifty, position, within fifty."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=features)
    x = rng.uniform(-1, 1, size=(examples, features))
    test = rng.uniform(-1, 1, size=(examples, features))
    clean = np.where(x @ truth >= 0, 1.0, -1.0)
    # the same labels are flipped first at every noise: few examples differ from level to level
    rank = np.argsort(rng.permutation(examples))
    flips = [rank < -(-noise * examples // 100) for noise in _NOISES]
    labels = np.stack([np.where(flip, -clean, clean) for flip in flips], axis=1)
    encoding = Encoding(features, 2, 2.0)
    states = np.arange(1 << (2 * features))[:, None] >> np.arange(2 * features) & 1
    weights = encoding.decode(states.astype(np.int8))
    on_grid = tuple(loss for loss in wanted if loss != _ROUNDS)
    risks = _risks(weights, x, labels, on_grid) if on_grid else {}
    results = np.full((len(_NOISES), len(wanted), 4), np.nan)

    def errors(chosen: Floats) -> Floats:
        wrong = (test @ chosen.T > 0) != (test @ truth > 0)[:, None]
        return np.asarray(wrong.mean(axis=0))

    for n in range(len(_NOISES)):
        for k, loss in enumerate(wanted):
            if loss == _ROUNDS:
                wrong = errors(_by_rounds(x, labels[:, n]))
                results[n, k, :2] = wrong[0], wrong.min()
                continue
            energy = risks[loss][:, n]
            minimum = int(np.argmin(risks["0-1"][:, n]))
            lowest = np.argpartition(energy, _LOWEST)[:_LOWEST]
            lowest = lowest[np.argsort(energy[lowest], kind="stable")]
            wrong = errors(weights[lowest])
            position = int(np.count_nonzero(energy < energy[minimum]))
            results[n, k] = wrong[0], wrong.min(), position, position < _LOWEST
    return results


def _by_rounds(x: Floats, y: Floats) -> Floats:
    """Return the fifty lowest weights of a training at the price that needs no search."""
    data = from_arrays(x, y)
    rows = UnitRows.of(data)
    direction = least_squares(rows)
    solver = SolveOptions("anneal", reads=10, keep=_LOWEST)
    inner = Inner.of(solver, data.features)
    price = default_l2(data, direction)
    return run_rounds(Task(rows, price, RoundOptions(), solver, inner, data, direction)).lowest


def _risks(
    weights: Floats, x: Floats, labels: Floats, wanted: tuple[str, ...] = LOSSES
) -> dict[str, Floats]:
    """Return the regularised risk of every classifier under the losses and every noise."""
    count, noises = len(weights), labels.shape[1]
    m = len(x)
    # the prior of the weights is normal with deviation 1: λ = 1/m
    ridge = (np.sum(weights**2, axis=1) / (2 * m))[:, None]
    losses = tuple(loss for loss in LOSSES if loss in wanted or loss in _SCANNED)
    risks = {loss: np.zeros((count, noises)) for loss in losses}
    wrong = (labels < 0).astype(np.float64)
    grid = _Grid(weights)
    # examples with the same labels at every noise are added up before the labels are known
    patterns, group = np.unique(labels, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    edges = np.searchsorted(group.ravel()[order], np.arange(len(patterns) + 1))
    tables = grid.margins(x[order])
    signs, clipped, below = (grid.spread(sums) for sums in group_sums(*tables, edges))
    risks["0-1"] += (1 - signs @ patterns / m) / 2
    # max(0, 1 - γ) = 1 - min(γ, 1); where the label is wrong, γ + clip(γ, -1, 1) is added
    risks["hinge"] += 1 - below / m + clipped @ (patterns < 0) / m
    means, negative, gram = x.T @ labels / m, x.T @ wrong / m, x.T @ x / m
    risks["hinge"] += weights @ negative
    if "logistic" in losses:
        tables = grid.margins(x)
        sums = logistic_sums(*(_padded(np.exp(-t.astype(np.float64))) for t in tables))
        risks["logistic"] += grid.spread(sums) / m + weights @ negative
    if "square" in losses:
        spread = np.einsum("ra,ab,rb->r", weights, gram, weights, optimize=True)
        risks["square"] += 1 - 2 * weights @ means + spread[:, None]
    for loss, fitted in (("cubic", _cubic), ("cubic, row by row", _row_by_row)):
        if loss in losses:
            risks[loss] += _monomials(weights) @ np.stack(
                [fitted(from_arrays(x, labels[:, n])) for n in range(noises)], axis=1
            )
    for loss in losses:
        if loss != "cubic":  # its objective has the regulariser already
            risks[loss] += ridge
    return risks


def _monomials(weights: Floats) -> Floats:
    """Return all products of up to three weights; they are the same for every data set."""
    if _kept and _kept[0].shape == weights.shape and np.array_equal(_kept[0], weights):
        return _kept[1]
    columns = [np.ones(len(weights))]
    for degree in (1, 2, 3):
        for chosen in combinations_with_replacement(range(weights.shape[1]), degree):
            columns.append(np.prod(weights[:, chosen], axis=1))
    _kept[:] = [weights, np.stack(columns, axis=1)]
    return _kept[1]


_kept: list[Floats] = []


def _cubic(data: Dataset) -> Floats:
    """Return the coefficients of the compiled cubic, in the order of the monomials."""
    moments = moments_of(data, order=3)
    loss = fit_loss(moments, prior_std=1.0, weight_range=2.0)
    cubic = weight_cubic(discretize(moments, loss, bits=2))
    assert cubic is not None and not cubic.encoding.offsets.any()
    return _coefficients(cubic.constant, cubic.first, cubic.second, cubic.third)


def _row_by_row(data: Dataset) -> Floats:
    """Return the coefficients of the sum of every row's best cubic."""
    fit = fit_around(data, np.zeros(data.features), 1.0, smoothing=0.0, degree=3)
    assert fit.third is not None
    return _coefficients(fit.constant, fit.first, fit.second, fit.third)


def _coefficients(constant: float, first: Floats, second: Floats, third: Floats) -> Floats:
    """Return derivatives at 0 as coefficients, in the order of the monomials."""
    tensors = {1: first, 2: second, 3: third}
    values = [constant]
    for degree, tensor in tensors.items():
        for chosen in combinations_with_replacement(range(len(first)), degree):
            ways = math.prod(math.factorial(chosen.count(a)) for a in set(chosen))
            values.append(float(tensor[chosen]) / ways)  # the orders cancel the factorials
    return np.array(values)


class _Grid:
    """All classifiers are pairs of a half of the weights and the other half."""

    def __init__(self, weights: Floats) -> None:
        self._half = weights.shape[1] // 2
        halves = (weights[:, : self._half], weights[:, self._half :])
        self._distinct = [np.unique(half, axis=0) for half in halves]
        self._places = [
            _places(half, known) for half, known in zip(halves, self._distinct, strict=True)
        ]

    def margins(self, x: Floats) -> list[NDArray[np.float32]]:
        """Return what each half adds to w·x."""
        parts = (x[:, : self._half], x[:, self._half :])
        return [
            np.ascontiguousarray(known @ part.T, dtype=np.float32)
            for known, part in zip(self._distinct, parts, strict=True)
        ]

    def spread(self, sums: Floats) -> Floats:
        """Return numbers of pairs of halves in the order of the classifiers, one row each."""
        return np.asarray(sums[self._places[0], self._places[1]]).reshape(len(self._places[0]), -1)


def _padded(table: Floats) -> Floats:
    return np.pad(table, ((0, 0), (0, -table.shape[1] % 128)))


def _places(rows: Floats, distinct: Floats) -> NDArray[np.int64]:
    marks = {row.tobytes(): i for i, row in enumerate(distinct)}
    return np.array([marks[row.tobytes()] for row in np.ascontiguousarray(rows)])


@numba.njit(fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def group_sums(one: Any, two: Any, edges: Any) -> Any:
    """Add up signs, clip(γ, -1, 1) and min(γ, 1) over groups of examples; a γ of 0 is negative."""
    groups = len(edges) - 1
    signs = np.zeros((len(one), len(two), groups))
    clipped = np.zeros((len(one), len(two), groups))
    below = np.zeros((len(one), len(two)))
    unit, zero = np.float32(1), np.float32(0)
    for a in range(len(one)):
        for b in range(len(two)):
            for g in range(groups):
                s, c, t = zero, zero, zero
                for i in range(edges[g], edges[g + 1]):
                    gamma = one[a, i] + two[b, i]
                    low = gamma if gamma < unit else unit
                    s += unit if gamma > zero else -unit
                    c += low if low > -unit else -unit
                    t += low
                signs[a, b, g] = s
                clipped[a, b, g] = c
                below[a, b] += t
    return signs, clipped, below


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def logistic_sums(one: Any, two: Any) -> Any:
    """Return Σ log(1 + a b) for each pair of rows; a logarithm is taken of eight factors a lane.

    The number of columns is a multiple of 128: columns of zeros do no harm.
    """
    sums = np.zeros((len(one), len(two)))
    products = np.ones(16)
    for i in range(len(one)):
        for j in range(len(two)):
            total = 0.0
            for block in range(0, one.shape[1], 128):
                products[:] = 1.0
                for start in range(block, block + 128, 16):
                    for lane in range(16):
                        products[lane] *= 1.0 + one[i, start + lane] * two[j, start + lane]
                for lane in range(16):
                    total += math.log(products[lane])
            sums[i, j] = total
    return sums


def _averaged(found: Floats, wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = []
    for k, loss in enumerate(wanted):
        for n, noise in enumerate(_NOISES):
            lowest, best, position, within = found[:, n, k].T
            rows.append(
                {
                    "loss": loss,
                    "label_noise_percent": noise,
                    "error_of_lowest_percent": 100 * lowest.mean(),
                    "its_deviation": 100 * lowest.std(),
                    "best_of_fifty_percent": 100 * best.mean(),
                    "its_deviation_": 100 * best.std(),
                    "position_of_the_minimum": position.mean(),
                    "probability_within_fifty": within.mean(),
                    "data_sets": len(found),
                }
            )
    return rows


def _draw(rows: list[dict[str, Any]], options: Any) -> None:
    plt = common.pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(10, 8))
    panels = (
        ("error_of_lowest_percent", "its_deviation", "error of the lowest state in %"),
        ("best_of_fifty_percent", "its_deviation_", "error of the best of fifty in %"),
        ("position_of_the_minimum", None, "position of the 0-1 minimum"),
        ("probability_within_fifty", None, "probability that it is within fifty"),
    )
    for axis, (name, bar, title) in zip(axes.ravel(), panels, strict=True):
        for loss in (*LOSSES, _ROUNDS):
            own = [r for r in rows if r["loss"] == loss]
            noise = [r["label_noise_percent"] for r in own]
            bars = None if bar is None else [r[bar] for r in own]
            axis.errorbar(noise, [r[name] for r in own], bars, label=loss, capsize=2)
        if name.startswith("position"):
            axis.set_yscale("symlog")
        axis.set(xlabel="label noise in %", ylabel=title)
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    common.save_figure(figure, "figure2", options)
