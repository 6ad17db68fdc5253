"""Independent restarts of an annealer, in parallel, with the same result on any machine."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
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
    "Ending",
    "Found",
    "One",
    "Search",
    "Stop",
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
# Larger groups would be reported, and merged, long after they could be.
_LARGEST_GROUP = 256
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


# Whether a restart that takes long should end at once.
Stop = Callable[[], bool]
# Makes the restart of this number, and keeps what it finds in the pool.
One = Callable[[int, Any, Stop], None]


@dataclass(frozen=True)
class Ending:
    """When a search ends before all restarts are made.

    `time_limit` is in seconds. A search ends with the restart that finds an energy of `target` or
    lower, and with the same restart on any number of cores.
    """

    time_limit: float | None = None
    target: float | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None and not 0 < self.time_limit < math.inf:
            raise InputError(f"time limit {self.time_limit:g}; expected seconds above 0")
        if self.target is not None and not math.isfinite(self.target):
            raise InputError(f"target {self.target:g}; expected a finite energy")

    @property
    def goal(self) -> float:
        """The energy that ends the search: the target, with room for rounding."""
        if self.target is None:
            return -math.inf
        return self.target + 1e-9 * max(1.0, abs(self.target))

    def reached(self, found: Any) -> bool:
        """Whether a pool, or what was found, has an energy that ends the search."""
        return self.target is not None and bool((found.energies <= self.goal).any())


@dataclass(frozen=True, eq=False)
class Found:
    """The lowest states of some restarts.

    `reads` counts the restarts of which each was the lowest; 0 is a state that restarts only passed
    on their way. `made` is the number of restarts.
    """

    energies: Floats
    states: NDArray[np.int32]
    reads: NDArray[np.int64]
    made: int

    @property
    def occurrences(self) -> NDArray[np.int64]:
        """The reads of each state; a state that was only passed was found once."""
        return np.maximum(1, self.reads)


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
    ending: Ending = field(default_factory=Ending)

    @property
    def groups(self) -> range:
        """The number of the first restart of each group."""
        return range(0, self.reads, self.size)

    @property
    def size(self) -> int:
        """The number of restarts of a group; a large pool is worth more of them."""
        if self.each is not None:
            return 1
        return max(1, min(-(-self.reads // _GROUPS), max(_LARGEST_GROUP, self.keep)))

    def run(
        self, starts: Sequence[int], under_way: UnderWay | None = None
    ) -> Generator[Found, None, None]:
        """Yield the lowest states of each group, in the order of the groups.

        Groups leave what they have in `under_way`, also if they are interrupted.
        """
        from qcompile.solvers.pool_kernel import count_read, pool_of

        shared = UnderWay() if under_way is None else under_way
        limit = self.ending.time_limit
        end = math.inf if limit is None else time.monotonic() + limit
        one, variables = self.prepare(*self.problem)

        def stop() -> bool:
            return shared.stop.is_set() or time.monotonic() > end

        def group(start: int) -> Found:
            pool = pool_of(self.keep, variables)
            made = 0
            try:
                for number in range(start, min(self.reads, start + self.size)):
                    # the first restart is made even if the time was over before it began
                    if shared.stop.is_set() or (number and stop()) or self.ending.reached(pool):
                        break
                    try:
                        one(number, pool, stop)
                    finally:  # one that was interrupted counts if it has found anything
                        made += int(pool.lowest[0] < math.inf)
                        count_read(pool)
            finally:
                filled = int(pool.meta[0])
                found = Found(
                    pool.energies[:filled], pool.states[:filled], pool.reads[:filled], made
                )
                if made and under_way is not None:
                    under_way.groups[start] = found
            return found

        return ordered(group, starts, stop=shared.stop.set)


@dataclass
class UnderWay:
    """Groups by their first restart that nobody has taken yet; `stop` ends them early."""

    stop: threading.Event = field(default_factory=threading.Event)
    groups: dict[int, Found] = field(default_factory=dict)


def run_restarts(search: Search) -> Found:
    """Run all restarts and return the lowest states of all; report how many are done.

    With a current Dask client its workers make the restarts; the states are the same. Ctrl-C ends
    the search after the restarts that are running, and keeps the lowest states so far. At the end
    of a time limit the restarts that are running are shortened where that is possible.
    """
    client = cluster.current()
    left = UnderWay()
    results = search.run(search.groups, left) if client is None else _on_workers(search, client)
    waiting: list[Found] = []
    firsts: list[Found] = []
    try:
        for done, found in enumerate(results, 1):
            # sorting after every group would take longer than a small group itself
            waiting.append(found)
            left.groups.pop(search.groups[done - 1], None)
            if len(waiting) > _MERGED:
                waiting = [_lowest(waiting, search.keep)]
            if search.each is not None:
                firsts.append(_lowest([found], search.each))
            report(min(search.reads, done * search.size), search.reads)
            if search.ending.reached(found):
                results.close()
                break
    except KeyboardInterrupt:
        results.close()  # waits for the restarts that are running
        waiting += left.groups.values()
        if not waiting:
            raise
        _log.warning("interrupted: keeping the best states so far")
    lowest = _lowest(waiting, search.keep)
    return _some_of_each(firsts, lowest, search.keep) if firsts else lowest


def _some_of_each(firsts: list[Found], lowest: Found, keep: int) -> Found:
    """Return the lowest states of each read, filled up with the lowest of all reads."""
    distinct = _lowest(firsts, keep)
    taken = {state.tobytes() for state in distinct.states}
    others = [i for i, state in enumerate(lowest.states) if state.tobytes() not in taken]
    chosen = others[: keep - len(distinct.energies)]
    more = Found(lowest.energies[chosen], lowest.states[chosen], lowest.reads[chosen], 0)
    return _lowest([distinct, more], keep)


def _on_workers(search: Search, client: Any) -> Generator[Found, None, None]:
    groups = search.groups
    count = min(len(groups), max(_TASKS_A_THREAD * cluster.threads_of(client), len(groups) // 16))
    shares = [list(map(int, share)) for share in np.array_split(np.array(groups), count)]
    for results in cluster.in_order(client, _some_groups, shares, search):
        yield from results


def _some_groups(starts: Sequence[int], search: Search) -> list[Found]:
    return list(search.run(starts))


def _lowest(found: Sequence[Found], keep: int) -> Found:
    """Return the lowest distinct states, in order of energy, with all reads of each."""
    energies = np.concatenate([part.energies for part in found])
    states = np.concatenate([part.states for part in found])
    _, first, same = np.unique(states, axis=0, return_index=True, return_inverse=True)
    reads = np.bincount(
        same.reshape(-1), np.concatenate([part.reads for part in found]), len(first)
    ).astype(np.int64)
    order = np.argsort(energies[first], kind="stable")[:keep]
    chosen = first[order]
    return Found(energies[chosen], states[chosen], reads[order], sum(part.made for part in found))
