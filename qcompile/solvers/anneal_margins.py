"""Simulated annealing of weights over the margins of examples, for any loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.solvers.restarts import (
    DEFAULT_SWEEPS,
    One,
    Progress,
    Search,
    check_counts,
    run_restarts,
    temperatures_from,
)
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.encoding import Encoding
from qcompile.stages.loss import Loss, QLoss, ZeroOneLoss

__all__ = ["anneal_examples"]


# A search that begins somewhere has so much of the heat of one that begins anywhere.
_WARM = 0.05
_HIGHEST_ORDER = 8


def anneal_examples(
    data: Dataset,
    loss: Loss | ZeroOneLoss | QLoss,
    encoding: Encoding,
    *,
    start: Floats | None = None,
    l0: float = 0.0,
    reads: int = 20,
    sweeps: int | None = None,
    keep: int = 50,
    each: int | None = None,
    seed: int = 0,
    temperatures: tuple[float, float] | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> Floats:
    """Anneal weights over the margins of the examples; gives the lowest distinct ones, in order.

    For losses of any order, and those that are no polynomials; nothing but the data has to fit in
    memory. The search begins at the weights `start` (one row, or a row for each read), with so
    little heat that it stays in their valley, or anywhere. The `each` lowest states of every read
    are kept in any case, and the lowest of all fill up the rest: states that differ, for a choice
    among them on other rows.
    """
    check_counts(reads, sweeps, keep)
    if each is not None and not 1 <= each * reads <= keep:
        raise InputError(f"{each} states of each of {reads} reads; expected {keep} in all at most")
    if encoding.features != data.features:
        raise InputError(f"an encoding of {encoding.features} weights for {data.features} features")
    low, high = encoding.level_bounds
    begin = np.zeros((reads, 0), dtype=np.int64)
    if start is not None:
        begin = _beginnings(start, reads, encoding.step, low, high)
    hot, cold = temperatures or _margin_temperatures(data, loss, encoding)
    if start is not None and temperatures is None:
        hot = max(_WARM * hot, cold)
    problem = (data, loss, encoding, begin, l0, sweeps, seed, (hot, cold))
    search = Search(_over_margins, problem, reads, keep, each)
    found = run_restarts(search, progress, client)
    return np.asarray(found * encoding.step, dtype=np.float64)


def _over_margins(
    data: Dataset,
    loss: Loss | ZeroOneLoss | QLoss,
    encoding: Encoding,
    begin: NDArray[np.int64],
    l0: float,
    sweeps: int | None,
    seed: int,
    temperatures: tuple[float, float],
) -> tuple[One, int]:
    """Return what a restart does, and the size of a state."""
    from qcompile.solvers.anneal_kernels import anneal_margins

    starts, rows, entries = _signed_columns(data)
    low, high = encoding.level_bounds
    kind, coefficients = _loss_numbers(loss)
    hot, cold = temperatures

    def one(number: int, pool: Any) -> None:
        anneal_margins(
            starts, rows, entries, len(data), kind, coefficients, loss.l2, l0, low, high,
            encoding.step, begin[number], sweeps or DEFAULT_SWEEPS, hot, cold,
            seed * 1_000_003 + number, pool,
        )  # fmt: skip

    return one, encoding.features


def _beginnings(
    start: Floats, reads: int, step: float, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the levels nearest to the weights that each read begins at."""
    rows = np.atleast_2d(np.asarray(start, dtype=np.float64))
    if rows.shape not in ((1, len(low)), (reads, len(low))) or not np.isfinite(rows).all():
        raise InputError(
            f"start has shape {np.shape(start)}; expected {len(low)} finite weights, or {reads} "
            "rows of them, one for each read"
        )
    levels = np.clip(np.rint(rows / step), low, high).astype(np.int64)
    return np.broadcast_to(levels, (reads, len(low)))


def _loss_numbers(loss: Loss | ZeroOneLoss | QLoss) -> tuple[int, Floats]:
    """Return a loss as the kernel takes it."""
    from qcompile.solvers.anneal_kernels import CUT_HINGE, POLYNOMIAL, ZERO_ONE

    numbers = np.zeros(_HIGHEST_ORDER + 1)
    if isinstance(loss, ZeroOneLoss):
        return ZERO_ONE, numbers
    if isinstance(loss, QLoss):
        numbers[0] = loss.ceiling
        return CUT_HINGE, numbers
    if loss.order > _HIGHEST_ORDER:
        raise InputError(f"a loss of order {loss.order}; expected up to {_HIGHEST_ORDER}")
    numbers[: loss.order + 1] = loss.coefficients
    return POLYNOMIAL, numbers


def _signed_columns(
    data: Dataset,
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    """Return y x by columns."""
    import scipy.sparse as sp

    columns = sp.csc_array(data.x)
    rows = columns.indices.astype(np.int32)
    return columns.indptr.astype(np.int64), rows, np.asarray(columns.data * data.y[rows])


def _margin_temperatures(
    data: Dataset, loss: Loss | ZeroOneLoss | QLoss, encoding: Encoding
) -> tuple[float, float]:
    """Take the changes that steps of one weight make where the loss is low.

    At most points of a wide grid margins are so large that a high order outweighs everything; what
    counts is the neighbourhood of the minimum, which is nearer to the middle.
    """
    rng = np.random.default_rng(0)
    low, high = encoding.level_bounds
    sample = data if len(data) <= 2000 else data.take(slice(0, len(data), len(data) // 2000))
    x = np.asarray(sample.x.toarray() if hasattr(sample.x, "toarray") else sample.x)
    signed = x * sample.y[:, None]
    shrunk = np.repeat(0.5 ** np.arange(6), 4)[:, None]
    points = np.rint(rng.integers(low, high + 1, (len(shrunk), len(low))) * shrunk) * encoding.step
    risks = [float(np.mean(loss(signed @ point))) for point in points]
    changes = []
    for place in np.argsort(risks, kind="stable")[: len(points) // 4]:
        margins = signed @ points[place]
        here = loss(margins)
        for a in range(0, encoding.features, max(1, encoding.features // 16)):
            there = loss(margins + encoding.step * signed[:, a])
            changes.append(abs(float(np.mean(there - here))))
    hot, cold = temperatures_from(np.array(changes))
    return hot, cold / 4
