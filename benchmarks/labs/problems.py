"""Polynomials that other people measure their solvers on, with the energies to be reached."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dimod
import numpy as np

from qcompile import Pubo, compile, read_pubo, solve

__all__ = ["Problem", "compiled", "four_sat", "independent_set", "labs", "optima", "xorsat"]


Terms = dict[tuple[int, ...], float]
_FACTS = Path(__file__).parent / "facts" / "optima.csv"


@dataclass(frozen=True, eq=False)
class Problem:
    """A polynomial in bits or spins, and the energy to be reached.

    `known` says how the target is known: proved, planted, or the lowest that a long search found.
    """

    family: str
    name: str
    vartype: str
    terms: Terms
    target: float
    known: str

    @cached_property
    def polynomial(self) -> Any:
        """The polynomial for samplers of Ocean."""
        return dimod.BinaryPolynomial(self.terms, self.vartype)

    @cached_property
    def pubo(self) -> Pubo:
        """The polynomial of bits."""
        return read_pubo(self.terms, vartype=self.vartype)

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.polynomial.variables)


def optima() -> dict[int, float]:
    """Return the optimum of each length for which it is known."""
    with _FACTS.open() as lines:
        return {int(row["N"]): float(row["E"]) for row in csv.DictReader(lines)}


def labs(length: int) -> Problem:
    """Low autocorrelation: the sum over lags k of (sum over i of s_i s_i+k)²."""
    terms: Terms = {}
    for lag in range(1, length):
        for i in range(length - lag):
            for j in range(length - lag):
                key = tuple(sorted({i, i + lag} ^ {j, j + lag}))
                terms[key] = terms.get(key, 0.0) + 1.0
    return Problem("LABS", f"N={length}", "SPIN", terms, optima()[length], "proved")


def xorsat(variables: int, seed: int) -> Problem:
    """As many equations of three spins as there are spins, each spin in three; one is planted."""
    rng = np.random.default_rng(seed)
    planted = rng.choice([-1, 1], variables)
    while True:
        rows = rng.permutation(np.repeat(np.arange(variables), 3)).reshape(-1, 3)
        rows.sort(axis=1)
        if (np.diff(rows, axis=1) > 0).all() and len(np.unique(rows, axis=0)) == len(rows):
            break
    terms: Terms = {(): variables / 2}
    for row in rows.tolist():
        terms[tuple(row)] = -0.5 * float(np.prod(planted[row]))
    return Problem("3-XORSAT", f"n={variables} #{seed}", "SPIN", terms, 0.0, "planted")


def four_sat(variables: int, ratio: float, seed: int) -> Problem:
    """The number of clauses of four literals that are not satisfied; one solution is planted."""
    rng = np.random.default_rng(seed)
    planted = rng.integers(0, 2, variables)
    terms: Terms = {}
    for _ in range(round(ratio * variables)):
        members = np.sort(rng.choice(variables, 4, replace=False))
        wrong = rng.integers(0, 2, 4)  # the values that satisfy none of the literals
        while (wrong == planted[members]).all():
            wrong = rng.integers(0, 2, 4)
        for term, value in _clause(members.tolist(), wrong.tolist()).items():
            terms[term] = terms.get(term, 0.0) + value
    name = f"n={variables}, {ratio:g} n clauses #{seed}"
    return Problem("4-SAT", name, "BINARY", terms, 0.0, "planted")


def _clause(members: list[int], wrong: list[int]) -> Terms:
    """Return the polynomial that is 1 where all members have these values."""
    product: Terms = {(): 1.0}
    for member, value in zip(members, wrong, strict=True):
        grown: Terms = {}
        for term, factor in product.items():
            with_it = (*term, member)
            grown[with_it] = grown.get(with_it, 0.0) + (factor if value else -factor)
            if not value:
                grown[term] = grown.get(term, 0.0) + factor
        product = grown
    return product


def independent_set(variables: int, edges: int, seed: int, target: float | None = None) -> Problem:
    """A largest set of vertices that holds no edge of three whole: -|set| + 2 per edge inside."""
    rng = np.random.default_rng(seed)
    terms: Terms = {(i,): -1.0 for i in range(variables)}
    while len(terms) < variables + edges:
        terms[tuple(sorted(rng.choice(variables, 3, replace=False).tolist()))] = 2.0
    found = _lowest(terms) if target is None else target
    name = f"n={variables}, {edges} edges #{seed}"
    return Problem("hypergraph independent set", name, "BINARY", terms, found, "long search")


def _lowest(terms: Terms) -> float:
    """Return the lowest energy of two long searches."""
    pubo = read_pubo(terms)
    given: dict[str, Any] = {"keep": 1, "seed": 12345}
    walks = solve(pubo, solver="memetic", reads=4, sweeps=20_000, **given)
    anneals = solve(pubo, solver="anneal", reads=200, sweeps=2000, **given)
    return float(min(walks.energies[0], anneals.energies[0]))


def compiled(order: int, features: int, bits: int) -> Problem:
    """A training on breast cancer as the paper compiles it, without the record of its weights."""
    made = compile("breast-cancer", order=order, features=features, bits=bits).pubo
    bare = Pubo.from_dict(made.to_dict(), variables=made.variables)
    exact = made.variables <= 26
    found = solve(bare, solver="exact", keep=1) if exact else None
    target = _lowest(bare.to_dict()) if found is None else float(found.energies[0])
    name = f"order {order}, {features} features, {bits} bits"
    known = "all states" if exact else "long search"
    return Problem("compiled", name, "BINARY", bare.to_dict(), target, known)
