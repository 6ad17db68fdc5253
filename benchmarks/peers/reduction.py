"""Reduction side by side: ancillas, terms, dynamic range, time, memory; and whether it is true."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from .apart import run_apart
from .problems import Terms, complete, sparse
from .reducers import REDUCERS, Quadratic

__all__ = ["exactness", "reductions"]

_MOST_JUDGED = 22  # variables whose assignments are all looked at


class _Reduce:
    """Called, it reduces; `finish` reads off what came out, when the clock has stopped."""

    def __init__(self, peer: str, terms: Terms) -> None:
        _, self._model, self._read = REDUCERS[peer]
        self._terms = terms
        # the first call pays for imports and for compiled kernels
        self._model({(0, 1, 2): 1.0, (1, 2, 3): -1.0, (0,): 0.5})

    def __call__(self) -> Any:
        return self._model(self._terms)

    def finish(self, model: Any) -> dict[str, float]:
        made = self._read(model, self._terms)
        own = 1 + max(max(term) for term in self._terms)
        return {
            "ancillas": made.variables - own,
            "quadratic_terms": made.couplings,
            "dynamic_range": made.dynamic_range,
        }


def _peers() -> list[str]:
    """Those that are installed; the others are named once."""
    found = []
    for name, (module, _, _) in REDUCERS.items():
        if find_spec(module) is None:
            print(f"{name}: not installed (pip install -e '.[bench]')")
        else:
            found.append(name)
    return found


def reductions(*, quick: bool, limit: float) -> list[dict[str, Any]]:
    """Return a row for each problem and peer; ratios are peer over qcompile."""
    sizes = (10,) if quick else (10, 20, 40, 60, 100)
    problems = {f"complete cubic, N={n}": complete(n, 3) for n in sizes}
    shapes = ((12, 20),) if quick else ((40, 100), (100, 1000), (100, 5000))
    problems |= {f"sparse cubic, N={n}, {c} terms": sparse(n, c) for n, c in shapes}
    sixes = (7,) if quick else (10, 12, 14)
    problems |= {f"complete degree 6, N={n}": complete(n, 6) for n in sixes}
    rows = []
    peers = _peers()
    for name, terms in problems.items():
        ours: dict[str, Any] = {}
        for peer in peers:
            found = run_apart(_Reduce, peer, terms, limit=limit, repeat=1 if quick else 3)
            row: dict[str, Any] = {"problem": name, "peer": peer, "trouble": found.trouble}
            if not found.trouble:
                row |= {
                    **found.value,
                    "seconds": found.seconds,
                    "megabytes": found.megabytes,
                }
                ours = ours or row
                row["times_ancillas"] = row["ancillas"] / max(1, ours["ancillas"])
                row["times_seconds"] = row["seconds"] / ours["seconds"]
            rows.append(row)
            print(_line(row), flush=True)
    return rows


def _line(row: dict[str, Any]) -> str:
    head = f"{row['problem']:<34} {row['peer']:<22}"
    if row["trouble"]:
        return f"{head} {row['trouble']}"
    return (
        f"{head} {row['ancillas']:>6} ancillas ({row['times_ancillas']:.2f}x) "
        f"{row['quadratic_terms']:>8} terms  range {row['dynamic_range']:.2g}  "
        f"{row['seconds']:.4f} s ({row['times_seconds']:.2f}x)  {row['megabytes']:.1f} MB"
    )


def keeps_minimum(terms: Terms, reduced: Quadratic) -> bool:
    """Judge by looking at all assignments: same minimum, reached at minimisers only."""
    own = 1 + max(max(term) for term in terms)
    energies = _energies(terms, 0.0, own)
    all_of_them = _energies(reduced.terms, reduced.offset, reduced.variables)
    # variables count from the lowest bit: the problem's own are the low ones
    best = all_of_them.reshape(-1, 1 << own).min(axis=0)
    scale = 1e-9 * max(1.0, float(np.abs(energies).max()))
    if abs(best.min() - energies.min()) > scale:
        return False
    return bool(np.all(energies[best <= best.min() + scale] <= energies.min() + 2 * scale))


def _energies(terms: Terms, offset: float, variables: int) -> Any:
    states = np.arange(1 << variables, dtype=np.int64)
    energies = np.full(len(states), offset)
    for term, value in terms.items():
        mask = sum(1 << v for v in term)
        energies[(states & mask) == mask] += value
    return energies


class _Judge:
    """Called, it tells how many of the problems kept their minimum, and how many were judged."""

    def __init__(self, peer: str, problems: list[Terms]) -> None:
        _, self._model, self._read = REDUCERS[peer]
        self._problems = problems

    def __call__(self) -> tuple[int, int]:
        kept = judged = 0
        for terms in self._problems:
            reduced = self._read(self._model(terms), terms)
            if reduced.variables <= _MOST_JUDGED:
                judged += 1
                kept += keeps_minimum(terms, reduced)
        return kept, judged


def exactness(*, quick: bool, limit: float) -> list[dict[str, Any]]:
    """Return the share of random problems whose minimum survives each peer's defaults."""
    count = 5 if quick else 40
    kinds = {
        "cubic, N=5": [complete(5, 3, seed) for seed in range(count)],
        "quartic, N=5": [complete(5, 4, seed) for seed in range(count)],
        "cubic of large coefficients, N=5": [
            {term: 20 * value for term, value in complete(5, 3, seed).items()}
            for seed in range(count)
        ],
        "sparse quartic, N=8": [sparse(8, 5, 4, seed) for seed in range(count)],
    }
    rows = []
    for (kind, problems), peer in product(kinds.items(), _peers()):
        found = run_apart(_Judge, peer, problems, limit=limit)
        kept, judged = found.value if not found.trouble else (0, 0)
        rows.append(
            {"problems": kind, "peer": peer, "kept": kept, "judged": judged, "of": len(problems),
             "trouble": found.trouble}
        )  # fmt: skip
        print(f"{kind:<34} {peer:<22} {kept} of {judged} minima kept {found.trouble}", flush=True)
    return rows
