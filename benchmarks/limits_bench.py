"""What limits each pass, and how far from that limit it is, all measured in the same run.

A limit is the least that any program would have to do: read the bytes, stream the arrays through
memory, multiply the matrices, write the file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import best_time, data_file, dgemm_rate, options, row
from benchmarks.quadratize_bench import complete
from qcompile import (
    Dataset,
    Loss,
    Moments,
    Pubo,
    discretize,
    fit_loss,
    from_arrays,
    moments_of,
    quadratize,
    read,
    save_qubo,
)
from qcompile.data.svmlight import SvmlightReader, lines_of
from qcompile.runtime.jit import jit
from qcompile.stages.multisets import count


def against(name: str, what: str, seconds: float, limit: float, **figures: object) -> None:
    """One line: how many times the limit a pass takes."""
    row(name, seconds=seconds, limit=what, limit_s=limit, times_the_limit=seconds / limit,
        **figures)  # fmt: skip


def parse(path: Path, repeat: int) -> None:
    """Parsing plain text, against finding its line ends and colons, and against reading it."""
    size = path.stat().st_size
    seconds = best_time(lambda: sum(len(p) for p in SvmlightReader(path)), repeat)
    text = path.read_bytes()
    scan = best_time(lambda: text.count(b"\n") + text.count(b":"), repeat)
    digest = best_time(lambda: hashlib.sha256(text).digest(), repeat)
    copy = best_time(path.read_bytes, repeat)
    limit = copy + digest + scan
    against("parse svmlight", "read, digest, count", seconds, limit, MB_s=size / 1e6 / seconds,
            read_s=copy, digest_s=digest, count_s=scan)  # fmt: skip


def moments(data: Dataset, name: str, repeat: int) -> None:
    """Sums of dense rows against the same number of multiply-adds of a large matrix product."""
    n, m = data.features, len(data)
    seconds = best_time(lambda: moments_of(data, 3), repeat)
    flops = 2.0 * m * 2 * count(n, 3)  # two tensors of degree 3
    against(
        f"moments, {name}", "dgemm", seconds, flops / dgemm_rate(), Gflops=flops / seconds / 1e9
    )


@jit
def _scatter(
    places: NDArray[np.int64], values: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    for k in range(len(places)):
        sums[places[k]] += values[k]


def sparse_moments(data: Dataset, name: str, repeat: int) -> None:
    """Sums of sparse rows against as many additions at random places of a table of that size."""
    stored = np.diff(data.x.indptr)
    ones = bool(np.all(data.x.data == 1.0))
    adds = int(
        sum(s * (s - 1) * (s - 2) // 6 if ones else count(int(s), 3) for s in stored.tolist())
    )
    size = min(adds, 20_000_000)
    rng = np.random.default_rng(0)
    places = rng.integers(0, count(data.features, 3), size)
    values, sums = rng.normal(size=size), np.zeros(count(data.features, 3))
    one = best_time(lambda: _scatter(places, values, sums), repeat) / size
    seconds = best_time(lambda: moments_of(data, 3), repeat)
    against(
        f"moments, {name}",
        "random additions",
        seconds,
        adds * one,
        adds=adds,
        adds_s=adds / seconds,
    )


def _loss(found: Moments) -> Loss:
    return fit_loss(found, weight_range=1.0)


def expansion(features: int, bits: int, repeat: int) -> None:
    """Expansion against writing arrays of the result's size once."""
    found = moments_of(from_arrays(*_random(200, features)), 3)
    loss = _loss(found)
    made = discretize(found, loss, bits)
    size = _bytes(made)
    seconds = best_time(lambda: discretize(found, loss, bits), repeat)
    fill = best_time(lambda: np.full(size // 8, 1.0), repeat)
    against(f"expansion, n={features} d={bits}", "filling memory", seconds, fill, MB=size / 1e6)


def _random(rows: int, features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features))
    return x, np.where(x[:, 0] > 0, 1.0, -1.0)


def _bytes(pubo: Pubo) -> int:
    arrays: list[NDArray[Any]] = [*pubo.indices, *pubo.coefficients]
    return sum(array.nbytes for array in arrays)


def reduction(pubo: Pubo, name: str, repeat: int) -> None:
    """Reduction against reading the terms and writing the result once."""
    made = quadratize(pubo)
    size = _bytes(pubo) + sum(a.nbytes for a in (made.first, made.second)) + made.quadratic.nbytes
    seconds = best_time(lambda: quadratize(pubo), repeat)
    source = np.zeros(size // 8)
    copy = best_time(source.copy, repeat)
    against(f"reduction, {name}", "copying memory", seconds, copy, MB=size / 1e6)


def writing(pubo: Pubo, name: str, repeat: int) -> None:
    """JSON against writing and syncing as many bytes."""
    qubo = quadratize(pubo)
    with tempfile.TemporaryDirectory() as folder:
        path, plain = Path(folder) / "qubo.json", Path(folder) / "plain"
        seconds = best_time(lambda: save_qubo(qubo, path), repeat)
        text = path.read_bytes()
        limit = best_time(lambda: _write(plain, text), repeat)
    against(f"writing, {name}", "write and sync", seconds, limit, MB=len(text) / 1e6,
            MB_s=len(text) / 1e6 / seconds)  # fmt: skip


def _write(path: Path, text: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _in_plain_text(data: Dataset, use: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plain.svm"
        with path.open("w") as stream:
            stream.writelines(lines_of(data.x, data.y))
        use(path)


def main() -> None:
    """Go through the passes."""
    chosen = options(__doc__)
    tiny, repeat = chosen.tiny, 1 if chosen.tiny else chosen.repeat
    path = None if tiny else data_file("covtype")
    data = read("breast-cancer") if path is None else read(path, positive=1)
    _in_plain_text(data, lambda plain: parse(plain, repeat))
    rows, features = (200, 5) if tiny else (100_000, 54)
    moments(from_arrays(*_random(rows, features)), f"dense {rows:,} x {features}", repeat)
    adult = None if tiny else data_file("adult9")
    if adult is not None:
        sparse_moments(read(adult), "adult9 (ones)", repeat)
    if path is not None:
        sparse_moments(data, "covertype (sparse)", repeat)
    for n, d in ((4, 2),) if tiny else ((100, 4), (500, 1)):
        expansion(n, d, repeat)
    size = 10 if tiny else 300
    reduction(complete(size, 3), f"complete cubic N={size}", repeat)
    size = 10 if tiny else 200
    writing(complete(size, 3), f"JSON N={size}", repeat)


if __name__ == "__main__":
    main()
