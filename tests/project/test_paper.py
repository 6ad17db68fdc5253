"""The programs that rerun the paper: their pieces against other routes to the same numbers."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from benchmarks.paper import figure2, methods, sets
from benchmarks.paper.methods import GRID, METHODS, Effort
from qcompile import (
    Encoding,
    InputError,
    Loss,
    Moments,
    anneal_examples,
    discretize,
    fit_loss,
    from_arrays,
    moments_of,
)
from qcompile.stages.loss import QLoss, ZeroOneLoss

pytestmark = pytest.mark.slow


def test_the_grid_is_the_papers() -> None:
    shown = [2.0, 0.398965, 0.079583, 0.015875, 0.003167, 0.000632, 0.000126, 2.5e-05, 5e-06, 1e-06]
    assert np.allclose(GRID, shown, rtol=0.02)


@pytest.mark.parametrize("loss", [ZeroOneLoss(l2=0.01), QLoss(q=-0.5, l2=0.02), QLoss(q=0.0)])
def test_losses_that_are_no_polynomials_are_annealed_to_their_minimum(
    loss: ZeroOneLoss | QLoss,
) -> None:
    """Against every assignment, with the loss written out once more."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 4))
    y = np.where(x @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=60) > 0, 1.0, -1.0)
    encoding = Encoding(4, 2, 1.0)
    found = anneal_examples(from_arrays(x, y), loss, encoding, reads=20, keep=5)

    def risk(w: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        total = 0.0
        for row, label in zip(x, y, strict=True):
            margin = float(label * (row @ w))
            if isinstance(loss, ZeroOneLoss):
                total += 0.0 if margin > 0 else 1.0
            else:
                total += min((1 - loss.q) ** 2, max(0.0, 1 - margin) ** 2)
        return total / len(y) + loss.l2 / 2 * float(w @ w)

    energies = sorted(risk(np.array(w)) for w in product(encoding.levels, repeat=4))
    assert [risk(w) for w in found] == pytest.approx(energies[:5])


def test_a_search_may_begin_somewhere() -> None:
    """With no heat at all it stays in the valley where it begins."""
    data = from_arrays(np.array([[1.0], [1.0], [-1.0]]), [1.0, 1.0, -1.0])
    loss = Loss((0.0, 0.0, -2.0, 0.0, 1.0))  # two valleys, at margins of -1 and 1
    encoding = Encoding(1, 4, 2.0)
    for start in (-1.0, 1.0):
        found = anneal_examples(
            data, loss, encoding, reads=1, sweeps=1, keep=1, start=np.array([start]),
            temperatures=(1e-9, 1e-9),
        )  # fmt: skip
        assert found[0, 0] == start


def test_each_read_has_its_own_beginning_and_its_share() -> None:
    """Two valleys, one deeper: of every read something is kept, the lowest fill up the rest."""
    data = from_arrays(np.array([[1.0], [1.0], [-1.0]]), [1.0, 1.0, -1.0])
    loss = Loss((0.0, -0.1, -2.0, 0.0, 1.0))  # valleys at about -1 and, deeper, at 1
    encoding = Encoding(1, 4, 2.0)
    starts = np.array([[-1.0], [1.0]])
    options: dict[str, Any] = {"sweeps": 1, "start": starts, "temperatures": (1e-9, 1e-9)}
    lowest = anneal_examples(data, loss, encoding, reads=2, keep=1, **options)
    assert lowest.ravel().tolist() == [1.0]
    both = anneal_examples(data, loss, encoding, reads=2, keep=2, each=1, **options)
    assert both.ravel().tolist() == [1.0, -1.0]
    # without temperatures of its own, a search that begins somewhere stays near
    near = anneal_examples(data, loss, encoding, reads=1, keep=1, start=starts[0], sweeps=2)
    assert near[0, 0] < 0
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    rows = from_arrays(x, np.where(x[:, 0] > 0, 1.0, -1.0))
    grid = Encoding(3, 2, 1.0)
    filled = anneal_examples(rows, loss, grid, reads=3, keep=20, each=2)
    assert len(filled) == len(np.unique(filled, axis=0)) == 20
    assert sorted(map(tuple, filled[:1])) == sorted(
        map(tuple, anneal_examples(rows, loss, grid, reads=3, keep=1))
    )
    with pytest.raises(InputError, match="2 states of each of 3 reads; expected 5 in all"):
        anneal_examples(rows, loss, grid, reads=3, keep=5, each=2)
    with pytest.raises(InputError, match=r"start has shape \(2, 3\); expected 3 finite weights"):
        anneal_examples(rows, loss, grid, reads=3, start=np.zeros((2, 3)))
    with pytest.raises(InputError, match="finite"):
        anneal_examples(rows, loss, grid, reads=1, start=np.full(3, np.nan))


def test_q_loss_is_checked() -> None:
    with pytest.raises(InputError, match="q 1"):
        QLoss(q=1.0)


@pytest.mark.parametrize("noise", [0, 10, 33])
def test_the_protocol(noise: int) -> None:
    """Parts are disjoint, flips are counted exactly, validation and test stay clean."""
    rows = 203
    x = np.arange(1.0, rows + 1)[:, None]
    y = np.where(np.arange(rows) % 3 == 0, 1.0, -1.0)
    data = from_arrays(x, y)
    truth = dict(zip(x[:, 0], y, strict=True))
    tested: list[float] = []
    for fold in range(sets.FOLDS):
        part = sets.cut(data, noise, fold)
        pieces = [np.asarray(d.x)[:, 0] for d in (part.train, part.validation, part.test)]
        assert sorted(np.concatenate(pieces)) == sorted(x[:, 0])
        wrong = [truth[v] != label for v, label in zip(pieces[0], part.train.y, strict=True)]
        assert sum(wrong) == math.ceil(noise * len(wrong) / 100)
        for piece, part_of in ((pieces[1], part.validation), (pieces[2], part.test)):
            assert [truth[v] for v in piece] == part_of.y.tolist()
        assert len(pieces[1]) == round(0.3 * rows)
        tested += pieces[2].tolist()
    assert len(tested) == len(set(tested)) == rows - round(0.3 * rows)


def test_risks_of_all_classifiers() -> None:
    """Figure 2's short cuts against the losses written out, for every classifier."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(40, 3))
    labels = np.where(rng.normal(size=(40, 2)) > 0, 1.0, -1.0)
    states = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(np.int8)
    weights = Encoding(3, 2, 2.0).decode(states)
    found = figure2._risks(weights, x, labels)
    ridge = np.sum(weights**2, axis=1) / (2 * len(x))
    for n in range(2):
        margins = (weights @ x.T) * labels[:, n]
        # the predicted label of a product of 0 is negative
        wrong = ((weights @ x.T > 0) != (labels[:, n] > 0)).mean(axis=1)
        expected = {
            "0-1": wrong,
            "square": np.mean((1 - margins) ** 2, axis=1),
            "logistic": np.mean(np.log1p(np.exp(-margins)), axis=1),
            "hinge": np.mean(np.maximum(0, 1 - margins), axis=1),
        }
        pubo = discretize(*_cubic_of(x, labels[:, n]), bits=2)
        np.testing.assert_allclose(found["cubic"][:, n], pubo.energies(states), rtol=1e-9)
        for loss, values in expected.items():
            np.testing.assert_allclose(found[loss][:, n], values + ridge, rtol=1e-5, atol=1e-6)


def _cubic_of(x: Any, y: Any) -> tuple[Moments, Loss]:
    moments = moments_of(from_arrays(x, y), order=3)
    return moments, fit_loss(moments, prior_std=1.0, weight_range=2.0)


def test_columns_are_standardised_by_the_rows_to_train_on() -> None:
    data = sets.load("Mease-Wyner")
    assert data is not None
    for fold in (0, 3):
        part = sets.cut(data, 10, fold)
        x = np.asarray(part.train.x)
        np.testing.assert_allclose(x[:, :20].mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(x[:, :20].std(axis=0), 1)
        assert (x[:, 20] == 1).all()
        # those of the test rows are not: nobody looked at them
        assert np.abs(np.asarray(part.test.x)[:, :20].mean(axis=0)).max() > 1e-3


def test_slopes_are_those_of_the_losses() -> None:
    margins = np.array([-2.0, -0.3, 0.2, 0.9, 1.5])
    for loss in (Loss((0.4, -1.0, 0.5, 0.2, 0.1)), QLoss(q=-0.5)):
        rise = (loss(margins + 1e-6) - loss(margins - 1e-6)) / 2e-6
        np.testing.assert_allclose(methods._slope(loss, margins), rise, rtol=1e-5, atol=1e-8)


def test_descent_goes_down_and_stays_inside() -> None:
    data = sets.load("Mease-Wyner")
    assert data is not None
    part = sets.cut(data, 10, 0)
    loss, zeta = Loss(methods._SIXTH, l2=0.01), 0.3
    start = 0.9 * methods._hinge(part, 1e-3)

    def risk(w: Any) -> float:
        return float(np.mean(loss(part.train.margins(w)))) + 0.005 * float(w @ w)

    found = methods._descend(part, loss, zeta, start)
    assert risk(found) < risk(np.clip(start, -zeta, zeta))
    assert np.abs(found).max() <= zeta
    filled = methods._descend(part, ZeroOneLoss(), 0.7, start)
    assert np.abs(filled).max() == pytest.approx(0.7)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns(name: str) -> None:
    data = sets.load("Mease-Wyner")
    assert data is not None
    method = METHODS[name]
    part = sets.cut(data, 0, 0)
    errors = [
        part.test.error(method.fit(part, setting, Effort(2, 50, None)))
        for setting in method.settings[:: max(1, len(method.settings) // 12)]
    ]
    assert min(errors) < 0.3
