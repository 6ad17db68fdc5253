"""Rehearse a problem: the QUBO on chains, on a simulated machine with its published faults."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qcompile.data.given import DataSource
from qcompile.data.replay import prepared, recorded_rows
from qcompile.embedding.chain_strength import with_strength
from qcompile.embedding.embed import EmbeddingNotFound, embed
from qcompile.embedding.scaling import scaling_of
from qcompile.errors import InputError
from qcompile.files.embedding import load_embedding
from qcompile.files.machines import MachineSource, load_machine
from qcompile.files.qubo import QuboSource, qubo_of
from qcompile.rehearsal.bits import with_other_bits
from qcompile.rehearsal.reads import lowest_of, reads_for, steps_up_to
from qcompile.rehearsal.record import (
    BitsRehearsed,
    Draw,
    Figure,
    Rehearsal,
    StrengthRehearsed,
)
from qcompile.rehearsal.sampled import Reads, sample_draw
from qcompile.runtime.progress import Progress, muted, report, retitle, shown_by
from qcompile.runtime.threads import ordered
from qcompile.runtime.timing import passing
from qcompile.solvers.noise import MachineModel, models_of
from qcompile.solvers.solve import solve
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import Embedded, Embedding
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["FACTORS", "rehearse", "with_published_yield"]


_log = logging.getLogger("qcompile")

FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0)
_MOST_DRAWS, _MOST_READS = 1000, 100_000
_MOST_TRIED = 20  # logical bits up to which all states are tried
_RANDOM = 1000  # states from which the span is estimated
# Energies that differ by less are equal: sums are rounded.
_EQUAL = 1e-9


def rehearse(
    qubo: QuboSource,
    machine: MachineSource | None = None,
    *,
    data: DataSource | None = None,
    draws: int = 5,
    reads: int = 100,
    errors: float = 1.0,
    beta: float | Sequence[float] | None = None,
    engine: str = "anneal",
    sweeps: int | None = None,
    chain_strength: float | str = "torque",
    factors: Sequence[float] = FACTORS,
    tolerance: float = 0.01,
    embedding: Embedding | str | Path | None = None,
    compare_bits: bool = False,
    draw_dead: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Rehearsal:
    """Sample a problem on a simulated machine with errors, for several draws of the errors.

    A machine of which the working qubits are published, and no dead ones are known, gets as many
    dead qubits and couplers at random, unless `draw_dead` is false. The problem is embedded, or put
    on the chains of `embedding`, whose machine is the default, and scaled to the machine's ranges.
    `errors` multiplies the published control errors of h and J, and `beta` is the inverse
    temperature, or several, in the machine's units; None is what follows from the published
    temperatures, or a range. `engine` is "anneal" or "path-integral". Each draw is sampled at all
    `factors` of `chain_strength`.

    `data` are rows, or whatever `read` takes, to count classification errors on; by default the
    training rows if the problem's record leads to them. `tolerance` is the share of the span from
    the best to random states within which a read is near the best. `compare_bits` rehearses the
    problem also with one bit a weight less and one more, from the training rows or `data`, at the
    chain strength that was chosen. `progress(done, total)` counts draws. After Ctrl-C the draws so
    far are kept.

    >>> from qcompile import Pubo, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1): 2.0, (0,): -1.0, (1,): -3.0, (2,): 1.0}))
    >>> found = rehearse(qubo, "chimera4", beta=8.0, draws=2, reads=10, factors=(1.0,))
    >>> found.best_energy, found.chosen[0].lowest_above.mean
    (-3.0, 0.0)
    """
    _check(draws, reads, factors, tolerance)
    qubo = qubo_of(qubo)
    rows = _rows(qubo, data)
    others = with_other_bits(qubo, recorded_rows(qubo) or rows) if compare_bits else {}
    if embedding is not None and not isinstance(embedding, Embedding):
        embedding = load_embedding(embedding)
    own = None if embedding is None or machine is not None else embedding.machine
    chip = own or load_machine(machine)
    if draw_dead and embedding is None:
        chip = with_published_yield(chip, seed=seed)
    models = models_of(chip, errors=errors, beta=beta, engine=engine, sweeps=sweeps)
    with shown_by(progress):
        retitle("embed")
        with passing("embed"), muted():
            embedded = _embedded(qubo, chip, embedding, chain_strength, seed)
        retitle("best known state")
        with passing("best known state"), muted():
            known = _best_known(qubo, seed)
        retitle("rehearse")
        with passing("rehearse"):
            sampled = _draws(embedded, models, factors, draws, reads, seed)
        task = _Task(embedded, models, tuple(sorted(factors)), rows, tolerance, reads, seed)
        found = replace(_told(task, known, sampled), interrupted=len(sampled) < draws)
        if others and not found.interrupted:
            retitle("other bits")
            found = replace(found, bits=_compared(task, found, others, chip, chain_strength))
    return found


def _check(draws: int, reads: int, factors: Sequence[float], tolerance: float) -> None:
    """Raise InputError for counts and factors out of range."""
    if not (1 <= draws <= _MOST_DRAWS and 1 <= reads <= _MOST_READS):
        raise InputError(
            f"{draws} draws of {reads} reads; expected 1 to {_MOST_DRAWS:,} draws and 1 to "
            f"{_MOST_READS:,} reads"
        )
    if not factors or not all(0 < factor < 1e6 for factor in factors):
        raise InputError(f"factors {tuple(factors)}; expected numbers above 0, at least one")
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance {tolerance}; expected a share from 0 to below 1")


def _rows(qubo: Qubo, data: DataSource | None) -> Dataset | None:
    """Return the rows to count classification errors on, if there are any."""
    if data is None:
        return recorded_rows(qubo)
    if qubo.preparation is None or qubo.encoding is None:
        raise InputError("rows for a problem that was not compiled from data: leave them out")
    rows = data if isinstance(data, Dataset) else prepared(data, qubo)
    if rows.features != qubo.preparation.features:
        raise InputError(
            f"data of {rows.features} features; the problem has {qubo.preparation.features}: "
            "expected rows that are prepared as for it"
        )
    return rows


def with_published_yield(machine: Machine, *, seed: int) -> Machine:
    """Return the machine with as many dead qubits and couplers as published, drawn at random.

    A machine whose dead ones are known, or of which no numbers are published, stays as it is.
    """
    known = machine.dead_qubits or machine.dead_couplers
    if known or machine.qubits is None or machine.couplers is None:
        return machine
    return machine.with_yield("published", seed=seed)


def _embedded(
    qubo: Qubo,
    machine: Machine,
    embedding: Embedding | str | Path | None,
    chain_strength: float | str,
    seed: int,
) -> Embedded:
    if not qubo.variables:
        raise InputError("a problem without variables: there is nothing to rehearse")
    return embed(qubo, machine, embedding=embedding, chain_strength=chain_strength, seed=seed)


@dataclass(frozen=True, eq=False)
class _Known:
    """The best state that is known, its energy, and what found it."""

    bits: NDArray[np.int8]
    energy: float
    by: str


def _best_known(qubo: Qubo, seed: int) -> _Known:
    """Return the lowest state that this computer finds without a machine."""
    solver = "exact" if qubo.logical <= _MOST_TRIED else "anneal"
    found = solve(qubo, solver=solver, seed=seed, keep=1)
    return _Known(found.bits[0], float(found.energies[0]), solver)


def _draws(
    embedded: Embedded,
    models: Sequence[MachineModel],
    factors: Sequence[float],
    draws: int,
    reads: int,
    seed: int,
) -> list[list[Reads]]:
    """Return the reads of each draw; after Ctrl-C those of the draws that were complete."""

    def one(number: int) -> list[Reads]:
        return sample_draw(embedded, models, sorted(factors), reads=reads, seed=seed, number=number)

    found: list[list[Reads]] = []
    results = ordered(one, range(draws))
    report(0, draws)
    try:
        for sampled in results:
            found.append(sampled)
            report(len(found), draws)
    except KeyboardInterrupt:
        results.close()  # waits for the draws that are running
        if not found:
            raise
        _log.warning("interrupted: keeping %d of %d draws", len(found), draws)
    return found


@dataclass(frozen=True, eq=False)
class _Task:
    """What was sampled, and how it is to be judged."""

    embedded: Embedded
    models: tuple[MachineModel, ...]
    factors: tuple[float, ...]
    rows: Dataset | None
    tolerance: float
    reads: int
    seed: int


def _told(task: _Task, known: _Known, sampled: list[list[Reads]]) -> Rehearsal:
    """Return the record of all draws, judged by the best state that anything found."""
    qubo, model = task.embedded.qubo, task.models[0]
    for reads in (one for draw in sampled for one in draw):
        if reads.energies.min() < known.energy - _EQUAL * (1 + abs(known.energy)):
            known = _Known(reads.lowest, float(reads.energies.min()), "reads")
    span = _span(qubo, known.energy, task.seed)
    own = None if task.rows is None else task.rows.error(qubo.decode(known.bits))
    settings = [(model, factor) for model in task.models for factor in task.factors]
    tried = tuple(
        _at_strength(task, known, span, own, *setting, [draw[place] for draw in sampled])
        for place, setting in enumerate(settings)
    )
    chains = task.embedded.embedding
    return Rehearsal(
        machine=chains.machine.name,
        variables=qubo.variables,
        qubits=chains.qubits,
        longest_chain=chains.longest,
        working_qubits=len(chains.machine.nodes),
        engine=model.engine,
        sweeps=model.sweeps,
        reads=task.reads,
        draws=len(sampled),
        sigma_h=model.sigma_h,
        sigma_j=model.sigma_j,
        errors_source=model.errors_source,
        betas=tuple(one.beta for one in task.models),
        beta_sources=tuple(one.beta_source for one in task.models),
        best_energy=known.energy,
        best_by=known.by,
        best_error=own,
        span=span,
        tolerance=task.tolerance,
        tried=tried,
    )


def _compared(
    task: _Task,
    found: Rehearsal,
    others: Mapping[int, Qubo],
    machine: Machine,
    chain_strength: float | str,
) -> tuple[BitsRehearsed, ...]:
    """Return what other numbers of bits lead to, and the given one between them."""
    encoding, chosen, model = task.embedded.qubo.encoding, found.chosen[-1], task.models[-1]
    assert encoding is not None and task.rows is not None  # `with_other_bits` has asked for both
    compared = [_with_bits(encoding.bits, found)]
    for bits, qubo in others.items():
        try:
            with muted():
                embedded = _embedded(qubo, machine, None, chain_strength, task.seed)
                known = _best_known(qubo, task.seed)
                sampled = _draws(
                    embedded, [model], [chosen.factor], found.draws, task.reads, task.seed
                )
        except EmbeddingNotFound as error:
            _log.warning("warning: %d bits a weight are not compared: %s", bits, error)
            continue
        own = replace(task, embedded=embedded, models=(model,), factors=(chosen.factor,))
        compared.append(_with_bits(bits, _told(own, known, sampled)))
    return tuple(sorted(compared, key=lambda one: one.bits))


def _with_bits(bits: int, found: Rehearsal) -> BitsRehearsed:
    error, above = found.best_error, found.chosen[-1].error_above
    assert error is not None and above is not None
    return BitsRehearsed(
        bits=bits,
        variables=found.variables,
        qubits=found.qubits,
        best_error=error,
        error=Figure(error + above.mean, above.spread),
    )


def _span(qubo: Qubo, lowest: float, seed: int) -> float:
    """Return the mean energy of random states above the lowest one."""
    states = np.random.default_rng(seed).integers(0, 2, (_RANDOM, qubo.logical), dtype=np.int8)
    return max(0.0, float(qubo.score(states).mean()) - lowest)


def _at_strength(
    task: _Task,
    known: _Known,
    span: float,
    own: float | None,
    model: MachineModel,
    factor: float,
    draws: list[Reads],
) -> StrengthRehearsed:
    """Return the figures of one inverse temperature and one chain strength."""
    tried = with_strength(task.embedded, factor * task.embedded.chain_strength)
    above = [np.maximum(0.0, one.energies - known.energy) for one in draws]
    equal = _EQUAL * (1 + abs(known.energy))
    costs: list[float | None] = [None] * len(draws)
    if task.rows is not None and own is not None:
        weights = task.embedded.qubo.decode(np.stack([one.lowest for one in draws]))
        costs = [float(error) - own for error in task.rows.errors(weights)]
    judged = tuple(
        Draw(
            best=float(np.mean(high <= equal)),
            broken=one.broken,
            mean_above=float(high.mean()),
            lowest_above=float(high.min()),
            error_above=cost,
        )
        for one, high, cost in zip(draws, above, costs, strict=True)
    )
    near = max(equal, task.tolerance * span)
    return StrengthRehearsed(
        beta=model.beta,
        factor=factor,
        chain_strength=tried.chain_strength,
        scale_factor=scaling_of(tried).factor,
        draws=judged,
        reads_for_best=reads_for([draw.best for draw in judged]),
        reads_within=reads_for([float(np.mean(high <= near)) for high in above]),
        lowest_by_reads=tuple(
            (count, _lowest(above, count, equal)) for count in steps_up_to(task.reads)
        ),
    )


def _lowest(above: Sequence[Floats], reads: int, equal: float) -> float:
    """Return the energy above the best that the lowest of so many reads is expected to have."""
    mean = float(np.mean([lowest_of(high, reads) for high in above]))
    return mean if mean > equal else 0.0
