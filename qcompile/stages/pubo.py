"""A sparse polynomial of bits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.runtime.threads import ordered
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.display import many
from qcompile.stages.energies import add_energies
from qcompile.stages.from_terms import arrays_of
from qcompile.stages.origin import Origin, OriginFields, origin_of
from qcompile.stages.problem import Problem
from qcompile.stages.terms import collect

__all__ = ["Pubo", "polynomial_energies"]


_LANES = 64


def polynomial_energies(pubo: Pubo, samples: ArrayLike) -> Floats:
    """Return E(q) for each row q of 0/1 values, in O(terms) for each."""
    rows = np.atleast_2d(np.asarray(samples))
    if rows.ndim != 2 or rows.shape[1] != pubo.variables:
        raise InputError(f"samples of shape {rows.shape}; expected (any, {pubo.variables})")
    if not np.isin(rows, (0, 1)).all():
        raise InputError("samples with values other than 0 and 1")

    def evaluate(start: int) -> Floats:
        columns = np.ascontiguousarray(rows[start : start + _LANES].T, dtype=np.float64)
        energies = np.full(columns.shape[1], pubo.constant)
        for indices, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
            add_energies(columns, indices, coefficients, energies)
        return energies

    blocks = list(ordered(evaluate, range(0, len(rows), _LANES)))
    return np.concatenate(blocks) if blocks else np.zeros(0)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Pubo(Problem):
    """A polynomial of bits: for each degree sorted index rows and their coefficients.

    ``indices[j - 1]`` has a row of j ascending variables for each term of degree j, the rows in
    lexicographic order. `variables` may exceed the encoding's bits by one indicator a feature (ℓ0).
    The constructor takes an `origin`, its fields (`encoding`, `loss`, `l0`, `dropped`,
    `preparation`, `source`), or both: then the fields replace those of the origin.
    """

    variables: int
    constant: float
    indices: tuple[NDArray[np.int32], ...]
    coefficients: tuple[Floats, ...]
    origin: Origin = field(default_factory=Origin)

    def __init__(
        self,
        variables: int,
        constant: float,
        indices: tuple[NDArray[np.int32], ...],
        coefficients: tuple[Floats, ...],
        *,
        origin: Origin | None = None,
        **known: Unpack[OriginFields],
    ) -> None:
        vars(self).update(
            variables=variables,
            constant=constant,
            indices=indices,
            coefficients=coefficients,
            origin=origin_of(origin, known),
        )
        self._check()

    def _check(self) -> None:
        if len(self.indices) != len(self.coefficients):
            raise InputError("indices and coefficients of different degrees")
        for degree, (rows, values) in enumerate(
            zip(self.indices, self.coefficients, strict=True), start=1
        ):
            if rows.shape != (len(values), degree):
                raise InputError(f"degree {degree}: {rows.shape} indices, {len(values)} values")

    def _line(self) -> str:
        sizes = f"{many(self.variables, 'variable')}, {many(self.num_terms, 'term')}"
        return f"{sizes}, degree {self.degree}"

    def _facts(self) -> Mapping[str, object]:
        degrees = {f"terms of degree {j}": n for j, n in enumerate(self.terms[:8], 1)}
        return {
            "variables": self.variables,
            "degree": self.degree,
            "terms": self.num_terms,
            **degrees,
            "constant": self.constant,
            **self._origin_facts(),
        }

    @property
    def logical(self) -> int:
        """Number of variables: a polynomial has no ancillas."""
        return self.variables

    @property
    def has_terms(self) -> bool:
        """Whether there is any term besides the constant."""
        return self.num_terms > 0

    @property
    def degree(self) -> int:
        """Largest number of bits in a term."""
        return max((j for j, c in enumerate(self.coefficients, 1) if len(c)), default=0)

    @property
    def terms(self) -> tuple[int, ...]:
        """Number of terms for each degree from 1 on."""
        return tuple(len(c) for c in self.coefficients)

    @property
    def num_terms(self) -> int:
        """Number of terms, the constant not counted."""
        return sum(self.terms)

    @property
    def nbytes(self) -> int:
        """Memory of the terms in bytes."""
        return sum(a.nbytes for a in self.indices) + sum(a.nbytes for a in self.coefficients)

    def of_degree(self, degree: int) -> tuple[NDArray[np.int32], Floats]:
        """Return rows and coefficients of one degree; both are empty if there are none."""
        if degree <= len(self.indices):
            return self.indices[degree - 1], self.coefficients[degree - 1]
        return frozen(np.empty((0, degree)), np.int32), frozen(np.empty(0))

    def __add__(self, other: Pubo) -> Pubo:
        """Add two polynomials of the same bits; the sum is bare: it was not compiled from data.

        >>> one, two = Pubo.from_dict({(0, 1): 1.0}), Pubo.from_dict({(0, 1): 2.0, (2,): 1.0})
        >>> (one + two).to_dict()
        {(): 0.0, (2,): 1.0, (0, 1): 3.0}
        """
        return self._combined(other, 1.0)

    def __sub__(self, other: Pubo) -> Pubo:
        """Subtract a polynomial of the same bits; the difference is bare."""
        return self._combined(other, -1.0)

    def with_terms(self, terms: Pubo) -> Pubo:
        """Return the polynomial `terms` with the record of this one: encoding, loss, data."""
        return replace(
            self,
            variables=terms.variables,
            constant=terms.constant,
            indices=terms.indices,
            coefficients=terms.coefficients,
        )

    def _combined(self, other: Pubo, sign: float) -> Pubo:
        parts = []
        for degree in range(1, max(len(self.indices), len(other.indices)) + 1):
            rows, values = other.of_degree(degree)
            parts.append(collect(*self.of_degree(degree), (rows, sign * values)))
        return Pubo(
            variables=max(self.variables, other.variables),
            constant=self.constant + sign * other.constant,
            indices=tuple(rows for rows, _ in parts),
            coefficients=tuple(values for _, values in parts),
        )

    def energies(self, samples: ArrayLike) -> Floats:
        """Return the energy of each row of 0/1 values; the time does not depend on the data."""
        return polynomial_energies(self, samples)

    def score(self, bits: ArrayLike) -> Floats:
        """Return the energies: nothing was left out."""
        return self.energies(bits)

    def to_dict(self) -> dict[tuple[int, ...], float]:
        """Return a plain dictionary of terms; ``()`` is the constant."""
        terms: dict[tuple[int, ...], float] = {(): self.constant}
        for rows, values in zip(self.indices, self.coefficients, strict=True):
            terms.update(zip(map(tuple, rows.tolist()), values.tolist(), strict=True))
        return terms

    @classmethod
    def from_dict(
        cls, terms: Mapping[tuple[int, ...], float], *, variables: int | None = None
    ) -> Pubo:
        """Read ``{(i, j, k): coefficient}``; repeated bits collapse, equal terms add up.

        >>> Pubo.from_dict({(): 1, (0, 0): 2, (1, 0): 3}).to_dict()
        {(): 1.0, (0,): 2.0, (0, 1): 3.0}
        """
        plain = arrays_of(list(terms), list(terms.values()))
        if plain is not None and (variables is None or variables >= len(plain[3])):
            constant, indices, coefficients, there = plain
            return cls(variables or len(there), constant, indices, coefficients)
        merged: dict[tuple[int, ...], float] = {}
        for key, value in terms.items():
            members = tuple(key)
            if not all(isinstance(i, int | np.integer) and i >= 0 for i in members):
                raise InputError(f"term {members!r}: expected variables numbered from 0")
            if not math.isfinite(value):
                raise InputError(f"term {members!r}: coefficient {value} is not finite")
            term = tuple(sorted({int(i) for i in members}))
            if term and term[-1] >= 2**31 - 1:
                raise InputError(f"variable {term[-1]}; expected numbers below {2**31 - 1}")
            merged[term] = merged.get(term, 0.0) + float(value)
        constant = merged.pop((), 0.0)
        used = 1 + max((term[-1] for term in merged), default=-1)
        if variables is not None and variables < used:
            raise InputError(f"variable {used - 1} in a polynomial of {variables} variables")
        by_degree: list[list[tuple[int, ...]]] = []
        for term in sorted(t for t, c in merged.items() if c):
            while len(by_degree) < len(term):
                by_degree.append([])
            by_degree[len(term) - 1].append(term)
        return cls(
            variables=used if variables is None else variables,
            constant=constant,
            indices=tuple(
                frozen(np.array(rows, dtype=np.int32).reshape(-1, j), np.int32)
                for j, rows in enumerate(by_degree, 1)
            ),
            coefficients=tuple(frozen([merged[t] for t in rows]) for rows in by_degree),
        )

    def to_dimod(self) -> Any:
        """Return a `dimod.BinaryPolynomial` over the same integer labels."""
        import dimod

        # variables that no term uses stay variables
        terms = {(i,): 0.0 for i in range(self.variables)} | self.to_dict()
        return dimod.BinaryPolynomial(terms, dimod.BINARY)

    @classmethod
    def from_dimod(cls, polynomial: Any) -> Pubo:
        """Read a `dimod.BinaryPolynomial` with integer labels; spins become bits."""
        binary = (
            polynomial.to_binary(copy=True) if polynomial.vartype.name == "SPIN" else polynomial
        )
        labels = set(binary.variables)
        if not all(isinstance(v, int | np.integer) and v >= 0 for v in labels):
            raise InputError(
                "labels that are not integers from 0 on: relabel the polynomial first with "
                "polynomial.relabel_variables({label: index, ...})"
            )
        terms = {tuple(term): bias for term, bias in binary.items()}
        return cls.from_dict(terms, variables=1 + max(labels, default=-1))
