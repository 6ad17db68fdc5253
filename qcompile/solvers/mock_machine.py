"""Simulated annealers with control errors and a temperature, as dimod samplers with a graph."""

from __future__ import annotations

import logging
import zlib
from dataclasses import replace
from functools import lru_cache
from typing import Any

import dimod
import numpy as np

from qcompile.embedding.scaling import scale_to
from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.solvers.noise import (
    MachineModel,
    anneal_noisily,
    check_beta,
    draw_errors,
    models_of,
)
from qcompile.stages.machine import Machine

__all__ = ["MockMachine", "RehearsedMachine"]


_log = logging.getLogger("qcompile")


class MockMachine(dimod.Sampler, dimod.Structured):  # type: ignore[misc]
    """A machine that is simulated with its ranges, its control errors and its temperature.

    Each problem is scaled into the ranges of `machine` (a `Machine`, a name of the catalogue, or
    None for the default), as the machine's auto_scale does. Normal errors are added to every h and
    J; their standard deviation is the share `errors` of the largest h and J. dwave-samplers'
    simulated annealing then runs up to the inverse temperature `beta`, in the machine's units. The
    energies of the answer are those of the problem without errors.

    The same `seed` (or that of `sample`) and the same problem give the same errors and samples;
    other problems get other errors. `solve` takes it as a solver, best with an `Embedded` of
    `with_chains`.

    >>> from qcompile import Pubo, complete_chains, quadratize, solve, with_chains
    >>> mock = MockMachine("pegasus4", errors=0.02)
    >>> chains = complete_chains(mock.machine, 3)
    >>> qubo = quadratize(Pubo.from_dict({(0, 1): 2.0, (0,): -1.0, (1,): -3.0, (2,): 1.0}))
    >>> solve(with_chains(qubo, chains), solver=mock, reads=20).bits[0].tolist()
    [0, 1, 0]
    """

    # dimod wants these as attributes of the class; each sampler has its own.
    nodelist: Any = None
    edgelist: Any = None
    parameters: Any = None
    properties: Any = None

    def __init__(
        self,
        machine: MachineSource | None = None,
        *,
        errors: float = 0.02,
        beta: float = 3.0,
        seed: int = 0,
    ) -> None:
        if not 0 <= errors < 1:
            raise InputError(f"errors {errors}; expected a share of the range from 0 to below 1")
        check_beta(beta)
        if not 0 <= seed < 2**32:
            raise InputError(f"seed {seed}; expected 0 to {2**32 - 1}")
        self.machine = load_machine(machine)
        self.errors, self.beta, self.seed = errors, beta, seed
        (_, most_h), (_, most_j) = self.machine.h_range, self.machine.j_range
        self.model = MachineModel(errors * most_h, errors * most_j, beta)
        self.nodelist, self.edgelist, self._adjacency = _graph_of(self.machine)
        self.parameters = {"num_reads": [], "num_sweeps": [], "seed": []}
        self.properties = {
            "chip_id": f"mock of {self.machine.name}",
            "topology": {"type": self.machine.topology, "shape": list(self.machine.sizes)},
            "h_range": list(self.machine.h_range),
            "j_range": list(self.machine.j_range),
        }

    @property
    def adjacency(self) -> dict[int, set[int]]:
        """The neighbours of each working qubit."""
        return self._adjacency

    @dimod.bqm_structured  # type: ignore[untyped-decorator]
    def sample(
        self,
        bqm: Any,
        *,
        num_reads: int = 1,
        num_sweeps: int | None = None,
        seed: int | None = None,
        **parameters: Any,
    ) -> Any:
        """Return samples of a problem on the machine's qubits as a dimod SampleSet."""
        self.remove_unknown_kwargs(**parameters)  # warns of them
        seed = self.seed if seed is None else seed
        labels = sorted(bqm.variables)
        spins = bqm.change_vartype(dimod.SPIN, inplace=False)
        fields, (first, second, couplings), _ = spins.to_numpy_vectors(
            variable_order=labels, sort_indices=True
        )
        pairs = np.stack([first, second]).astype(np.int64)
        factor, limit = scale_to(self.machine, fields, pairs, couplings)
        rng = np.random.default_rng([self.seed, seed, _mark(fields, pairs, couplings)])
        states = anneal_noisily(
            factor * fields,
            pairs,
            factor * couplings,
            draw_errors(rng, len(fields), len(couplings)),
            self.model if num_sweeps is None else replace(self.model, sweeps=num_sweeps),
            reads=num_reads,
            seed=seed,
        )
        answer = dimod.SampleSet.from_samples_bqm((states, labels), spins)
        answer.info.update(scale_factor=factor, scale_limited_by=limit)
        return answer.change_vartype(bqm.vartype, inplace=False)


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
            _tell_temperature(chip.name, model.beta)


@lru_cache(64)  # a training makes a machine a round: say it once
def _tell_temperature(machine: str, beta: float) -> None:
    _log.info(
        "no temperature is published for %s: rehearsed at inverse temperature %g; "
        "rehearse() shows a range",
        machine,
        beta,
    )


def _mark(*values: Any) -> int:
    """Return a number that tells problems apart."""
    mark = 0
    for array in values:
        mark = zlib.crc32(np.ascontiguousarray(array).astype("<f8").tobytes(), mark)
    return mark


@lru_cache(4)
def _graph_of(
    machine: Machine,
) -> tuple[list[int], list[tuple[int, int]], dict[int, set[int]]]:
    """Return the working qubits, the couplers and the neighbours; the lists are shared."""
    nodes = machine.nodes.tolist()
    edges = [(int(a), int(b)) for a, b in machine.nodes[machine.edges].tolist()]
    neighbours: dict[int, set[int]] = {q: set() for q in nodes}
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    return nodes, edges, neighbours
