from __future__ import annotations

import itertools
from dataclasses import replace
from math import comb

import pytest

from qcompile import (
    EmbeddingNotFound,
    Pubo,
    catalogue,
    find_embedding,
    load_machine,
    preflight,
    quadratize,
)
from qcompile.embedding.preflight import _coefficients, least_qubits, most_bits
from qcompile.files.hybrid import hybrid_limits
from qcompile.leap.nonlinear import to_nonlinear
from tests.problems import SMALL, cubic, plain


def test_no_embedding_goes_below_the_bound() -> None:
    for bits, name in itertools.product((3, 6, 9), SMALL):
        machine, qubo = load_machine(name), cubic(bits)
        report = preflight(qubo, machine)
        try:
            found = find_embedding(qubo, machine, method="clique", tries=1, effort=0.2)
        except EmbeddingNotFound:
            continue
        assert not report.impossible
        assert report.least <= found.qubits


def test_the_bound_counts_couplers_of_a_chain() -> None:
    star = plain(10, [(0, i) for i in range(1, 10)])
    # six couplers a qubit: two qubits have 10 to the outside, one has 6
    assert least_qubits(star, load_machine("chimera4")) == 9 + 2
    # six neighbours need one qubit, seven need two
    assert least_qubits(plain(7, [(0, i) for i in range(1, 7)]), load_machine("chimera4")) == 7
    # chains of k qubits in a row reach 4 k + 2 others: exactly as many as the bound allows
    for chain in (1, 2, 3):
        reached = 4 * chain + 2
        star = plain(reached + 1, [(0, i) for i in range(1, reached + 1)])
        assert least_qubits(star, load_machine("chimera4")) == reached + chain


def test_the_formula_is_kept_to_what_it_knows() -> None:
    path = plain(100, [(i, i + 1) for i in range(99)])
    report = preflight(path, load_machine("pegasus4"))
    assert report.likely is None and not report.message
    nested = cubic(8, degree=5)
    assert preflight(nested, load_machine("advantage")).likely is None
    full = preflight(cubic(12), load_machine("advantage"), clique=True)
    assert full.likely is not None and full.likely >= full.least and full.surely
    assert not preflight(cubic(14), load_machine("zephyr3"), clique=True).surely


@pytest.mark.slow
def test_advice_names_only_machines_that_may_do() -> None:
    for bits, degree in ((13, 5), (16, 3), (40, 3)):
        qubo = cubic(bits, degree=degree)
        message = preflight(qubo, load_machine("pegasus4")).message
        for name in catalogue():
            if f'"{name}"' in message.partition("machine=")[2].partition(",")[0]:
                assert least_qubits(qubo, load_machine(name)) <= len(load_machine(name).nodes)
    huge = preflight(cubic(70), load_machine("advantage"))
    assert f"has {1 + 70 + comb(70, 2) + comb(70, 3)} coefficients" in huge.message


def test_coefficients_are_those_of_the_polynomial() -> None:
    """Products of products carry a term several times; it has one coefficient."""
    for bits, degree in ((8, 3), (9, 4), (9, 5)):
        qubo = cubic(bits, degree=degree)
        assert _coefficients(qubo) == sum(comb(bits, j) for j in range(degree + 1))
    lone = quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 1, 3): -1.0, (4,): 2.0}))
    assert _coefficients(lone) == 1 + 3  # the constant is always counted
    nested = preflight(cubic(14, degree=5), load_machine("chimera4"))
    assert nested.impossible
    assert f"has {sum(comb(14, j) for j in range(6))} coefficients" in nested.message


def test_parameters_bound_the_bits() -> None:
    for name, expected in (("advantage", 65), ("advantage2", 67)):
        machine = load_machine(name)
        room = len(machine.nodes) + len(machine.edges) + 1
        assert most_bits(machine) == expected
        assert sum(comb(expected, j) for j in range(4)) <= room
        assert sum(comb(expected + 1, j) for j in range(4)) > room
    assert most_bits(load_machine("advantage"), 6) == 19


def test_a_polynomial_that_exceeds_the_nonlinear_solver_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    qubo, limits = cubic(6), hybrid_limits()
    assert preflight(qubo, "chimera4").nonlinear == ""
    # the size of the states by dwave-optimization itself
    pubo = Pubo.from_dict({t: 1.0 for j in (1, 2, 3) for t in itertools.combinations(range(6), j)})
    model = to_nonlinear(pubo).model
    with model.lock():
        size = model.state_size()
    for room, told in ((size, ""), (size - 1, f"{size} bytes of states; the nonlinear solver")):
        small = replace(limits, nl_state_bytes=room)
        monkeypatch.setattr("qcompile.embedding.preflight.hybrid_limits", lambda known=small: known)
        assert preflight(qubo, "chimera4").nonlinear.startswith(told)
        assert bool(preflight(qubo, "chimera4").nonlinear) == bool(told)
