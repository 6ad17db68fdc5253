from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dwave.optimization import Model

import qcompile
from qcompile import InputError, Pubo, Qubo
from qcompile.leap.nonlinear import check_nonlinear, to_nonlinear
from tests.leap.jobs import QUICK
from tests.sapi import Sapi


def test_nonlinear_solver_on_the_weights(server: Sapi, qubo: Qubo) -> None:
    found = qcompile.submit(qubo, solver_type="nl", patience=QUICK)
    assert found.samples is not None and found.samples.info["space"] == "weights"
    np.testing.assert_allclose(found.samples.energies, qubo.score(found.samples.bits))
    (problem,) = server.problems.values()
    model = Model.from_file(io.BytesIO(bytes(server.uploads[problem["data"]["data"]])))
    (decision,) = model.iter_decisions()
    assert qubo.encoding is not None
    assert decision.shape() == (qubo.encoding.features,)  # weights, no bits, no ancillas


@pytest.mark.parametrize(
    ("options", "space"),
    [
        ({"order": 3}, "weights"),
        ({"order": 1}, "weights"),
        ({"order": 3, "l0": 0.01}, "bits"),
        ({"order": 4, "omega": 0.1}, "bits"),
        ({"order": 6, "omega": 0.1}, "bits"),
    ],
)
def test_nonlinear_models_are_the_polynomial(options: dict[str, Any], space: str) -> None:
    """Every assignment, through a file and the solver's own arithmetic."""
    features = 3 if "l0" not in options else 2
    pubo = qcompile.compile(
        "breast-cancer", bits=2, scale="standard", features=features, bias=False, **options
    ).pubo
    problem = to_nonlinear(pubo)
    assert problem.space == space
    model = Model.from_file(io.BytesIO(problem.to_file()))
    (decision,) = model.iter_decisions()
    bits = np.array(list(np.ndindex(*(2,) * pubo.variables)), dtype=np.int8)
    with model.lock():
        model.states.resize(len(bits))
        for i, value in enumerate(problem.decision_of(bits)):
            decision.set_state(i, value)
        energies = [float(model.objective.state(i)) for i in range(len(bits))]
        stream = io.BytesIO()
        model.states.into_file(stream)
    np.testing.assert_allclose(energies, pubo.energies(bits), rtol=1e-9, atol=1e-12)
    stream.seek(0)
    assert np.array_equal(problem.read_states(stream), bits)


def test_nonlinear_models_allow_the_levels_of_the_grid_only(qubo: Qubo) -> None:
    from qcompile.leap.nonlinear import nonlinear

    (decision,) = nonlinear(qubo).model.iter_decisions()
    encoding = qubo.encoding
    assert encoding is not None
    bits = np.array(list(np.ndindex(*(2,) * qubo.logical)), dtype=np.int8)
    levels = np.rint(encoding.decode(bits) / encoding.step)
    for bound, expected in (
        (decision.lower_bound(), levels.min(axis=0)),
        (decision.upper_bound(), levels.max(axis=0)),
    ):
        assert np.array_equal(np.broadcast_to(bound, encoding.features), expected)


def test_a_wrong_nonlinear_model_is_not_sent() -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0})
    other = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.001, (2,): 0.0})
    problem = to_nonlinear(pubo)
    with pytest.raises(InputError, match="differs from the polynomial"):
        check_nonlinear(replace(problem, pubo=other))
