"""A quadratic polynomial of bits and ancillas, with the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen, sum_by
from qcompile.stages.compression import Compression
from qcompile.stages.display import Displayed, many
from qcompile.stages.origin import Origin, OriginFields, origin_of
from qcompile.stages.problem import Problem
from qcompile.stages.pubo import Pubo

__all__ = [
    "Ancillas",
    "Fingerprint",
    "Qubo",
    "Seal",
    "add_derivatives",
    "fingerprint",
    "fixed_point",
    "row_marks",
    "to_ising",
]


_TERMS_AT_ONCE = 1 << 18  # what is computed from them takes little memory


def to_ising(qubo: Qubo) -> tuple[Floats, Floats]:
    """Return fields h and couplings J of the same problem in spins, q = (1 + s)/2."""
    couplings = qubo.quadratic / 4
    h = qubo.linear / 2
    h = h + np.bincount(qubo.first, couplings, minlength=qubo.variables)
    h = h + np.bincount(qubo.second, couplings, minlength=qubo.variables)
    return h, couplings


@dataclass(frozen=True, eq=False, repr=False)
class Ancillas(Displayed):
    """What each ancilla stands for: the product of two variables with smaller numbers.

    ``factors[k]`` are the two variables; `terms` counts the terms of the polynomial that pass
    through the ancilla. `on` and `off` are the strengths of the gate: the least that the gate alone
    charges for an ancilla of 0 with both factors 1, and for one of 1 with a factor 0. The terms
    through the ancilla may refund a part of it.
    """

    factors: NDArray[np.int32]
    terms: NDArray[np.int64]
    on: Floats
    off: Floats

    def __len__(self) -> int:
        return len(self.factors)

    def _line(self) -> str:
        return f"{len(self):,}, for {many(int(self.terms.sum()), 'term')}"

    def _facts(self) -> Mapping[str, object]:
        strongest = float(max(self.on.max(initial=0.0), self.off.max(initial=0.0)))
        return {
            "ancillas": len(self),
            "terms through them": int(self.terms.sum()),
            "strongest gate": strongest,
        }


@dataclass(frozen=True, repr=False)
class Seal(Displayed):
    """The digests in a file: a mark for the coefficients of each variable, and one for the rest.

    `record_intact` says whether the record (encoding, loss, ancillas, ...) matches its digest.
    """

    rows: tuple[str, ...]
    record_intact: bool

    def _line(self) -> str:
        state = "intact" if self.record_intact else "changed"
        return f"{many(len(self.rows), 'mark')}, record {state}"

    def _facts(self) -> Mapping[str, object]:
        return {"marks": len(self.rows), "record intact": self.record_intact}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Qubo(Problem):
    """A quadratic polynomial of bits whose minimum over the ancillas is a given polynomial.

    Variables 0..`logical`-1 are those of the PUBO, the ancillas follow. The pairs (first < second)
    are sorted by their second variable, then by the first. `method` says which cover was taken,
    `optimal` whether no smaller pair cover exists (None: not known), `bound` the best lower bound
    on pair covers. `truncated` holds terms that a budget or a compression left out; no energy
    differs by more than `error` from the polynomial with them. `compression` says which minimum was
    kept all the same. The constructor takes an `origin`, its fields, or both,
    as that of `Pubo` does.
    """

    logical: int
    offset: float
    linear: Floats
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    quadratic: Floats
    ancillas: Ancillas
    method: str
    strength: float = 1.0
    optimal: bool | None = None
    bound: int | None = None
    error: float = 0.0
    truncated: Pubo | None = None
    compression: Compression | None = None
    origin: Origin = field(default_factory=Origin)
    seal: Seal | None = None

    def __init__(
        self,
        logical: int,
        offset: float,
        linear: Floats,
        first: NDArray[np.int32],
        second: NDArray[np.int32],
        quadratic: Floats,
        ancillas: Ancillas,
        method: str,
        strength: float = 1.0,
        optimal: bool | None = None,
        bound: int | None = None,
        error: float = 0.0,
        *,
        truncated: Pubo | None = None,
        compression: Compression | None = None,
        seal: Seal | None = None,
        origin: Origin | None = None,
        **known: Unpack[OriginFields],
    ) -> None:
        vars(self).update(
            logical=logical,
            offset=offset,
            linear=linear,
            first=first,
            second=second,
            quadratic=quadratic,
            ancillas=ancillas,
            method=method,
            strength=strength,
            optimal=optimal,
            bound=bound,
            error=error,
            truncated=truncated,
            compression=compression,
            seal=seal,
            origin=origin_of(origin, known),
        )

    def _line(self) -> str:
        sizes = f"{self.logical:,} logical + {many(len(self.ancillas), 'ancilla')}"
        pairs = many(len(self.first), "interaction")
        return f"{many(self.variables, 'variable')}: {sizes}, {pairs}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "variables": self.variables,
            "logical": self.logical,
            "ancillas": len(self.ancillas),
            "interactions": len(self.first),
            "offset": self.offset,
            "cover": self.method,
            "optimal": self.optimal,
            "truncation error": self.error or None,
            "heights kept": None if self.compression is None else self.compression.share,
            **self._origin_facts(),
        }

    @property
    def has_terms(self) -> bool:
        """True: a QUBO is always written out."""
        return True

    @property
    def variables(self) -> int:
        """Number of qubits that the problem needs before embedding."""
        return len(self.linear)

    def complete(self, samples: ArrayLike) -> NDArray[np.int8]:
        """Return rows of logical bits and ancillas, each ancilla the product of its factors."""
        rows = np.atleast_2d(np.asarray(samples))
        if rows.shape[1] != self.logical:
            raise InputError(f"{rows.shape[1]} bits a sample; expected {self.logical}")
        full = np.empty((len(rows), self.variables), dtype=np.int8)
        full[:, : self.logical] = rows
        for k, (a, b) in enumerate(self.ancillas.factors.tolist(), self.logical):
            full[:, k] = full[:, a] & full[:, b]
        return full

    def energies(self, samples: ArrayLike) -> Floats:
        """Return the energy of each row of 0/1 values of all variables."""
        return self.as_pubo().energies(samples)

    def score(self, bits: ArrayLike) -> Floats:
        """Return the energy of logical bits on the polynomial itself.

        Ancillas are set to their products, and truncated terms are included.
        """
        rows = np.atleast_2d(np.asarray(bits))
        energies = self.energies(self.complete(rows))
        return energies if self.truncated is None else energies + self.truncated.energies(rows)

    def as_pubo(self) -> Pubo:
        """Return the same polynomial, with the ancillas as ordinary variables."""
        used = np.flatnonzero(self.linear)
        order = np.lexsort((self.second, self.first))
        pairs = np.column_stack([self.first, self.second])[order]
        return Pubo(
            variables=self.variables,
            constant=self.offset,
            indices=(frozen(used[:, None], np.int32), frozen(pairs, np.int32)),
            coefficients=(frozen(self.linear[used]), frozen(self.quadratic[order])),
        )

    def restrict(self, samples: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return the logical bits of samples, and the number of wrong ancillas of each."""
        given = np.atleast_2d(np.asarray(samples))
        rows = given.astype(np.int8)
        if rows.shape[1] != self.variables:
            raise InputError(f"{rows.shape[1]} values a sample; expected {self.variables}")
        if not ((rows == given) & ((rows == 0) | (rows == 1))).all():
            raise InputError("samples with values other than 0 and 1")
        bits = rows[:, : self.logical]
        return bits, np.count_nonzero(self.complete(bits) != rows, axis=1).astype(np.int64)

    def to_bqm(self) -> Any:
        """Return a `dimod.BinaryQuadraticModel` over the same integer labels, built from arrays."""
        import dimod

        return dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.linear, (self.second, self.first, self.quadratic), self.offset, dimod.BINARY
        )


