"""Search for chains: candidates of several methods, each trimmed and improved."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from qcompile.embedding.biclique import layouts, lines_of, roles_of
from qcompile.embedding.kernel_input import KernelInput, Owner, settle_chains, trimmed
from qcompile.embedding.minorminer import Minorminer
from qcompile.runtime.threads import cores

__all__ = ["Progress", "Search", "SearchOptions"]


_log = logging.getLogger("qcompile")
Progress = Callable[[str, int, int], None]

# Work for the improvement of one try, pairs of variables times the longest chain: a second.
_WORK = 50_000_000
_MOVES_EACH = 200  # of small problems: moves for each variable
# A start that is so many times worse than the best is left as it is.
_HOPELESS = 2.0
_SLICE = 500  # moves, after which the search may be stopped
_HOT, _COLD = 0.5, 0.1  # qubits that a move may cost at first and in the end
# Problems that minorminer embeds within seconds and often best: sparse ones, by the mean number of
# neighbours. For others `auto` leaves it for a last resort.
_SPARSE_DEGREE, _SPARSE_PAIRS = 12, 2000
# A complete graph on more variables than this needs more qubits than any machine has.
_MOST_CLIQUE = 400


@dataclass(frozen=True)
class SearchOptions:
    """Options of the search for chains."""

    method: str
    prefer: str
    seed: int
    tries: int
    effort: float
    deadline: float


class Search:
    """Runs the methods and keeps the best embedding that any of them has given."""

    def __init__(
        self, ground: KernelInput, options: SearchOptions, progress: Progress | None
    ) -> None:
        self.ground, self.options, self.progress = ground, options, progress
        self.best: tuple[Owner, str] | None = None
        self._cost: tuple[int, int] | None = None
        self._stop = threading.Event()

    def run(self) -> None:
        """Try the methods in turn; Ctrl-C ends the search and keeps what there is."""
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
        wanted, ground = self.options.method, self.ground
        if wanted in ("auto", "biclique"):
            yield "biclique", self._from_strips()
        if wanted in ("auto", "clique"):
            yield "clique", _from_clique(ground)
        if wanted == "minorminer" or (wanted == "auto" and (_is_sparse(ground) or not self.best)):
            yield "minorminer", self._from_minorminer()

    def _promising(self, owners: Sequence[Owner]) -> bool:
        """Whether any of them is near enough to the best to be worth improving."""
        if self._cost is None:
            return False
        prefer = self.options.prefer
        costs = [self.ground.cost(owner, prefer)[0] for owner in owners]
        return min(costs, default=_HOPELESS * self._cost[0]) < _HOPELESS * self._cost[0]

    def _left(self) -> float:
        return self.options.deadline - time.monotonic()

    def _offer(self, owners: Iterable[Owner], name: str) -> None:
        """Take what is better; the first of equals stays, so that threads do not matter."""
        for owner in owners:
            cost = self.ground.cost(owner, self.options.prefer)
            if self._cost is None or cost < self._cost:
                self.best, self._cost = (owner, name), cost

    def _improve(self, starts: Sequence[Owner], name: str) -> None:
        """Anneal from the best starts, one try each, seeds apart."""
        options = self.options
        if not starts or not options.effort or self._left() <= 0:
            return
        ranked = sorted(starts, key=lambda owner: self.ground.cost(owner, options.prefer))
        done = 0

        def one(number: int) -> Owner:
            return self._anneal(ranked[number % len(ranked)], options.seed + number)

        with ThreadPoolExecutor(min(cores(), options.tries)) as pool:
            running = [pool.submit(one, number) for number in range(options.tries)]
            try:
                for future in running:
                    self._offer([future.result()], name)
                    done += 1
                    if self.progress is not None:
                        qubits = self.ground.cost(self._best_owner, "qubits")[0]
                        self.progress(f"{name}, best {qubits} qubits", done, options.tries)
            except KeyboardInterrupt:
                # what the others have reached by now is worth keeping
                self._stop.set()
                left = [future for future in running[done:] if not future.cancel()]
                self._offer([f.result() for f in left if f.exception() is None], name)
                raise

    @property
    def _best_owner(self) -> Owner:
        assert self.best is not None
        return self.best[0]

    def _anneal(self, owner: Owner, seed: int) -> Owner:
        """Improve one embedding slice by slice until it is cold, late or stopped."""
        from qcompile.embedding.chain_kernels import board_of
        from qcompile.embedding.reroute_kernels import improve

        _, longest = self.ground.cost(owner, "qubits")
        work = max(1, len(self.ground.qubo.first)) * max(1, longest)
        moves = int(self.options.effort * min(_MOVES_EACH * self.ground.variables, _WORK / work))
        power = 2 if self.options.prefer == "chain" else 1
        board = board_of(self.ground.graph, self.ground.problem, owner)
        slices = max(1, -(-moves // _SLICE))
        heats = np.geomspace(_HOT, _COLD, slices + 1) * (power * power)
        for number in range(slices):
            if self._stop.is_set() or self._left() <= 0:
                break
            count = min(_SLICE, moves - number * _SLICE)
            improve(board, count, seed * slices + number, heats[number], heats[number + 1], power)
        return board.owner.copy()

    def _from_strips(self) -> list[Owner]:
        """Lay strips in many places and keep the best few; more strips where fewer do not do.

        What is found is offered at once, so that Ctrl-C loses nothing.
        """
        ground, options = self.ground, self.options
        roles = roles_of(ground.qubo)
        if not roles.spread:  # nothing meets anything
            owner = np.full(ground.qubits, -1, dtype=np.int32)
            owner[: ground.variables] = np.arange(ground.variables)
            return [owner]
        order = np.array([*roles.spread, *roles.crossing], dtype=np.int32)
        for group in layouts(lines_of(ground.machine), roles, ground.qubits):
            found: list[Owner] = []
            for owner in group:
                if self._left() <= 0:
                    break
                settled = settle_chains(ground, owner, order)
                if settled is not None:
                    found.append(settled)
                    self._offer([settled], "biclique")
            if found or self._left() <= 0:
                ranked = sorted(found, key=lambda owner: ground.cost(owner, options.prefer))
                return ranked[: options.tries]
        return []

    def _from_minorminer(self) -> list[Owner]:
        """Run tries in processes, as many at a time as there are cores."""
        ground, options = self.ground, self.options
        waiting = list(range(options.tries))
        running: dict[int, Minorminer] = {}
        answers: dict[int, Owner] = {}
        done = 0
        try:
            while (waiting or running) and self._left() > 0:
                while waiting and len(running) < cores():
                    number = waiting.pop(0)
                    running[number] = Minorminer(ground, options.seed + number, self._left())
                for number in [n for n, miner in running.items() if miner.finished]:
                    owner = running.pop(number).owner(ground)
                    done += 1
                    if owner is not None:
                        answers[number] = owner
                    if self.progress is not None:
                        self.progress("minorminer", done, options.tries)
                time.sleep(0.02)
        finally:
            for miner in running.values():
                miner.stop()
            # in the order of the seeds, not of finishing, so that ties do not depend on the clock
            self._offer([answers[number] for number in sorted(answers)], "minorminer")
        return [answers[number] for number in sorted(answers)]


def _is_sparse(ground: KernelInput) -> bool:
    pairs = len(ground.qubo.first)
    return pairs <= min(_SPARSE_PAIRS, _SPARSE_DEGREE / 2 * ground.variables)


def _from_clique(ground: KernelInput) -> list[Owner]:
    """Take busclique's embedding of a complete graph, trimmed to what the problem needs."""
    from minorminer.busclique import busgraph_cache

    if ground.variables > _MOST_CLIQUE:
        return []
    graph = ground.machine.graph
    # Not find_clique_embedding(use_cache=False), which eats all memory on small Zephyr graphs with
    # dead qubits (minorminer 0.2.22). The cache is a file in the user's data folder.
    try:
        found = busgraph_cache(graph).find_clique_embedding(ground.variables)
    except OSError as error:
        _log.warning("no clique embedding: busclique cannot write its cache (%s)", error)
        return []
    if not found:
        return []
    chains = [np.searchsorted(ground.machine.nodes, found[v]) for v in range(ground.variables)]
    return [trimmed(ground, chains)]
