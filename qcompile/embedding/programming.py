"""Embedded problems -> Program: one use of the machine for all of them, with gauges.

The way back is `unembed_program`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qcompile.embedding.scaling import scale_to
from qcompile.errors import InputError
from qcompile.stages.embedded import Embedded
from qcompile.stages.program import Program, to_program

__all__ = ["gauge_of", "make_program"]


def make_program(copies: Sequence[Embedded], *, gauge: int | None = None) -> Program:
    """Put problems on disjoint chains of one machine together, each with a factor of its own.

    Copies of one problem keep its coefficients, and the machine's auto_scale treats them alike.
    Different problems are scaled so that each uses the whole ranges of the machine. `gauge` is the
    seed of a spin-reversal transform: every chain of every copy is reversed or not, at random.

    >>> from qcompile import Pubo, complete_chains, load_machine, quadratize, with_chains
    >>> qubo = quadratize(Pubo.from_dict({(0, 1): 2.0, (0,): -1.0}))
    >>> one = with_chains(qubo, complete_chains(load_machine("pegasus4"), 2))
    >>> make_program([one], gauge=2)
    Program(1 copy on 2 qubits of 'pegasus4', gauged)
    """
    if gauge is not None and not 0 <= gauge < 1 << 63:
        raise InputError(f"gauge {gauge}; expected the seed of a gauge, 0 or more")
    signs = None
    if gauge is not None:
        signs = [gauge_of(copy, gauge, number) for number, copy in enumerate(copies)]
    if _alike(copies):
        return to_program(copies, signs=signs)
    factors = [_factor(copy, None if signs is None else signs[k]) for k, copy in enumerate(copies)]
    return to_program(copies, factors=factors, signs=signs)


def gauge_of(embedded: Embedded, seed: int, copy: int = 0) -> NDArray[np.int8]:
    """Return a random sign for each qubit of a copy, the same for all qubits of a chain.

    A chain that were reversed in part would need positive couplings as strong as the chain, which
    machines with an extended range do not have.
    """
    rng = np.random.default_rng([seed, copy])
    signs = 2 * rng.integers(0, 2, embedded.qubo.variables, dtype=np.int8) - 1
    return np.asarray(signs[embedded.variable], dtype=np.int8)


def _alike(copies: Sequence[Embedded]) -> bool:
    """Whether all are copies of one problem at one chain strength."""
    first = copies[0]
    return all(
        copy.qubo is first.qubo and copy.chain_strength == first.chain_strength for copy in copies
    )


def _factor(embedded: Embedded, signs: NDArray[np.int8] | None) -> float:
    """Return the factor with which a problem just fits into the machine's ranges."""
    own = np.ones(len(embedded.qubits)) if signs is None else signs.astype(np.float64)
    pairs = np.stack([embedded.first, embedded.second])
    couplings = own[embedded.first] * own[embedded.second] * embedded.couplings
    machine = embedded.embedding.machine
    return scale_to(machine, own * embedded.fields, pairs, couplings)[0]
