"""Qubo, Pubo or Embedded -> Samples: the solvers by name, or any dimod sampler.

exact      all assignments, up to about 30 bits, and the k lowest
anneal     our annealer on the polynomial itself, no ancillas: the best stand-in for a machine
neal       dwave-samplers' simulated annealing of the QUBO, ancillas and all
tabu       dwave-samplers' tabu search of the QUBO
steepest   dwave-samplers' steepest descent on the QUBO
mock       the embedded route through MockDWaveSampler: a rehearsal of Leap without an account

Whatever the solver, ancillas are recomputed and energies are those of the polynomial.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.reduction.restore import restore
from qcompile.stages.artifacts import Floats, Pubo, Qubo
from qcompile.stages.embedded import Embedded
from qcompile.stages.machines import Machine, load_machine
from qcompile.stages.samples import Samples, samples_of

__all__ = ["SOLVERS", "enumerate_lowest", "solve"]

SOLVERS = ("exact", "anneal", "neal", "tabu", "steepest", "mock")
Progress = Callable[[int, int | None], None]

MOST_BITS = 34
_LOW_BITS = 14
_BLOCKS = 64  # Gray codes that one task walks
_MOCK_MACHINES = ("pegasus4", "advantage")
_ROOM = 0.4  # share of a small machine up to which a problem surely fits


def solve(
    problem: Pubo | Qubo | Embedded,
    *,
    solver: str | Any = "anneal",
    reads: int = 100,
    keep: int = 50,
    seed: int = 0,
    sweeps: int | None = None,
    machine: Machine | None = None,
    repair: str = "majority",
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> Samples:
    """Look for low energies; the samples are distinct and in order of energy.

    `solver` is a name or a dimod sampler, which is given the QUBO (or, if it has a structure, the
    embedded problem). `parameters` are handed to samplers of Ocean as they are. With a Dask
    `client` its workers make the restarts of "anneal"; the samples are the same.

    >>> pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0, (1,): -1.5, (2,): -0.5})
    >>> solve(pubo, solver="exact", keep=2).energies.tolist()
    [-2.5, -2.0]
    """
    from qcompile.solvers.anneal import check_counts

    check_counts(reads, sweeps, keep)
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}; expected 0 to {2**32 - 1}")
    if isinstance(solver, str) and solver not in SOLVERS:
        raise InputError(f"solver {solver!r}; expected one of {', '.join(SOLVERS)}")
    if client is not None and solver != "anneal":
        raise InputError(f"a Dask cluster for solver {solver}; only anneal's restarts run on one")
    began = time.perf_counter()
    if solver == "exact":
        found = _exact(problem, keep, progress)
    elif solver == "anneal":
        found = _anneal(problem, reads, sweeps, keep, seed, progress, client)
    elif solver == "mock" or not isinstance(solver, str):
        found = _structured(problem, solver, reads, machine, repair, seed, parameters)
    else:
        found = _ocean(problem, solver, reads, seed, sweeps, repair, parameters)
    name = solver if isinstance(solver, str) else type(solver).__name__
    info = {
        **found.info,
        "solver": name,
        "seed": seed,
        "reads": reads,
        "seconds": time.perf_counter() - began,
    }
    return replace(found.lowest(keep), info=info)


def _polynomial(problem: Pubo | Qubo | Embedded) -> Pubo:
    """Give the polynomial over the logical bits."""
    if isinstance(problem, Embedded):
        problem = problem.qubo
    return problem if isinstance(problem, Pubo) else restore(problem)


def _quadratic(problem: Pubo | Qubo | Embedded) -> Qubo:
    from qcompile.reduction.quadratize import quadratize

    if isinstance(problem, Embedded):
        return problem.qubo
    return quadratize(problem) if isinstance(problem, Pubo) else problem


def _anneal(
    problem: Pubo | Qubo | Embedded,
    reads: int,
    sweeps: int | None,
    keep: int,
    seed: int,
    progress: Progress | None,
    client: Any,
) -> Samples:
    from qcompile.solvers.anneal import anneal

    pubo = _polynomial(problem)
    bits, space = anneal(
        pubo, reads=reads, sweeps=sweeps, keep=keep, seed=seed, progress=progress, client=client
    )
    return samples_of(pubo, bits, info={"space": space})


def _exact(problem: Pubo | Qubo | Embedded, keep: int, progress: Progress | None) -> Samples:
    pubo = _polynomial(problem)
    return samples_of(pubo, enumerate_lowest(pubo, keep, progress=progress))


def enumerate_lowest(
    pubo: Pubo, keep: int, *, progress: Progress | None = None
) -> NDArray[np.int8]:
    """Give the lowest assignments of all; among equal energies the smallest numbers.

    Costs about one addition for each state and low bit: 2^30 states in some ten seconds a core.
    """
    from qcompile.runtime.threads import ordered
    from qcompile.solvers.exact_kernel import enumerate_blocks

    size = pubo.variables
    if size > MOST_BITS:
        raise InputError(
            f"{size} bits have 2^{size} assignments; exact takes up to {MOST_BITS}: use "
            "--solver anneal, or fewer bits or features"
        )
    low = min(size, _LOW_BITS)
    masks, values = _masks(pubo)
    low_masks, high_masks = masks & ((1 << low) - 1), masks >> low
    terms, starts = _terms_of_bits(high_masks, size - low)
    codes = 1 << (size - low)
    tasks = [(start, min(codes, start + _BLOCKS)) for start in range(0, codes, _BLOCKS)]
    count = min(keep, 1 << size)
    # a few more than asked for: rounding along the way may swap states of nearly equal energy
    room = count + min(count, 16)

    def visit(task: tuple[int, int]) -> tuple[Floats, NDArray[np.int64]]:
        energies = np.full(room, np.inf)
        states = np.zeros(room, dtype=np.int64)
        enumerate_blocks(
            low_masks, high_masks, values, terms, starts, low, *task, pubo.constant, energies,
            states,
        )  # fmt: skip
        return energies, states

    best = np.full(0, np.inf), np.zeros(0, dtype=np.int64)
    for done, (energies, states) in enumerate(ordered(visit, tasks), 1):
        best = _merged(best, (energies, states), room)
        if progress is not None:
            progress(done, len(tasks))
    numbers = best[1][np.isfinite(best[0])]
    bits = ((numbers[:, None] >> np.arange(size)) & 1).astype(np.int8)
    true = pubo.energies(bits)
    return np.asarray(bits[np.lexsort((numbers, true))][:count])


def _merged(
    one: tuple[Floats, NDArray[np.int64]], two: tuple[Floats, NDArray[np.int64]], room: int
) -> tuple[Floats, NDArray[np.int64]]:
    energies = np.concatenate([one[0], two[0]])
    states = np.concatenate([one[1], two[1]])
    order = np.lexsort((states, energies))[:room]
    return energies[order], states[order]


def _masks(pubo: Pubo) -> tuple[NDArray[np.int64], Floats]:
    """Write each term as a number with its bits set."""
    masks = [np.zeros(0, dtype=np.int64)]
    for rows in pubo.indices:
        masks.append((np.int64(1) << rows.astype(np.int64)).sum(axis=1).reshape(-1))
    return np.concatenate(masks), np.concatenate([np.zeros(0), *pubo.coefficients])


def _terms_of_bits(
    masks: NDArray[np.int64], bits: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """List for each bit the terms that have it."""
    lists = [np.flatnonzero((masks >> bit) & 1).astype(np.int32) for bit in range(bits)]
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in lists])]).astype(np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int32), *lists]), starts


def _ocean(
    problem: Pubo | Qubo | Embedded,
    solver: str,
    reads: int,
    seed: int,
    sweeps: int | None,
    repair: str,
    parameters: Mapping[str, Any] | None,
) -> Samples:
    """Run one of dwave-samplers' solvers on the QUBO or on the embedded problem."""
    from dwave.samplers import SimulatedAnnealingSampler, SteepestDescentSampler, TabuSampler

    given: dict[str, Any] = {"num_reads": reads, "seed": seed, **(parameters or {})}
    if solver == "neal":
        sampler: Any = SimulatedAnnealingSampler()
        if sweeps is not None:
            given.setdefault("num_sweeps", sweeps)
    else:
        sampler = TabuSampler() if solver == "tabu" else SteepestDescentSampler()
    return _sampled(problem, sampler, given, repair)


