"""The solver of a round: the same kind of problem many times, with chains found once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from qcompile.embedding.complete import complete_chains, largest_clique, with_chains
from qcompile.errors import InputError
from qcompile.files.machines import load_machine, machine_from_sampler, machine_sampler
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime import cluster
from qcompile.runtime.threads import at_most
from qcompile.solvers.options import ANNEALING, RESTARTED, SolveOptions
from qcompile.solvers.solve import solve
from qcompile.stages.embedded import Embedded
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = ["Inner", "Place", "StepSolver", "step_size"]


# One core is faster than starting threads for so much work: reads x sweeps x bits².
_SMALL = 3e7
_SWEEPS = 200  # of solve, where nothing is said
# Sweeps of a round: the loop forgives an answer that is not the lowest, but many bits need more.
_FEW, _MANY_BITS = 50, 150
# Bits of a round on a laptop, and of one that is solved by trying all states.
_MOST_BITS, _MOST_TRIED = 1000, 20
_MOCK_MACHINES = ("pegasus4", "advantage")


class Place(NamedTuple):
    """A round of a training: the number of its start and its own, both from 0 on."""

    start: int
    number: int


class StepSolver(Protocol):
    """What looks for a step in every round of a training.

    `ended` is a reason why no further round is made, known before anything is asked of the solver.
    """

    @property
    def name(self) -> str:
        """The name of the solver."""

    @property
    def size(self) -> int:
        """The most weights that a round may change."""

    @property
    def ended(self) -> str:
        """Why a training that was resumed had ended, or nothing."""

    def stored(self, place: Place) -> tuple[Qubo, ...]:
        """Return the problems of a round that was begun before, which is gone on with."""

    def refusal(self, place: Place) -> str:
        """Return why a new round cannot be paid for, or nothing."""

    def sample(
        self, problems: Sequence[Pubo | Qubo], place: Place, *, seed: int, keep: int
    ) -> list[tuple[Samples, Pubo | Qubo]]:
        """Return the lowest samples of each step, and the problem that was solved."""


def step_size(features: int, most: int, *, bits: int, block: int | None, place: str) -> int:
    """Return the most weights that a round may change on a machine that takes `most` bits.

    `block` is the number that was asked for; None is as many as the machine takes.
    """
    wanted = features if block is None else min(block, features)
    if block is not None and wanted > most // bits:
        raise InputError(
            f"a block of {wanted} weights with {bits} bits each; {place} takes up to "
            f"{most // bits} weights: choose a smaller block="
        )
    if most < bits:
        raise InputError(f"{bits} bits a weight; {place} takes up to {most} bits")
    return min(wanted, most // bits)


@dataclass(frozen=True, eq=False)
class Inner:
    """The solver that looks for a step, the most weights it takes, and the machine if it has one.

    Chains for a complete graph on the machine are found once and serve every round.
    """

    options: SolveOptions
    size: int
    machine: Machine | None = None

    @classmethod
    def of(
        cls,
        options: SolveOptions,
        features: int,
        *,
        bits: int = 1,
        block: int | None = None,
        machine: Machine | None = None,
    ) -> Inner:
        """Return the solver for steps of so many weights, each with so many bits.

        `block` is the most weights that a round may change; None is as many as the solver takes.
        """
        wanted = features if block is None else min(block, features)
        chip = _chip(options, machine, wanted * bits)
        place = str(options.solver) if chip is None else chip.name
        most = _most_bits(options, chip)
        size = step_size(features, most, bits=bits, block=block, place=place)
        if options.solver in ANNEALING and options.sweeps is None:
            options = replace(options, sweeps=_FEW if size * bits <= _MANY_BITS else 2 * _FEW)
        return cls(options, size, chip)

    @property
    def name(self) -> str:
        """The name of the solver."""
        solver = self.options.solver
        return solver if isinstance(solver, str) else type(solver).__name__

    @property
    def ended(self) -> str:
        """Nothing: a training on this computer is not resumed."""
        return ""

    def stored(self, place: Place) -> tuple[Qubo, ...]:
        """Return nothing: no round was begun before."""
        return ()

    def refusal(self, place: Place) -> str:
        """Return nothing: rounds cost no money here."""
        return ""

    def sample(
        self, problems: Sequence[Pubo | Qubo], place: Place, *, seed: int, keep: int
    ) -> list[tuple[Samples, Pubo | Qubo]]:
        """Return the lowest samples of each step, and the problem that was solved.

        `keep` of them are enough, but the chains of more tell how many break.
        """
        return [self._one(own, seed=seed + k, keep=keep) for k, own in enumerate(problems)]

    def _one(self, problem: Pubo | Qubo, *, seed: int, keep: int) -> tuple[Samples, Pubo | Qubo]:
        options = self.options
        if options.solver not in ("exact", *RESTARTED) and isinstance(problem, Pubo):
            problem, keep = quadratize(problem), max(keep, options.keep)
        work = options.reads * (options.sweeps or _SWEEPS) * problem.variables**2
        with at_most(1) if work < _SMALL else nullcontext(), cluster.locally():
            found = solve(
                self._placed(problem),
                solver=options.solver,
                reads=options.reads,
                keep=keep,
                seed=seed,
                sweeps=options.sweeps,
                machine=self.machine,
                parameters=options.parameters,
            )
        return found, problem

    def _placed(self, problem: Pubo | Qubo) -> Pubo | Qubo | Embedded:
        """Return the problem on its chains; ancillas need chains of their own each time."""
        if self.machine is None or not isinstance(problem, Qubo) or len(problem.ancillas):
            return problem
        return with_chains(problem, complete_chains(self.machine, problem.variables))


def _chip(options: SolveOptions, machine: Machine | None, bits: int) -> Machine | None:
    """Return the machine that a solver stands for; None for one that takes any problem."""
    solver = options.solver
    if solver == "mock":
        if machine is not None:
            return machine
        small, large = map(load_machine, _MOCK_MACHINES)
        return small if bits <= largest_clique(small) else large
    if solver == "rehearse":
        return machine or load_machine(None)
    if machine_sampler(solver) is None:
        return None
    return machine_from_sampler(solver) if machine is None else machine


def _most_bits(options: SolveOptions, chip: Machine | None) -> int:
    if chip is not None:
        return largest_clique(chip)
    return _MOST_TRIED if options.solver == "exact" else _MOST_BITS
