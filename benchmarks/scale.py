"""Limits of scale, from the measured growth: the tables of docs/scale.md.

``python -m benchmarks.scale`` reads results/growth.csv (written by `growth_bench`); annealers to
come are taken to be larger Zephyr graphs, and the formula of `qcompile.physical` is stretched
beyond the graphs to which it was fitted.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from qcompile.embedding.capacity import _strips, likely_qubits
from qcompile.moments.accumulate import memory_needed, tensor_keys
from qcompile.reduction.cover import halves_bound

_GROWTH = Path(__file__).parent / "results" / "growth.csv"
_MEMORIES = (16e9, 256e9)
_ROWS_AT_ONCE = 1 << 15


def main() -> None:
    """Print the tables as Markdown."""
    rows = _read()
    print("Rows: seconds of the moments for n = 20, order 3, and of all that comes after them\n")
    table(["rows", "moments s", "after them s", "peak MB"], _by_rows(rows))
    print("\nLargest numbers of features whose moments fit in memory\n")
    head = [f"{memory / 1e9:.0f} GB" for memory in _MEMORIES]
    table(["order", *head], [_most_features(order) for order in (3, 4, 5, 6)])
    print("\nLargest complete cubics (N = n d bits) that can be compiled to a QUBO\n")
    each = bytes_a_term(rows)
    table(["memory", "bits N", "terms", "qubits"], [_most_bits(m, each) for m in _MEMORIES])
    print("\nLargest complete cubics on annealers to come (Zephyr, 16 lines crossed by a qubit)\n")
    head = ["qubits", "Z", "bits N", "qubits used", "features, d=1", "d=2", "d=4"]
    table(head, [annealer(qubits) for qubits in (10**4, 10**5, 10**6, 10**7)])


def _by_rows(rows: list[dict[str, str]]) -> list[list[str]]:
    return [
        [
            f"{int(r['rows']):,}",
            f"{float(r['moments']):.3g}",
            f"{_after(r):.3g}",
            f"{float(r['peak_MB']):.0f}",
        ]
        for r in rows
        if r["varied"] == "rows"
    ]


def _most_features(order: int) -> list[str]:
    def needed(features: int) -> int:
        return memory_needed(features, tensor_keys(order, fit=order % 2 == 1), _ROWS_AT_ONCE)

    return [str(order), *(f"{largest(needed, memory):,}" for memory in _MEMORIES)]


def _most_bits(memory: float, each: float) -> list[str]:
    bits = largest(lambda n: int(each * math.comb(n, 3)), memory)
    terms, qubits = math.comb(bits, 3), bits + halves_bound(bits)
    return [f"{memory / 1e9:.0f} GB", f"{bits:,}", f"{terms:,}", f"{qubits:,}"]


def _read() -> list[dict[str, str]]:
    with _GROWTH.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _after(row: dict[str, str]) -> float:
    return sum(float(row[stage]) for stage in ("loss", "pubo", "qubo"))


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print a Markdown table."""
    for line in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(line) + " |")


def largest(bytes_of: Callable[[int], int], memory: float) -> int:
    """Return the largest size that fits."""
    low, high = 1, 2
    while bytes_of(high) <= memory:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bytes_of(middle) <= memory else (low, middle)
    return low


def bytes_a_term(rows: list[dict[str, str]]) -> float:
    """Peak memory of the largest cubic above that of the smallest, for each of its terms."""
    cubics = [r for r in rows if r["varied"] == "features" and r["order"] == "3"]
    sizes = [math.comb(int(r["features"]) * int(r["bits"]), 3) for r in cubics]
    peaks = [1e6 * float(r["peak_MB"]) for r in cubics]
    return float(np.polyfit(sizes, peaks, 1)[0])


def annealer(qubits: int) -> list[str]:
    """Return the largest complete cubic on the largest Zephyr graph of at most so many qubits."""
    size = int((math.sqrt(1 + qubits / 2) - 1) / 4)
    machine: Any = SimpleNamespace(topology="zephyr", sizes=(size, 4))
    there = 16 * size * (2 * size + 1)

    def fits(bits: int) -> bool:
        ancillas = halves_bound(bits)
        room = _strips(machine, bits, ancillas) is not None
        return room and likely_qubits(machine, bits, ancillas) <= there

    bits = 1
    while fits(bits + 1):
        bits += 1
    used = likely_qubits(machine, bits, halves_bound(bits))
    by_depth = [f"{bits // d:,}" for d in (1, 2, 4)]
    return [f"{there:,}", str(size), f"{bits:,}", f"{used:,}", *by_depth]


if __name__ == "__main__":
    main()
