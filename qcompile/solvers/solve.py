"""Pubo, Qubo or Embedded -> Samples: choose the solver by its name."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from qcompile.errors import InputError
from qcompile.files.interchange import problem_of
from qcompile.files.machines import MachineSource, load_machine
from qcompile.reduction.restore import restore
from qcompile.runtime import cluster
from qcompile.runtime.progress import Progress, shown_by
from qcompile.solvers.anneal import annealed
from qcompile.solvers.dwave import (
    Solvable,
    compiled,
    machine_of_chains,
    sample_with_ocean,
    structured_sampler,
)
from qcompile.solvers.exact import enumerate_lowest, exact_energies
from qcompile.solvers.indicators import Indicators, with_best_indicators
from qcompile.solvers.memetic import searched
from qcompile.solvers.options import RESTARTED, SolveInfo
from qcompile.solvers.restarts import Ending, check_counts
from qcompile.stages.arrays import frozen
from qcompile.stages.embedded import Embedded
from qcompile.stages.machine import Machine
from qcompile.stages.program import Program
from qcompile.stages.pubo import Pubo
from qcompile.stages.samples import Samples, samples_of

__all__ = ["SOLVERS", "solve"]


SOLVERS = (
    "auto", "exact", "anneal", "memetic", "neal", "tabu", "steepest", "path-integral", "rotor",
    "mock", "rehearse",
)  # fmt: skip


def solve(
    problem: Solvable | str | Path,
    *,
    solver: str | Any = "anneal",
    reads: int = 100,
    keep: int = 50,
    seed: int = 0,
    sweeps: int | None = None,
    machine: MachineSource | None = None,
    repair: str = "majority",
    parameters: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> Samples:
    """Search for low energies; the samples are distinct and in order of energy.

    Where ℓ0 is charged, samples are distinct in their weights: indicators are the best for them.

    "anneal" anneals the polynomial, "memetic" searches it by tabu walks from crossings of its
    lowest states, and "auto" lets both share the reads, with as much work for each; each read of
    "memetic" makes `sweeps` flips a variable. Occurrences count reads: of these three the restarts
    of which a state was the lowest, at least 1; "exact" visits every state once.

    The three end after `time_limit` seconds or when an energy of `target` or lower is found, and
    keep the lowest states so far. With a time limit samples depend on the speed of the computer.

    `problem` may be the file of a QUBO or of a polynomial, and `machine` a name or a TOML file. A
    program of copies of one problem gives as many samples a read.

    "rehearse" is one draw of the errors of a machine (see `RehearsedMachine`): `seed` chooses it.

    `solver` is a name or a dimod sampler, which is given the QUBO (or, if it has a structure, the
    embedded problem). `parameters` are passed to samplers of Ocean as they are.
    `progress(done, total)` counts the restarts or the tasks of "exact". With a Dask `client` its
    workers make the restarts; the samples are the same.

    >>> pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0, (1,): -1.5, (2,): -0.5})
    >>> solve(pubo, solver="exact", keep=2).energies.tolist()
    [-2.5, -2.0]
    """
    check_counts(reads, sweeps, keep)
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}; expected 0 to {2**32 - 1}")
    if isinstance(solver, str) and solver not in SOLVERS:
        raise InputError(f"solver {solver!r}; expected one of {', '.join(SOLVERS)}")
    if not isinstance(problem, Embedded | Program):
        problem = problem_of(problem)
    chip = None if machine is None else load_machine(machine)
    ending = Ending(time_limit, target)
    if ending != Ending() and solver not in RESTARTED:
        raise InputError(
            f"a time limit or a target with solver {solver}; expected one of {', '.join(RESTARTED)}"
        )
    began = time.perf_counter()
    with shown_by(progress), cluster.using(client):
        _check_cluster(solver, time_limit)
        if solver == "exact":
            found = _exact(problem, keep)
        elif solver in RESTARTED:
            found = _restarted(problem, solver, reads, sweeps, keep, seed, ending)
        elif solver == "mock" or not isinstance(solver, str):
            found = structured_sampler(
                problem, solver, reads, chip, repair, seed, sweeps, parameters
            )
        elif solver == "rehearse":
            sampler = _rehearsed(problem, chip, seed)
            found = structured_sampler(
                problem, sampler, reads, chip, repair, seed, sweeps, parameters
            )
        else:
            found = sample_with_ocean(problem, solver, reads, seed, sweeps, repair, parameters)
        if solver not in ("exact", *RESTARTED):
            found = _with_best_indicators(problem, found)
    name = solver if isinstance(solver, str) else type(solver).__name__
    own = SolveInfo(name, seed=seed, reads=reads, seconds=time.perf_counter() - began)
    if solver != "exact":  # its states are in the order of sums that were not rounded
        found = found.lowest(keep)
    # after Ctrl-C fewer restarts were made than asked for
    made = {"reads": found.info["reads"]} if solver in RESTARTED else {}
    return replace(found, info={**found.info, **own.to_dict(), **made})


def _rehearsed(problem: Solvable, chip: Machine | None, seed: int) -> Any:
    """Return the sampler of a rehearsal: the machine of the chains, the given or the default."""
    from qcompile.solvers.mock_machine import RehearsedMachine  # heavy: it needs dimod

    return RehearsedMachine(machine_of_chains(problem) or chip, seed=seed)


def _check_cluster(solver: str | Any, time_limit: float | None) -> None:
    """Raise InputError if there is a cluster that this solver cannot use."""
    if cluster.current() is None:
        return
    if solver not in RESTARTED:
        raise InputError(
            f"a Dask cluster with solver {solver}; only the restarts of {', '.join(RESTARTED)} run "
            "on a cluster"
        )
    if time_limit is not None:
        raise InputError(
            "a time limit with a Dask cluster, whose clocks may differ; expected one of the two: "
            "choose the number of reads"
        )


def _polynomial(problem: Solvable) -> Pubo:
    """Return the polynomial over the logical bits."""
    plain = compiled(problem)
    return plain if isinstance(plain, Pubo) else restore(plain)


def _with_best_indicators(problem: Solvable, found: Samples) -> Samples:
    """Return samples of a sampler with indicators that follow from the weights, if it has any."""
    plain = compiled(problem)
    encoding = plain.encoding
    if not plain.l0 or encoding is None or plain.logical == encoding.variables:
        return found
    return with_best_indicators(plain, _polynomial(problem), found)


def _restarted(
    problem: Solvable,
    solver: str,
    reads: int,
    sweeps: int | None,
    keep: int,
    seed: int,
    ending: Ending,
) -> Samples:
    """Anneal, search, or both."""
    pubo = _polynomial(problem)
    indicators = Indicators.of(pubo)
    over = pubo if indicators is None else indicators.eliminated(pubo)
    given: dict[str, Any] = {"reads": reads, "sweeps": sweeps, "keep": keep, "seed": seed}
    if solver == "anneal":
        found = annealed(over, **given, ending=ending)
    else:
        found = searched(over, solver=solver, **given, ending=ending)
    bits = found.bits if indicators is None else indicators.best(found.bits)
    info = {"space": found.space, "reads": found.reads}
    return samples_of(pubo, bits, occurrences=found.occurrences, info=info)


def _exact(problem: Solvable, keep: int) -> Samples:
    pubo = _polynomial(problem)
    indicators = Indicators.of(pubo)
    if indicators is None:
        bits = enumerate_lowest(pubo, keep)
    else:
        bits = indicators.best(enumerate_lowest(indicators.eliminated(pubo), keep))
    return replace(samples_of(pubo, bits), energies=frozen(exact_energies(pubo, bits)))
