"""Solvers from Ocean: dwave-samplers, any dimod sampler, and the mock of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from qcompile.embedding.capacity import likely_qubits
from qcompile.embedding.embed import embed
from qcompile.embedding.unembed import merged_copies, unembed, unembed_program
from qcompile.errors import InputError
from qcompile.files.machines import load_machine, machine_from_sampler, machine_sampler
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime.progress import muted
from qcompile.stages.embedded import Embedded
from qcompile.stages.machine import Machine
from qcompile.stages.program import Program
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples, samples_of

__all__ = ["Solvable", "compiled", "machine_of_chains", "sample_with_ocean", "structured_sampler"]


# A program holds copies of one problem.
Solvable: TypeAlias = Pubo | Qubo | Embedded | Program

_MOCK_MACHINES = ("pegasus4", "advantage")
# Samplers of quantum models: sweeps of each read, the transverse field at the beginning in units of
# the temperature, and the number of their seeds, which begin with 1 (0 would be no seed).
_QUANTUM_SWEEPS = {"path-integral": 100, "rotor": 1000}
_QUANTUM_FIELD = 3.0
_QUANTUM_SEEDS = 2**31 - 1
_ROOM = 0.4  # share of a small machine's qubits up to which a problem is sure to fit


def compiled(problem: Solvable) -> Pubo | Qubo:
    """Return the problem itself, without chains."""
    if isinstance(problem, Program):
        qubo = problem.copies[0].qubo
        if any(copy.qubo is not qubo for copy in problem.copies):
            raise InputError(
                "a program of different problems; expected copies of one problem, as their samples "
                "are put together: see unembed_program"
            )
        return qubo
    return problem.qubo if isinstance(problem, Embedded) else problem


def machine_of_chains(problem: Solvable) -> Machine | None:
    """Return the machine that a problem has chains on, or None if it has none."""
    if isinstance(problem, Program):
        problem = problem.copies[0]
    return problem.embedding.machine if isinstance(problem, Embedded) else None


def _quadratic(problem: Solvable) -> Qubo:
    plain = compiled(problem)
    return quadratize(plain) if isinstance(plain, Pubo) else plain


def sample_with_ocean(
    problem: Solvable,
    solver: str,
    reads: int,
    seed: int,
    sweeps: int | None,
    repair: str,
    parameters: Mapping[str, Any] | None,
) -> Samples:
    """Run one of dwave-samplers' solvers on the QUBO or on the embedded problem."""
    import dwave.samplers as samplers

    given: dict[str, Any] = {"num_reads": reads, "seed": seed, **(parameters or {})}
    if solver in _QUANTUM_SWEEPS:
        given = {**given, "seed": seed % _QUANTUM_SEEDS + 1, **(parameters or {})}
        given = _with_field(given, sweeps or _QUANTUM_SWEEPS[solver])
    elif solver == "neal" and sweeps is not None:
        given.setdefault("num_sweeps", sweeps)
    sampler = {
        "neal": samplers.SimulatedAnnealingSampler,
        "tabu": samplers.TabuSampler,
        "steepest": samplers.SteepestDescentSampler,
        "path-integral": samplers.PathIntegralAnnealingSampler,
        "rotor": samplers.RotorModelAnnealingSampler,
    }[solver]()
    return _sampled(problem, sampler, given, repair)


def _with_field(given: Mapping[str, Any], sweeps: int) -> dict[str, Any]:
    """Add a transverse field that falls to 0, unless the parameters have a schedule of their own.

    Without a field the samplers of quantum models anneal a classical one.
    """
    added = dict(given)
    if {"Hp_field", "Hd_field", "beta_schedule_type"} & added.keys():
        return added
    added.setdefault("num_sweeps", sweeps)
    steps = added["num_sweeps"] // added.get("num_sweeps_per_beta", 1)
    return {**added, "Hd_field": np.linspace(_QUANTUM_FIELD, 0.0, steps)}


