"""Part of a job -> Program: the problem as the QPU gets it, and the parameters that go with it.

Everything follows from the job folder and the working graph, so that a program that was sent can be
made again to read its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.pins import pin_fields
from qcompile.embedding.programming import make_program
from qcompile.leap.job import Job
from qcompile.leap.records import Part
from qcompile.leap.strength import chosen_strength
from qcompile.stages.embedded import Embedding, to_embedded
from qcompile.stages.program import Program
from qcompile.stages.qubo import Qubo

__all__ = ["build_program", "program_of", "with_state"]


# Flux that holds a qubit, in flux quanta, if the solver does not tell its range: Ocean's choice.
_FLUX = 0.005
_UNUSED = 3  # the value of a qubit without a state


def build_program(
    qubos: Sequence[Qubo],
    embeddings: Sequence[Embedding],
    strengths: Sequence[float],
    *,
    gauge: int | None = None,
    pinned: bool = False,
) -> Program:
    """Return a program of copies; they take the problems and the chain strengths in turn.

    `pinned` asks for fields through pinned qubits, as a fast anneal needs it.
    """
    copies = [
        to_embedded(qubos[number % len(qubos)], embedding, strengths[number % len(strengths)])
        for number, embedding in enumerate(embeddings)
    ]
    program = make_program(copies, gauge=gauge)
    return pin_fields(program) if pinned else program


def program_of(
    job: Job, part: Part, qubos: Sequence[Qubo], embeddings: Sequence[Embedding] | None = None
) -> Program:
    """Return the program of a part, on the chains that it was sent with or on others."""
    assert job.chain_strength is not None
    strengths = part.chain_strengths
    if not strengths:
        strengths = (job.chain_strength if part.phase == 1 else chosen_strength(job),)
    return build_program(
        qubos,
        job.embeddings(part) if embeddings is None else embeddings,
        strengths,
        gauge=part.gauge,
        pinned=bool(part.parameters.get("fast_anneal")),
    )


def with_state(
    parameters: Mapping[str, Any],
    program: Program,
    state: str | None,
    properties: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a part's parameters with what depends on its chains: initial state and flux biases."""
    found = dict(parameters)
    size = int(properties["num_qubits"])
    if state is not None:
        bits = np.array(list(state), dtype=np.int8)
        values = [copy.qubo.complete(bits)[0] for copy in program.copies]
        found["initial_state"] = _over_all(size, program.qubits, program.join(values), _UNUSED)
    if len(program.pins):
        allowed = properties.get("flux_bias_range", (-_FLUX, _FLUX))
        # a positive flux holds a qubit at +1
        flux = np.full(len(program.pins), min(abs(float(end)) for end in allowed))
        found["flux_biases"] = _over_all(size, program.pins, flux, 0.0)
    return found


def _over_all(size: int, qubits: NDArray[np.int64], values: Any, other: float) -> list[Any]:
    """Return a list over all qubits of the chip, as solvers want it."""
    everything = np.full(size, other, dtype=np.asarray(values).dtype)
    everything[qubits] = values
    return list(everything.tolist())
