"""Rehearse a training in rounds: how many rounds, and how good a classifier, with errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.rehearsal.record import Figure, figure_of
from qcompile.rehearsal.rehearse import with_published_yield
from qcompile.runtime.progress import Progress, muted, report, retitle, shown_by
from qcompile.runtime.timing import passing
from qcompile.solvers.noise import MachineModel
from qcompile.solvers.options import SolveOptions
from qcompile.stages.dataset import Dataset
from qcompile.stages.interval import ErrorInterval
from qcompile.stages.record import Record
from qcompile.training.rounds import RoundOptions
from qcompile.training.train import Trained, train

__all__ = ["TrainingDraw", "TrainingRehearsal", "rehearse_training"]


_log = logging.getLogger("qcompile")
_MOST_DRAWS = 1000


@dataclass(frozen=True)
class TrainingDraw(Record):
    """A training in rounds with one draw of the errors.

    `objective_above` is its objective above that of the training without errors, and `errors` are
    its classification errors by part of the data. `broken` is the mean share of broken chains.
    """

    rounds: int
    objective_above: float
    broken: float
    errors: dict[str, float]


@dataclass(frozen=True)
class TrainingRehearsal(Record):
    """What a simulated machine with errors makes of a training; no real machine was used.

    `rounds_without` and `objective_without` are those of the same training by simulated annealing,
    without a machine; `descent_objective` is that of L-BFGS, None if it was not run. `weights` is
    the most that a round may change. `interrupted` says that fewer draws were made than asked for.
    `rows` are counted by part of the data.
    """

    machine: str
    working_qubits: int
    weights: int
    reads: int
    model: MachineModel
    draws: tuple[TrainingDraw, ...]
    rounds_without: int
    objective_without: float
    errors_without: dict[str, float]
    descent_objective: float | None
    interrupted: bool = False
    rows: dict[str, int] = field(default_factory=dict)

    @property
    def rounds(self) -> Figure:
        """The rounds to expect."""
        return figure_of([draw.rounds for draw in self.draws])

    @property
    def objective_above(self) -> Figure:
        """The objective above that of the training without errors."""
        return figure_of([draw.objective_above for draw in self.draws])

    @property
    def broken(self) -> Figure:
        """The share of broken chains."""
        return figure_of([draw.broken for draw in self.draws])

    @property
    def errors_above(self) -> dict[str, Figure]:
        """What the errors of the machine cost in classification error, by part of the data."""
        return {
            part: figure_of([draw.errors[part] - error for draw in self.draws])
            for part, error in self.errors_without.items()
        }

    @property
    def intervals(self) -> dict[str, ErrorInterval]:
        """The exact 95% interval of each error without errors of a machine."""
        return {
            part: ErrorInterval.of(self.errors_without[part], rows)
            for part, rows in self.rows.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key, figures over the draws among them."""
        return super().to_dict() | {
            "rounds": self.rounds,
            "objective_above": self.objective_above,
            "share_of_chains_broken": self.broken,
            "errors_above": self.errors_above,
            "intervals": self.intervals,
        }


def rehearse_training(
    data: Dataset | str | Path,
    machine: MachineSource | None = None,
    *,
    draws: int = 3,
    reads: int = 100,
    errors: float = 1.0,
    beta: float | None = None,
    engine: str = "anneal",
    sweeps: int | None = None,
    rounds: RoundOptions | int | None = None,
    test: Dataset | float = 0.0,
    draw_dead: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> TrainingRehearsal:
    """Train in rounds on a simulated machine with errors, for several draws of the errors.

    Each round has errors of its own, as if the machine were programmed anew. `machine`, `errors`,
    `beta`, `engine` and `draw_dead` are those of `rehearse`; of several published temperatures that
    of single qubits is taken. Other options are those of `train`. `progress(done, total)` counts
    draws. After Ctrl-C the draws so far are kept.

    >>> few = {"draws": 1, "reads": 20, "rounds": 5}
    >>> found = rehearse_training("breast-cancer", "pegasus4", beta=5.0, **few)
    >>> len(found.draws), found.draws[0].rounds
    (1, 5)
    """
    from qcompile.solvers.mock_machine import RehearsedMachine  # heavy: it needs dimod

    if not 1 <= draws <= _MOST_DRAWS:
        raise InputError(f"{draws} draws; expected 1 to {_MOST_DRAWS:,}")
    chip = load_machine(machine)
    if draw_dead:
        chip = with_published_yield(chip, seed=seed)
    known: dict[str, Any] = {"rounds": rounds, "test": test, "seed": seed, **options}
    known = {"data": data, "method": "rounds", **known}

    def one(number: int) -> Trained:
        sampler = RehearsedMachine(
            chip, errors=errors, beta=beta, engine=engine, seed=(seed + number) % 2**32
        )
        return train(options=SolveOptions(sampler, reads, sweeps=sweeps, seed=seed), **known)

    with shown_by(progress):
        retitle("train without errors")
        with passing("train without errors"), muted():
            ideal = train(**known)
        retitle("rehearse")
        with passing("train with errors"):
            found = _draws(one, draws)
    model = RehearsedMachine(chip, errors=errors, beta=beta, engine=engine).model
    told = _told(ideal, found, reads, replace(model, sweeps=sweeps or model.sweeps))
    return replace(
        told,
        machine=chip.name,
        working_qubits=len(chip.nodes),
        interrupted=len(found) < draws,
    )


def _draws(one: Callable[[int], Trained], draws: int) -> list[Trained]:
    """Return the trainings; after Ctrl-C those that were complete."""
    found: list[Trained] = []
    report(0, draws)
    for number in range(draws):
        try:
            with muted():
                trained = one(number)
        except KeyboardInterrupt:
            trained = None
        if trained is None or _is_cut(trained):
            if not found:
                raise KeyboardInterrupt
            _log.warning("interrupted: keeping %d of %d draws", len(found), draws)
            break
        found.append(trained)
        report(len(found), draws)
    return found


def _is_cut(trained: Trained) -> bool:
    """Whether Ctrl-C ended a training: it then keeps what it has learnt, and says so."""
    return any(stage.size.endswith(", interrupted") for stage in trained.stages)


def _told(
    ideal: Trained, found: Sequence[Trained], reads: int, model: MachineModel
) -> TrainingRehearsal:
    """Return the record of the trainings, without the machine."""
    compared = [risk.objective for risk in ideal.risks[1:]]
    return TrainingRehearsal(
        machine="",
        working_qubits=0,
        weights=max((one.weights for own in found for one in own.rounds), default=0),
        reads=reads,
        model=model,
        draws=tuple(
            TrainingDraw(
                rounds=len(own.rounds),
                objective_above=own.objective - ideal.objective,
                broken=sum(one.broken for one in own.rounds) / max(1, len(own.rounds)),
                errors=dict(own.errors),
            )
            for own in found
        ),
        rounds_without=len(ideal.rounds),
        objective_without=ideal.objective,
        errors_without=dict(ideal.errors),
        descent_objective=compared[0] if compared else None,
        rows=dict(ideal.rows),
    )
