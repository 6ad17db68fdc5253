"""Small problems that tests of several rooms start from."""

from __future__ import annotations

import itertools
from itertools import combinations
from typing import Any

import numpy as np

from qcompile import Loss, Moments, Pubo, Qubo, discretize, fit_loss, moments_of, quadratize
from qcompile.data.read import read
from qcompile.stages.dataset import Dataset
from tests import judge


def synthetic(order: int = 3, features: int = 3, examples: int = 50) -> Moments:
    return moments_of(read(f"synthetic:examples={examples},features={features}"), order)


def compiled(*, bits: int = 2, l0: float = 0.0, threshold: float = 0.0) -> Pubo:
    moments = moments_of(read("synthetic:examples=40,features=4"), 3)
    return discretize(moments, fit_loss(moments), bits, l0=l0, threshold=threshold)


SMALL = ("chimera4", "pegasus4", "zephyr3")


def cubic(bits: int, *, share: float = 1.0, seed: int = 0, degree: int = 3) -> Qubo:
    """A random polynomial, reduced."""
    rng = np.random.default_rng(seed)
    terms = [t for d in range(1, degree + 1) for t in itertools.combinations(range(bits), d)]
    kept = {t: float(rng.normal()) for t in terms if len(t) < 2 or rng.random() < share}
    return quadratize(Pubo.from_dict(kept, variables=bits))


def plain(variables: int, pairs: list[tuple[int, int]]) -> Qubo:
    terms: dict[tuple[int, ...], float] = {pair: 1.0 + i for i, pair in enumerate(pairs)}
    return quadratize(Pubo.from_dict(terms, variables=variables))


def optimum(data: Dataset, *, bits: int, range_: float | str) -> tuple[Loss, float, np.ndarray]:
    """Look at every assignment of a small compiled problem."""
    moments = moments_of(data, 3)
    loss = fit_loss(moments, weight_range=range_, prior_std=1.0)  # with the l2 of the prior
    pubo = discretize(moments, loss, bits)
    states = judge.all_assignments(pubo.variables)
    energies = pubo.energies(states)
    best = int(np.argmin(energies))
    return loss, float(energies[best]), pubo.decode(states[best])


def complete(variables: int, degree: int, seed: int = 0) -> Pubo:
    rng = np.random.default_rng(seed)
    terms = {
        members: float(rng.normal())
        for j in range(degree + 1)
        for members in combinations(range(variables), j)
    }
    return Pubo.from_dict(terms)


def polynomial(bits: int, degree: int, *, share: float = 1.0, seed: int = 0) -> Pubo:
    rng = np.random.default_rng(seed)
    terms: dict[tuple[int, ...], float] = {(): float(rng.normal())}
    for size in range(1, degree + 1):
        for term in itertools.combinations(range(bits), size):
            if rng.random() < share:
                terms[term] = float(rng.normal())
    return Pubo.from_dict(terms, variables=bits)


def identity(features: int) -> Any:
    from qcompile import Preparation

    return Preparation(raw_features=features)
