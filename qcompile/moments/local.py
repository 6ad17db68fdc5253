"""Dataset x centre -> LocalFit: the polynomial of a step that is nearest to the 0-1 risk there.

With weights drawn from N(c, t² I), a row of unit length u and s² = smoothing² + t², the nearest
polynomial to the risk of a row is known from its expected derivatives (Hermite polynomials):

    Φ(-z) + G1 d + G2 (d² - t²)/2 + G3 (d³ - 3 t² d)/6,   z = u·c/s,  d = u·(w - c).

The nearest polynomial to a sum is the sum of the nearest polynomials, so that one pass over the
rows gives it, and sums over disjoint rows add up. The length of a row cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.moments.unit_rows import Block, UnitRows
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.local_fit import Around, LocalFit

__all__ = [
    "Derivatives",
    "checked_block",
    "checked_centre",
    "fit_around",
    "local_fit",
    "mean_and_product",
    "objective_at",
    "risk_and_slope",
    "row_sums",
    "slope_at",
    "smoothed_risks",
]


_WORTH_ASKING = 10**6


def fit_around(
    data: Dataset | Sequence[Dataset],
    centre: ArrayLike,
    width: float,
    *,
    degree: int = 2,
    smoothing: float = 1.0,
    l2: float = 0.0,
    block: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> LocalFit:
    """Return the polynomial of a step from `centre` that is nearest to the smoothed 0-1 risk.

    "Nearest" is in the mean square over weights drawn from N(centre, width² I). `smoothing` is the
    deviation of the weights whose risk it is; with 0 it is the 0-1 risk itself. `degree` is 2 or 3.
    `l2` adds l2/2 |w|². `block` names the features whose weights may change (all by default).
    `sample_weight` takes the place of the weights of the data. `data` may be the parts of a data
    set, prepared alike. With a Dask client (``qcompile.runtime.cluster.using``) its workers hold
    the rows and make the sums.

    >>> from qcompile import from_arrays
    >>> rows = from_arrays([[2.0, 0.0], [0.0, 3.0]], [1, -1])
    >>> fit_around(rows, [0.0, 0.0], 1.0, smoothing=0.0, degree=3).first.round(4)
    array([-0.2992,  0.2992])
    """
    around = _checked(Around(float(width), float(smoothing), int(degree), float(l2)))
    rows = UnitRows.of(data, sample_weight)
    first = data if isinstance(data, Dataset) else data[0]
    place = checked_centre(centre, rows.features)
    members = checked_block(block, rows.features)
    found = local_fit(rows, place, around, members)
    return LocalFit(
        around,
        frozen(place),
        frozen(members, np.int64),
        found.constant,
        frozen(found.first),
        frozen(found.second),
        None if found.third is None else frozen(found.third),
        rows.count,
        first.preparation,
        first.source,
    )


def _checked(around: Around) -> Around:
    """Return the record, or raise InputError if a number is out of range."""
    if not (math.isfinite(around.width) and around.width > 0):
        raise InputError(f"width {around.width:g}; expected a number above 0")
    if not (math.isfinite(around.smoothing) and around.smoothing >= 0):
        raise InputError(f"smoothing {around.smoothing:g}; expected a number of 0 or more")
    if not (math.isfinite(around.l2) and around.l2 >= 0):
        raise InputError(f"l2 {around.l2:g}; expected a number of 0 or more")
    if around.degree not in (2, 3):
        raise InputError(f"degree {around.degree} of a step; expected 2 or 3")
    return around


def checked_centre(centre: ArrayLike, features: int) -> Floats:
    """Return the centre as an array of finite numbers, one for each feature."""
    place = np.asarray(centre, dtype=np.float64)
    if place.shape != (features,):
        raise InputError(f"a centre of {place.size} weights; expected {features}, one a feature")
    if not np.isfinite(place).all():
        raise InputError("a weight of the centre is NaN or infinite; expected finite numbers")
    return place


def checked_block(block: ArrayLike | None, features: int) -> NDArray[np.int64]:
    """Return the features of a block, ascending; None is all of them."""
    if block is None:
        return np.arange(features)
    members = np.unique(np.asarray(block, dtype=np.int64))
    if not len(members) or members[0] < 0 or members[-1] >= features:
        raise InputError(f"a block with features outside of 0 to {features - 1}, or none at all")
    return members


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The constant and the derivatives of a local polynomial over a block of features."""

    constant: float
    first: Floats
    second: Floats
    third: Floats | None
    slope: Floats  # over all features


