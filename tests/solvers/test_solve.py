from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import qcompile
from qcompile import (
    SOLVERS,
    Encoding,
    InputError,
    Pubo,
    anneal,
    anneal_examples,
    compile,
    fit_loss,
    moments_of,
    prepare,
    read,
    solve,
)
from tests.by_brute_force import brute_force
from tests.problems import polynomial


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_optimum_with_true_energies(solver: str) -> None:
    compiled = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False)
    found = solve(compiled.quadratize(), solver=solver, reads=100, seed=1)
    exact = brute_force(compiled.pubo)
    assert found.energies[0] == pytest.approx(exact.min())
    assert found.energies == pytest.approx(compiled.pubo.energies(found.bits))
    assert found.info["solver"] == solver and found.info["seconds"] > 0
    again = solve(compiled.quadratize(), solver=solver, reads=100, seed=1)
    assert (again.bits == found.bits).all()


def test_nonsense_is_refused() -> None:
    pubo = polynomial(3, 2)
    options: tuple[dict[str, Any], ...] = (
        {"solver": "magic"},
        {"reads": 0},
        {"keep": 0},
        {"sweeps": 0},
    )
    for option in options:
        with pytest.raises(InputError, match="expected"):
            solve(pubo, **option)
    with pytest.raises(InputError, match="space"):
        anneal(pubo, space="time")
    nothing = Pubo.from_dict({(): 2.0})
    for solver in ("exact", "anneal", "neal"):
        assert solve(nothing, solver=solver).energies.tolist() == [2.0]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [-1, 2**32])
def test_impossible_seeds_are_refused(solver: str, seed: int) -> None:
    with pytest.raises(InputError, match="seed"):
        solve(polynomial(3, 2), solver=solver, seed=seed)


def test_absurd_numbers_are_refused_or_cut_down() -> None:
    pubo = polynomial(4, 2)
    assert len(solve(pubo, keep=100_000)) <= 16
    with pytest.raises(InputError, match="up to"):
        solve(pubo, keep=10**9)
    with pytest.raises(InputError, match="up to"):
        solve(pubo, sweeps=10**9)
    for temperatures in ((0.0, 0.0), (1.0, 2.0), (1.0, float("nan"))):
        with pytest.raises(InputError, match="temperatures"):
            anneal(pubo, temperatures=temperatures)
    data = prepare(read("breast-cancer"), features=3)
    loss = fit_loss(moments_of(data, 3))
    with pytest.raises(InputError, match="4 weights for 3 features"):
        anneal_examples(data, loss, Encoding(4, 2, 1.0))


def test_a_program_gives_a_sample_of_every_copy() -> None:
    qubo = qcompile.quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))
    machine = qcompile.load_machine("chimera4")
    two = qcompile.find_copies(qubo, machine, copies=2)
    program = qcompile.make_program([qcompile.with_chains(qubo, one) for one in two])
    for solver in ("neal", "mock", "rehearse", qcompile.MockMachine(machine, errors=0.0, beta=9.0)):
        found = solve(program, solver=solver, reads=20)
        assert found.occurrences.sum() == 40 and found.info["copies"] == 2
        assert found.energies[0] == -2.0
    assert solve(program, solver="exact", keep=1).energies[0] == -2.0
    other = replace(qubo, offset=qubo.offset + 1)
    mixed = [qcompile.with_chains(qubo, two[0]), qcompile.with_chains(other, two[1])]
    with pytest.raises(InputError, match="different problems"):
        solve(qcompile.make_program(mixed), solver="neal")
