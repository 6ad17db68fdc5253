"""Reading rows: svmlight text against scikit-learn's reader, tables of numbers against pyarrow's.

Tables are compared in CPU time, as both readers use all cores for a part of their work.
"""

from __future__ import annotations

import lzma
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyarrow import csv
from sklearn.datasets import load_svmlight_file

from benchmarks.common import best_time, data_file, options, row
from qcompile import read
from qcompile.data.svmlight import save_svmlight


def measure(name: str, path: Path, positive: float | None, repeat: int) -> None:
    """Read one plain file both ways."""
    ours = best_time(lambda: read(path, positive=positive), repeat)
    theirs = best_time(lambda: load_svmlight_file(str(path)), repeat)
    size = path.stat().st_size
    row(f"{name}, {size / 1e6:.1f} MB", qcompile_s=ours, sklearn_s=theirs,
        MB_per_s=size / ours / 1e6, times_faster=theirs / ours)  # fmt: skip


def measure_table(path: Path, rows: int, columns: int, repeat: int) -> None:
    """Read one table of numbers both ways: ours checks every number and makes rows of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns)).round(5)
    y = (x[:, 0] > 0).astype(np.int64)
    names = ",".join([f"c{i}" for i in range(columns)] + ["y"])
    np.savetxt(path, np.column_stack([x, y]), "%.6g", ",", header=names, comments="")
    ours = _cpu(lambda: read(path), repeat)
    theirs = _cpu(lambda: csv.read_csv(path), repeat)
    size = path.stat().st_size
    row(f"table, {size / 1e6:.1f} MB", qcompile_cpu_s=ours, pyarrow_cpu_s=theirs,
        MB_per_s=size / ours / 1e6, speed_of_pyarrow=theirs / ours)  # fmt: skip


def _cpu(function: Callable[[], object], repeat: int) -> float:
    """Least CPU seconds of several runs."""
    function()
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Run on adult9, covertype and a table of 200,000 rows, or on small synthetic files."""
    chosen = options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.svm"
        measure_table(
            Path(folder) / "t.csv", 500 if chosen.tiny else 200_000, 20, 1 if chosen.tiny else 5
        )
        if chosen.tiny:
            save_svmlight(read("synthetic:examples=500"), plain)
            measure("synthetic", plain, None, 1)
            return
        for name, positive in (("adult9", None), ("covtype", 1.0)):
            path = data_file(name)
            if path is not None:
                plain.write_bytes(lzma.decompress(path.read_bytes()))
                measure(name, plain, positive, chosen.repeat)


if __name__ == "__main__":
    main()
