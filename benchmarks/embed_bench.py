"""Minor embedding: strips of lines against the plain biclique, busclique and minorminer.

Same problem, same graph, same time budget, several seeds. Also the largest problems that fit, dead
qubits, and how well the formula of `qcompile.physical` predicts it all.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from statistics import fmean

import numpy as np
from minorminer.busclique import busgraph_cache
from numpy.typing import NDArray

from benchmarks.common import options, row
from benchmarks.quadratize_bench import complete, sparse
from qcompile import Machine, Pubo, Qubo, find_embedding, load_machine, quadratize
from qcompile.embedding.biclique import Roles, layouts, lines_of, roles_of
from qcompile.embedding.capacity import largest_bits, likely_qubits
from qcompile.embedding.embed import EmbeddingNotFound
from qcompile.embedding.kernel_input import KernelInput, settle_chains, trimmed
from qcompile.stages.embedded import Embedding

BUDGET = 60.0


def cubic(bits: int) -> Qubo:
    """A complete cubic, reduced."""
    return quadratize(complete(bits, 3))


def plain_biclique(qubo: Qubo, machine: Machine) -> tuple[int, int] | None:
    """The recipe: busclique's biclique, each bit on both sides, trimmed; gives qubits, longest."""
    bits, ancillas = qubo.logical, len(qubo.ancillas)
    found = busgraph_cache(machine.graph).find_biclique_embedding(bits, ancillas + bits)
    if not found:
        return None
    place = {q: i for i, q in enumerate(machine.nodes.tolist())}
    chains = [[place[q] for q in found[v]] for v in range(2 * bits + ancillas)]
    joined = [chains[v] + chains[bits + ancillas + v] for v in range(bits)]
    owner = trimmed(KernelInput(qubo, machine), joined + chains[bits : bits + ancillas])
    lengths = np.bincount(owner[owner >= 0])
    return int(lengths.sum()), int(lengths.max())


def timed(
    search: Callable[[int], tuple[int, int] | None], seeds: Iterable[int]
) -> dict[str, object]:
    """Run a search for each seed: range of qubits, of longest chains, mean seconds."""
    sizes, seconds = [], []
    for seed in seeds:
        start = time.perf_counter()
        found = search(seed)
        seconds.append(time.perf_counter() - start)
        if found is not None:
            sizes.append(found)
    if not sizes:
        return {"qubits": "none", "seconds": fmean(seconds)}
    qubits, longest = zip(*sizes, strict=True)
    return {
        "qubits": f"{min(qubits)}-{max(qubits)}",
        "longest": f"{min(longest)}-{max(longest)}",
        "seconds": fmean(seconds),
    }


def ours(
    qubo: Qubo, machine: Machine, method: str, tries: int
) -> Callable[[int], tuple[int, int] | None]:
    """Search with one of the package's methods."""

    def search(seed: int) -> tuple[int, int] | None:
        try:
            found = find_embedding(
                qubo, machine, method=method, seed=seed, tries=tries, time_limit=BUDGET
            )
        except EmbeddingNotFound:
            return None
        return found.qubits, found.longest

    return search


def compare(name: str, qubo: Qubo, machine: Machine, seeds: range) -> None:
    """Methods side by side."""
    title = f"{name} on {machine.name}"
    row(f"{title}: plain biclique", **timed(lambda _: plain_biclique(qubo, machine), (0,)))
    row(f"{title}: biclique", **timed(ours(qubo, machine, "biclique", 4), seeds))
    row(f"{title}: clique", **timed(ours(qubo, machine, "clique", 4), (0,)))
    row(f"{title}: minorminer", **timed(ours(qubo, machine, "minorminer", 1), seeds))


def largest(machine: Machine, start: int) -> None:
    """Go up until two sizes in a row do not fit."""
    bits, best, failures = start, 0, 0
    while failures < 2:
        try:
            found = find_embedding(
                cubic(bits), machine, method="biclique", effort=0, time_limit=BUDGET
            )
            best, failures = bits, 0
            last: Embedding = found
        except EmbeddingNotFound:
            failures += 1
        bits += 1
    if best:
        row(f"largest complete cubic, {machine.name}", bits=best, qubits=last.qubits,
            longest=last.longest, formula_bits=largest_bits(machine))  # fmt: skip


