"""The solver of a round: the same kind of problem many times, with chains found once."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from qcompile.reduction.quadratize import quadratize
from qcompile.runtime import cluster
from qcompile.runtime.threads import at_most
from qcompile.solvers.options import SolveOptions
from qcompile.solvers.solve import solve
from qcompile.stages.machine import Machine
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = ["Inner"]


# One core is faster than starting threads for so much work: reads x sweeps x bits².
_SMALL = 3e7
# Reads and sweeps of a round by default: the loop forgives an answer that is not the lowest.
_READS, _SWEEPS = 8, 50
_MOST_BITS = 1000  # of a block on a laptop


@dataclass(frozen=True, eq=False)
class Inner:
    """The solver that looks for a step."""

    options: SolveOptions
    machine: Machine | None = None

    @classmethod
    def of(cls, options: SolveOptions, machine: Machine | None = None) -> Inner:
        """Return the solver of a round for these options."""
        return cls(options, machine)

    @property
    def name(self) -> str:
        """The name of the solver."""
        solver = self.options.solver
        return solver if isinstance(solver, str) else type(solver).__name__

    def block(self, wanted: int | None, bits: int | None) -> int:
        """Return the most weights that a round may change, each with so many bits."""
        most = _MOST_BITS // (bits or 1)
        return most if wanted is None else wanted

    def sample(self, pubo: Pubo, *, seed: int) -> tuple[Samples, Pubo | Qubo]:
        """Return samples of the polynomial of a step, and the problem that was solved."""
        options = self.options
        problem: Pubo | Qubo = pubo
        if options.solver not in ("anneal", "exact"):
            problem = quadratize(pubo)
        reads, sweeps = options.reads, options.sweeps
        small = (
            isinstance(options.solver, str) and reads * (sweeps or 200) * pubo.variables**2 < _SMALL
        )
        with at_most(1) if small else nullcontext(), cluster.locally():
            found = solve(
                problem,
                solver=options.solver,
                reads=reads,
                keep=options.keep,
                seed=seed,
                sweeps=sweeps,
                machine=self.machine,
                parameters=options.parameters,
            )
        return found, problem
