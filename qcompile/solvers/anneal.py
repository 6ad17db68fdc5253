"""Our own annealer, on the polynomial itself: no ancillas, no chains.

Three spaces: bits of any polynomial; weights on their grid for compiled cubics, where a move costs
O(n²) whatever the number of examples and bits; and weights over the margins of the examples for
losses of any order. Restarts run in threads; each has its own seed, so that the answer does not
depend on their number. The lowest distinct states seen anywhere on the way are kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.objective.weight_space import WeightCubic, weight_cubic
from qcompile.runtime import memory
from qcompile.runtime.threads import ordered
from qcompile.stages.artifacts import Dataset, Encoding, Floats, Loss, Pubo
from qcompile.stages.other_losses import QLoss, ZeroOneLoss

__all__ = ["SPACES", "anneal", "anneal_examples"]

_log = logging.getLogger("qcompile")

SPACES = ("auto", "bits", "weights")
Progress = Callable[[int, int | None], None]

# A full third tensor is worth its memory up to so many bits.
_MOST_DENSE = 160
_STATES = 400  # random states from which temperatures are taken
# Temperatures as shares of the typical change: so hot that most moves are taken, so cold that
# hardly any is.
_HOT, _COLD = 0.5, 0.02
# A search that begins somewhere has so much of the heat of one that begins anywhere.
_WARM = 0.05
_SWEEPS = 200
_HIGHEST_ORDER = 8
_GROUPS, _TASKS_A_THREAD = 64, 8
_MOST_SWEEPS, _MOST_KEPT = 10_000_000, 100_000


def anneal(
    pubo: Pubo,
    *,
    reads: int = 100,
    sweeps: int | None = None,
    keep: int = 50,
    seed: int = 0,
    space: str = "auto",
    temperatures: tuple[float, float] | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> tuple[NDArray[np.int8], str]:
    """Give up to `keep` lowest distinct states, and in which space they were found.

    `temperatures` (first, last) are in units of the energy; by default they follow from the
    changes of energy that single moves make. With a Dask `client` its workers make the restarts;
    the states are the same.
    """
    if space not in SPACES:
        raise InputError(f"space {space!r}; expected one of {', '.join(SPACES)}")
    check_counts(reads, sweeps, keep)
    if temperatures is not None and not 0 < temperatures[1] <= temperatures[0] < np.inf:
        raise InputError(f"temperatures {temperatures}; expected first >= last > 0")
    if not pubo.variables:
        return np.zeros((1, 0), dtype=np.int8), "bits"
    keep = min(keep, 1 << min(pubo.variables, 40))
    cubic = weight_cubic(pubo) if space in ("auto", "weights") else None
    if cubic is None and space == "weights":
        raise InputError(
            "this polynomial is no cubic of weights (its degree is above 3, it has indicators or "
            "dropped terms, or was not compiled from data): use space bits"
        )
    if cubic is not None and _has_choices(cubic.encoding):
        search = _Search(_over_weights, (cubic, sweeps, seed, temperatures), reads, keep)
        weights = _restarts(search, progress, client) * cubic.encoding.step
        return cubic.encoding.encode(weights), "weights"
    search = _Search(_over_bits, (pubo, sweeps, seed, temperatures), reads, keep)
    return _restarts(search, progress, client).astype(np.int8), "bits"


def check_counts(reads: int, sweeps: int | None, keep: int) -> None:
    """Refuse numbers of reads, sweeps or states to keep that make no sense."""
    if not (1 <= keep <= _MOST_KEPT and reads >= 1 and 1 <= (sweeps or 1) <= _MOST_SWEEPS) or (
        sweeps == 0
    ):
        raise InputError(
            f"{reads} reads, {'auto' if sweeps is None else sweeps} sweeps, {keep} to keep; "
            f"expected at least one of each, up to {_MOST_SWEEPS:,} sweeps and {_MOST_KEPT:,} to "
            "keep"
        )


def _has_choices(encoding: Encoding) -> bool:
    """Weights of one bit each are bits: annealing them as bits is as good and simpler."""
    return encoding.variables > encoding.features


def _levels(encoding: Encoding) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    half = 1 << (encoding.bits - 1)
    if encoding.bounds is None:
        n = encoding.features
        return np.full(n, 1 - half, dtype=np.int64), np.full(n, half, dtype=np.int64)
    low, high = np.array(encoding.bounds, dtype=np.int64).T
    return low, high


One = Callable[[int, Any], None]
Found = tuple[Floats, NDArray[np.int32]]  # energies and states


def _over_weights(
    cubic: WeightCubic, sweeps: int | None, seed: int, temperatures: tuple[float, float] | None
) -> tuple[One, int]:
    """Give what a restart does, and the size of a state."""
    from qcompile.solvers.anneal_kernels import anneal_weights

    encoding = cubic.encoding
    low, high = _levels(encoding)
    step = encoding.step
    # derivatives at w = 0, where the kernel starts counting
    origin = encoding.offsets
    bend = cubic.third @ origin
    second = cubic.second - bend
    first = cubic.first - cubic.second @ origin + bend @ origin / 2
    constant = cubic.constant - origin @ (
        cubic.first - cubic.second @ origin / 2 + bend @ origin / 6
    )
    hot, cold = temperatures or _weight_temperatures(cubic, low, high)

    def one(number: int, pool: Any) -> None:
        anneal_weights(
            first, second, cubic.third, float(constant), low, high, step,
            sweeps or _SWEEPS, hot, cold, seed * 1_000_003 + number, pool,
        )  # fmt: skip

    return one, encoding.features


def _weight_temperatures(
    cubic: WeightCubic, low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[float, float]:
    """Take the changes that moves by one step make at random points of the grid."""
    rng = np.random.default_rng(0)
    step = cubic.encoding.step
    points = rng.integers(low, high + 1, (_STATES, len(low))) * step - cubic.encoding.offsets
    bend = np.einsum("ra,abc->rbc", points[:64], cubic.third, optimize=True)
    points = points[:64]
    slope = cubic.first + points @ cubic.second + np.einsum("rbc,rc->rb", bend, points) / 2
    return _from_changes(np.abs(slope) * step)


def _from_changes(changes: Floats) -> tuple[float, float]:
    typical = float(np.mean(changes)) if changes.size else 0.0
    typical = typical or 1.0
    return _HOT * typical, _COLD * typical


def _over_bits(
    pubo: Pubo, sweeps: int | None, seed: int, temperatures: tuple[float, float] | None
) -> tuple[One, int]:
    """Give what a restart does, and the size of a state."""
    hot, cold = temperatures or _bit_temperatures(pubo)
    run = _dense(pubo) if _is_dense(pubo) else _by_terms(pubo)

    def one(number: int, pool: Any) -> None:
        run(sweeps or _SWEEPS, hot, cold, seed * 1_000_003 + number, pool)

    return one, pubo.variables


def _is_dense(pubo: Pubo) -> bool:
    if pubo.degree > 3 or pubo.variables > _MOST_DENSE:
        return False
    triples = pubo.terms[2] if len(pubo.terms) > 2 else 0
    return 20 * triples > pubo.variables**3 / 6 or pubo.variables <= 24


def _dense(pubo: Pubo) -> Callable[..., None]:
    from qcompile.solvers.anneal_kernels import anneal_dense

    n = pubo.variables
    first, second, third = np.zeros(n), np.zeros((n, n)), np.zeros((n, n, n))
    for degree, (rows, values) in enumerate(zip(pubo.indices, pubo.coefficients, strict=True), 1):
        if degree == 1:
            first[rows[:, 0]] = values
        elif degree == 2:
            a, b = rows.T
            second[a, b] = second[b, a] = values
        elif degree == 3:
            a, b, c = rows.T
            third[a, b, c] = third[a, c, b] = third[b, a, c] = values
            third[b, c, a] = third[c, a, b] = third[c, b, a] = values

    def run(sweeps: int, hot: float, cold: float, seed: int, pool: Any) -> None:
        anneal_dense(first, second, third, pubo.constant, sweeps, hot, cold, seed, pool)

    return run


def _by_terms(pubo: Pubo) -> Callable[..., None]:
    from qcompile.solvers.anneal_kernels import anneal_terms

    memory.require(
        sum(len(c) * (12 * j + 20) for j, c in enumerate(pubo.coefficients, 1)),
        "annealing the terms of this polynomial",
        "use fewer features or bits",
    )
    members = np.concatenate([rows.reshape(-1) for rows in pubo.indices] or [np.zeros(0, np.int32)])
    sizes = np.concatenate(
        [np.full(len(rows), rows.shape[1]) for rows in pubo.indices] or [np.zeros(0, np.int64)]
    )
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = np.concatenate([*pubo.coefficients, np.zeros(0)])
    owner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes.astype(np.int64))
    order = np.argsort(members, kind="stable")
    terms = owner[order]
    term_starts = np.searchsorted(members[order], np.arange(pubo.variables + 1)).astype(np.int64)

    def run(sweeps: int, hot: float, cold: float, seed: int, pool: Any) -> None:
        anneal_terms(
            members, starts, values, terms, term_starts, pubo.constant, sweeps, hot, cold, seed,
            pool,
        )  # fmt: skip

    return run


def _bit_temperatures(pubo: Pubo) -> tuple[float, float]:
    """Estimate the spread of local fields at random states from the coefficients.

    A term of degree j acts on a bit when its j - 1 other bits are on: with probability 2^(1-j).
    """
    spread = np.zeros(pubo.variables)
    for degree, (rows, values) in enumerate(zip(pubo.indices, pubo.coefficients, strict=True), 1):
        share = 0.5 ** (degree - 1)
        for column in range(degree):
            spread += np.bincount(rows[:, column], values**2 * share, minlength=pubo.variables)
    return _from_changes(np.sqrt(spread))


@dataclass(frozen=True)
class _Search:
    """Restarts, described so that they can be made anywhere.

    `prepare(*problem)` gives what a restart does and the size of a state. Restarts are dealt out
    in groups of fixed size, each with a pool of its own, so that the result is the same for any
    number of threads or workers. With `each` a group is one restart, and so many states of it are
    kept in any case.
    """

    prepare: Callable[..., tuple[One, int]]
    problem: tuple[Any, ...]
    reads: int
    keep: int
    each: int | None = None

    @property
    def groups(self) -> range:
        """Where each group starts."""
        return range(0, self.reads, self._size)

    @property
    def _size(self) -> int:
        return max(1, -(-self.reads // _GROUPS)) if self.each is None else 1

    def run(self, starts: Sequence[int]) -> Iterator[Found]:
        """Give the lowest states of each group, groups in order."""
        from qcompile.solvers.pool_kernel import pool_of

        one, variables = self.prepare(*self.problem)

        def group(start: int) -> Found:
            pool = pool_of(self.keep, variables)
            for number in range(start, min(self.reads, start + self._size)):
                one(number, pool)
            filled = int(pool.meta[0])
            return pool.energies[:filled], pool.states[:filled]

        return ordered(group, starts)


def _restarts(search: _Search, progress: Progress | None, client: Any = None) -> NDArray[np.int32]:
    """Run all restarts, and give the lowest states of them."""
    results = search.run(search.groups) if client is None else _on_workers(search, client)
    lowest: Found | None = None
    firsts: list[Found] = []
    try:
        for done, found in enumerate(results, 1):
            lowest = _lowest([found] if lowest is None else [lowest, found], search.keep)
            if search.each is not None:
                firsts.append(_lowest([found], search.each))
            if progress is not None:
                share = -(-done * search.reads // len(search.groups))
                progress(min(search.reads, share), search.reads)
    except KeyboardInterrupt:
        if lowest is None:
            raise
        _log.warning("interrupted: keeping the best states so far")
    assert lowest is not None
    if not firsts:
        return lowest[1]
    return _some_of_each(firsts, lowest, search.keep)[1]


def _some_of_each(firsts: list[Found], lowest: Found, keep: int) -> Found:
    """Give the first states of each read, filled up with the lowest of all."""
    distinct = _lowest(firsts, keep)
    taken = {state.tobytes() for state in distinct[1]}
    others = [i for i, state in enumerate(lowest[1]) if state.tobytes() not in taken]
    chosen = others[: keep - len(distinct[0])]
    return _lowest([distinct, (lowest[0][chosen], lowest[1][chosen])], keep)


def _on_workers(search: _Search, client: Any) -> Iterator[Found]:
    from qcompile.moments.dask import in_order, threads_of

    count = min(len(search.groups), _TASKS_A_THREAD * threads_of(client))
    shares = [list(map(int, share)) for share in np.array_split(np.array(search.groups), count)]
    for results in in_order(client, _some_groups, shares, search):
        yield from results


def _some_groups(starts: Sequence[int], search: _Search) -> list[Found]:
    return list(search.run(starts))


def _lowest(found: Sequence[Found], keep: int) -> Found:
    """Give the lowest distinct states, in order."""
    energies = np.concatenate([part[0] for part in found])
    states = np.concatenate([part[1] for part in found])
    _, first = np.unique(states, axis=0, return_index=True)
    order = first[np.argsort(energies[first], kind="stable")][:keep]
    return energies[order], states[order]


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
    low, high = _levels(encoding)
    begin = np.zeros((reads, 0), dtype=np.int64)
    if start is not None:
        begin = _beginnings(start, reads, encoding.step, low, high)
    hot, cold = temperatures or _margin_temperatures(data, loss, encoding)
    if start is not None and temperatures is None:
        hot = max(_WARM * hot, cold)
    problem = (data, loss, encoding, begin, l0, sweeps, seed, (hot, cold))
    search = _Search(_over_margins, problem, reads, keep, each)
    found = _restarts(search, progress, client)
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
    """Give what a restart does, and the size of a state."""
    from qcompile.solvers.anneal_kernels import anneal_margins

    starts, rows, entries = _signed_columns(data)
    low, high = _levels(encoding)
    kind, coefficients = _loss_numbers(loss)
    hot, cold = temperatures

    def one(number: int, pool: Any) -> None:
        anneal_margins(
            starts, rows, entries, len(data), kind, coefficients, loss.l2, l0, low, high,
            encoding.step, begin[number], sweeps or _SWEEPS, hot, cold,
            seed * 1_000_003 + number, pool,
        )  # fmt: skip

    return one, encoding.features


def _beginnings(
    start: Floats, reads: int, step: float, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give the levels nearest to the weights that each read begins at."""
    rows = np.atleast_2d(np.asarray(start, dtype=np.float64))
    if rows.shape not in ((1, len(low)), (reads, len(low))) or not np.isfinite(rows).all():
        raise InputError(
            f"start has shape {np.shape(start)}; expected {len(low)} finite weights, or {reads} "
            "rows of them, one for each read"
        )
    levels = np.clip(np.rint(rows / step), low, high).astype(np.int64)
    return np.broadcast_to(levels, (reads, len(low)))


def _loss_numbers(loss: Loss | ZeroOneLoss | QLoss) -> tuple[int, Floats]:
    """Give a loss as the kernel takes it."""
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
    """Give y x by columns."""
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
    low, high = _levels(encoding)
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
    hot, cold = _from_changes(np.array(changes))
    return hot, cold / 4
