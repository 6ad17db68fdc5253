"""Pruning keeps every minimiser: compared with all assignments of the full problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, compile, discretize, fit_loss, moments_of
from qcompile.data.read import read
from qcompile.objective.prune import prune
from qcompile.stages.dataset import Dataset
from tests import judge
from tests.strategies import datasets


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    data=datasets(max_features=4),
    bits=st.integers(1, 3),
    reach=st.floats(0.05, 1.5),
    l2=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 1000),
)
def test_the_minimisers_are_kept(
    data: Dataset, bits: int, reach: float, l2: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    order = int(rng.integers(1, 4))
    moments = moments_of(data, 3)
    coefficients = tuple((rng.normal(size=order + 1) * [1, 1, 0.3, 0.3][: order + 1]).tolist())
    loss = fit_loss(moments, coefficients=coefficients, l2=l2, weight_range=reach)
    full = discretize(moments, loss, bits)
    encoding = prune(moments, loss, bits)
    pruned = discretize(moments, loss, bits, encoding=encoding)
    states = judge.all_assignments(full.variables)
    energies, weights = full.energies(states), full.decode(states)
    left = judge.all_assignments(pruned.variables).reshape(1 << pruned.variables, -1)
    left_energies, left_weights = pruned.energies(left), pruned.decode(left)
    # every assignment of what is left is one of the full problem, with its energy
    known = {tuple(np.round(w, 9)): e for w, e in zip(weights, energies, strict=True)}
    for w, e in zip(left_weights, left_energies, strict=True):
        assert known[tuple(np.round(w, 9))] == pytest.approx(e, abs=1e-8)
    # and every minimiser of the full problem is among them
    reachable = {tuple(np.round(w, 9)) for w in left_weights}
    for row in np.flatnonzero(energies < energies.min() + 1e-12):
        assert tuple(np.round(weights[row], 9)) in reachable


def test_a_narrow_range_is_solved_outright() -> None:
    made = compile("synthetic", scale="none", bias=False, bits=3, weight_range=0.2, prune=True)
    assert made.pubo.variables == 0
    full = compile("synthetic:features=4", scale="none", bias=False, bits=2, weight_range=0.2)
    states = judge.all_assignments(full.pubo.variables)
    best = full.pubo.decode(states[full.pubo.energies(states).argmin()])
    solved = compile(
        "synthetic:features=4", scale="none", bias=False, bits=2, weight_range=0.2, prune=True
    )
    np.testing.assert_allclose(solved.pubo.decode(np.zeros((1, 0)))[0], best)


def test_pruning_says_what_it_cannot_do() -> None:
    moments = moments_of(read("synthetic:examples=20,features=2"), 4)
    with pytest.raises(InputError, match="orders up to 3"):
        prune(moments, fit_loss(moments), 2)
    moments = moments_of(read("synthetic:examples=20,features=2"), 3)
    with pytest.raises(InputError, match="l0"):
        prune(moments, fit_loss(moments), 2, l0=0.1)
