"""Qubo x Machine -> Embedded: find chains of qubits for the variables; see `unembed` for the way
back.

Methods, all of them trimmed and then improved by laying single chains anew:

biclique    strips of lines that cross, from the structure of the problem (see `strips`): fast
clique      busclique's embedding of a complete graph: fast, long chains
minorminer  Ocean's general search, in processes of its own: slow, good for small problems
auto        the best of those that are worth their time
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.preflight import preflight
from qcompile.errors import InputError, QcompileError
from qcompile.runtime.threads import cores
from qcompile.stages.artifacts import Qubo
from qcompile.stages.embedded import Embedded, Embedding, check_embedding, problem_id, to_embedded
from qcompile.stages.machines import Machine

__all__ = ["EMBED_METHODS", "PREFERENCES", "EmbeddingNotFound", "embed", "find_embedding"]

EMBED_METHODS = ("auto", "biclique", "clique", "minorminer")
PREFERENCES = ("qubits", "chain")

Owner = NDArray[np.int32]
Rows = tuple[NDArray[np.int32], NDArray[np.int32]]
Progress = Callable[[str, int, int], None]

# Work for the improvement of one try, pairs of variables times the longest chain: a second.
_WORK = 50_000_000
_MOST_TRIES = 1000
_MOVES_EACH = 200  # of small problems: moves for each variable
# A start that is so many times worse than the best is left as it is.
_HOPELESS = 2.0
_SLICE = 500  # moves, after which the search may be stopped
_HOT, _COLD = 0.5, 0.1  # qubits that a move may cost at first and in the end
# Problems that minorminer embeds within seconds and often best: sparse ones, by the mean number of
# neighbours. For others `auto` leaves it for a last resort.
_SPARSE_DEGREE, _SPARSE_PAIRS = 12, 2000
# Share of variables without a place for which it is worth looking for room elsewhere.
_MOST_HOMELESS = 0.1
# A complete graph on more variables than this needs more qubits than any machine has.
_MOST_CLIQUE = 400

_log = logging.getLogger("qcompile")


class EmbeddingNotFound(QcompileError):
    """No method found an embedding; the message says what would help."""


@dataclass(frozen=True)
class _Options:
    method: str
    prefer: str
    seed: int
    tries: int
    effort: float
    deadline: float


class _Ground:
    """The problem and the machine as the kernels need them."""

    def __init__(self, qubo: Qubo, machine: Machine) -> None:
        self.qubo, self.machine = qubo, machine
        self.graph = _rows(len(machine.nodes), *machine.edges.T)
        self.problem = _rows(qubo.variables, qubo.first, qubo.second)
        self.variables, self.qubits = qubo.variables, len(machine.nodes)

    def cost(self, owner: Owner, prefer: str) -> tuple[int, int]:
        """Give what is to be small, the most important first."""
        lengths = np.bincount(owner[owner >= 0], minlength=self.variables)
        total, longest = int(lengths.sum()), int(lengths.max(initial=0))
        return (longest, total) if prefer == "chain" else (total, longest)


def embed(
    qubo: Qubo,
    machine: Machine,
    *,
    method: str = "auto",
    prefer: str = "qubits",
    seed: int = 0,
    tries: int = 4,
    time_limit: float = 60.0,
    effort: float = 1.0,
    chain_strength: float | str = "torque",
    embedding: Embedding | None = None,
    progress: Progress | None = None,
) -> Embedded:
    """Put a QUBO on a machine.

    `prefer` chooses between embeddings by their total of "qubits" or by the longest "chain".
    `tries` searches run side by side from different seeds. An `embedding` found before is checked
    and used instead of searching. `chain_strength` is "torque" (uniform torque compensation),
    "scaled" or a number.

    >>> from qcompile import Pubo, load_machine, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))
    >>> embed(qubo, load_machine("pegasus4")).embedding.qubits
    5
    """
    from qcompile.embedding.chain_strength import strength_of

    if embedding is None:
        embedding = find_embedding(
            qubo,
            machine,
            method=method,
            prefer=prefer,
            seed=seed,
            tries=tries,
            time_limit=time_limit,
            effort=effort,
            progress=progress,
        )
    else:
        check_embedding(embedding, qubo, machine)
        embedding = _on(embedding, machine)
    return to_embedded(qubo, embedding, strength_of(qubo, chain_strength))


def _on(embedding: Embedding, machine: Machine) -> Embedding:
    """Give an embedding that was checked against a machine as one on that machine."""
    return replace(embedding, machine=machine)


def find_embedding(
    qubo: Qubo,
    machine: Machine,
    *,
    method: str = "auto",
    prefer: str = "qubits",
    seed: int = 0,
    tries: int = 4,
    time_limit: float = 60.0,
    effort: float = 1.0,
    progress: Progress | None = None,
) -> Embedding:
    """Search for chains; after Ctrl-C the best so far is given, if there is one.

    The same seed gives the same chains on any number of cores as long as the time limit is not
    reached.
    """
    _check_options(method, prefer, tries, time_limit, effort, seed)
    report = preflight(qubo, machine)
    if report.impossible:
        raise EmbeddingNotFound(report.message)
    began = time.monotonic()
    options = _Options(method, prefer, seed, tries, effort, began + time_limit)
    ground = _Ground(qubo, machine)
    search = _Search(ground, options, progress)
    search.run()
    if search.best is None:
        taken = time.monotonic() - began
        raise EmbeddingNotFound(
            _not_found(report.message, machine, qubo, options, taken, taken > time_limit)
        )
    owner, name = search.best
    found = Embedding(
        chains=_chains(owner, ground),
        machine=machine,
        problem=problem_id(qubo),
        method=name,
        seed=seed,
        options={
            "method": method,
            "prefer": prefer,
            "tries": tries,
            "time_limit": time_limit,
            "effort": effort,
        },
    )
    check_embedding(found, qubo)
    return found


def _check_options(
    method: str, prefer: str, tries: int, seconds: float, effort: float, seed: int
) -> None:
    if method not in EMBED_METHODS:
        raise InputError(f"method {method!r}; expected one of {', '.join(EMBED_METHODS)}")
    if prefer not in PREFERENCES:
        raise InputError(f"prefer {prefer!r}; expected one of {', '.join(PREFERENCES)}")
    if not 1 <= tries <= _MOST_TRIES or not 0 < seconds < 1e9 or not 0 <= effort < 1e6:
        raise InputError(
            f"{tries} tries, time limit {seconds:g}, effort {effort:g}; expected 1 to "
            f"{_MOST_TRIES} tries, a time above 0 and an effort of 0 or more"
        )
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}; expected 0 to {2**32 - 1}")


def _not_found(
    advice: str, machine: Machine, qubo: Qubo, options: _Options, seconds: float, late: bool
) -> str:
    if late:
        advice = f"the time limit cut the search, raise it; {advice}".removesuffix("; ")
    return (
        f"no embedding of {qubo.variables} variables and {len(qubo.first)} couplings found on "
        f"{machine.name} ({len(machine.nodes)} qubits) with method {options.method} in "
        f"{seconds:.1f} s: {advice or 'use fewer bits or features, or a larger machine'}"
    )


class _Search:
    """Runs the methods and keeps the best embedding that any of them has given."""

    def __init__(self, ground: _Ground, options: _Options, progress: Progress | None) -> None:
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
        """Say whether any of them is near enough to the best to be worth improving."""
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
        from qcompile.embedding.chain_kernels import board_of, improve

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
        from qcompile.embedding.biclique import layouts, lines_of, roles_of

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
                settled = _settle(ground, owner, order)
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
        running: dict[int, _Miner] = {}
        answers: dict[int, Owner] = {}
        done = 0
        try:
            while (waiting or running) and self._left() > 0:
                while waiting and len(running) < cores():
                    number = waiting.pop(0)
                    running[number] = _Miner(ground, options.seed + number, self._left())
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


class _Miner:
    """A process that runs minorminer once."""

    def __init__(self, ground: _Ground, seed: int, seconds: float) -> None:
        task = {
            "variables": ground.variables,
            "pairs": np.column_stack([ground.qubo.first, ground.qubo.second]).tolist(),
            "qubits": ground.qubits,
            "couplers": ground.machine.edges.tolist(),
            "seed": seed,
            "seconds": max(1, int(seconds)),
        }
        # A session of its own: Ctrl-C reaches the parent only, which then decides.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "qcompile.embedding.minorminer_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._answer, self._complaint = b"", b""
        self._thread = threading.Thread(target=self._talk, args=(json.dumps(task).encode(),))
        self._thread.daemon = True
        self._thread.start()

    def _talk(self, task: bytes) -> None:
        self._answer, self._complaint = self._process.communicate(task)

    @property
    def finished(self) -> bool:
        return not self._thread.is_alive()

    def owner(self, ground: _Ground) -> Owner | None:
        """Give what was found, trimmed."""
        if self._process.returncode:
            last = self._complaint.decode(errors="replace").strip().rpartition("\n")[2]
            _log.warning("minorminer failed: %s", last or f"exit {self._process.returncode}")
            return None
        chains = json.loads(self._answer)
        return _trimmed(ground, chains) if chains else None

    def stop(self) -> None:
        self._process.kill()
        self._thread.join()


def _is_sparse(ground: _Ground) -> bool:
    pairs = len(ground.qubo.first)
    return pairs <= min(_SPARSE_PAIRS, _SPARSE_DEGREE / 2 * ground.variables)


def _settle(ground: _Ground, owner: Owner, order: NDArray[np.int32]) -> Owner | None:
    """Place what has no place, connect what is apart, trim; None where that cannot be done."""
    from qcompile.embedding.chain_kernels import board_of, settle, trim_all

    homeless = ground.variables - len(np.unique(owner[owner >= 0]))
    if homeless > _MOST_HOMELESS * ground.variables:
        return None
    board = board_of(ground.graph, ground.problem, owner)
    if settle(board, order, 4, 1):
        return None
    trim_all(board, 1)
    return board.owner.copy()


def _from_clique(ground: _Ground) -> list[Owner]:
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
    return [_trimmed(ground, chains)]


def _trimmed(ground: _Ground, chains: Sequence[Sequence[int] | NDArray[np.int64]]) -> Owner:
    from qcompile.embedding.chain_kernels import board_of, trim_all

    owner = np.full(ground.qubits, -1, dtype=np.int32)
    for variable, chain in enumerate(chains):
        owner[np.asarray(chain)] = variable
    board = board_of(ground.graph, ground.problem, owner)
    trim_all(board, 1)
    return board.owner.copy()


def _chains(owner: Owner, ground: _Ground) -> tuple[tuple[int, ...], ...]:
    if not ground.variables:
        return ()
    used = np.flatnonzero(owner >= 0)
    order = np.argsort(owner[used], kind="stable")
    cuts = np.searchsorted(owner[used][order], np.arange(1, ground.variables))
    parts = np.split(ground.machine.nodes[used[order]], cuts)
    return tuple(tuple(part.tolist()) for part in parts)


def _rows(size: int, first: NDArray[Any], second: NDArray[Any]) -> Rows:
    """Give an undirected graph as compressed rows."""
    one, two = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((two, one))
    starts = np.searchsorted(one[order], np.arange(size + 1))
    return starts.astype(np.int32), two[order].astype(np.int32)
