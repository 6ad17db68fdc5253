"""Programs: several problems on disjoint chains of one machine, annealed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.embedded import Embedded

__all__ = ["Program", "to_program"]


@dataclass(frozen=True, eq=False, repr=False)
class Program(Displayed):
    """Problems that a machine anneals together: what it gets, and how to tell them apart again.

    `copies` are the problems, on disjoint chains; they may be the same one or different ones.
    `factors` multiply the coefficients of each. `qubits` are those of all copies, ascending; `copy`
    is the copy of each, -1 for a qubit that is pinned at +1 to stand for fields. `signs` is the
    gauge: the sign of each qubit. The machine gets `fields` and `couplings`, factor and gauge
    applied; couplers join positions in `qubits`.
    """

    copies: tuple[Embedded, ...]
    factors: Floats
    qubits: NDArray[np.int64]
    copy: NDArray[np.int64]
    signs: NDArray[np.int8]
    fields: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    couplings: Floats
    offset: float

    def _line(self) -> str:
        size = f"{many(len(self.qubits), 'qubit')} of {quoted(self._machine_name)}"
        return f"{_copies(len(self.copies))} on {size}{', gauged' if self.gauged else ''}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "machine": self._machine_name,
            "copies": len(self.copies),
            "qubits": len(self.qubits),
            "couplers": len(self.couplings),
            "longest chain": max(copy.embedding.longest for copy in self.copies),
            "gauge": "drawn" if self.gauged else "none",
        }

    @property
    def _machine_name(self) -> str:
        return self.copies[0].embedding.machine.name

    @property
    def gauged(self) -> bool:
        """Whether the gauge reverses any qubit."""
        return bool((self.signs < 0).any())

    @property
    def pins(self) -> NDArray[np.int64]:
        """The qubits that are pinned at +1."""
        return self.qubits[self.copy < 0]

    @cached_property
    def places(self) -> tuple[NDArray[np.int64], ...]:
        """The positions in `qubits` of the qubits of each copy, in the order of the copy."""
        return tuple(np.searchsorted(self.qubits, copy.qubits) for copy in self.copies)

    def split(self, spins: ArrayLike) -> tuple[NDArray[np.int8], ...]:
        """Return the spins of each copy, without the gauge, from rows in the order of `qubits`."""
        rows = np.atleast_2d(np.asarray(spins, dtype=np.int8))
        if rows.shape[1] != len(self.qubits):
            raise InputError(
                f"samples of {rows.shape[1]} values; the problem uses {len(self.qubits)} qubits"
            )
        return tuple(rows[:, place] * self.signs[place] for place in self.places)

    def join(self, values: Sequence[ArrayLike]) -> NDArray[np.int8]:
        """Return a spin for each of `qubits`, from the 0/1 values of the variables of each copy.

        This is the way back of `split`: every chain is whole, and the gauge is applied.
        """
        spins = np.ones(len(self.qubits), dtype=np.int8)
        for copy, place, own in zip(self.copies, self.places, values, strict=True):
            states = 2 * np.asarray(own, dtype=np.int8) - 1
            if states.shape != (copy.qubo.variables,):
                raise InputError(f"{states.size} values; expected {copy.qubo.variables}")
            spins[place] = states[copy.variable]
        return spins * self.signs

    def energies(self, spins: ArrayLike) -> Floats:
        """Return the energy of rows of spins as the machine sees it, without the offset."""
        rows = np.atleast_2d(np.asarray(spins, dtype=np.float64))
        pairs = rows[:, self.first] * rows[:, self.second]
        return np.asarray(rows @ self.fields + pairs @ self.couplings)

    def to_bqm(self) -> Any:
        """Return a `dimod.BinaryQuadraticModel` of spins labelled by the machine's qubits."""
        import dimod

        bqm = dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.fields, (self.first, self.second, self.couplings), self.offset, dimod.SPIN
        )
        bqm.relabel_variables(dict(enumerate(self.qubits.tolist())))
        return bqm


def _copies(count: int) -> str:
    return "1 copy" if count == 1 else f"{count:,} copies"


def to_program(
    copies: Sequence[Embedded],
    *,
    factors: Sequence[float] | Floats | None = None,
    signs: Sequence[ArrayLike] | None = None,
) -> Program:
    """Put problems on disjoint chains of one machine together.

    `factors` multiply the coefficients of each problem, 1 by default. `signs` has for each problem
    a sign for each of its qubits; by default none is reversed.
    """
    if not copies:
        raise InputError("no problems to put together; expected at least one")
    _check_machine(copies)
    qubits = np.sort(np.concatenate([copy.qubits for copy in copies]))
    twice = np.flatnonzero(qubits[1:] == qubits[:-1])
    if len(twice):
        raise InputError(
            f"qubit {qubits[twice[0]]} is used by two copies; expected disjoint chains"
        )
    gains = np.ones(len(copies)) if factors is None else np.asarray(factors, dtype=np.float64)
    if gains.shape != (len(copies),) or not (np.isfinite(gains) & (gains > 0)).all():
        raise InputError(f"factors {factors}; expected a number above 0 for each copy")
    owner = np.empty(len(qubits), dtype=np.int64)
    gauge = np.ones(len(qubits), dtype=np.int8)
    fields = np.empty(len(qubits))
    parts = []
    for number, (copy, gain) in enumerate(zip(copies, gains, strict=True)):
        place = np.searchsorted(qubits, copy.qubits)
        owner[place] = number
        if signs is not None:
            gauge[place] = _checked(signs[number], copy)
        own = gauge[place].astype(np.float64)
        fields[place] = gain * own * copy.fields
        both = gain * own[copy.first] * own[copy.second] * copy.couplings
        parts.append((place[copy.first], place[copy.second], both))
    return Program(
        copies=tuple(copies),
        factors=frozen(gains),
        qubits=frozen(qubits, np.int64),
        copy=frozen(owner, np.int64),
        signs=frozen(gauge, np.int8),
        fields=frozen(fields),
        first=frozen(np.concatenate([part[0] for part in parts]), np.int64),
        second=frozen(np.concatenate([part[1] for part in parts]), np.int64),
        couplings=frozen(np.concatenate([part[2] for part in parts])),
        offset=float(sum(gain * copy.offset for gain, copy in zip(gains, copies, strict=True))),
    )


def _check_machine(copies: Sequence[Embedded]) -> None:
    first = copies[0].embedding.machine
    for copy in copies:
        other = copy.embedding.machine
        if other is not first and other.graph_id != first.graph_id:
            raise InputError(
                f"copies on {first.name} and on {other.name}; expected chains on one working graph"
            )


def _checked(signs: ArrayLike, copy: Embedded) -> NDArray[np.int8]:
    given = np.asarray(signs)
    if given.shape != copy.qubits.shape or not np.isin(given, (-1, 1)).all():
        raise InputError(
            f"signs of a gauge; expected -1 or 1 for each of {len(copy.qubits)} qubits"
        )
    return np.asarray(given, dtype=np.int8)
