"""The loss of energy and of accuracy that a machine's control errors are expected to cause.

First order in the errors: the lowest states of the problem keep their place in a short list, and
only their energies move. Normal errors of every h and J move them by normal amounts that are
correlated as the states are alike. The state that is then the lowest is what an ideal annealer
would find on the machine, and its energy without errors tells what was lost. Temperature and broken
chains are not part of it: see `rehearse`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.scaling import scaling_of
from qcompile.errors import InputError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.runtime.progress import muted
from qcompile.solvers.solve import solve
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import Embedded
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo, to_ising
from qcompile.stages.record import Record

__all__ = ["MOST_COUPLINGS", "ExpectedLoss", "expected_loss"]


# Couplings up to which the loss takes less time than making the problem.
MOST_COUPLINGS = 100_000
_STATES, _FEWEST_STATES = 300, 32
_WORK = 2e9  # states² times coefficients
_DRAWS = 1000
_READS, _SWEEPS = 64, 100  # of the short anneal that finds the states
_COLUMNS = 1 << 14  # couplings at once
_JITTER = 1e-10
# Share of the draws that may end in the upper half of the list, before it is said to be too short.
_TOO_SHORT = 0.05


@dataclass(frozen=True)
class ExpectedLoss(Record):
    """What errors of a machine are expected to cost, from the lowest states of a problem.

    `energy` is the mean energy, above the lowest one, of the state that is the lowest under the
    errors, and `changed` the chance that it is another state. `error` is the mean change of the
    classification error, None without rows, and `best_error` that of the lowest state. If
    `at_least`, the list of `states` was too short for such errors, and the true loss is larger.
    """

    energy: float
    changed: float
    error: float | None
    best_error: float | None
    at_least: bool
    states: int
    machine: str
    sigma_h: float
    sigma_j: float


def expected_loss(
    problem: Qubo | Embedded,
    *,
    machine: MachineSource | None = None,
    rows: Dataset | None = None,
    errors: float = 1.0,
    seed: int = 0,
) -> ExpectedLoss:
    """Return what the control errors of a machine are expected to cost.

    The errors act on a QUBO as if each variable were one qubit, or on an embedded problem with its
    chains: then `machine` is that of the chains. `errors` multiplies the published ones. `rows` are
    prepared as for the problem; they tell the classification error.

    >>> from qcompile import Pubo, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0,): -1.0, (1,): 1.0, (0, 1): 0.5}))
    >>> expected_loss(qubo, machine="advantage").changed
    0.0
    """
    qubo = problem.qubo if isinstance(problem, Embedded) else problem
    chip = problem.embedding.machine if isinstance(problem, Embedded) else load_machine(machine)
    if chip.precision is None:
        raise InputError(
            f"machine {chip.name}: no control errors are published; add precision to its TOML file"
        )
    if len(qubo.first) > MOST_COUPLINGS:
        raise InputError(
            f"{len(qubo.first):,} couplings; the expected loss is computed up to "
            f"{MOST_COUPLINGS:,}: use rehearse()"
        )
    sigma_h, sigma_j = (errors * sigma for sigma in chip.precision)
    if isinstance(problem, Embedded):
        deviations = _on_chains(problem, sigma_h, sigma_j)
    else:
        deviations = _on_variables(problem, chip, sigma_h, sigma_j)
    pool = _lowest_states(qubo, seed)
    wins = _wins(qubo, pool, deviations, seed)
    share = wins / wins.sum()
    change, own = _classification(qubo, pool, share, rows)
    right = pool.right
    late = share[:right][math.ceil(right / 2) :].sum() if pool.cut else 0.0
    return ExpectedLoss(
        energy=float(share @ (pool.scores - pool.scores.min())),
        changed=float(share[(pool.bits != pool.bits[0]).any(axis=1)].sum()),
        error=change,
        best_error=own,
        at_least=bool(late > _TOO_SHORT),
        states=right,
        machine=chip.name,
        sigma_h=sigma_h,
        sigma_j=sigma_j,
    )


@dataclass(frozen=True, eq=False)
class _Pool:
    """Low states: `values` of all variables, `bits` without ancillas, and two energies of each.

    `energies` are those of the QUBO, `scores` those of the polynomial. The first `right` states
    have right ancillas. `cut` says whether there are more such states.
    """

    values: NDArray[np.int8]
    bits: NDArray[np.int8]
    energies: Floats
    scores: Floats
    right: int
    cut: bool


def _lowest_states(qubo: Qubo, seed: int) -> _Pool:
    """Return the lowest states, and as many of those with one wrong ancilla."""
    work = _WORK / (qubo.variables + len(qubo.first) + 1)
    keep = int(min(_STATES, max(_FEWEST_STATES, math.sqrt(work) / 2)))
    with muted():
        found = solve(qubo, reads=_READS, sweeps=_SWEEPS, keep=keep, seed=seed)
    values = qubo.complete(found.bits).astype(np.int8)
    energies = qubo.energies(values)
    cut = len(found) >= keep and qubo.logical > math.log2(keep)
    wrong, above = _one_wrong_ancilla(qubo, values, energies, keep)
    every = np.concatenate([values, wrong])
    bits = every[:, : qubo.logical]
    return _Pool(
        values=every,
        bits=bits,
        energies=np.concatenate([energies, above]),
        scores=qubo.score(bits),
        right=len(values),
        cut=cut,
    )


def _one_wrong_ancilla(
    qubo: Qubo, values: NDArray[np.int8], energies: Floats, keep: int
) -> tuple[NDArray[np.int8], Floats]:
    """Return the lowest states that have one wrong ancilla, and their energies."""
    from scipy.sparse import coo_array

    count = qubo.variables - qubo.logical
    if not count:
        return values[:0], energies[:0]
    size = (qubo.variables, qubo.variables)
    half = coo_array((qubo.quadratic, (qubo.first, qubo.second)), shape=size).tocsr()
    slopes = (half + half.T) @ values.T.astype(np.float64) + qubo.linear[:, None]
    own = slopes[qubo.logical :].T
    flipped = energies[:, None] + np.where(values[:, qubo.logical :] > 0, -own, own)
    chosen = np.argsort(flipped, axis=None, kind="stable")[:keep]
    row, ancilla = np.divmod(chosen, count)
    states = values[row].copy()
    states[np.arange(len(chosen)), qubo.logical + ancilla] ^= 1
    return states, flipped[row, ancilla]


def _wins(qubo: Qubo, pool: _Pool, deviations: tuple[Floats, Floats], seed: int) -> Floats:
    """Return in how many draws of the errors each state is the lowest."""
    # in units of the largest deviation: squares of the problem's own units may overflow
    unit = max(float(own.max(initial=0.0)) for own in deviations)
    if not unit:
        return np.bincount([int(np.argmin(pool.energies))], minlength=len(pool.bits)).astype(
            np.float64
        )
    of_fields, of_couplings = (own / unit for own in deviations)
    spins = 2.0 * pool.values - 1.0
    moved = spins * of_fields
    covariance = moved @ moved.T
    for start in range(0, len(qubo.first), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        moved = spins[:, qubo.first[part]] * spins[:, qubo.second[part]] * of_couplings[part]
        covariance += moved @ moved.T
    largest = float(covariance.diagonal().max())
    # two states may move alike, and rounding may then make the matrix indefinite
    covariance[np.diag_indices_from(covariance)] += _JITTER * largest
    normal = np.random.default_rng(seed).standard_normal((len(spins), _DRAWS))
    noisy = (pool.energies / unit)[:, None] + np.linalg.cholesky(covariance) @ normal
    return np.bincount(np.argmin(noisy, axis=0), minlength=len(spins)).astype(np.float64)


def _on_variables(
    qubo: Qubo, machine: Machine, sigma_h: float, sigma_j: float
) -> tuple[Floats, Floats]:
    """Return the deviations of h and J of a QUBO that is scaled to a machine before embedding."""
    h, couplings = to_ising(qubo)
    factor = max(
        float(np.abs(h).max(initial=0.0)) / machine.h_range[1],
        float(np.abs(couplings).max(initial=0.0)) / machine.j_range[1],
    )
    return np.full(len(h), sigma_h * factor), np.full(len(couplings), sigma_j * factor)


def _on_chains(embedded: Embedded, sigma_h: float, sigma_j: float) -> tuple[Floats, Floats]:
    """Return the deviations of h and J of the QUBO if the errors are on qubits and couplers.

    The errors of the k qubits of a chain add, and so do those of the couplers that share a
    coupling. Errors inside a chain move all states alike as long as it does not break.
    """
    qubo, factor = embedded.qubo, scaling_of(embedded).factor
    ends = embedded.variable[np.stack([embedded.first, embedded.second])[:, ~embedded.in_chain]]
    keys = ends.max(axis=0) * qubo.variables + ends.min(axis=0)
    pairs = qubo.second.astype(np.int64) * qubo.variables + qubo.first  # ascending
    ways = np.bincount(np.searchsorted(pairs, keys), minlength=len(pairs))
    return (
        sigma_h * np.sqrt(embedded.embedding.lengths) / factor,
        sigma_j * np.sqrt(ways) / factor,
    )


def _classification(
    qubo: Qubo, pool: _Pool, share: Floats, rows: Dataset | None
) -> tuple[float | None, float | None]:
    """Return the expected change of the classification error, and the error of the lowest state."""
    if rows is None or qubo.encoding is None:
        return None, None
    won: Any = np.flatnonzero(share)
    wrong = rows.errors(qubo.decode(pool.bits[np.append(won, 0)]))
    return float(share[won] @ (wrong[:-1] - wrong[-1])), float(wrong[-1])
