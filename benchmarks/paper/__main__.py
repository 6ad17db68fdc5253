"""Rerun a table or a figure of the paper: ``python -m benchmarks.paper figure4 [--quick]``."""

from __future__ import annotations

import argparse
import time
from importlib import import_module

PARTS = (
    "tables", "figure1", "figure2", "figure3", "figure4", "appendix", "beyond", "floors", "causes",
    "report",
)  # fmt: skip


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("part", choices=(*PARTS, "all"))
    parser.add_argument("--quick", action="store_true", help="a small case of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", metavar="FOLDER", help="where results go")
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        help="for figure4: only this one, beside those that are there; may be repeated",
    )
    parser.add_argument(
        "--collect", action="store_true", help="for figure4: tables of what is in the cache"
    )
    parser.add_argument(
        "--extend", action="store_true",
        help="for figure4: the second run, after the first, with longer paths of prices",
    )  # fmt: skip
    parser.add_argument("--data-sets", type=int, default=50, help="for figure2: how many (50)")
    parser.add_argument(
        "--loss", action="append", default=[],
        help="for figure2: only this curve, beside those that are there; may be repeated",
    )  # fmt: skip
    options = parser.parse_args()
    for part in PARTS if options.part == "all" else (options.part,):
        began = time.perf_counter(), time.process_time()
        print(f"== {part}", flush=True)
        import_module(f"benchmarks.paper.{part}").run(options)
        wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
        print(f"{part}: {wall:.0f} s, {cpu:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
