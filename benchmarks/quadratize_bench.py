"""Reduction to a QUBO: against dimod.make_quadratic, and against dimod's own share of the work."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from math import comb
from pathlib import Path

import dimod
import numpy as np

from benchmarks.common import best_time, data_file, options, peak_memory, row
from qcompile import Pubo, compile, quadratize, read_pubo, save_qubo
from qcompile.stages.arrays import frozen

SPARSE = (
    (100, 200, 3),
    (50, 1000, 3),
    (100, 5000, 3),
    (200, 2000, 3),
    (3000, 100_000, 3),
    (12, 20, 5),
    (16, 60, 6),
    (200, 2000, 4),
    (100, 2000, 6),
    (50, 1000, 8),
)


def complete(variables: int, degree: int) -> Pubo:
    """All terms with normal coefficients."""
    rng = np.random.default_rng(0)
    indices = []
    for j in range(1, degree + 1):
        rows = np.fromiter(
            (i for members in combinations(range(variables), j) for i in members),
            dtype=np.int32,
            count=j * comb(variables, j),
        )
        indices.append(frozen(rows.reshape(-1, j), np.int32))
    values = tuple(frozen(rng.normal(size=len(rows))) for rows in indices)
    return Pubo(variables, 0.0, tuple(indices), values)


def sparse(variables: int, count: int, degree: int = 3) -> Pubo:
    """Random terms of one degree and nothing else."""
    rng = np.random.default_rng(0)
    rows = np.empty((0, degree), dtype=np.int64)
    while len(rows) < count:
        more = np.sort(rng.integers(0, variables, (2 * count, degree)), axis=1)
        more = more[(more[:, 1:] > more[:, :-1]).all(axis=1)]
        rows = np.unique(np.concatenate([rows, more]), axis=0)
    rows = rows[np.sort(rng.choice(len(rows), count, replace=False))]
    indices = [frozen(np.empty((0, j)), np.int32) for j in range(1, degree)]
    values = [frozen(np.empty(0)) for _ in range(1, degree)]
    return Pubo(
        variables,
        0.0,
        (*indices, frozen(rows, np.int32)),
        (*values, frozen(rng.normal(size=count))),
    )


def renamed(pubo: Pubo, rng: np.random.Generator) -> dict[tuple[int, ...], float]:
    """The same terms over variables with other numbers, in another order.

    dimod breaks ties by the order of its sets: this stands for another PYTHONHASHSEED.
    """
    names = rng.permutation(pubo.variables).tolist()
    terms = [(tuple(names[i] for i in term), c) for term, c in pubo.to_dict().items() if term]
    return {terms[i][0]: terms[i][1] for i in rng.permutation(len(terms)).tolist()}


def sixth() -> None:
    """The sixth order of 20 features with 2 bits each, for the measurement of memory."""
    quadratize(complete(40, 6))


def cpu_seconds(function: Callable[[], object], repeat: int) -> float:
    """CPU seconds of the fastest of several runs, after one that compiles the kernels."""
    function()
    times = []
    for _ in range(repeat):
        start = time.process_time()
        kept = function()
        times.append(time.process_time() - start)
        del kept
    return min(times)


def sparse_against_dimod(variables: int, count: int, degree: int, names: int) -> None:
    """Greedy and auto, from arrays and from a dictionary, against dimod's best of many names."""
    pubo = sparse(variables, count, degree)
    terms = {term: c for term, c in pubo.to_dict().items() if term}
    greedy = cpu_seconds(lambda: quadratize(pubo, cover="greedy").to_bqm(), 3)
    from_terms = cpu_seconds(lambda: quadratize(read_pubo(terms), cover="greedy").to_bqm(), 3)
    auto = cpu_seconds(lambda: quadratize(pubo).to_bqm(), 1)
    rng, theirs, ancillas, theirs_from_terms = np.random.default_rng(1), [], [], []
    for _ in range(names):
        named = renamed(pubo, rng)
        start = time.process_time()
        polynomial = dimod.BinaryPolynomial(named, dimod.BINARY)
        ready = time.process_time()
        made = dimod.make_quadratic(polynomial, 1.0, dimod.BINARY)
        theirs.append(time.process_time() - ready)
        theirs_from_terms.append(time.process_time() - start)
        ancillas.append(len(made.info["reduction"]))
    found = quadratize(pubo)
    row(f"sparse degree {degree}, N={variables}, {count:,} terms", greedy_s=greedy,
        from_terms_s=from_terms, auto_s=auto, dimod_s=min(theirs),
        dimod_from_terms_s=min(theirs_from_terms), times_faster=min(theirs) / greedy,
        times_faster_from_terms=min(theirs_from_terms) / from_terms,
        greedy=len(quadratize(pubo, cover="greedy").ancillas), auto=len(found.ancillas),
        optimal=found.optimal, dimod=f"{min(ancillas)}-{max(ancillas)}")  # fmt: skip


