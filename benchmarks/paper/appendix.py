"""The appendix: correlations of risks on adult9, and how the cubic fit converges with examples.

Beside the paper's losses stand the best cubic of every row, and the objective of the rounds at the
size of the weights that a training ends with. Both do not see the lengths of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from qcompile import Dataset, Loss, fit_loss, moments_of, read, shuffle, train

from . import common
from .sets import raw

__all__ = ["run"]

Floats = NDArray[np.float64]
_PAPER = {10: 0.107, 100: 0.0818, 1_000: 0.062, 10_000: 0.055}
_LOWEST = 50


def run(options: Any) -> None:
    """Measure correlations and convergence, write and draw."""
    data = read("synthetic:examples=2000") if options.quick else raw("adult9")
    if data is None:
        return
    data = shuffle(data, seed=options.seed)
    states = 500 if options.quick else 10_000
    # margins of a standard deviation of 1, as in Figure 1
    spread = 1 / np.sqrt(float(np.mean(_square_norms(data))))
    rng = np.random.default_rng(options.seed)
    weights = rng.normal(scale=spread, size=(states, data.features))
    sizes = spread, _growth(data, weights)
    common.write_csv("correlations", _correlations(data, weights, sizes, options), options)
    common.write_csv("convergence", _convergence(data, weights, sizes, options), options)


def _square_norms(data: Dataset) -> Floats:
    x: Any = data.x
    squares = x.multiply(x) if hasattr(x, "multiply") else np.asarray(x) ** 2
    return np.asarray(squares.sum(axis=1)).ravel()


def _margins(data: Dataset, weights: Floats) -> Floats:
    return np.asarray(data.x @ weights.T) * data.y[:, None]


def _losses(data: Dataset, spread: float, growth: float) -> dict[str, Any]:
    """Return losses of margins; `growth` makes random weights as large as trained ones."""
    loss: Loss = fit_loss(moments_of(data, order=3), prior_std=spread, weight_range=1.0)
    lengths = np.sqrt(_square_norms(data))[:, None]

    def row_by_row(margins: Floats) -> Floats:
        z = margins / (spread * lengths)  # margins of a standard deviation of 1 for every row
        return np.asarray(0.5 + (z**3 / 6 - 1.5 * z) / np.sqrt(2 * np.pi))

    return {
        "0-1": lambda margins: (margins <= 0).astype(np.float64),
        "cubic": loss,
        "cubic, row by row": row_by_row,
        "rounds": lambda margins: ndtr(-growth * margins / lengths),
        "square": lambda margins: (1 - margins) ** 2,
        "logistic": lambda margins: np.logaddexp(0.0, -margins),
        "hinge": lambda margins: np.maximum(0.0, 1 - margins),
    }


def _growth(data: Dataset, weights: Floats) -> float:
    """Return how many times larger a trained classifier's margins are than those of `weights`."""
    part = data.take(slice(0, 10_000))
    units = part.margins(train(part, scale="none", bias=False).classifier.weights) / np.sqrt(
        _square_norms(part)
    )
    random = _margins(part, weights[:100]) / np.sqrt(_square_norms(part))[:, None]
    return float(np.sqrt(np.mean(units**2) / np.mean(random**2)))


def _risks(data: Dataset, weights: Floats, loss: Any) -> Floats:
    pieces = [
        np.mean(loss(_margins(data, weights[i : i + 500])), axis=0)
        for i in range(0, len(weights), 500)
    ]
    return np.concatenate(pieces)


def _unit(values: Floats) -> Floats:
    """Shift and rescale to lie between 0 and 1, as the paper does."""
    return np.asarray((values - values.min()) / (values.max() - values.min()))


def _correlations(
    data: Dataset, weights: Floats, sizes: tuple[float, float], options: Any
) -> list[dict[str, Any]]:
    part = data.take(slice(0, 10_000))
    risks = {n: _unit(_risks(part, weights, f)) for n, f in _losses(part, *sizes).items()}
    names = list(risks)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    rows = [
        {"one": a, "other": b, "correlation": float(np.corrcoef(risks[a], risks[b])[0, 1])}
        for a, b in pairs
    ]
    for row in rows:
        print(f"{row['one']:<9} {row['other']:<9} {row['correlation']:.4f}", flush=True)
    plt = common.pyplot()
    figure, axes = plt.subplots(3, 2, figsize=(8, 11))
    for axis, name in zip(axes.ravel(), names[1:], strict=True):
        axis.plot(risks[name], risks["0-1"], ".", markersize=1.5)
        axis.set(xlabel=f"{name} risk", ylabel="0-1 risk")
    common.save_figure(figure, "correlations", options)
    return rows


def _convergence(
    data: Dataset, weights: Floats, sizes: tuple[float, float], options: Any
) -> list[dict[str, Any]]:
    """Fit on the first rows and compare with 0-1 risk: on the same rows, and on 10,000.

    The paper does not say on which rows; its figures fall by half from 10 to 10,000.
    """
    whole = data.take(slice(0, 10_000))
    true = _unit(_risks(whole, weights, lambda margins: (margins <= 0).astype(np.float64)))
    rows = []
    for count in (10, 30, 100, 300, 1_000, 3_000, 10_000):
        part = data.take(slice(0, min(count, len(data))))
        losses = _losses(part, *sizes)
        cubic, row_by_row, rounds, own = (
            _unit(_risks(part, weights, losses[name]))
            for name in ("cubic", "cubic, row by row", "rounds", "0-1")
        )
        lowest = np.argsort(own)[:_LOWEST]
        rows.append(
            {
                "examples": count,
                "error_on_the_same_rows": float(np.std(cubic - own)),
                "error_on_10000_rows": float(np.std(cubic - true)),
                "error_in_the_lowest_50": float(np.std(cubic[lowest] - own[lowest])),
                "paper": _PAPER.get(count, ""),
                "row_by_row_on_the_same_rows": float(np.std(row_by_row - own)),
                "row_by_row_on_10000_rows": float(np.std(row_by_row - true)),
                "rounds_on_the_same_rows": float(np.std(rounds - own)),
                "rounds_on_10000_rows": float(np.std(rounds - true)),
            }
        )
        print(
            {k: v if isinstance(v, str) else round(v, 4) for k, v in rows[-1].items()}, flush=True
        )
    x = np.log([row["examples"] for row in rows])
    for name in ("error_on_the_same_rows", "error_on_10000_rows"):
        slope = np.polyfit(x, np.log([row[name] for row in rows]), 1)[0]
        print(f"{name} falls as m^{slope:.2f} (paper: about m^-0.33)", flush=True)
    _draw(rows, options)
    return rows


def _draw(rows: list[dict[str, Any]], options: Any) -> None:
    plt = common.pyplot()
    figure, axis = plt.subplots(figsize=(7, 5))
    counts = [row["examples"] for row in rows]
    for name in rows[0]:
        if name not in ("examples", "paper"):
            style = "o--" if name.startswith("ro") else "o-"
            axis.loglog(counts, [row[name] for row in rows], style, label=name.replace("_", " "))
    paper = [(row["examples"], row["paper"]) for row in rows if row["paper"] != ""]
    axis.loglog(*zip(*paper, strict=True), "kx--", label="paper")
    axis.set(xlabel="training examples", ylabel="embedding error")
    axis.legend(fontsize=8)
    common.save_figure(figure, "convergence", options)