def local_fit(
    rows: UnitRows, centre: Floats, around: Around, block: NDArray[np.int64] | None = None
) -> Derivatives:
    """Return the polynomial nearest to the smoothed risk around a centre."""
    members = np.arange(rows.features) if block is None else block
    size = len(members)
    if size**around.degree > _WORTH_ASKING:  # asking the system takes as long as a small fit
        memory.require(
            8 * size**around.degree * 4,
            f"the polynomial of a step of {size:,} weights",
            "choose a smaller block=, or fewer features=",
        )
    spread = math.hypot(around.smoothing, around.width)
    curved, variance = 0.0, around.width**2
    risk, slope = 0.0, np.zeros(rows.features)
    second = np.zeros((size, size))
    third = np.zeros((size, size, size)) if around.degree == 3 else None
    for part in rows.map(_derivatives_of, centre, spread, members, around.degree):
        risk += part.risk
        curved += part.curved
        slope += part.slope
        if part.bend is not None:
            slope -= variance / 2 * part.bend
        second += part.second
        if third is not None and part.third is not None:
            third += part.third
    slope += around.l2 * centre
    second[np.diag_indices(size)] += around.l2
    constant = risk - variance / 2 * curved + around.l2 / 2 * float(centre @ centre)
    return Derivatives(constant, slope[members], second, third, slope)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the rows of a block; `curved` is Σ G2 |u|², `bend` is Σ G3 u."""

    risk: float
    curved: float
    slope: Floats
    bend: Floats | None
    second: Floats
    third: Floats | None


def _derivatives_of(
    block: Block,
    centre: Floats,
    spread: float,
    members: NDArray[np.int64],
    degree: int,
) -> _Sums:
    from qcompile.moments.local_kernels import derivatives

    margins = block.margins(centre[:, None])[:, 0]
    made = np.empty((degree, len(margins)))
    risk = derivatives(margins, block.shares, spread, made)
    slope = block.combined(made[0])
    second = block.pairs(made[1], members)
    # a row of zeros has no length, and its second derivative is 0 too: z = 0
    curved = float(made[1].sum())
    if degree == 2:
        return _Sums(risk, curved, slope, None, second, None)
    bend = block.combined(made[2])
    return _Sums(risk, curved, slope, bend, second, block.triples(made[2], members))


def objective_at(rows: UnitRows, weights: Floats, l2: float) -> Floats:
    """Return F = mean Φ(-u·w) + l2/2 |w|² of each row of weights."""
    many = np.atleast_2d(weights)
    return np.asarray(smoothed_risks(rows, many) + l2 / 2 * (many * many).sum(axis=1))


def row_sums(rows: UnitRows) -> tuple[Floats, Floats]:
    """Return the means of u and of u uᵀ."""
    mean, products = np.zeros(rows.features), np.zeros((rows.features, rows.features))
    members = np.arange(rows.features)
    for part in rows.map(_row_sums, members):
        mean += part[0]
        products += part[1]
    return mean, products


def _row_sums(block: Block, members: NDArray[np.int64]) -> tuple[Floats, Floats]:
    return block.combined(block.shares), block.pairs(block.shares, members)


def mean_and_product(rows: UnitRows, weights: Floats) -> tuple[Floats, Floats]:
    """Return the means of u and of u (u·w): least squares without the matrix of all products."""
    mean, product = np.zeros(rows.features), np.zeros(rows.features)
    for part in rows.map(_mean_and_product, weights):
        mean += part[0]
        product += part[1]
    return mean, product


def _mean_and_product(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    margins = block.margins(weights[:, None])[:, 0]
    return block.combined(block.shares), block.combined(block.shares * margins)


def slope_at(rows: UnitRows, centre: Floats, around: Around) -> Floats:
    """Return the gradient at the centre of the quadratic nearest to the smoothed risk."""
    spread = math.hypot(around.smoothing, around.width)
    slope = around.l2 * centre
    for part in rows.map(_risk_and_slope, centre, spread):
        slope = slope + part[1]
    return slope


def risk_and_slope(rows: UnitRows, weights: Floats) -> tuple[float, Floats]:
    """Return the mean of Φ(-u·w) and its gradient."""
    risk, slope = 0.0, np.zeros(rows.features)
    for part in rows.map(_risk_and_slope, weights, 1.0):
        risk += part[0]
        slope += part[1]
    return risk, slope


def _risk_and_slope(block: Block, centre: Floats, spread: float) -> tuple[float, Floats]:
    from qcompile.moments.local_kernels import derivatives

    margins = block.margins(centre[:, None])[:, 0]
    made = np.empty((1, len(margins)))
    risk = derivatives(margins, block.shares, spread, made)
    return risk, block.combined(made[0])


def smoothed_risks(rows: UnitRows, weights: Floats) -> Floats:
    """Return the mean of Φ(-u·w) for each row of `weights`: the risk of weights drawn around w."""
    totals = np.zeros(len(weights))
    turned = np.ascontiguousarray(weights.T)
    for part in rows.map(_risks_of, turned):
        totals += part
    return totals


def _risks_of(block: Block, weights: Floats) -> Floats:
    from qcompile.moments.local_kernels import risks_of_margins

    totals = np.zeros(weights.shape[1])
    risks_of_margins(block.margins(weights), block.shares, totals)
    return totals
