"""Search for chains: several methods make candidates, which are trimmed and improved."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from qcompile.embedding.biclique import layouts, lines_of, roles_of
from qcompile.embedding.complete import clique_on
from qcompile.embedding.kernel_input import KernelInput, Owner, settle_chains, trimmed
from qcompile.embedding.minorminer import Minorminer
from qcompile.errors import InputError
from qcompile.runtime.progress import heard, report
from qcompile.runtime.threads import cores

__all__ = ["EMBED_METHODS", "PREFERENCES", "Search", "SearchOptions"]


_log = logging.getLogger("qcompile")

EMBED_METHODS = ("auto", "biclique", "clique", "minorminer")
PREFERENCES = ("balanced", "qubits", "chain")
_POWERS = {"qubits": 1, "chain": 2, "balanced": 3}
_MOST_TRIES = 1000
# Pairs of variables times the longest chain, times the moves of one try: about a second.
_WORK = 50_000_000
_MOVES_EACH = 200  # most moves for each variable, which limits small problems
# A start that is this many times worse than the best is not improved.
_HOPELESS = 2.0
_SLICE = 500  # moves, after which the search may be stopped
_HOT, _COLD = 0.5, 0.1  # temperatures at the beginning and at the end, in qubits
# Sparse problems, by the mean number of neighbours: minorminer embeds them within seconds and often
# best. For other problems `auto` runs it only if no other method finds an embedding.
_SPARSE_DEGREE, _SPARSE_PAIRS = 12, 2000
# A complete graph on more variables than this needs more qubits than any machine has.
_MOST_CLIQUE = 400


@dataclass(frozen=True)
class SearchOptions:
    """Options of the search for chains; see `qcompile.embed`."""

    method: str = "auto"
    prefer: str = "balanced"
    seed: int = 0
    tries: int = 4
    time_limit: float = 60.0
    effort: float = 1.0

    def __post_init__(self) -> None:
        if self.method not in EMBED_METHODS:
            raise InputError(f"method {self.method!r}; expected one of {', '.join(EMBED_METHODS)}")
        if self.prefer not in PREFERENCES:
            raise InputError(f"prefer {self.prefer!r}; expected one of {', '.join(PREFERENCES)}")
        few = 1 <= self.tries <= _MOST_TRIES
        if not few or not 0 < self.time_limit < 1e9 or not 0 <= self.effort < 1e6:
            raise InputError(
                f"{self.tries} tries, time limit {self.time_limit:g}, effort {self.effort:g}; "
                f"expected 1 to {_MOST_TRIES} tries, a time above 0 and an effort of 0 or more"
            )
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed {self.seed}; expected 0 to {2**32 - 1}")

    def to_dict(self) -> dict[str, Any]:
        """Return the options that an embedding records beside its seed."""
        names = ("method", "prefer", "tries", "time_limit", "effort")
        return {name: getattr(self, name) for name in names}


class Search:
    """Runs the methods and keeps the best embedding that any of them has found.

    Reports the tries of each method, with the method's name and the best so far as news.
    """

    def __init__(self, inputs: KernelInput, options: SearchOptions, deadline: float) -> None:
        self.inputs, self.options, self.deadline = inputs, options, deadline
        self.best: tuple[Owner, str] | None = None
        self._cost: tuple[int, int] | None = None
        self._stop = threading.Event()

    def run(self) -> None:
        """Try the methods in turn; Ctrl-C ends the search and keeps the best so far."""
        try:
            for name, start in self._starts():
                self._offer(start, name)
                if self._promising(start):
                    self._improve(start, name)
        except KeyboardInterrupt:
            self._stop.set()
            if self.best is None:
                raise
            _log.warning("interrupted: keeping the best embedding so far")

    def _starts(self) -> Iterator[tuple[str, list[Owner]]]:
        wanted, inputs = self.options.method, self.inputs
        if wanted in ("auto", "biclique"):
            yield "biclique", self._from_strips()
        if wanted in ("auto", "clique") and self._left() > 0:
            yield "clique", _from_clique(inputs)
        if self._left() <= 0:
            return
        if wanted == "minorminer" or (wanted == "auto" and (_is_sparse(inputs) or not self.best)):
            yield "minorminer", self._from_minorminer()

    def _promising(self, owners: Sequence[Owner]) -> bool:
        """Whether any start is near enough to the best to be worth improving."""
        if self._cost is None:
            return False
        prefer = self.options.prefer
        costs = [self.inputs.cost(owner, prefer)[0] for owner in owners]
        return min(costs, default=_HOPELESS * self._cost[0]) < _HOPELESS * self._cost[0]

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _offer(self, owners: Iterable[Owner], name: str) -> None:
        """Keep the best; of equals the first, so that the order of threads does not matter."""
        for owner in owners:
            cost = self.inputs.cost(owner, self.options.prefer)
            if self._cost is None or cost < self._cost:
                self.best, self._cost = (owner, name), cost

    def _improve(self, starts: Sequence[Owner], name: str) -> None:
        """Anneal from the best starts, one try each, with different seeds."""
        options = self.options
        if not starts or not options.effort or self._left() <= 0:
            return
        ranked = sorted(starts, key=lambda owner: self.inputs.cost(owner, options.prefer))
        done = 0

        def one(number: int) -> Owner:
            return self._anneal(ranked[number % len(ranked)], options.seed + number)

        with ThreadPoolExecutor(min(cores(), options.tries)) as pool:
            running = [pool.submit(one, number) for number in range(options.tries)]
            try:
                for future in running:
                    self._offer([future.result()], name)
                    done += 1
                    if heard():
                        qubits = self.inputs.cost(self._best_owner, "qubits")[0]
                        report(done, options.tries, f"{name}, best {qubits} qubits")
            except KeyboardInterrupt:
                # the other tries may have found something better
                self._stop.set()
                left = [future for future in running[done:] if not future.cancel()]
                self._offer([f.result() for f in left if f.exception() is None], name)
                raise

    @property
    def _best_owner(self) -> Owner:
        assert self.best is not None
        return self.best[0]

    def _anneal(self, owner: Owner, seed: int) -> Owner:
        """Improve one embedding slice by slice until it is done, late or stopped."""
        from qcompile.embedding.chain_kernels import layout_of
        from qcompile.embedding.reroute_kernels import improve

        _, longest = self.inputs.cost(owner, "qubits")
        work = max(1, len(self.inputs.qubo.first)) * max(1, longest)
        moves = int(self.options.effort * min(_MOVES_EACH * self.inputs.variables, _WORK / work))
        power = _POWERS[self.options.prefer]
        heat = 4 if power == 2 else 1  # squares of lengths differ by more than lengths
        layout = layout_of(self.inputs.graph, self.inputs.problem, owner)
        slices = max(1, -(-moves // _SLICE))
        heats = np.geomspace(_HOT, _COLD, slices + 1) * heat
        for number in range(slices):
            if self._stop.is_set() or self._left() <= 0:
                break
            count = min(_SLICE, moves - number * _SLICE)
            improve(layout, count, seed * slices + number, heats[number], heats[number + 1], power)
        return layout.owner.copy()

    def _from_strips(self) -> list[Owner]:
        """Try strips in many places and return the best few; use more strips if few do not fit.

        Each embedding is offered at once, so that Ctrl-C loses nothing.
        """
        inputs, options = self.inputs, self.options
        roles = roles_of(inputs.qubo)
        if not roles.spread:  # no variable is coupled to another
            owner = np.full(inputs.qubits, -1, dtype=np.int32)
            owner[: inputs.variables] = np.arange(inputs.variables)
            return [owner]
        order = np.array([*roles.spread, *roles.crossing], dtype=np.int32)
        for group in layouts(lines_of(inputs.machine), roles, inputs.qubits):
            found: list[Owner] = []
            for owner in group:
                if self._left() <= 0:
                    break
                settled = settle_chains(inputs, owner, order)
                if settled is not None:
                    found.append(settled)
                    self._offer([settled], "biclique")
            if found or self._left() <= 0:
                ranked = sorted(found, key=lambda owner: inputs.cost(owner, options.prefer))
                return ranked[: options.tries]
        return []

    def _from_minorminer(self) -> list[Owner]:
        """Run the tries in processes, as many at a time as there are cores."""
        inputs, options = self.inputs, self.options
        waiting = list(range(options.tries))
        running: dict[int, Minorminer] = {}
        answers: dict[int, Owner] = {}
        done = 0
        try:
            while (waiting or running) and self._left() > 0:
                while waiting and len(running) < cores():
                    number = waiting.pop(0)
                    running[number] = Minorminer(inputs, options.seed + number, self._left())
                for number in [n for n, miner in running.items() if miner.finished]:
                    owner = running.pop(number).owner(inputs)
                    done += 1
                    if owner is not None:
                        answers[number] = owner
                    report(done, options.tries, "minorminer")
                time.sleep(0.02)
        finally:
            for miner in running.values():
                miner.stop()
            # in the order of the seeds, so that ties do not depend on which one finished first
            self._offer([answers[number] for number in sorted(answers)], "minorminer")
        return [answers[number] for number in sorted(answers)]


def _is_sparse(inputs: KernelInput) -> bool:
    pairs = len(inputs.qubo.first)
    return pairs <= min(_SPARSE_PAIRS, _SPARSE_DEGREE / 2 * inputs.variables)


def _from_clique(inputs: KernelInput) -> list[Owner]:
    """Return busclique's embedding of a complete graph, trimmed to what the problem needs."""
    if inputs.variables > _MOST_CLIQUE:
        return []
    try:
        found = clique_on(inputs.machine, inputs.variables)
    except OSError as error:
        _log.warning("no clique embedding: busclique cannot write its cache (%s)", error)
        return []
    except InputError as error:
        _log.info("no clique embedding: %s", error)
        return []
    if not found:
        return []
    chains = [np.searchsorted(inputs.machine.nodes, found[v]) for v in range(inputs.variables)]
    return [trimmed(inputs, chains)]
