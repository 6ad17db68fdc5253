"""Reading svmlight text: against scikit-learn's reader on the same file."""

from __future__ import annotations

import lzma
import tempfile
from pathlib import Path

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


def main() -> None:
    """Run on adult9 and covertype, or on a small synthetic file."""
    chosen = options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.svm"
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
