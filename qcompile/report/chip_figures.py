"""The figure of the chip: qubits, the chains of every copy, and their lengths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.scaling import scaling_of
from qcompile.report.figures import HUES, Chain, Chip, Copy, Histogram, counted
from qcompile.report.plot import layout
from qcompile.report.run import Run
from qcompile.report.words import number
from qcompile.stages.arrays import Floats
from qcompile.stages.embedded import Embedding, to_embedded
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["chip_of", "shades_of"]


_MOST_FREE, _MOST_LINKS = 8_000, 20_000

Ints = NDArray[np.int64]


def chip_of(run: Run) -> Chip | None:
    """Return the figure of the chip with the chains of every copy."""
    copies = run.embeddings
    if not copies or not copies[0].qubits:
        return None
    machine = copies[0].machine
    place = _places(machine)
    owner, of_copy, variable = _owners(machine, copies)
    first, second = machine.edges.T
    own = np.flatnonzero((owner[first] >= 0) & (owner[first] == owner[second]))
    free, used = np.flatnonzero(owner < 0), np.flatnonzero(owner >= 0)
    # each kind has its own step, so that many free qubits do not hide chains
    every = max(1, -(-len(own) // _MOST_LINKS), -(-len(used) // _MOST_LINKS))
    every_free = max(1, -(-len(free) // _MOST_FREE))
    dots: list[list[tuple[float, float]]] = [[] for _ in variable]
    for q in used[::every].tolist():
        dots[owner[q]].append(_point(place[q]))
    links: list[list[tuple[tuple[float, float], tuple[float, float]]]] = [[] for _ in variable]
    for a, b in zip(first[own[::every]].tolist(), second[own[::every]].tolist(), strict=True):
        links[owner[a]].append((_point(place[a]), _point(place[b])))
    lengths = np.concatenate([copy.lengths for copy in copies])
    by_length = counted(lengths)
    return Chip(
        machine=machine.name,
        qubits=len(place),
        used=len(used),
        free=tuple(_point(place[q]) for q in free[::every_free].tolist()),
        chains=tuple(
            Chain(int(variable[i]), int(of_copy[i]), tuple(dots[i]), tuple(links[i]))
            for i in range(len(variable))
        ),
        copies=tuple(_copies(machine, copies, place, owner, of_copy)),
        spacing=1 / math.sqrt(len(place)),
        colours=tuple(_colours(lengths, variable)),
        lengths=by_length,
        qubits_by_length=_qubits_in(by_length, lengths),
        longest=int(lengths.max()),
        mean=float(lengths.mean()),
        every=every,
        every_free=every_free,
        closer=_closer(place[used]),
        precision=tuple(_with_chains(run.qubo, copies[0])),
    )


def _places(machine: Machine) -> Floats:
    """Return the places of the qubits, stretched to a square from 0 to 1."""
    raw = layout(machine)
    low, high = raw.min(axis=0), raw.max(axis=0)
    size = float((high - low).max()) or 1.0
    return np.asarray((raw - low) / size + (1 - (high - low) / size) / 2)


def _owners(machine: Machine, copies: Sequence[Embedding]) -> tuple[Ints, Ints, Ints]:
    """Return the chain of each qubit (-1 for none), and the copy and variable of each chain."""
    chains = [chain for copy in copies for chain in copy.chains]
    owner = np.full(len(machine.nodes), -1, dtype=np.int64)
    for number_, chain in enumerate(chains):
        owner[np.searchsorted(machine.nodes, chain)] = number_
    sizes = [len(copy.chains) for copy in copies]
    of_copy = np.repeat(np.arange(len(copies)), sizes)
    return owner, of_copy, np.concatenate([np.arange(size) for size in sizes])


def _copies(
    machine: Machine, copies: Sequence[Embedding], place: Floats, owner: Ints, of_copy: Ints
) -> Iterable[Copy]:
    """Yield each copy with its size, shade and middle."""
    holder = np.where(owner >= 0, of_copy[owner], -1)
    shades = shades_of(holder[machine.edges], len(copies))
    for number_, copy in enumerate(copies):
        own = place[holder == number_]
        # the qubit that is nearest to the mean: the mean of a bent copy may lie outside of it
        middle = own[np.square(own - own.mean(axis=0)).sum(axis=1).argmin()]
        yield Copy(len(copy.chains), copy.qubits, copy.longest, shades[number_], _point(middle))


def shades_of(pairs: Ints, count: int) -> list[int]:
    """Return a shade for each of `count` copies, by the pairs of copies that touch.

    Each copy in turn takes the first shade that the fewest touching copies have.

    >>> shades_of(np.array([[0, 1], [1, 2], [2, 2], [-1, 0]]), 3)
    [0, 1, 0]
    """
    apart = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    touching: list[set[int]] = [set() for _ in range(count)]
    for one, two in np.unique(apart, axis=0).tolist():
        touching[one].add(two)
        touching[two].add(one)
    shades: list[int] = []
    for number_ in range(count):
        taken = [shades[other] for other in touching[number_] if other < number_]
        shades.append(min(range(HUES), key=lambda shade: (taken.count(shade), shade)))
    return shades


def _colours(lengths: Ints, variable: Ints) -> Iterable[tuple[int, int, int, int]]:
    """Yield for each colour: chains, their qubits, length of the shortest and of the longest."""
    for hue in range(min(HUES, int(variable.max()) + 1)):
        own = lengths[variable % HUES == hue]
        yield len(own), int(own.sum()), int(own.min()), int(own.max())


def _qubits_in(histogram: Histogram, lengths: Ints) -> tuple[int, ...]:
    """Return the qubits of the chains of each bar of a histogram of lengths."""
    found = np.histogram(lengths, histogram.edges, weights=lengths)[0]
    return tuple(round(value) for value in found.tolist())


def _with_chains(qubo: Qubo | None, embedding: Embedding) -> Iterable[tuple[str, str]]:
    """Yield the strength of the chains, and what it leaves of the coefficients."""
    if qubo is None:
        return
    strength = strength_of(qubo)
    scaled = scaling_of(to_embedded(qubo, embedding, strength))
    yield "chain strength, by torque compensation", number(strength)
    if scaled.below is not None:
        yield "couplings below the machine's precision, with chains", f"{scaled.below:.1%}"


def _point(place: Floats) -> tuple[float, float]:
    return round(float(place[0]), 5), round(float(place[1]), 5)


def _closer(used: Floats) -> tuple[float, float, float] | None:
    """Return the square around the used qubits (left, bottom, side) if it is small, or None."""
    if not len(used):
        return None
    low, high = used.min(axis=0), used.max(axis=0)
    side = float((high - low).max()) * 1.08 + 0.01
    if side > 0.6:
        return None
    corner = np.clip((low + high) / 2 - side / 2, -0.01, 1.01 - side)
    return float(corner[0]), float(corner[1]), side
