"""Figure 2: all 262,144 classifiers of nine two-bit weights, five losses, label noise to 45%.

Nothing but the signs of the products w·x decides 0-1 risk, so they are computed once for a data
set and multiplied with the labels of all noise levels. Cubic and square risk follow from moments.
Logistic risk splits into a part without labels, a sum of log(1 + e^-γ) taken as the log of
products, and a linear part; hinge into a part without labels and an odd one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile import Dataset, Encoding, discretize, fit_loss, from_arrays, moments_of
from qcompile.jit import jit

from . import common
from .sets import noisy

__all__ = ["run"]

LOSSES = ("0-1", "cubic", "square", "logistic", "hinge")
_NOISES = tuple(range(0, 50, 5))
_BLOCK = 2048
_LOWEST = 50
_PRODUCTS = 16  # factors 1 + e^-γ whose product stays finite: e^(16 · 40) would not, ours do
Floats = NDArray[np.float64]


def run(options: Any) -> None:
    """Enumerate, average over data sets, write and draw."""
    quick = options.quick
    features, examples, sets = (5, 500, 2) if quick else (9, 10_000, 50)
    found = []
    for number in range(sets):
        found.append(_one(features, examples, options.seed + number))
        if number % 10 == 9:
            print(f"{number + 1} data sets", flush=True)
    rows = _averaged(np.array(found))
    common.write_csv("figure2", rows, options)
    for loss in LOSSES:
        own = [r for r in rows if r["loss"] == loss]
        shown = "  ".join(f"{r['error_of_lowest_percent']:.1f}" for r in own)
        rank = "  ".join(f"{r['position_of_the_minimum']:.0f}" for r in own)
        print(f"{loss:<9} error of the lowest state {shown}   position {rank}", flush=True)
    _draw(rows, options)


def _one(features: int, examples: int, seed: int) -> Floats:
    """Give for each noise, loss: error of the lowest, best of fifty, position, within fifty."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=features)
    x = rng.uniform(-1, 1, size=(examples, features))
    test = rng.uniform(-1, 1, size=(examples, features))
    clean = np.where(x @ truth >= 0, 1.0, -1.0)
    labels = np.stack([noisy(clean, noise, seed=seed) for noise in _NOISES], axis=1)
    encoding = Encoding(features, 2, 2.0)
    states = np.arange(1 << (2 * features))[:, None] >> np.arange(2 * features) & 1
    weights = encoding.decode(states.astype(np.int8))
    risks = _risks(weights, x, labels, states.astype(np.int8))
    results = np.zeros((len(_NOISES), len(LOSSES), 4))
    for n in range(len(_NOISES)):
        minimum = int(np.argmin(risks["0-1"][:, n]))
        for k, loss in enumerate(LOSSES):
            energy = risks[loss][:, n]
            lowest = np.argpartition(energy, _LOWEST)[:_LOWEST]
            lowest = lowest[np.argsort(energy[lowest], kind="stable")]
            wrong = np.mean((test @ weights[lowest].T > 0) != (test @ truth > 0)[:, None], axis=0)
            position = int(np.count_nonzero(energy < energy[minimum]))
            results[n, k] = wrong[0], wrong.min(), position, position < _LOWEST
    return results


def _risks(
    weights: Floats, x: Floats, labels: Floats, states: NDArray[np.int8]
) -> dict[str, Floats]:
    """Give the regularised risk of every classifier under every loss and noise."""
    count, noises = len(weights), labels.shape[1]
    m = len(x)
    # the prior of the weights is normal with deviation 1: λ = 1/m
    ridge = (np.sum(weights**2, axis=1) / (2 * m))[:, None]
    risks = {loss: np.zeros((count, noises)) for loss in LOSSES}
    rows, signs = x.T.astype(np.float32), labels.astype(np.float32)
    wrong = (labels < 0).astype(np.float32)
    for start in range(0, count, _BLOCK):
        part = slice(start, start + _BLOCK)
        margins = weights[part].astype(np.float32) @ rows
        agreement = np.where(margins > 0, np.float32(1), np.float32(-1)) @ signs
        risks["0-1"][part] = (1 - agreement / m) / 2
        hinge = np.maximum(np.float32(0), 1 - margins)
        other = np.maximum(np.float32(0), 1 + margins) - hinge
        risks["hinge"][part] = hinge.mean(axis=1, dtype=np.float64)[:, None] + other @ wrong / m
    softplus = logistic_sums(np.exp(-weights @ x.T)) if count <= 4096 else _softplus(weights, x)
    means = x.T @ labels / m
    negative = x.T @ wrong / m
    gram = x.T @ x / m
    risks["logistic"] += (softplus / m)[:, None] + weights @ negative
    spread = np.einsum("ra,ab,rb->r", weights, gram, weights, optimize=True)
    risks["square"] += 1 - 2 * weights @ means + spread[:, None]
    for n in range(noises):
        risks["cubic"][:, n] = _cubic(from_arrays(x, labels[:, n]), states)
    for loss in LOSSES:
        if loss != "cubic":  # its objective has the regulariser already
            risks[loss] += ridge
    return risks


def _cubic(data: Dataset, states: NDArray[np.int8]) -> Floats:
    moments = moments_of(data, order=3)
    loss = fit_loss(moments, prior_std=1.0, range_=2.0)
    pubo = discretize(moments, loss, bits=2)
    return np.concatenate(
        [pubo.energies(states[i : i + 65536]) for i in range(0, len(states), 65536)]
    )


def _softplus(weights: Floats, x: Floats) -> Floats:
    """Sum log(1 + e^-γ) over the examples, for blocks of classifiers."""
    pieces = []
    for start in range(0, len(weights), _BLOCK):
        margins = weights[start : start + _BLOCK].astype(np.float32) @ x.T.astype(np.float32)
        pieces.append(logistic_sums(np.exp(-margins)))
    return np.concatenate(pieces)


@jit
def logistic_sums(factors: Any) -> Any:
    """Give Σ log(1 + f) of each row, a logarithm for sixteen factors at a time."""
    rows, columns = factors.shape
    sums = np.zeros(rows)
    for r in range(rows):
        total = 0.0
        for start in range(0, columns, _PRODUCTS):
            product = 1.0
            for c in range(start, min(columns, start + _PRODUCTS)):
                product *= 1.0 + factors[r, c]
            total += np.log(product)
        sums[r] = total
    return sums


def _averaged(found: Floats) -> list[dict[str, Any]]:
    rows = []
    for k, loss in enumerate(LOSSES):
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
        for loss in LOSSES:
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
