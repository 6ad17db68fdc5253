from __future__ import annotations

import numpy as np
import pytest

from qcompile import Embedding, Pubo, embed, load_machine, quadratize
from qcompile.embedding.scaling import scaling_of
from tests.problems import SMALL, cubic


@pytest.mark.parametrize("name", SMALL)
def test_scaling_uses_the_ranges_and_no_more(name: str) -> None:
    embedded = embed(cubic(6), load_machine(name), method="biclique", chain_strength=0.3)
    machine = embedded.embedding.machine
    scaling = scaling_of(embedded)

    def inside(factor: float) -> bool:
        h, j = embedded.fields * factor, embedded.couplings * factor
        low, high = machine.strongest_coupling
        below, above = np.zeros(len(h)), np.zeros(len(h))
        for a, b, c in zip(embedded.first, embedded.second, j, strict=True):
            for q in (a, b):
                below[q] += min(c, 0.0)
                above[q] += max(c, 0.0)
        if machine.per_qubit_coupling_range is not None:
            allowed = machine.per_qubit_coupling_range
            below = above = below + above
        else:
            assert machine.per_group_coupling_range is not None
            allowed = machine.per_group_coupling_range
        return bool(
            np.abs(h).max() <= machine.h_range[1]
            and low <= j.min()
            and j.max() <= high
            and allowed[0] <= below.min()
            and above.max() <= allowed[1]
        )

    assert inside(scaling.factor * (1 - 1e-9))
    assert not inside(scaling.factor * (1 + 1e-6))
    own = np.abs(embedded.couplings[~embedded.in_chain]) * scaling.factor
    assert scaling.smallest_coupling == pytest.approx(own.min())
    assert machine.precision is not None
    assert scaling.below == pytest.approx(np.mean(own < machine.precision[1]))


def test_signs_do_not_cancel_within_a_group() -> None:
    machine = load_machine("zephyr3")
    centre = max(machine.graph.nodes, key=lambda q: (machine.graph.degree(q), q))
    around = sorted(machine.graph.neighbors(centre))[:16]
    chains = ((centre,), *((q,) for q in around))
    # spin couplings 8 x -2 and 8 x +1: QUBO coefficients are four times that
    pairs: dict[tuple[int, ...], float] = {(0, i + 1): -8.0 if i < 8 else 4.0 for i in range(16)}
    for i in range(17):  # no fields in spins
        pairs[(i,)] = -sum(v for k, v in pairs.items() if len(k) == 2 and i in k) / 2
    qubo = quadratize(Pubo.from_dict(pairs))
    embedded = embed(qubo, machine, embedding=Embedding(chains, machine, "", "by hand"))
    scaling = scaling_of(embedded)
    assert scaling.limit == "couplings of one group"
    assert scaling.factor == pytest.approx(13 / 16)
