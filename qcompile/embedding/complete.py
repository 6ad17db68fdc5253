"""Chains for a complete graph on a machine: found once, for all problems of as many variables.

A training in rounds solves many problems on the same variables, each with almost all couplings.
Chains on which every two variables meet serve all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from qcompile.embedding.chain_strength import strength_of
from qcompile.errors import InputError, QcompileError
from qcompile.files.machines import MachineSource, load_machine
from qcompile.stages.arrays import frozen
from qcompile.stages.embedded import Embedded, Embedding, check_embedding, problem_id, to_embedded
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Ancillas, Qubo

__all__ = [
    "clique_of_whole",
    "clique_on",
    "complete_chains",
    "complete_qubo",
    "largest_clique",
    "with_chains",
]


# busclique cannot be interrupted. It takes seconds for graphs of this size and minutes beyond;
# the largest machine has 7,440 qubits.
_MOST_QUBITS = 10_000
_LARGEST_TILE = 4  # of Zephyr, for busclique
# Machines and sizes whose chains are remembered. A graph of 5,000 qubits takes some 50 MB.
_REMEMBERED = 8


def clique_on(machine: Machine, variables: int) -> Mapping[int, Sequence[int]]:
    """Return busclique's chains of a complete graph; nothing if there are none.

    Raise OSError if busclique cannot write its cache, a file in the user's data folder, and
    InputError if it does not take the graph.
    """
    from minorminer.busclique import busgraph_cache

    _check_graph(machine)
    # Not find_clique_embedding(use_cache=False): it uses up all memory on small Zephyr graphs with
    # dead qubits (minorminer 0.2.22).
    found: Mapping[int, Sequence[int]] = busgraph_cache(machine.graph).find_clique_embedding(
        variables
    )
    return found


def largest_clique(machine: MachineSource) -> int:
    """Return the number of variables of the largest complete graph that has chains on a machine.

    >>> largest_clique("chimera4")
    16
    """
    try:
        return _largest(load_machine(machine))
    except OSError as error:
        raise QcompileError(_no_cache(error)) from None


def _check_graph(machine: Machine) -> None:
    """Raise InputError if busclique does not take the graph of a machine, or takes too long."""
    if machine.topology == "zephyr" and machine.sizes[1] > _LARGEST_TILE:
        raise InputError(
            f"machine {machine.name}: shape {list(machine.shape)}; busclique takes Zephyr graphs "
            f"with a tile of up to {_LARGEST_TILE}"
        )
    if len(machine.nodes) > _MOST_QUBITS:
        raise InputError(
            f"machine {machine.name} has {len(machine.nodes):,} qubits; busclique takes minutes "
            f"above {_MOST_QUBITS:,}"
        )


@lru_cache(_REMEMBERED)
def _largest(machine: Machine) -> int:
    from minorminer.busclique import busgraph_cache

    _check_graph(machine)
    return len(busgraph_cache(machine.graph).largest_clique())


def clique_of_whole(machine: Machine) -> int:
    """Return the number of variables of the complete graph that busclique puts on a whole chip.

    It is known from the shape: neither the graph nor busclique is needed.
    """
    sizes = machine.sizes
    if machine.topology == "chimera":
        return sizes[2] * min(sizes[:2])
    if machine.topology == "pegasus":
        return 12 * (sizes[0] - 1) if sizes[0] > 2 else 10
    return min(sizes[1], _LARGEST_TILE) * (4 * sizes[0] - 2)


def complete_chains(machine: MachineSource, variables: int) -> Embedding:
    """Return chains of which every two meet, for problems of so many variables.

    The chains are busclique's, and the same every time. `with_chains` puts a problem on them. A
    second call for an equal machine returns the chains of the first.

    >>> complete_chains("pegasus4", 12).longest
    3
    """
    if variables < 1:
        raise InputError(f"chains for {variables} variables; expected at least 1")
    try:
        return _chains(load_machine(machine), variables)
    except OSError as error:
        raise QcompileError(_no_cache(error)) from None


@lru_cache(_REMEMBERED)
def _chains(machine: Machine, variables: int) -> Embedding:
    found = clique_on(machine, variables)
    if not found:
        raise InputError(
            f"{variables} variables of which each is coupled to every other; {machine.name} takes "
            f"up to {largest_clique(machine)} of them: use a smaller block or a larger machine"
        )
    complete = complete_qubo(variables)
    chains = Embedding(
        chains=tuple(tuple(sorted(map(int, found[v]))) for v in range(variables)),
        machine=machine,
        problem=problem_id(complete),
        method="clique",
    )
    check_embedding(chains, complete)
    return chains


def with_chains(qubo: Qubo, chains: Embedding, chain_strength: float | str = "torque") -> Embedded:
    """Put a QUBO on chains that are known already, such as those of `complete_chains`.

    Nothing is searched. That every coupling has a coupler is checked; that the chains are whole is
    not checked again. `chain_strength` is that of `embed`.

    >>> from qcompile import Pubo, load_machine, quadratize
    >>> chains = complete_chains(load_machine("chimera4"), 3)
    >>> qubo = quadratize(Pubo.from_dict({(0, 1): 1.0, (0, 2): -2.0, (1,): 0.5}))
    >>> with_chains(qubo, chains).embedding is chains
    True
    """
    if len(chains.chains) != qubo.variables:
        raise InputError(
            f"{len(chains.chains)} chains for {qubo.variables} variables; expected one for each: "
            "make chains for this number"
        )
    embedded = to_embedded(qubo, chains, strength_of(qubo, chain_strength))
    ends = embedded.variable[np.stack([embedded.first, embedded.second])[:, ~embedded.in_chain]]
    met = np.unique(ends.min(axis=0) * qubo.variables + ends.max(axis=0))
    if len(met) < len(qubo.first):
        raise InputError(
            f"{len(qubo.first) - len(met)} of {len(qubo.first)} couplings have no working coupler "
            "between their chains: these chains are for another problem"
        )
    return embedded


def complete_qubo(variables: int) -> Qubo:
    """Return a QUBO in which every variable is coupled to every other, all coefficients 0."""
    second, first = np.tril_indices(variables, -1)
    return Qubo(
        logical=variables,
        offset=0.0,
        linear=frozen(np.zeros(variables)),
        first=frozen(first, np.int32),
        second=frozen(second, np.int32),
        quadratic=frozen(np.zeros(len(first))),
        ancillas=Ancillas(
            frozen(np.zeros((0, 2)), np.int32),
            frozen(np.zeros(0), np.int64),
            frozen(np.zeros(0)),
            frozen(np.zeros(0)),
        ),
        method="none",
    )


def _no_cache(error: OSError) -> str:
    return (
        f"busclique cannot write its cache of chains ({error}): set XDG_DATA_HOME to a folder that "
        "can be written"
    )
