"""Independent restarts of an annealer, in parallel, with the same result on any machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import cluster
from qcompile.runtime.progress import report
from qcompile.runtime.threads import ordered
from qcompile.stages.arrays import Floats

__all__ = [
    "DEFAULT_SWEEPS",
    "One",
    "Search",
    "check_counts",
    "run_restarts",
    "temperatures_from",
]


_log = logging.getLogger("qcompile")
# First and last temperature as shares of the typical change of energy: at the first most moves are
# taken, at the last hardly any.
_HOT, _COLD = 0.5, 0.02
DEFAULT_SWEEPS = 200
_GROUPS, _TASKS_A_THREAD = 64, 8
_MERGED = 16  # groups whose states are held until they are sorted
_MOST_SWEEPS, _MOST_KEPT = 10_000_000, 100_000


def check_counts(reads: int, sweeps: int | None, keep: int) -> None:
    """Raise InputError if the number of reads, sweeps or states to keep is out of range."""
    if not (1 <= keep <= _MOST_KEPT and reads >= 1 and 1 <= (sweeps or 1) <= _MOST_SWEEPS) or (
        sweeps == 0
    ):
        raise InputError(
            f"{reads} reads, {'auto' if sweeps is None else sweeps} sweeps, {keep} to keep; "
            f"expected at least one of each, up to {_MOST_SWEEPS:,} sweeps and {_MOST_KEPT:,} to "
            "keep"
        )


One = Callable[[int, Any], None]
Found = tuple[Floats, NDArray[np.int32]]  # energies and states


def temperatures_from(changes: Floats) -> tuple[float, float]:
    """Return the first and the last temperature for changes of this size."""
    typical = float(np.mean(changes)) if changes.size else 0.0
    typical = typical or 1.0
    return _HOT * typical, _COLD * typical


@dataclass(frozen=True)
class Search:
    """A description of restarts that can be sent to a worker.

    `prepare(*problem)` returns the function that makes one restart, and the size of a state.
    Restarts are made in groups of fixed size, each with its own pool of states, so that the result
    is the same for any number of threads or workers. With `each` a group is one restart, and its
    `each` lowest states are always kept.
    """

    prepare: Callable[..., tuple[One, int]]
    problem: tuple[Any, ...]
    reads: int
    keep: int
    each: int | None = None

    @property
    def groups(self) -> range:
        """The number of the first restart of each group."""
        return range(0, self.reads, self._size)

    @property
    def _size(self) -> int:
        return max(1, -(-self.reads // _GROUPS)) if self.each is None else 1

    def run(self, starts: Sequence[int]) -> Iterator[Found]:
        """Yield the lowest states of each group, in the order of the groups."""
        from qcompile.solvers.pool_kernel import pool_of

        one, variables = self.prepare(*self.problem)

        def group(start: int) -> Found:
            pool = pool_of(self.keep, variables)
            for number in range(start, min(self.reads, start + self._size)):
                one(number, pool)
            filled = int(pool.meta[0])
            return pool.energies[:filled], pool.states[:filled]

        return ordered(group, starts)


def run_restarts(search: Search) -> NDArray[np.int32]:
    """Run all restarts and return the lowest states of all; report how many are done.

    With a current Dask client its workers make the restarts; the states are the same. Ctrl-C after
    the first group ends the search and keeps the lowest states so far.
    """
    client = cluster.current()
    results = search.run(search.groups) if client is None else _on_workers(search, client)
    waiting: list[Found] = []
    firsts: list[Found] = []
    try:
        for done, found in enumerate(results, 1):
            # sorting after every group would take longer than a small group itself
            waiting.append(found)
            if len(waiting) > _MERGED:
                waiting = [_lowest(waiting, search.keep)]
            if search.each is not None:
                firsts.append(_lowest([found], search.each))
            share = -(-done * search.reads // len(search.groups))
            report(min(search.reads, share), search.reads)
    except KeyboardInterrupt:
        if not waiting:
            raise
        _log.warning("interrupted: keeping the best states so far")
    lowest = _lowest(waiting, search.keep)
    if not firsts:
        return lowest[1]
    return _some_of_each(firsts, lowest, search.keep)[1]


def _some_of_each(firsts: list[Found], lowest: Found, keep: int) -> Found:
    """Return the lowest states of each read, filled up with the lowest of all reads."""
    distinct = _lowest(firsts, keep)
    taken = {state.tobytes() for state in distinct[1]}
    others = [i for i, state in enumerate(lowest[1]) if state.tobytes() not in taken]
    chosen = others[: keep - len(distinct[0])]
    return _lowest([distinct, (lowest[0][chosen], lowest[1][chosen])], keep)


def _on_workers(search: Search, client: Any) -> Iterator[Found]:
    count = min(len(search.groups), _TASKS_A_THREAD * cluster.threads_of(client))
    shares = [list(map(int, share)) for share in np.array_split(np.array(search.groups), count)]
    for results in cluster.in_order(client, _some_groups, shares, search):
        yield from results


def _some_groups(starts: Sequence[int], search: Search) -> list[Found]:
    return list(search.run(starts))


def _lowest(found: Sequence[Found], keep: int) -> Found:
    """Return the lowest distinct states, in order of energy."""
    energies = np.concatenate([part[0] for part in found])
    states = np.concatenate([part[1] for part in found])
    _, first = np.unique(states, axis=0, return_index=True)
    order = first[np.argsort(energies[first], kind="stable")][:keep]
    return energies[order], states[order]
