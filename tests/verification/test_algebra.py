from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qcompile import quadratize, verify
from qcompile.stages.arrays import frozen
from qcompile.stages.qubo import fingerprint
from tests.problems import complete


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "degree"), [(7, 3), (6, 4), (6, 6)])
def test_any_changed_coefficient_is_found_and_named(variables: int, degree: int) -> None:
    pubo = complete(variables, degree)
    qubo, reference = quadratize(pubo), fingerprint(pubo)
    step = 1 if degree == 3 else 12  # nested gates take longer
    for k in range(0, len(qubo.quadratic), step):
        values = qubo.quadratic.copy()
        values[k] *= 1 + 1e-6
        found = verify(replace(qubo, quadratic=frozen(values)), reference=reference)
        assert not found.holds
        assert "bits" in next(check.detail for check in found.checks if not check.holds)
        assert not verify(replace(qubo, quadratic=frozen(values)), pubo=pubo).holds
    for k in range(0, qubo.variables, -(-step // 4)):
        values = qubo.linear.copy()
        values[k] += 1e-6
        assert not verify(replace(qubo, linear=frozen(values)), reference=reference).holds
        assert not verify(replace(qubo, linear=frozen(values)), pubo=pubo).holds
    assert not verify(replace(qubo, offset=qubo.offset + 1e-6), reference=reference).holds
    assert not verify(replace(qubo, offset=qubo.offset + 1e-6), pubo=pubo).holds


def test_the_term_that_was_changed_is_named() -> None:
    pubo = complete(9, 3)
    qubo = quadratize(pubo)
    at = int(np.flatnonzero((qubo.first == 2) & (qubo.second == 5))[0])
    values = qubo.quadratic.copy()
    values[at] += 0.5
    changed = replace(qubo, quadratic=frozen(values))
    details = [c.detail for c in verify(changed, reference=fingerprint(pubo)).checks if not c.holds]
    assert "the bits 2, 5 " in details[0]
    details = [c.detail for c in verify(changed, pubo=pubo).checks if not c.holds]
    assert "(2, 5)" in details[0]
