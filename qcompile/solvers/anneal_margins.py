"""Simulated annealing of weights over the margins of examples, for any loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import cluster
from qcompile.runtime.progress import Progress, shown_by
from qcompile.solvers.restarts import (
    DEFAULT_SWEEPS,
    One,
    Search,
    Stop,
    check_counts,
    run_restarts,
    temperatures_from,
)
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.encoding import Encoding
from qcompile.stages.loss import Loss, QLoss, ZeroOneLoss

__all__ = ["anneal_examples"]


# A search from given weights begins at this share of the first temperature.
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
    """Anneal weights over the margins of the examples; return the lowest distinct ones, in order.

    The loss may have any order, and need not be a polynomial; only the data must fit in memory.
    Rows count by their weights. The search begins at random weights, or at `start` (one row, or a
    row for each read), then at a temperature so low that it stays near. With `each`, that many
    lowest states of every read are kept, and the lowest of all reads fill up the rest: different
    states, among which other rows may choose. `progress(done, total)` counts restarts. With a Dask
    `client` its workers make the restarts; the weights are the same.
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
    with shown_by(progress), cluster.using(client):
        found = run_restarts(search).states
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
    """Return the function that makes one restart, and the size of a state."""
    from qcompile.solvers.anneal_kernels import anneal_margins

    starts, rows, entries = _signed_columns(data)
    low, high = encoding.level_bounds
    kind, coefficients = _loss_numbers(loss)
    masses = np.zeros(0) if data.weights is None else data.weights * (len(data) / data.total)
    hot, cold = temperatures

    def one(number: int, pool: Any, _stop: Stop) -> None:
        anneal_margins(
            starts, rows, entries, len(data), masses, kind, coefficients, loss.l2, l0, low, high,
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
    """Return temperatures that fit the changes of the loss by one step, where the loss is low.

    At most points of a wide grid the margins are so large that the highest power outweighs all
    else. The points near the minimum matter, and they are nearer to the middle.
    """
    rng = np.random.default_rng(0)
    low, high = encoding.level_bounds
    sample = data if len(data) <= 2000 else data.take(slice(0, len(data), len(data) // 2000))
    x = np.asarray(sample.x.toarray() if hasattr(sample.x, "toarray") else sample.x)
    signed = x * sample.y[:, None]
    shrunk = np.repeat(0.5 ** np.arange(6), 4)[:, None]
    points = np.rint(rng.integers(low, high + 1, (len(shrunk), len(low))) * shrunk) * encoding.step
    risks = [float(sample.mean(loss(signed @ point))) for point in points]
    changes = []
    for place in np.argsort(risks, kind="stable")[: len(points) // 4]:
        margins = signed @ points[place]
        here = loss(margins)
        for a in range(0, encoding.features, max(1, encoding.features // 16)):
            there = loss(margins + encoding.step * signed[:, a])
            changes.append(abs(float(sample.mean(there - here))))
    hot, cold = temperatures_from(np.array(changes))
    return hot, cold / 4
