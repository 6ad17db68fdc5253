"""Steps in bits: energies are the values of the polynomial at the decoded steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    InputError,
    Pubo,
    discretize_step,
    fit_around,
    from_arrays,
    load_pubo,
    load_qubo,
    quadratize,
    save_pubo,
    save_qubo,
    solve,
)
from qcompile.stages.local_fit import LocalFit
from qcompile.stages.step import Step


def fit_of(
    features: int, seed: int, *, degree: int = 2, block: list[int] | None = None
) -> LocalFit:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(20, features)), np.where(np.arange(20) % 2, 1, -1)
    centre = rng.normal(size=features)
    return fit_around(from_arrays(x, y), centre, 0.6, degree=degree, l2=0.01, block=block)


@given(
    st.integers(1, 5), st.sampled_from([None, 1, 2, 3]), st.sampled_from([2, 3]), st.integers(0, 99)
)
@settings(max_examples=60, deadline=None)
def test_energies_are_values_of_the_polynomial(
    features: int, bits: int | None, degree: int, seed: int
) -> None:
    fit = fit_of(features, seed, degree=degree)
    pubo = discretize_step(fit, 0.7, bits)
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 2, (30, pubo.variables))
    steps = pubo.decode(states) - fit.centre
    assert pubo.energies(states) == pytest.approx(fit(steps), rel=1e-12, abs=1e-13)
    assert pubo.degree <= degree


def test_stay_or_step_goes_against_the_slope() -> None:
    fit = fit_of(4, 1)
    pubo = discretize_step(fit, 0.5)
    for state in itertools.product((0, 1), repeat=4):
        step = np.where(np.array(state) == 1, -0.5 * np.sign(fit.first), 0.0)
        assert pubo.decode(state) == pytest.approx(fit.centre + step)
    assert len(quadratize(pubo).ancillas) == 0


def test_levels_are_symmetric_about_the_centre() -> None:
    step = Step(1, 3, 0.7, centre=(2.0,))
    every = np.array(list(itertools.product((0, 1), repeat=3)))
    reached = np.sort(step.decode(every).ravel()) - 2.0
    assert reached == pytest.approx(np.linspace(-0.7, 0.7, 8))
    assert step.levels == pytest.approx(reached)


def test_weights_outside_of_the_block_stay() -> None:
    fit = fit_of(6, 2, block=[1, 4])
    pubo = discretize_step(fit, 0.5, 2)
    weights = pubo.decode(np.random.default_rng(0).integers(0, 2, (50, 4)))
    others = [0, 2, 3, 5]
    assert (weights[:, others] == fit.centre[others]).all()
    assert not (weights[:, [1, 4]] == fit.centre[[1, 4]]).any()


@pytest.mark.parametrize("bits", [None, 1, 3])
def test_encoding_is_the_way_back(bits: int | None) -> None:
    pubo = discretize_step(fit_of(5, 3, block=[0, 2, 3]), 0.4, bits)
    states = np.random.default_rng(1).integers(0, 2, (40, pubo.variables))
    assert pubo.encoding is not None
    assert (pubo.encoding.encode(pubo.decode(states)) == states).all()


@pytest.mark.parametrize("ending", ["json", "npz"])
@pytest.mark.parametrize(("bits", "block"), [(None, None), (2, [0, 2])])
def test_files_keep_the_step(
    tmp_path: object, ending: str, bits: int | None, block: list[int] | None
) -> None:
    pubo = discretize_step(fit_of(3, 4, block=block), 0.4, bits)
    qubo = quadratize(pubo)
    save_pubo(pubo, f"{tmp_path}/pubo.{ending}")
    save_qubo(qubo, f"{tmp_path}/qubo.{ending}", pubo=pubo)
    again, (reduced, _) = (
        load_pubo(f"{tmp_path}/pubo.{ending}"),
        load_qubo(f"{tmp_path}/qubo.{ending}"),
    )
    for problem in (again, reduced):
        assert problem.encoding == pubo.encoding
        assert problem.around == pubo.around


def test_every_solver_space_takes_a_step() -> None:
    pubo = discretize_step(fit_of(6, 5), 0.5, 2)
    lowest = min(
        float(pubo.energies(np.array([state]))[0]) for state in itertools.product((0, 1), repeat=12)
    )
    for solver in ("exact", "anneal", "neal"):
        assert solve(pubo, solver=solver, seed=1).energies[0] == pytest.approx(lowest)


def test_bad_steps_are_told_in_one_line() -> None:
    fit = fit_of(3, 6)
    for radius in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="radius"):
            discretize_step(fit, radius)
    with pytest.raises(InputError, match="0 bits for each weight"):
        discretize_step(fit, 0.5, 0)
    with pytest.raises(InputError, match="centre of 2 weights; expected 3"):
        Step(3, 1, 0.5, centre=(0.0, 0.0))
    with pytest.raises(InputError, match="ascending"):
        Step(3, 1, 0.5, centre=(0.0, 0.0, 0.0), block=(2, 1))
    with pytest.raises(InputError, match="-1 or 1"):
        Step(1, 1, 0.5, centre=(0.0,), directions=(0,))


def test_a_polynomial_without_pairs_is_a_step_too() -> None:
    """At weights of 0 the second derivatives vanish, and only the price of the weights is left."""
    data = from_arrays([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1])
    pubo = discretize_step(fit_around(data, [0.0, 0.0], 0.5), 1.0)
    assert isinstance(pubo, Pubo)
    assert pubo.terms[1:] in ((), (0,))
