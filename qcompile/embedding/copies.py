"""Qubo x Machine -> many Embeddings: as many disjoint copies of a problem as the machine takes.

All copies are programmed and annealed together, so one anneal gives as many samples.

1. Find chains on a small window of the machine's graph, and shapes near them (`copies_shapes`).
   Shapes of small cubics that fill whole cells are known beforehand (`copies_known`).
2. Search for a lattice: a few shapes that repeat without overlap, in small units of every form.
3. Lay the densest lattices over the chip, and anneal the copies with a few more of them.
4. Give every piece of a chain a track, and check all copies on the working graph.
5. Try the shapes once more in the qubits that are left (`copies_refill`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.complete import (
    clique_on,
    complete_chains,
    complete_qubo,
    largest_clique,
)
from qcompile.embedding.copies_known import known_shapes
from qcompile.embedding.copies_lattice import chip_ground, laid, lattices, packed
from qcompile.embedding.copies_refill import refilled
from qcompile.embedding.copies_shapes import (
    Shape,
    on_fewest_places,
    places_of,
    shape_of,
    shapes_near,
    variants_of,
)
from qcompile.embedding.copies_tracks import Chains, chains_on_tracks, mended_copies
from qcompile.embedding.embed import EmbeddingNotFound, find_embedding
from qcompile.embedding.kernel_input import KernelInput, Owner, trimmed
from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.files.qubo import QuboSource, qubo_of
from qcompile.stages.embedded import Embedding, check_embedding, problem_id
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["Copies", "complete_copies", "find_copies", "largest_of_copies"]

Copies: TypeAlias = int | Literal["auto"]
Ints = NDArray[np.int32]

_MOST_SHAPES = 120
_FEW = 4  # up to so many copies, the rest of the chip is searched for more
_QUBITS_EACH = 12  # of a window, for each variable
_REMEMBERED = 32  # machines and sizes of complete graphs
_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1)  # of the largest complete graph to expect


def find_copies(
    qubo: QuboSource,
    machine: MachineSource,
    *,
    copies: Copies = "auto",
    seed: int = 0,
    time_limit: float = 60.0,
    embedding: Embedding | None = None,
) -> tuple[Embedding, ...]:
    """Return chains for many copies of a problem that share no qubit.

    `copies` is their number, or "auto": as many as are found. If fewer than this number are
    found, InputError says how many. A given `embedding` is where the search for shapes begins. The
    same seed gives the same chains as long as the time limit is not reached; then the best so far
    is returned.

    >>> from qcompile import Pubo, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))
    >>> len(find_copies(qubo, "chimera4", copies=8))
    8
    """
    qubo, machine = qubo_of(qubo), load_machine(machine)
    check_copies(copies)
    if not 0 <= seed < 2**32 or not 0 < time_limit < 1e9:
        raise InputError(
            f"seed {seed}, time limit {time_limit:g}; expected a seed from 0 to {2**32 - 1} and a "
            "time above 0"
        )
    if embedding is not None:
        check_embedding(embedding, qubo, machine)
    deadline = time.monotonic() + time_limit
    if copies == 1:
        first = embedding or find_embedding(qubo, machine, seed=seed, time_limit=time_limit)
        return (first,)
    wanted = math.inf if copies == "auto" else copies
    packed = _Packing(qubo, machine, seed, deadline, wanted).run(embedding)
    if copies != "auto":
        packed = sorted(packed, key=lambda chains: sum(map(len, chains)))[:copies]
    enough(len(packed), copies, machine)
    options = {"copies": copies, "time_limit": time_limit}
    found = tuple(
        Embedding(chains, machine, problem_id(qubo), "copies", seed, options) for chains in packed
    )
    for one in found:
        check_embedding(one, qubo)
    return found


def complete_copies(
    machine: MachineSource, variables: int, *, copies: Copies = "auto"
) -> tuple[Embedding, ...]:
    """Return disjoint chains for many complete graphs of so many variables, the same every time.

    `copies` is that of `find_copies`. `with_chains` puts a problem on each of them.

    >>> len(complete_copies("chimera4", 4, copies=8))
    8
    """
    machine = load_machine(machine)
    check_copies(copies)
    if variables < 1 or copies == 1:
        return (replace(complete_chains(machine, variables), method="copies"),)
    return _complete_copies(machine, variables, copies)


def largest_of_copies(machine: MachineSource, copies: int, variables: int) -> int:
    """Return how many variables complete graphs have of which so many copies fit on a machine.

    It is at most `variables`, and found by trying a few smaller numbers; 0 if none fits.
    """
    machine = load_machine(machine)
    # the qubits of a complete graph grow with the square of its variables
    most = largest_clique(machine) / math.sqrt(copies)
    tried = [variables, *(int(most * share) for share in _SHARES)]
    for number in tried:
        if 0 < number <= min(variables, 1.5 * most):
            with suppress(InputError):
                _complete_copies(machine, number, copies)
                return number
    return 0


@lru_cache(_REMEMBERED)
def _complete_copies(machine: Machine, variables: int, copies: Copies) -> tuple[Embedding, ...]:
    """Return what `complete_copies` returns; it is the same in every round of a training."""
    qubo = complete_qubo(variables)
    wanted = math.inf if copies == "auto" else copies
    packed = _Packing(qubo, machine, 0, np.inf, wanted, lattice=False).run(None)
    if not packed:  # busclique takes minutes on a large damaged graph; it refuses what does not fit
        packed = [complete_chains(machine, variables).chains]
    if copies != "auto":
        packed = sorted(packed, key=lambda chains: sum(map(len, chains)))[:copies]
    enough(len(packed), copies, machine)
    found = tuple(Embedding(chains, machine, problem_id(qubo), "copies") for chains in packed)
    for one in found:
        check_embedding(one, qubo)
    return found


def check_copies(copies: object) -> None:
    """Raise InputError unless it is a number of copies or "auto"."""
    whole = isinstance(copies, int) and not isinstance(copies, bool) and copies >= 1
    if not whole and copies != "auto":
        raise InputError(f"copies={copies!r}; expected a number of 1 or more, or 'auto'")


def enough(found: int, copies: Copies, machine: Machine) -> None:
    """Raise InputError, saying how many fit, if there are fewer copies than wanted."""
    if copies != "auto" and found < copies:
        raise InputError(
            f"copies={copies}: {found} copies of this problem were found on machine "
            f"{machine.name}: use at most copies={found}, or a larger machine"
        )


@dataclass
class _Packing:
    """One search for copies, which ends early with `wanted`; `best` are the most so far."""

    qubo: Qubo
    machine: Machine
    seed: int
    deadline: float
    wanted: float = math.inf
    lattice: bool = True

    def __post_init__(self) -> None:
        self.best: list[Chains] = []
        self.places = places_of(self.machine)
        self.inputs = KernelInput(self.qubo, self.machine)

    def run(self, embedding: Embedding | None) -> list[Chains]:
        """Return the chains of each copy."""
        if not len(self.qubo.first):  # chains of one qubit fit anywhere
            size = max(1, self.qubo.variables)
            nodes = self.machine.nodes.tolist()
            return [
                tuple((q,) for q in nodes[i : i + size])
                for i in range(0, len(nodes) - size + 1, size)
            ]
        start = self._start(embedding)
        if start is not None:
            self._on_lattices(start)
        if self.lattice and len(self.best) <= _FEW:
            self._one_by_one(embedding)
        return self.best

    @property
    def _late(self) -> bool:
        return len(self.best) >= self.wanted or time.monotonic() >= self.deadline

    def _start(self, embedding: Embedding | None) -> tuple[Owner, KernelInput] | None:
        """Return chains on a window of the graph, or None if there are none."""
        for window in _windows(self.machine, self.qubo.variables, embedding):
            inputs = KernelInput(self.qubo, window)
            if not self.lattice:
                clique = clique_on(window, self.qubo.variables)
                if clique:
                    return trimmed(inputs, _positions(clique, window)), inputs
                continue
            left = min(1e8, max(0.01, self.deadline - time.monotonic()))
            method = "auto" if window.shape == self.machine.shape else "biclique"
            try:
                found = embedding or find_embedding(
                    self.qubo, window, method=method, seed=self.seed, tries=2, time_limit=left
                )
            except EmbeddingNotFound:
                continue
            return trimmed(inputs, _positions(found.to_ocean(), window)), inputs
        return None

    def _on_lattices(self, start: tuple[Owner, KernelInput]) -> None:
        """Pack shapes near the given chains; if a few copies are wanted, these chains may do."""
        ground = chip_ground(self.places)
        known = known_shapes(self.qubo, self.machine)
        nothing = np.zeros((0, 3), dtype=np.int32)
        if self.wanted < math.inf:
            given = shape_of(*start, places_of(start[1].machine))
            shapes, variants = variants_of([*known, given], self.places)
            for copies in packed(nothing, variants, ground, self.seed, lambda: True):
                self._offer(shapes, copies)
            if self._late:
                return
        found = shapes_near(*start, seed=self.seed, most=_MOST_SHAPES)
        shapes, variants = variants_of([*known, *found], self.places)
        starts: list[Ints] = [nothing]
        half = (time.monotonic() + self.deadline) / 2  # the other half is for the chip
        sites = np.inf
        for chosen in (on_fewest_places(variants), variants) if self.lattice else ():
            for unit in lattices(
                chosen, ground, self.seed, lambda: time.monotonic() > half, below=sites
            ):
                starts.append(laid(unit, chosen, ground))
                sites = unit.sites
        starts.sort(key=len, reverse=True)
        for copies in packed(starts[0], variants, ground, self.seed, lambda: self._late):
            self._offer(shapes, copies)
        self.best = refilled(
            self.best, shapes, variants, ground, self.inputs, self.places, lambda: self._late
        )

    def _offer(self, shapes: list[Shape], copies: Ints) -> None:
        """Keep the copies if they are more than before, as chains on the working graph."""
        if len(copies) <= len(self.best):
            return
        chains = chains_on_tracks([shapes[v] for v in copies[:, 0]], copies[:, 1:], self.places)
        whole = mended_copies(chains, self.inputs)
        if len(whole) > len(self.best):
            self.best = whole

    def _one_by_one(self, embedding: Embedding | None) -> None:
        """Embed further copies in the qubits that are left, one after the other."""
        if not self.best and embedding is not None:
            self.best = [embedding.chains]
        while not self.best or not self._late:
            used = [q for chains in self.best for chain in chains for q in chain]
            if len(self.machine.nodes) - len(used) < self.qubo.variables:
                return
            rest = self.machine.without(used)
            left = min(1e8, max(0.01, self.deadline - time.monotonic()))
            try:
                found = find_embedding(self.qubo, rest, seed=self.seed, tries=2, time_limit=left)
            except EmbeddingNotFound:
                if not self.best:
                    raise
                return
            self.best.append(found.chains)


def _positions(chains: Mapping[int, Sequence[int]], machine: Machine) -> list[NDArray[np.int64]]:
    """Return the chains as positions in the list of working qubits."""
    return [np.searchsorted(machine.nodes, sorted(chains[v])) for v in range(len(chains))]


def _windows(machine: Machine, variables: int, embedding: Embedding | None) -> Iterator[Machine]:
    """Yield whole graphs like the machine's, small ones first; with an embedding only its own."""
    whole = replace(machine, dead_qubits=frozenset(), dead_couplers=frozenset())
    if embedding is None:
        rows = machine.sizes[0]
        for size in range(2, rows):
            others = machine.sizes[1:]
            if machine.topology == "chimera":
                others = (min(size, others[0]), others[1])
            window = replace(whole, name=f"{machine.name} window", shape=(size, *others))
            if len(window.nodes) >= _QUBITS_EACH * variables:
                yield window
                if size > rows // 2:
                    break
    yield whole
