"""Samples of a machine's qubits -> bits, with energies on the true polynomial."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.embedded import Embedded, Embedding
from qcompile.stages.program import Program
from qcompile.stages.qubo import Qubo
from qcompile.stages.record import Record
from qcompile.stages.samples import Samples, alike, merged

__all__ = [
    "REPAIRS",
    "Unembedding",
    "chains_id",
    "merged_copies",
    "unembed",
    "unembed_program",
]


REPAIRS = ("majority", "energy", "discard")
# Sweeps over the bits of broken chains; each lowers the energy or is the last.
_MOST_SWEEPS = 100


@dataclass(frozen=True)
class Unembedding(Record):
    """How samples were read from chains: entries of ``Samples.info``.

    `discarded` counts reads that were left out for a broken chain; `chains` is a digest of the
    chains (`chains_id`).
    """

    repair: str
    discarded: int
    chains: str


def unembed(embedded: Embedded, samples: Any, *, repair: str = "majority") -> Samples:
    """Return the bits that samples of an embedded problem stand for.

    `samples` is a dimod SampleSet over the machine's qubits, or rows of -1/+1 (or 0/1) in the order
    of ``embedded.qubits``. `repair` says what happens if the qubits of a chain disagree: "majority"
    takes the value of most of them (1 in a tie), "energy" goes on from there and flips bits of
    broken chains as long as that lowers the energy, "discard" leaves the sample out. Ancillas are
    recomputed from their factors, and every energy is that of the polynomial.
    """
    _check_repair(repair)
    return _unembed(embedded, *_read(embedded.qubits, samples), repair)


def unembed_program(
    program: Program, samples: Any, *, repair: str = "majority"
) -> tuple[Samples, ...]:
    """Return the bits of each copy of a program, as `unembed` does for one problem.

    `samples` is a dimod SampleSet over the machine's qubits, or rows of -1/+1 (or 0/1) in the order
    of ``program.qubits``. The gauge is undone. Row k of each copy is of the same read.
    """
    _check_repair(repair)
    ups, occurrences, info = _read(program.qubits, samples)
    reversed_ = program.signs < 0
    return tuple(
        _unembed(copy, ups[:, place] ^ reversed_[place], occurrences, info, repair)
        for copy, place in zip(program.copies, program.places, strict=True)
    )


def merged_copies(copies: Sequence[Samples]) -> Samples:
    """Return the samples of all copies of one problem, one copy after another.

    `info` is that of the first copy, whose chains it names, with the number of copies and the reads
    that each of them kept.
    """
    if len(copies) == 1:
        return copies[0]
    kept = [int(copy.occurrences.sum()) for copy in copies]
    info = {**copies[0].info, "discarded": sum(copy.info["discarded"] for copy in copies)}
    return merged(copies, {**info, "copies": len(copies), "copy_reads": kept})


def _check_repair(repair: str) -> None:
    if repair not in REPAIRS:
        raise InputError(f"repair {repair!r}; expected one of {', '.join(REPAIRS)}")


def _unembed(
    embedded: Embedded,
    ups: NDArray[np.bool_],
    occurrences: NDArray[np.int64],
    info: Mapping[str, Any],
    repair: str,
) -> Samples:
    """Return the samples of qubits that are 1, in the order of the embedded problem."""
    share = _share_of_ones(embedded, ups)
    broken = (share > 0) & (share < 1)
    row = np.arange(len(ups))
    if repair == "discard":
        row = np.flatnonzero(~broken.any(axis=1))
    values = (share[row] >= 0.5).astype(np.int8)
    qubo = embedded.qubo
    bits, violations = qubo.restrict(values)
    bits = bits.copy()
    if repair == "energy":
        _descend(qubo, bits, broken[row][:, : qubo.logical])
    times = frozen(occurrences[row], np.int64)
    discarded = int(occurrences.sum() - times.sum())
    read = Unembedding(repair, discarded, chains_id(embedded.embedding))
    return Samples(
        bits=frozen(bits, np.int8),
        energies=frozen(qubo.score(bits) if len(bits) else np.zeros(0)),
        violations=frozen(violations, np.int64),
        occurrences=times,
        chain_breaks=frozen(broken[row].mean(axis=1) if broken.shape[1] else np.zeros(len(row))),
        row=frozen(row, np.int64),
        info={**info, **read.to_dict()},
        broken=alike(broken[row].any(axis=1), times),
        wrong=alike(violations > 0, times),
    )


def chains_id(embedding: Embedding) -> str:
    """Return a digest of the chains, by which samples name the chains they were read from."""
    content = f"{embedding.machine.name} {embedding.chains}"
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _read(
    qubits: NDArray[np.int64], samples: Any
) -> tuple[NDArray[np.bool_], NDArray[np.int64], dict[str, Any]]:
    """Return which of the qubits are 1, occurrences and info."""
    if hasattr(samples, "record") and hasattr(samples, "variables"):
        given = list(samples.variables)
        place = {label: i for i, label in enumerate(given)}
        missing = [q for q in qubits.tolist() if q not in place]
        if missing:
            raise InputError(
                f"samples without qubit {missing[0]} ({len(missing)} of {len(qubits)} "
                "missing): they belong to another problem or embedding"
            )
        columns = [place[q] for q in qubits.tolist()]
        rows = np.asarray(samples.record.sample)[:, columns]
        occurrences = np.asarray(samples.record.num_occurrences, dtype=np.int64)
        info = dict(samples.info)
    else:
        rows = _as_rows(samples, len(qubits))
        occurrences, info = np.ones(len(rows), dtype=np.int64), {}
    if not np.isin(rows, (-1, 0, 1)).all() or (rows.min(initial=0) < 0 and (rows == 0).any()):
        raise InputError("samples with values other than -1 and 1, or 0 and 1")
    return np.asarray(rows > 0), occurrences, info


def _as_rows(samples: ArrayLike, qubits: int) -> NDArray[Any]:
    rows = np.atleast_2d(np.asarray(samples))
    if rows.ndim != 2 or rows.shape[1] != qubits:
        raise InputError(f"samples of {rows.shape[-1]} values; the problem uses {qubits} qubits")
    return rows


def _share_of_ones(embedded: Embedded, ups: NDArray[np.bool_]) -> Floats:
    """Return for each sample and variable the share of its chain that is 1."""
    variables = embedded.qubo.variables
    order = np.argsort(embedded.variable, kind="stable")
    starts = np.searchsorted(embedded.variable[order], np.arange(variables))
    sums = np.add.reduceat(ups[:, order].astype(np.int64), starts, axis=1)
    return np.asarray(sums / embedded.embedding.lengths)


def _descend(qubo: Qubo, bits: NDArray[np.int8], free: NDArray[np.bool_]) -> None:
    """Flip bits that may change, one after another, as long as the energy falls."""
    energies = qubo.score(bits) if len(bits) else np.zeros(0)
    for _ in range(_MOST_SWEEPS):
        before = energies.sum()
        for column in range(qubo.logical):
            rows = np.flatnonzero(free[:, column])
            if not len(rows):
                continue
            flipped = bits[rows]
            flipped[:, column] ^= 1
            tried = qubo.score(flipped)
            better = tried < energies[rows]
            bits[rows[better]] = flipped[better]
            energies[rows[better]] = tried[better]
        if not energies.sum() < before:
            return