@dataclass(frozen=True, eq=False, repr=False)
class Fingerprint(Displayed):
    """Value and gradient of a polynomial at a fixed point, which tell polynomials apart."""

    value: float
    gradient: Floats

    def _line(self) -> str:
        return f"value {self.value:.6g}, {many(len(self.gradient), 'variable')}"

    def _facts(self) -> Mapping[str, object]:
        return {"value": self.value, "variables": len(self.gradient)}


def row_marks(qubo: Qubo) -> tuple[str, ...]:
    """Return a short digest of the linear and quadratic coefficients of each variable."""
    starts = np.searchsorted(qubo.second, np.arange(qubo.variables + 1)).tolist()
    marks = []
    for v in range(qubo.variables):
        own = slice(starts[v], starts[v + 1])
        mark = blake2b(qubo.linear[v : v + 1].tobytes(), digest_size=6)
        mark.update(qubo.first[own].tobytes())
        mark.update(qubo.quadratic[own].tobytes())
        marks.append(mark.hexdigest())
    return tuple(marks)


def fixed_point(size: int) -> Floats:
    """Return a fixed point of the cube with distinct coordinates: multiples of the golden ratio."""
    golden = 0.6180339887498949
    return np.asarray(0.5 + 0.5 * np.modf(golden * np.arange(1, size + 1, dtype=np.float64))[0])


def fingerprint(pubo: Pubo) -> Fingerprint:
    """Return value and gradient at the fixed point."""
    point = np.append(fixed_point(pubo.variables), 1.0)
    value, gradient = pubo.constant, np.zeros(pubo.variables)
    for rows, coefficients in zip(pubo.indices, pubo.coefficients, strict=True):
        for at in range(0, len(coefficients), _TERMS_AT_ONCE):
            part = slice(at, at + _TERMS_AT_ONCE)
            value += add_derivatives(rows[part], coefficients[part], point, gradient)
    return Fingerprint(float(value), gradient)


def add_derivatives(
    rows: NDArray[np.int32], values: Floats, point: Floats, gradient: Floats
) -> float:
    """Return the sum of the terms and add their derivatives to `gradient`.

    The last coordinate of `point` is 1 and not a variable.
    """
    if not len(rows):
        return 0.0
    size = len(gradient)
    total = values * np.prod(point[rows], axis=1)
    for t in range(rows.shape[1]):
        slope = values.copy()
        for other in range(rows.shape[1]):
            if other != t:
                slope *= point[rows[:, other]]
        inside = rows[:, t] < size
        gradient += sum_by(rows[inside, t], slope[inside], size)[:size]
    return float(total.sum())
