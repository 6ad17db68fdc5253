"""The independent judge: slow, obvious, and sharing no code with the passes it judges."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def all_assignments(variables: int) -> NDArray[np.int64]:
    """Every row of 0/1 values."""
    return np.array(list(itertools.product((0, 1), repeat=variables)), dtype=np.int64)


def weights(bits: NDArray[np.int64], features: int, depth: int, zeta: float) -> Floats:
    """w_a = zeta (q_{a,0} - q_{a,1}/2 - q_{a,2}/4 - ...), written out."""
    result = np.zeros((len(bits), features))
    for row, a in itertools.product(range(len(bits)), range(features)):
        value = float(bits[row, a * depth])
        for t in range(1, depth):
            value -= bits[row, a * depth + t] / 2**t
        result[row, a] = zeta * value
    return result


def objective(
    x: Floats, y: Floats, w: Floats, coefficients: tuple[float, ...], l2: float
) -> Floats:
    """Mean loss of the margins plus (l2/2)|w|², straight from the examples."""
    margins = (x @ w.T) * y[:, None]
    loss = np.zeros_like(margins)
    for power, a in enumerate(coefficients):
        loss += a * margins**power
    return np.asarray(loss.mean(axis=0) + l2 / 2 * (w**2).sum(axis=1))


def l0_charge(bits: NDArray[np.int64], features: int, depth: int, l0: float) -> Floats:
    """λ0 v + φ (1 - v) Σ q for each feature with φ = 2 λ0; λ0 q where a weight has one bit."""
    total = np.zeros(len(bits))
    for a in range(features):
        own = bits[:, a * depth : (a + 1) * depth].sum(axis=1)
        if depth == 1:
            total += l0 * own
        else:
            indicator = bits[:, features * depth + a]
            total += l0 * indicator + 2 * l0 * (1 - indicator) * own
    return total


def pairwise_cubic(x: Floats, y: Floats, prior_std: float) -> tuple[float, float]:
    """The paper's closed form for the cubic fit, summed over all pairs of examples."""
    z = x * y[:, None]
    norms = np.sqrt((z**2).sum(axis=1))
    z, norms = z[norms > 0], norms[norms > 0]
    rho = z @ z.T / np.outer(norms, norms)
    a, b = prior_std * norms[:, None], prior_std * norms[None, :]
    root = math.sqrt(2 * math.pi)
    t0 = float((rho * (a + b)).sum() / root)
    t1 = float((rho * (3 - rho**2) * (a**3 + b**3)).sum() / root)
    t2 = float((3 * rho * a * b * (a**2 + b**2)).sum())
    t3 = float((rho * a * b).sum())
    t4 = float((3 * rho * (3 + 2 * rho**2) * a**3 * b**3).sum())
    bottom = t2**2 - 4 * t3 * t4
    return (2 * t0 * t4 - t1 * t2) / bottom, (2 * t1 * t3 - t0 * t2) / bottom


def tensor(x: Floats, y: Floats, degree: int, power: int) -> dict[tuple[int, ...], float]:
    """Σ_i |x_i|^power Π z over every multiset of features, one by one."""
    result = {}
    for members in itertools.combinations_with_replacement(range(x.shape[1]), degree):
        total = 0.0
        for row, sign in zip(x, y, strict=True):
            norm = math.sqrt(float(row @ row))
            if norm > 0:
                total += norm**power * math.prod(sign * row[i] for i in members)
        result[members] = total
    return result


def coordinate_search(
    x: Floats,
    y: Floats,
    levels: Floats,
    coefficients: tuple[float, ...],
    l2: float,
    *,
    starts: int,
    seed: int = 0,
) -> tuple[float, Floats]:
    """Lowest objective that restarted descent, one weight at a time, finds from the examples."""
    rng = np.random.default_rng(seed)
    best, chosen = math.inf, np.zeros(x.shape[1])
    for _ in range(starts):
        w, value, improved = rng.choice(levels, x.shape[1]), math.inf, True
        while improved:
            improved = False
            for a in rng.permutation(x.shape[1]):
                tries = np.repeat(w[None], len(levels), axis=0)
                tries[:, a] = levels
                values = objective(x, y, tries, coefficients, l2)
                if values.min() < value - 1e-12:
                    value, w, improved = float(values.min()), tries[int(values.argmin())], True
        if value < best:
            best, chosen = value, w
    return best, chosen
