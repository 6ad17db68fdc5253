from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qcompile import quadratize, verify
from qcompile.stages.arrays import frozen
from tests.problems import complete


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (6, 4), (7, 5)])
@pytest.mark.parametrize("strength", [0.3, 0.9])
def test_weak_gates_fail_though_the_algebra_holds(
    variables: int, degree: int, strength: float
) -> None:
    pubo = complete(variables, degree)
    found = verify(quadratize(pubo, strength=strength), pubo=pubo)
    by_name = {check.name: check for check in found.checks}
    assert by_name["algebra, term by term"].holds
    assert not by_name["gates"].holds
    assert "too weak" in by_name["gates"].detail


def test_all_assignments_find_a_weak_gate_too() -> None:
    pubo = complete(6, 3)
    by_name = {c.name: c for c in verify(quadratize(pubo, strength=0.5), pubo=pubo).checks}
    assert not by_name["all assignments"].holds
    nested = complete(5, 4)
    by_name = {c.name: c for c in verify(quadratize(nested, strength=0.2), pubo=nested).checks}
    assert not by_name["all assignments"].holds


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (7, 4), (7, 6)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_gate_that_leans_to_one_factor_fails(variables: int, degree: int, side: int) -> None:
    """Moving strength from one factor to the other keeps the algebra, but not the gate."""
    pubo = complete(variables, degree)
    qubo = quadratize(pubo)
    step = 1 if degree == 3 else 5  # all assignments of nested gates are tried each time
    for k, pair in list(enumerate(qubo.ancillas.factors.tolist(), qubo.logical))[::step]:
        values = qubo.quadratic.copy()
        for factor, sign in ((pair[side], 1), (pair[1 - side], -1)):
            at = np.flatnonzero((qubo.first == min(factor, k)) & (qubo.second == max(factor, k)))
            strength = (qubo.ancillas.on + qubo.ancillas.off)[k - qubo.logical]
            values[at[0]] += sign * 1.01 * strength
        found = verify(replace(qubo, quadratic=frozen(values)), pubo=pubo)
        by_name = {check.name: check for check in found.checks}
        assert by_name["algebra, term by term"].holds
        assert not by_name["gates"].holds


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (6, 4), (6, 6)])
@pytest.mark.parametrize("side", ["on", "off"])
def test_strength_moved_from_an_ancilla_to_its_factors_fails(
    variables: int, degree: int, side: str
) -> None:
    """A charge on the ancilla and the same on its factors' pair are equal only if it is right."""
    pubo = complete(variables, degree)
    qubo = quadratize(pubo)
    for k, (a, b) in enumerate(qubo.ancillas.factors.tolist(), qubo.logical):
        # gates are tight: a fiftieth is more than they can spare
        strength = (qubo.ancillas.on + qubo.ancillas.off)[k - qubo.logical]
        move = strength / 50 * (1 if side == "on" else -1)
        linear, quadratic = qubo.linear.copy(), qubo.quadratic.copy()
        linear[k] += move
        pair = (qubo.first == min(a, b)) & (qubo.second == max(a, b))
        quadratic[np.flatnonzero(pair)[0]] -= move
        changed = replace(qubo, linear=frozen(linear), quadratic=frozen(quadratic))
        by_name = {check.name: check for check in verify(changed, pubo=pubo).checks}
        assert by_name["algebra, term by term"].holds
        assert not by_name["gates"].holds
