"""Figures about the problem: loss, qubits and ancillas."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.capacity import physical_estimate
from qcompile.embedding.complete import complete_chains
from qcompile.embedding.preflight import counts_forbid
from qcompile.errors import InputError, QcompileError
from qcompile.files.machines import catalogue
from qcompile.reduction.accounting import account
from qcompile.reduction.estimate import estimate
from qcompile.report.figures import (
    BINS,
    AncillaNumbers,
    Budget,
    Histogram,
    LossCurve,
    MachineRow,
    counted,
    histogram_of,
)
from qcompile.report.run import Run
from qcompile.report.words import number
from qcompile.stages.arrays import Floats
from qcompile.stages.embedded import Embedding
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["ancilla_numbers", "budget_of", "loss_curve_of"]


# A graph with this share of all pairs counts as complete, as the formula for chains assumes.
_COMPLETE = 0.9
_MOST_ORDER = 8
# A turn outside of these cannot be drawn.
_SMALLEST_TURN, _LARGEST_TURN = 1e-9, 1e9


def loss_curve_of(run: Run) -> LossCurve | None:
    """Return the figure of the loss."""
    loss = run.loss
    if loss is None:
        return None
    useful = _SMALLEST_TURN < loss.turn < _LARGEST_TURN
    reach = 1.6 * loss.scale
    margins = _margins(run)
    rows = 0 if margins is None else len(margins)
    if margins is not None:
        margins = margins[np.isfinite(margins)]
    if margins is not None and len(margins):
        # show most rows, but not at a scale on which the loss cannot be seen
        reach = min(4 * reach, max(reach, 1.05 * float(np.quantile(np.abs(margins), 0.98))))
    grid = np.linspace(-reach, reach, 241)
    with np.errstate(over="ignore", invalid="ignore"):
        values = loss(grid).tolist()
    histogram, outside = None, 0
    if margins is not None and len(margins):
        inside = margins[np.abs(margins) <= reach]
        outside = rows - len(inside)
        edges = np.linspace(-reach, reach, 41)
        histogram = histogram_of(edges, [np.histogram(inside, edges)[0]])
    return LossCurve(
        points=tuple(
            (x, y) for x, y in zip(grid.tolist(), values, strict=True) if math.isfinite(y)
        ),
        reach=reach,
        order=loss.order,
        fit=loss.fit,
        coefficients=loss.coefficients,
        slope=next((int(np.sign(a)) for a in loss.coefficients[1::2] if a), 0),
        turn=loss.turn if useful else None,
        for_good=useful and loss.falls_for_good,
        margins=histogram,
        outside=outside,
    )


def _margins(run: Run) -> Floats | None:
    if run.classifier is None or not run.parts:
        return None
    return run.parts[0][1].margins(run.classifier.weights)


def budget_of(run: Run) -> Budget | None:
    """Return the figure of qubits against machines."""
    needed = _of_qubo(run.qubo) if run.qubo is not None else _of_polynomial(run)
    if needed is None:
        return None
    precision = () if run.qubo is None else tuple(_precision(run.qubo, run.embedding))
    return replace(needed, machines=tuple(_machines(run, needed)), precision=precision)


def _precision(qubo: Qubo, embedding: Embedding | None) -> Iterable[tuple[str, str]]:
    """Yield what the ranges of a machine leave of the coefficients, before chains are made."""
    counted = account(qubo, machine=None if embedding is None else embedding.machine)
    if counted.ising_dynamic_range is not None:
        yield "largest over smallest coefficient, in spins", number(counted.ising_dynamic_range)
    share = f"{counted.share_of_couplings_below_precision:.1%}"
    yield f"couplings below the precision of {counted.machine}, before chains", share


def _of_qubo(qubo: Qubo) -> Budget:
    bits, ancillas = qubo.logical, len(qubo.ancillas)
    met = bool((qubo.first >= bits).any())  # pairs are in order: then both are ancillas
    nested = bool((qubo.ancillas.factors >= bits).any())
    order = 4 if met or nested else 3 if ancillas else 2
    whole = math.comb(bits, 2) + (math.comb(bits, 3) + 2 * ancillas if order == 3 else 0)
    return Budget(bits, ancillas, False, order, len(qubo.first) >= _COMPLETE * whole)


def _of_polynomial(run: Run) -> Budget | None:
    """Return the budget without a QUBO: as many ancillas as a complete polynomial needs."""
    pubo = run.pubo
    if pubo is None or not pubo.variables:
        return None
    bits, order = pubo.variables, pubo.degree or (0 if run.loss is None else run.loss.order)
    if order > _MOST_ORDER:
        return Budget(bits, None, True, order, False)
    complete = order < 1 or sum(pubo.terms) >= _COMPLETE * sum(
        math.comb(bits, j) for j in range(1, order + 1)
    )
    if order <= 2:
        return Budget(bits, 0, False, 2, complete)
    return Budget(bits, estimate(order, bits, 1).ancillas, True, order, complete)


@cache
def _published() -> tuple[Machine, ...]:
    """Return the machines whose number of working qubits is published, made only once."""
    return tuple(machine for machine in catalogue().values() if machine.qubits is not None)


def _machines(run: Run, needed: Budget) -> Iterable[MachineRow]:
    """Yield what is needed of each published machine, and of the one embedded on."""
    embedding = run.embedding
    known = {machine.name: machine for machine in _published()}
    if embedding is not None:
        known[embedding.machine.name] = embedding.machine
    for name, machine in known.items():
        if embedding is not None and embedding.machine.name == name:
            yield _measured(machine, embedding.qubits)
        elif run.of_step and needed.order == 2:
            yield _of_complete_graph(machine, needed.bits)
        else:
            yield _estimated(machine, needed, run.qubo)


def _measured(machine: Machine, takes: int) -> MachineRow:
    nodes = len(machine.nodes)
    ideal = machine.qubits is not None and machine.qubits < nodes
    has = machine.qubits if ideal and machine.qubits is not None else nodes
    return MachineRow(machine.name, machine.title, has, takes, takes <= has or None, True, ideal)


def _of_complete_graph(machine: Machine, bits: int) -> MachineRow:
    """Count the qubits of chains of which every two meet, as each round of a training has them."""
    has = machine.qubits or len(machine.nodes)
    try:
        takes = complete_chains(machine, bits).qubits
    except InputError:  # more bits than the largest complete graph on it
        return MachineRow(machine.name, machine.title, has, None, False, False, whole=True)
    except QcompileError:  # chains cannot be looked for here
        return MachineRow(machine.name, machine.title, has, None, None, False, whole=True)
    fits = True if takes <= has else None
    return MachineRow(machine.name, machine.title, has, takes, fits, False, whole=True)


def _estimated(machine: Machine, needed: Budget, qubo: Qubo | None) -> MachineRow:
    """Use the formula for complete polynomials, an upper estimate for all others."""
    has = machine.qubits or len(machine.nodes)
    told = physical_estimate(machine, needed.order, needed.bits, needed.ancillas or 0)
    takes = told.physical_qubits_about
    fits: bool | None = None
    if needed.surely > has:
        fits = False  # fewer qubits than variables
    elif takes is not None and told.fits and takes <= has:
        fits = True
    elif takes is not None and needed.complete:
        fits = False
    impossible = qubo is not None and counts_forbid(qubo, machine)
    fits = False if impossible else fits
    return MachineRow(machine.name, machine.title, has, takes, fits, False, impossible=impossible)


def ancilla_numbers(run: Run) -> AncillaNumbers | None:
    """Return the figure of the ancillas."""
    if run.qubo is None or not len(run.qubo.ancillas):
        return None
    table = run.qubo.ancillas
    terms = counted(table.terms)
    about = [
        ("terms through an ancilla", _spread(table.terms)),
        ("gate strength against 0 where both factors are 1", _spread(table.on)),
        ("gate strength against 1 where a factor is 0", _spread(table.off)),
        ("largest coefficient of the QUBO", number(_largest(run.qubo))),
    ]
    return AncillaNumbers(len(table), terms, _strengths(table.on, table.off), tuple(about))


def _largest(qubo: Qubo) -> float:
    return max(float(np.abs(a).max(initial=0.0)) for a in (qubo.linear, qubo.quadratic))


def _spread(values: NDArray[Any]) -> str:
    low, middle, high = (float(np.quantile(values, q)) for q in (0, 0.5, 1))
    if low == high:
        return number(low)
    return f"{number(low)} to {number(high)}, median {number(middle)}"


def _strengths(on: Floats, off: Floats) -> Histogram | None:
    """Return a histogram of gate strengths, logarithmic if they differ by orders of magnitude."""
    both = np.concatenate([on, off])
    positive = both[both > 0]
    if not len(positive):
        return None
    low, high = float(positive.min()), float(positive.max())
    log = high > 30 * low and len(positive) == len(both)
    if log:
        edges = np.geomspace(low * 0.999, high * 1.001, BINS + 1)
    else:
        low = float(both.min())
        room = max((high - low) * 1e-3, 1e-9 * high) if high > low else high * 0.1
        edges = np.linspace(low - room if low else 0.0, high + room, BINS + 1)
    if not np.isfinite(edges).all():
        return None
    return histogram_of(edges, [np.histogram(s, edges)[0] for s in (on, off)], log=log)
