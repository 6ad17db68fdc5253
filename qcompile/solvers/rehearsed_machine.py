"""A machine rehearsed at its published errors and temperature, as a dimod sampler with a graph."""

from __future__ import annotations

import logging

from qcompile.files.machines import MachineSource, load_machine
from qcompile.solvers.mock_machine import MockMachine
from qcompile.solvers.noise import models_of

__all__ = ["RehearsedMachine"]


_log = logging.getLogger("qcompile")


class RehearsedMachine(MockMachine):
    """A simulated machine whose control errors and temperature are those published for it.

    `errors` multiplies the published errors of h and J. `beta` is the inverse temperature at the
    end of a read, in the machine's units; None is the published one of single qubits, and the
    middle of a range if none is published. `engine` is "anneal" (simulated annealing) or
    "path-integral" (simulated quantum annealing), both of dwave-samplers. `model` holds the
    parameters and their sources.

    A `seed` is a draw of the errors. As for `MockMachine`, each problem gets errors of its own.

    >>> from qcompile import Pubo, solve
    >>> pubo = Pubo.from_dict({(0, 1): 2.0, (0,): -1.0, (1,): -3.0, (2,): 1.0})
    >>> machine = RehearsedMachine("pegasus4", beta=5.0)
    >>> machine.model.sigma_h, machine.model.sigma_j
    (0.01, 0.01)
    >>> solve(pubo, solver=machine, reads=20).bits[0].tolist()
    [0, 1, 0]
    """

    def __init__(
        self,
        machine: MachineSource | None = None,
        *,
        errors: float = 1.0,
        beta: float | None = None,
        engine: str = "anneal",
        seed: int = 0,
    ) -> None:
        chip = load_machine(machine)
        models = models_of(chip, errors=errors, beta=beta, engine=engine)
        model = models[len(models) // 2]
        super().__init__(chip, errors=0.0, beta=model.beta, seed=seed)
        self.model, self.errors = model, errors
        self.properties["chip_id"] = f"rehearsal of {chip.name}"
        if beta is None and chip.temperature is None:
            _log.info(
                "no temperature is published for %s: rehearsed at inverse temperature %g; "
                "rehearse() shows a range",
                chip.name,
                model.beta,
            )