def _sampled(problem: Solvable, sampler: Any, given: Mapping[str, Any], repair: str) -> Samples:
    if isinstance(problem, Embedded):
        return unembed(problem, sampler.sample(problem.to_bqm(), **given), repair=repair)
    if isinstance(problem, Program):
        answer = sampler.sample(problem.to_bqm(), **given)
        return merged_copies(unembed_program(problem, answer, repair=repair))
    qubo = _quadratic(problem)
    if not qubo.variables:
        return samples_of(qubo, np.zeros((1, 0), dtype=np.int8))
    answer = sampler.sample(qubo.to_bqm(), **given).change_vartype("BINARY", inplace=False)
    place = {label: i for i, label in enumerate(answer.variables)}
    columns = [place[v] for v in range(qubo.variables)]
    bits, violations = qubo.restrict(np.asarray(answer.record.sample)[:, columns])
    occurrences = np.asarray(answer.record.num_occurrences, dtype=np.int64)
    return samples_of(
        qubo, bits, occurrences=occurrences, violations=violations, info=_told(answer)
    )


def _told(answer: Any) -> dict[str, Any]:
    """Return the entries of the answer's info that can be written as JSON."""
    import orjson

    kept = {}
    for key, value in dict(answer.info).items():
        try:
            kept[str(key)] = orjson.loads(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        except TypeError:
            continue
    return kept


def structured_sampler(
    problem: Solvable,
    solver: Any,
    reads: int,
    machine: Machine | None,
    repair: str,
    seed: int,
    sweeps: int | None,
    parameters: Mapping[str, Any] | None,
) -> Samples:
    """Run a sampler object or the mock of a machine; embed first if the sampler has a structure."""
    if solver == "mock":
        placed = _on_mock(problem, machine, seed) if machine_of_chains(problem) is None else problem
        chip = machine_of_chains(placed)
        assert chip is not None
        sampler: Any = _mock(chip, seed, sweeps)
        return _sampled(placed, sampler, {"num_reads": reads, **(parameters or {})}, repair)
    sampler = solver
    if not hasattr(sampler, "sample"):
        raise InputError(
            f"{type(solver).__name__} is not a dimod sampler: its method sample is missing"
        )
    known = getattr(sampler, "parameters", {})
    given: dict[str, Any] = {"num_reads": reads} if "num_reads" in known else {}
    if "seed" in known:
        given["seed"] = seed
    if "num_sweeps" in known and sweeps is not None:
        given["num_sweeps"] = sweeps
    given |= parameters or {}
    if machine_sampler(sampler) is not None and machine_of_chains(problem) is None:
        problem = _embedded(_quadratic(problem), machine_from_sampler(sampler), seed)
    return _sampled(problem, sampler, given, repair)


def _on_mock(problem: Solvable, machine: Machine | None, seed: int) -> Embedded:
    """Embed on the given machine, or on the smaller of two that is likely to be large enough."""
    qubo = _quadratic(problem)
    if machine is None:
        small, large = map(load_machine, _MOCK_MACHINES)
        likely = likely_qubits(small, qubo.logical, len(qubo.ancillas))
        machine = small if likely < _ROOM * len(small.nodes) else large
    return _embedded(qubo, machine, seed)


def _embedded(qubo: Qubo, machine: Machine, seed: int) -> Embedded:
    """Embed; the tries of the search are not the reads that `solve` counts."""
    with muted():
        return embed(qubo, machine, seed=seed)


def _mock(machine: Machine, seed: int, sweeps: int | None) -> Any:
    """Return a mock of the machine with the same dead qubits and couplers."""
    sampler = copy(_mock_of(machine))
    sampler.substitute_kwargs = {"seed": seed}
    if sweeps is not None:
        sampler.substitute_kwargs["num_sweeps"] = sweeps
    return sampler


@lru_cache(2)  # Ocean's mock makes the whole graph, which takes seconds
def _mock_of(machine: Machine) -> Any:
    from dwave.samplers import SimulatedAnnealingSampler
    from dwave.system.testing import MockDWaveSampler

    return MockDWaveSampler(
        topology_type=machine.topology,
        topology_shape=list(machine.sizes),
        broken_nodes=sorted(machine.dead_qubits),
        broken_edges=sorted(machine.dead_couplers),
        substitute_sampler=SimulatedAnnealingSampler(),
    )
