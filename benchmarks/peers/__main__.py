"""Run qcompile beside its peers: ``python -m benchmarks.peers [PART] [--quick]``.

Writes CSV files, a picture and RESULTS.md into benchmarks/peers/results.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import report
from .embeddings import embeddings
from .reduction import exactness, reductions
from .samplers import samplers

_HERE = Path(__file__).parent


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("part", nargs="?", default="all", choices=("all", *report.PARTS, "report"))
    parser.add_argument("--quick", action="store_true", help="a small case of seconds")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one peer (60)")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for an embedding (20)")
    parser.add_argument("--output", metavar="FOLDER", help="where results go")
    options = parser.parse_args()
    runs: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "reductions": lambda: reductions(quick=options.quick, limit=options.limit),
        "exactness": lambda: exactness(quick=options.quick, limit=options.limit),
        "samplers": lambda: samplers(quick=options.quick),
        "embeddings": lambda: embeddings(quick=options.quick, budget=options.budget),
    }
    folder = Path(options.output) if options.output else _HERE / "results"
    folder.mkdir(parents=True, exist_ok=True)
    for part, run in runs.items():
        if options.part in ("all", part):
            print(f"== {part}", flush=True)
            _write(folder / f"{part}.csv", run())
    report.write(folder)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    print(f"written {path}")


if __name__ == "__main__":
    main()
