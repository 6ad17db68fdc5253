"""Reduction to a QUBO: against dimod.make_quadratic, and against dimod's own share of the work."""

from __future__ import annotations

import json
import tempfile
import time
from itertools import combinations
from math import comb
from pathlib import Path

import dimod
import numpy as np

from benchmarks.common import best_time, data_file, options, peak_memory, row
from qcompile import Pubo, compile, quadratize, save_qubo
from qcompile.stages.arrays import frozen


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


def sparse(variables: int, triples: int) -> Pubo:
    """Random cubic terms and nothing else."""
    rng = np.random.default_rng(0)
    everything = list(combinations(range(variables), 3))
    chosen = rng.choice(len(everything), triples, replace=False)
    return Pubo.from_dict({everything[i]: float(rng.normal()) for i in chosen.tolist()})


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
    shape = (20, 60) if tiny else (100, 5000)
    against_dimod(f"sparse cubic N={shape[0]}, {shape[1]} triples", sparse(*shape), 1)
    for variables in (8,) if tiny else (10, 12, 14):
        against_dimod(f"complete degree 6, N={variables}", complete(variables, 6), repeat)
    if tiny:
        return
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