def large() -> None:
    """A million triples over ten thousand bits, for the measurement of memory."""
    quadratize(sparse(10_000, 1_000_000))


def dimod_time(pubo: Pubo) -> tuple[float, int]:
    """Seconds and ancillas of dimod.make_quadratic."""
    polynomial, times, ancillas = pubo.to_dimod(), [], 0
    for _ in range(2):
        start = time.perf_counter()
        reduced = dimod.make_quadratic(polynomial, 1.0, dimod.BINARY)
        times.append(time.perf_counter() - start)
        ancillas = len(reduced.info["reduction"])
    return min(times), ancillas


def against_dimod(name: str, pubo: Pubo, repeat: int) -> None:
    """From arrays to a BQM, both ways."""
    ours = best_time(lambda: quadratize(pubo).to_bqm(), repeat)
    theirs, ancillas = dimod_time(pubo)
    row(name, qcompile_s=ours, dimod_s=theirs, times_faster=theirs / ours,
        ancillas=len(quadratize(pubo).ancillas), dimod_ancillas=ancillas)  # fmt: skip


def build(variables: int) -> None:
    """A whole reduction, for the measurement of memory."""
    quadratize(complete(variables, 3)).to_bqm()


def against_dimods_share(variables: int, repeat: int) -> None:
    """Reduction and hand-over, in units of the hand-over alone."""
    pubo = complete(variables, 3)
    qubo = quadratize(pubo)
    share = best_time(qubo.to_bqm, repeat)
    whole = best_time(lambda: quadratize(pubo).to_bqm(), repeat)
    row(f"complete cubic N={variables}", qubits=qubo.variables, whole_s=whole, dimod_share_s=share,
        ratio=whole / share, peak_GB=peak_memory(build, variables) / 1e9)  # fmt: skip


def writing(variables: int, repeat: int) -> None:
    """JSON as a stream, against json.dump of dimod's serializable form."""
    qubo = quadratize(complete(variables, 3))
    bqm = qubo.to_bqm()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qubo.json"

        def plain() -> None:
            with path.open("w") as stream:
                json.dump(bqm.to_serializable(), stream)

        ours = best_time(lambda: save_qubo(qubo, path), repeat)
        size = path.stat().st_size
        theirs = best_time(plain, repeat)
    row(f"JSON, N={variables}", MB=size / 1e6, qcompile_s=ours, json_dump_s=theirs,
        times_faster=theirs / ours)  # fmt: skip


def main() -> None:
    """Run the sizes of the paper's table, or tiny ones."""
    chosen = options(__doc__)
    tiny, repeat = chosen.tiny, 1 if chosen.tiny else chosen.repeat
    # milliseconds: take the best of many
    against_dimod(f"complete cubic N={20 if tiny else 100}", complete(20 if tiny else 100, 3), 20)
    for variables in (20,) if tiny else (400, 500):
        against_dimods_share(variables, repeat)
    writing(20 if tiny else 200, repeat)
    shapes = ((20, 60, 3), (12, 20, 5)) if tiny else SPARSE
    for variables, count, degree in shapes:
        sparse_against_dimod(variables, count, degree, 2 if tiny else 10)
    for variables in (8,) if tiny else (10, 12, 14):
        against_dimod(f"complete degree 6, N={variables}", complete(variables, 6), repeat)
    if tiny:
        return
    pubo = sparse(10_000, 1_000_000)
    row("sparse cubic N=10,000, 10^6 terms", seconds=cpu_seconds(lambda: quadratize(pubo), 1),
        ancillas=len(quadratize(pubo).ancillas), peak_GB=peak_memory(large) / 1e9)  # fmt: skip
    pubo = complete(40, 6)
    row("complete degree 6, N=40", seconds=cpu_seconds(lambda: quadratize(pubo), 1),
        ancillas=len(quadratize(pubo).ancillas), peak_GB=peak_memory(sixth) / 1e9)  # fmt: skip
    for variables in (16, 18):
        pubo = complete(variables, 6)
        seconds = best_time(lambda pubo=pubo: quadratize(pubo), 1)  # type: ignore[misc]
        row(f"complete degree 6, N={variables}", ancillas=len(quadratize(pubo).ancillas),
            qcompile_s=seconds)  # fmt: skip
    for name, rows in (("adult9", 32561), ("adult9", None), ("mushrooms", None)):
        path = data_file(name)
        if path is not None:
            made = compile(path, bits=1, weight_range=0.1, rows=rows, scale="none", bias=False)
            start = time.perf_counter()
            qubo = made.quadratize()
            row(f"{name}, d=1, rows {rows or 'all'}", ancillas=len(qubo.ancillas),
                cover=qubo.method, seconds=time.perf_counter() - start)  # fmt: skip


if __name__ == "__main__":
    main()
