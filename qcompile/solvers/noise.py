"""The model of a machine with its faults: control errors, a temperature, and an engine.

A problem is scaled into the machine's ranges, normal errors are added to every h and J, and an
annealer of dwave-samplers stops at the machine's temperature. It is a model: it tells nothing about
a machine beyond its own parameters, which `MachineModel` names with their sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.machine import Machine
from qcompile.stages.record import Record

__all__ = [
    "ENGINES",
    "SWEEPS",
    "UNKNOWN_BETAS",
    "Drawn",
    "MachineModel",
    "anneal_noisily",
    "check_beta",
    "draw_errors",
    "models_of",
]


ENGINES = ("anneal", "path-integral")
# Sweeps of a read. "anneal": 1000 break fewer chains and take five times as long.
SWEEPS = {"anneal": 200, "path-integral": 100}
# Inverse temperatures for a machine whose temperature is not published: those of the published
# machines lie between the last two.
UNKNOWN_BETAS = (2.0, 4.0, 8.0)
# Inverse temperature at the beginning of an anneal: almost every flip is accepted.
_HOT = 0.05
_MOST_BETA = 1e6
_QUANTUM_SEEDS = 2**31 - 1  # seeds of the path-integral sampler begin with 1: 0 would be no seed
# Control errors of a machine without published ones: those of the catalogue's machines.
_USUAL_PRECISION = (0.01, 0.01)


@dataclass(frozen=True)
class MachineModel(Record):
    """The parameters of a simulated machine, in its units.

    `sigma_h` and `sigma_j` are the standard deviations of the errors of every h and J, `beta` is
    the inverse temperature at which a read ends, and `sweeps` those of a read. There is no
    quantisation: no step of a machine's converters is published as a number. The sources say where
    the errors and the temperature are from.
    """

    sigma_h: float
    sigma_j: float
    beta: float
    engine: str = "anneal"
    sweeps: int = SWEEPS["anneal"]
    errors_source: str = "given"
    beta_source: str = "given"


@dataclass(frozen=True, eq=False)
class Drawn:
    """One draw of the errors, as multiples of the standard deviation: of fields and couplings."""

    fields: Floats
    couplings: Floats


def models_of(
    machine: Machine,
    *,
    errors: float = 1.0,
    beta: float | Sequence[float] | None = None,
    engine: str = "anneal",
    sweeps: int | None = None,
) -> tuple[MachineModel, ...]:
    """Return the models of a machine: one for each inverse temperature.

    `errors` multiplies the published control errors. `beta` is one inverse temperature or several;
    None takes those that follow from the published temperatures: of qubits that freeze at the
    critical point of chains, and of single qubits. If none are published it takes `UNKNOWN_BETAS`.

    >>> from qcompile import load_machine
    >>> [model.beta for model in models_of(load_machine("chimera4"), beta=(2.0, 5.0))]
    [2.0, 5.0]
    """
    if not 0 <= errors <= 1000:
        raise InputError(
            f"errors {errors}; expected a multiple of the published errors from 0 to 1000"
        )
    if engine not in ENGINES:
        raise InputError(f"engine {engine!r}; expected one of {', '.join(ENGINES)}")
    if sweeps is not None and not 1 <= sweeps <= 10_000_000:
        raise InputError(f"sweeps {sweeps}; expected 1 to 10,000,000")
    sigma_h, sigma_j = machine.precision or _USUAL_PRECISION
    told = "precision in the machine's file" if machine.precision else "usual, none is published"
    return tuple(
        MachineModel(
            sigma_h=errors * sigma_h,
            sigma_j=errors * sigma_j,
            beta=one,
            engine=engine,
            sweeps=sweeps or SWEEPS[engine],
            errors_source=told if errors == 1 else f"{errors:g} times the {told}",
            beta_source=source,
        )
        for one, source in _betas(machine, beta)
    )


def _betas(machine: Machine, beta: float | Sequence[float] | None) -> list[tuple[float, str]]:
    """Return the inverse temperatures of a machine, the hottest first, and their sources."""
    if beta is not None:
        given = [beta] if isinstance(beta, int | float) else sorted(set(beta))
        for one in given:
            check_beta(one)
        if not given:
            raise InputError("no inverse temperature beta; expected at least one")
        return [(float(one), "given") for one in given]
    published = machine.temperature
    if published is None:
        return [(one, "no temperature is published: one of a range") for one in UNKNOWN_BETAS]
    single = f"published temperature of single qubits, {published.effective:g}"
    hot = published.effective_at_critical_point
    if hot is None or hot <= published.effective:
        return [(published.beta, single)]
    chains = f"published {published.millikelvin:g} mK at the published critical point of chains"
    return [(1.0 / hot, chains), (published.beta, single)]


def check_beta(beta: float) -> None:
    """Raise InputError if an inverse temperature is out of range."""
    if not 0 < beta < _MOST_BETA:
        raise InputError(f"beta {beta}; expected an inverse temperature above 0")


def draw_errors(rng: np.random.Generator, fields: int, couplings: int) -> Drawn:
    """Return errors of so many fields and couplings, in standard deviations."""
    return Drawn(rng.standard_normal(fields), rng.standard_normal(couplings))


def anneal_noisily(
    fields: Floats,
    pairs: NDArray[np.int64],
    couplings: Floats,
    drawn: Drawn,
    model: MachineModel,
    *,
    reads: int,
    seed: int,
) -> NDArray[np.int8]:
    """Return the states, rows of -1 and +1, that the model reads for a problem in its units.

    ``pairs[0]`` and ``pairs[1]`` are the positions in `fields` that couplings join.
    """
    import dimod

    noisy_fields = fields + model.sigma_h * drawn.fields
    noisy_couplings = couplings + model.sigma_j * drawn.couplings
    given = dimod.BinaryQuadraticModel.from_numpy_vectors(
        noisy_fields, (pairs[0], pairs[1], noisy_couplings), 0.0, dimod.SPIN
    )
    found = _run(given, model, reads, seed)
    columns = [found.variables.index(place) for place in range(len(fields))]
    return np.asarray(found.record.sample, dtype=np.int8)[:, columns]


def _run(given: Any, model: MachineModel, reads: int, seed: int) -> Any:
    """Return the answer of the engine, with the temperature of the model at its end."""
    import dwave.samplers as samplers

    if model.engine == "anneal":
        return samplers.SimulatedAnnealingSampler().sample(
            given,
            num_reads=reads,
            num_sweeps=model.sweeps,
            beta_range=[min(_HOT, model.beta), model.beta],
            seed=seed,
        )
    # The problem grows to the inverse temperature while the transverse field falls from it to 0.
    steps = np.linspace(0.0, model.beta, model.sweeps)
    return samplers.PathIntegralAnnealingSampler().sample(
        given,
        num_reads=reads,
        num_sweeps=model.sweeps,
        beta_schedule_type="custom",
        Hp_field=steps,
        Hd_field=steps[::-1],
        seed=seed % _QUANTUM_SEEDS + 1,
    )
