"""Program -> Program without fields: couplings to free qubits that are held at +1 stand for them.

Machines take no h in a fast anneal. A field h on a chain has the same energy as a coupling h to a
neighbour that is +1. That neighbour is a free qubit, pinned by a flux bias; one pinned qubit serves
every chain beside it, of any copy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.program import Program

__all__ = ["pin_fields"]


# Fields that are smaller than this share of the largest coefficient are rounding errors.
_NOTHING = 1e-12


def pin_fields(program: Program) -> Program:
    """Return a program without fields whose pinned qubits, all at +1, give the same energies.

    As few qubits are pinned as a greedy choice needs. The field of a chain is spread evenly over
    its couplers to pinned qubits.
    """
    group, totals = _chain_fields(program)
    if not totals.any():
        return replace(program, fields=frozen(np.zeros(len(program.fields))))
    machine = program.copies[0].embedding.machine
    first, second = (machine.nodes[column] for column in machine.edges.T)
    one, other = np.concatenate([first, second]), np.concatenate([second, first])
    beside = np.isin(one, program.qubits) & ~np.isin(other, program.qubits)
    inside, free = np.searchsorted(program.qubits, one[beside]), other[beside]
    wanted = totals[group[inside]] != 0
    inside, free = inside[wanted], free[wanted]
    pins = _cover(group[inside], free, np.flatnonzero(totals))
    kept = np.isin(free, pins)
    inside, free = inside[kept], free[kept]
    ways = np.bincount(group[inside], minlength=len(totals))
    shares = totals[group[inside]] / ways[group[inside]]
    return _with_pins(program, pins, inside, free, shares)


def _chain_fields(program: Program) -> tuple[NDArray[np.int64], Floats]:
    """Return the chain of each qubit, counted over all copies, and the field of each chain."""
    starts = np.cumsum([0, *(copy.qubo.variables for copy in program.copies)])
    group = np.empty(len(program.qubits), dtype=np.int64)
    for start, copy, place in zip(starts, program.copies, program.places, strict=False):
        group[place] = start + copy.variable
    totals = np.bincount(group, program.fields, minlength=int(starts[-1]))
    largest = max(float(np.abs(a).max(initial=0.0)) for a in (totals, program.couplings))
    return group, np.where(np.abs(totals) <= _NOTHING * largest, 0.0, totals)


def _cover(
    chains: NDArray[np.int64], free: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Choose free qubits so that each wanted chain has one beside it, most chains first."""
    lonely = np.setdiff1d(wanted, chains)
    if len(lonely):
        raise InputError(
            f"a fast anneal takes no fields, and {len(lonely)} of {len(wanted)} chains that need "
            "one have no free qubit beside them: use fewer copies=, other chains or a larger solver"
        )
    beside: dict[int, set[int]] = {}
    for chain, qubit in zip(chains.tolist(), free.tolist(), strict=True):
        beside.setdefault(qubit, set()).add(chain)
    chosen, left = [], set(wanted.tolist())
    while left:
        qubit = min(beside, key=lambda q: (-len(beside[q] & left), q))
        left -= beside.pop(qubit)
        chosen.append(qubit)
    return np.array(sorted(chosen), dtype=np.int64)


def _with_pins(
    program: Program,
    pins: NDArray[np.int64],
    inside: NDArray[np.int64],
    free: NDArray[np.int64],
    shares: Floats,
) -> Program:
    """Add pinned qubits, with couplers from positions `inside` to the qubits `free`."""
    qubits = np.sort(np.concatenate([program.qubits, pins]))
    old, new = np.searchsorted(qubits, program.qubits), np.searchsorted(qubits, free)
    copy = np.full(len(qubits), -1, dtype=np.int64)
    signs = np.ones(len(qubits), dtype=np.int8)
    copy[old], signs[old] = program.copy, program.signs
    return replace(
        program,
        qubits=frozen(qubits, np.int64),
        copy=frozen(copy, np.int64),
        signs=frozen(signs, np.int8),
        fields=frozen(np.zeros(len(qubits))),
        first=frozen(np.concatenate([old[program.first], old[inside]]), np.int64),
        second=frozen(np.concatenate([old[program.second], new]), np.int64),
        couplings=frozen(np.concatenate([program.couplings, shares])),
    )
