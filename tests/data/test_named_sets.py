from __future__ import annotations

import numpy as np
import pytest

from qcompile import InputError
from qcompile.data import named_sets
from qcompile.data.read import read
from tests.strategies import dense


def test_long_servedio_is_as_described() -> None:
    data = read("long-servedio", seed=3)
    agree = dense(data) * data.y[:, None]
    large = (agree == 1).all(axis=1)
    pullers = (agree[:, :11] == 1).all(axis=1) & (agree[:, 11:] == -1).all(axis=1)
    penalizers = ((agree[:, :11] == 1).sum(axis=1) == 5) & ((agree[:, 11:] == 1).sum(axis=1) == 6)
    assert (large.sum(), pullers.sum(), penalizers.sum()) == (500, 500, 1000)
    assert data.baseline_error == 0.5


def test_mease_wyner_is_as_described() -> None:
    data = read("mease-wyner", seed=3)
    assert data.x.shape == (2000, 21)
    np.testing.assert_array_equal(dense(data)[:, 20], 1)
    np.testing.assert_array_equal(data.y > 0, dense(data)[:, :5].sum(axis=1) >= 2.5)


def test_synthetic_labels_come_from_a_linear_classifier() -> None:
    from sklearn.svm import LinearSVC

    data = read("synthetic:examples=500,features=4", seed=2)
    assert data.x.shape == (500, 4)
    fitted = LinearSVC(C=1e4, fit_intercept=False, max_iter=100_000).fit(dense(data), data.y)
    assert fitted.score(dense(data), data.y) > 0.99


@pytest.mark.parametrize("name", sorted(named_sets.NAMES))
def test_named_sets_depend_on_the_seed_alone(name: str) -> None:
    first, second = read(name, seed=5), read(name, seed=5)
    np.testing.assert_array_equal(dense(first), dense(second))
    np.testing.assert_array_equal(first.y, second.y)


@pytest.mark.parametrize(
    "text", ["synthetic:rows=5", "synthetic:examples=x", "synthetic:examples=0", "mease-wyner:f"]
)
def test_bad_parameters_of_named_sets(text: str) -> None:
    with pytest.raises(InputError, match="parameter"):
        read(text)


def test_a_decision_of_zero_is_a_negative_answer() -> None:
    rows = read("mease-wyner")
    assert rows.error(np.zeros(21)) == np.mean(rows.y > 0)