def formula(machine: Machine, sizes: Iterable[int]) -> None:
    """Compare the formula with what was found."""
    errors = []
    for bits in sizes:
        qubo = cubic(bits)
        found = find_embedding(qubo, machine, method="biclique", effort=0.3)
        errors.append(likely_qubits(machine, bits, len(qubo.ancillas)) / found.qubits - 1)
    row(f"formula, {machine.name}", cases=len(errors),
        rms_error=float(np.sqrt(np.mean(np.square(errors)))),
        worst=float(np.abs(errors).max()))  # fmt: skip


def what_helps(qubo: Qubo, machine: Machine, name: str) -> None:
    """Leave parts of the method out, one at a time."""
    ground = KernelInput(qubo, machine)
    rng = np.random.default_rng(0)
    ordered = roles_of(qubo)
    shuffled = Roles(
        tuple(rng.permutation(ordered.spread).tolist()),
        tuple(rng.permutation(ordered.crossing).tolist()),
    )

    def best(roles: Roles, first_only: bool = False) -> int:
        order = np.array([*roles.spread, *roles.crossing], dtype=np.int32)
        for group in layouts(lines_of(machine), roles, ground.qubits):
            found: list[NDArray[np.int32]] = []
            for owner in itertools.islice(group, 1 if first_only else None):
                settled = settle_chains(ground, owner, order)
                if settled is not None:
                    found.append(settled)
            if found:
                return min(ground.cost(owner, "qubits")[0] for owner in found)
        return 0

    row(f"what helps: {name} on {machine.name}",
        one_place=best(ordered, first_only=True), random_order=best(shuffled),
        all_places=best(ordered),
        improved=find_embedding(qubo, machine, method="biclique").qubits,
        more=find_embedding(qubo, machine, method="biclique", effort=9).qubits)  # fmt: skip


def main() -> None:
    """Measure everything, or with --tiny one small case of each."""
    tiny = options(__doc__).tiny
    seeds = range(1 if tiny else 3)
    find_embedding(cubic(4), load_machine("zephyr3"))  # compiles the kernels
    if tiny:
        compare("N=6", cubic(6), load_machine("zephyr3"), seeds)
        largest(load_machine("chimera4"), 5)
        formula(load_machine("pegasus4"), (6, 8))
        what_helps(cubic(6), load_machine("pegasus4"), "N=6")
        return
    pegasus, zephyr = load_machine("advantage"), load_machine("advantage2")
    for machine in (pegasus, zephyr):
        for bits in (8, 12, 16, 20, 24):
            compare(f"N={bits}", cubic(bits), machine, seeds)
        what_helps(cubic(16), machine, "N=16")
        what_helps(cubic(24), machine, "N=24")
        alive = machine.with_yield("published", seed=0)
        row(
            f"published yield, N=24 on {machine.name}",
            **timed(ours(cubic(24), alive, "biclique", 4), seeds),
        )
        row(
            f"published yield, N=32 on {machine.name}",
            **timed(ours(cubic(32), alive, "biclique", 4), seeds),
        )
        pubo: Pubo = sparse(40, 100)
        compare("sparse, 40 bits, 100 triples", quadratize(pubo), machine, seeds)
    for name, start in (("2000q", 18), ("advantage", 38), ("advantage2", 38), ("zephyr15", 46),
                        ("pegasus4", 9), ("zephyr3", 11), ("chimera4", 4)):  # fmt: skip
        largest(load_machine(name), start)
    for name, sizes in (("2000q", range(6, 21, 2)), ("advantage", range(6, 43, 3)),
                        ("advantage2", range(6, 43, 3)), ("zephyr15", range(8, 51, 6)),
                        ("pegasus4", range(4, 12)), ("zephyr3", range(4, 15))):  # fmt: skip
        formula(load_machine(name), sizes)


if __name__ == "__main__":
    main()
