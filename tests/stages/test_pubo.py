from __future__ import annotations

import dimod
import numpy as np
import pytest

from qcompile import InputError, Pubo, quadratize
from qcompile.stages.problem import Problem
from tests import judge
from tests.problems import compiled


def test_samples_with_too_many_columns_are_refused() -> None:
    with pytest.raises(InputError):
        Pubo.from_dict({(0,): 1.0, (1,): 1.0}).energies(np.zeros((3, 3)))


def test_dictionaries_add_up_and_are_sorted() -> None:
    assert Pubo.from_dict({(0, 1): 1, (1, 0): 2}).to_dict() == {(): 0.0, (0, 1): 3.0}
    assert Pubo.from_dict({(2,): 1, (0,): 1}).indices[0].tolist() == [[0], [2]]
    with pytest.raises(InputError, match="numbers below"):
        Pubo.from_dict({(10**12,): 1.0})


def test_unused_variables_survive_dimod() -> None:
    pubo = Pubo.from_dict({(1,): 1.0}, variables=4)
    assert Pubo.from_dimod(pubo.to_dimod()).variables == 4


def test_dimod_and_dictionaries_go_both_ways() -> None:
    pubo = compiled()
    states = judge.all_assignments(pubo.variables)
    polynomial = pubo.to_dimod()
    assert isinstance(polynomial, dimod.BinaryPolynomial)
    np.testing.assert_allclose(polynomial.energies((states, range(8))), pubo.energies(states))
    for back in (Pubo.from_dimod(polynomial), Pubo.from_dict(pubo.to_dict())):
        assert back.to_dict() == pubo.to_dict()
    spins = dimod.BinaryPolynomial({(0, 1, 2): 1.5, (1,): -0.5, (): 2.0}, dimod.SPIN)
    bits = Pubo.from_dimod(spins)
    for q in judge.all_assignments(3):
        s = 2 * q - 1
        assert bits.energies(q)[0] == pytest.approx(1.5 * s.prod() - 0.5 * s[1] + 2)


def test_dictionaries_are_checked() -> None:
    with pytest.raises(InputError, match="numbered from 0"):
        Pubo.from_dict({(-1, 2): 1.0})
    with pytest.raises(InputError, match="not finite"):
        Pubo.from_dict({(1,): float("nan")})
    with pytest.raises(InputError, match="2 variables"):
        Pubo.from_dict({(5,): 1.0}, variables=2)
    with pytest.raises(InputError, match="relabel"):
        Pubo.from_dimod(dimod.BinaryPolynomial({("a", "b"): 1}, dimod.BINARY))


def test_samples_are_checked() -> None:
    pubo = compiled()
    with pytest.raises(InputError, match="expected"):
        pubo.energies(np.zeros((3, 5)))
    with pytest.raises(InputError, match="other than 0 and 1"):
        pubo.energies(np.full((1, 8), 2))
    assert pubo.energies(np.zeros((0, 8))).shape == (0,)


def test_many_samples_in_any_number_give_the_same_energies() -> None:
    pubo = compiled()
    states = judge.all_assignments(8)
    one_by_one = np.concatenate([pubo.energies(state) for state in states])
    np.testing.assert_array_equal(pubo.energies(states), one_by_one)


def test_a_polynomial_answers_what_any_problem_is_asked() -> None:
    pubo = Pubo.from_dict({(0, 1): 2.0, (2,): -1.0})
    qubo = quadratize(Pubo.from_dict({(0, 1, 2): 2.0}))
    states = judge.all_assignments(3)
    assert pubo.logical == pubo.variables == qubo.logical == 3 < qubo.variables
    assert pubo.score(states).tolist() == pubo.energies(states).tolist()
    assert pubo.has_terms and qubo.has_terms
    assert not Pubo.from_dict({(): 1.0}, variables=2).has_terms
    for problem in (pubo, qubo):
        assert isinstance(problem, Problem)
        assert problem.labels == [0, 1, 2] and problem.vartype == "BINARY"
        with pytest.raises(InputError, match="encodes no weights"):
            problem.decode([0, 0, 0])
