"""Answer of a solver -> Samples, with every number checked against the problem that was sent.

Ocean's client accepts flipped bits, wrong energies and missing rows. Here an answer is refused
unless its rows, reads and energies are exactly those of the problem.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.unembed import unembed_program
from qcompile.errors import FormatError
from qcompile.files.samples import from_sampleset, sampleset_of
from qcompile.leap.nonlinear import NonlinearProblem
from qcompile.stages.arrays import Floats
from qcompile.stages.program import Program
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples, samples_of

__all__ = ["read_bqm_answer", "read_nonlinear_answer", "read_qpu_answer"]


# Relative tolerance: the server adds up the same numbers in another order.
_SAME = 1e-6


def read_qpu_answer(
    answer: Mapping[str, Any],
    program: Program,
    reads: int,
    *,
    repair: str = "majority",
    complete: bool = True,
) -> tuple[Samples, ...]:
    """Read an answer of a QPU, in the "qp" format, to a program sent without its offset.

    The samples of each copy are returned.

    A raw answer has no occurrences: every row is one read. Unless `complete`, only the best rows
    were asked for, and there may be fewer reads.
    """
    if answer.get("format") != "qp":
        raise FormatError(f"the answer has format {answer.get('format')!r}; expected 'qp'")
    energies = _numbers(answer, "energies", "<f8")
    occurrences = np.ones(len(energies), dtype=np.int32)
    if answer.get("num_occurrences") is not None:
        occurrences = _numbers(answer, "num_occurrences", "<i4")
    active = _numbers(answer, "active_variables", "<i4")
    order = np.argsort(active, kind="stable")
    if not np.array_equal(active[order], program.qubits):
        raise FormatError(
            f"the answer has {len(active)} qubits; expected the {len(program.qubits)} of the "
            "problem"
        )
    if not len(energies) or len(occurrences) != len(energies) or occurrences.min() < 1:
        raise FormatError(
            f"the answer has {len(energies)} energies and {len(occurrences)} occurrences; expected "
            "as many of both, each occurrence at least 1"
        )
    spins = _spins(_bytes(answer, "solutions"), len(energies), len(active))[:, order]
    total = int(occurrences.sum(dtype=np.int64))
    if total > reads or (complete and total < reads):
        raise FormatError(f"the answer has {total} reads; expected {reads}")
    _check_energies(energies, program.energies(spins))
    import dimod

    found = dimod.SampleSet.from_samples(
        (spins, program.qubits.tolist()),
        dimod.SPIN,
        energy=energies + program.offset,
        num_occurrences=occurrences,
        info={"timing": _timing(answer)},
        sort_labels=False,
    )
    return unembed_program(program, found, repair=repair)


def read_bqm_answer(answer: Mapping[str, Any], qubo: Qubo) -> Samples:
    """Read the answer of the hybrid solver for binary quadratic models."""
    content = answer.get("data")
    if answer.get("format") != "bq" or not isinstance(content, dict):
        raise FormatError(f"the answer has format {answer.get('format')!r}; expected 'bq'")
    found = sampleset_of(content)
    if len(found):
        # some solvers leave out the offset
        own = np.asarray(found.record.energy, dtype=np.float64)
        true = np.asarray(qubo.to_bqm().energies(found.change_vartype("BINARY", inplace=False)))
        if np.allclose(own + qubo.offset, true, rtol=_SAME, atol=_SAME * np.abs(true).max()):
            found.record.energy[:] = true
    samples = from_sampleset(found, qubo)
    return replace(samples, info={"timing": _timing(found.info), "space": "qubo"})


def read_nonlinear_answer(
    answer: Mapping[str, Any], states: bytes, problem: NonlinearProblem, source: Pubo | Qubo
) -> Samples:
    """Read the answer of the nonlinear solver, whose states come in a file of their own."""
    bits = problem.read_states(io.BytesIO(states))
    samples = samples_of(source, bits)
    return replace(samples, info={"timing": _timing(answer), "space": problem.space})


def _timing(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return the times that an answer states, as plain numbers."""
    timing = answer.get("timing")
    source = timing if isinstance(timing, dict) else answer
    return {
        str(k): v
        for k, v in source.items()
        if isinstance(v, int | float) and not isinstance(v, bool) and str(k).endswith("_time")
    }


def _bytes(answer: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(str(answer[name]), validate=True)
    except KeyError:
        raise FormatError(f"the answer has no {name}") from None
    except (binascii.Error, ValueError):
        raise FormatError(f"the {name} of the answer are not valid base64") from None


def _numbers(answer: Mapping[str, Any], name: str, kind: str) -> NDArray[Any]:
    content = _bytes(answer, name)
    if len(content) % np.dtype(kind).itemsize:
        raise FormatError(f"the {name} of the answer are cut off")
    return np.frombuffer(content, dtype=kind)


def _spins(packed: bytes, rows: int, columns: int) -> NDArray[np.int8]:
    """Unpack spins from bits, the highest of each byte first, every row padded to whole bytes."""
    width = -(-columns // 8)
    if len(packed) != rows * width:
        raise FormatError(
            f"the answer has {len(packed)} bytes of solutions; {rows} rows need {rows * width}"
        )
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8).reshape(rows, width), axis=1)
    return (2 * bits[:, :columns].astype(np.int8) - 1).astype(np.int8)


def _check_energies(own: Floats, true: Floats) -> None:
    size = max(1e-300, float(np.abs(true).max()))
    wrong = np.abs(own - true)
    if not wrong.max() <= _SAME * size:
        row = int(np.argmax(~(wrong <= _SAME * size)))
        raise FormatError(
            f"row {row} of the answer has energy {own[row]:.6g}; its spins have {true[row]:.6g}"
        )