def _sampled(
    problem: Pubo | Qubo | Embedded, sampler: Any, given: Mapping[str, Any], repair: str
) -> Samples:
    from qcompile.embedding.unembed import unembed

    if isinstance(problem, Embedded):
        return unembed(problem, sampler.sample(problem.to_bqm(), **given), repair=repair)
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
    """Keep what an answer says about itself as far as it can be written down."""
    import orjson

    kept = {}
    for key, value in dict(answer.info).items():
        try:
            kept[str(key)] = orjson.loads(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        except TypeError:
            continue
    return kept


def _structured(
    problem: Pubo | Qubo | Embedded,
    solver: Any,
    reads: int,
    machine: Machine | None,
    repair: str,
    seed: int,
    parameters: Mapping[str, Any] | None,
) -> Samples:
    """Run a sampler object, or the mock of a machine; embed first where it has a structure."""
    from qcompile.embedding.embed import embed
    from qcompile.stages.machines import machine_from_sampler

    if solver == "mock":
        if isinstance(problem, Embedded):
            machine = problem.embedding.machine
        embedded = problem if isinstance(problem, Embedded) else _on_mock(problem, machine, seed)
        sampler: Any = _mock(embedded.embedding.machine, seed)
        return _sampled(embedded, sampler, {"num_reads": reads, **(parameters or {})}, repair)
    sampler = solver
    if not hasattr(sampler, "sample"):
        raise InputError(f"{type(solver).__name__} is no dimod sampler: it has no sample method")
    known = getattr(sampler, "parameters", {})
    given: dict[str, Any] = {"num_reads": reads} if "num_reads" in known else {}
    if "seed" in known:
        given["seed"] = seed
    given |= parameters or {}
    structured = hasattr(sampler, "nodelist") and "topology" in getattr(sampler, "properties", {})
    if structured and not isinstance(problem, Embedded):
        live = machine_from_sampler(sampler)
        problem = embed(_quadratic(problem), live, seed=seed)
    return _sampled(problem, sampler, given, repair)


def _on_mock(problem: Pubo | Qubo, machine: Machine | None, seed: int) -> Embedded:
    """Embed on the machine that is named, or the smaller of two on which it is likely to fit."""
    from qcompile.embedding.capacity import likely_qubits
    from qcompile.embedding.embed import embed

    qubo = _quadratic(problem)
    if machine is None:
        small, large = map(load_machine, _MOCK_MACHINES)
        likely = likely_qubits(small, qubo.logical, len(qubo.ancillas))
        machine = small if likely < _ROOM * len(small.nodes) else large
    return embed(qubo, machine, seed=seed)


def _mock(machine: Machine, seed: int) -> Any:
    """Give a mock of the machine with the same dead qubits and couplers."""
    from dwave.samplers import SimulatedAnnealingSampler
    from dwave.system.testing import MockDWaveSampler

    return MockDWaveSampler(
        topology_type=machine.topology,
        topology_shape=list(machine.sizes),
        broken_nodes=sorted(machine.dead_qubits),
        broken_edges=sorted(machine.dead_couplers),
        substitute_sampler=SimulatedAnnealingSampler(),
        substitute_kwargs={"seed": seed},
    )
