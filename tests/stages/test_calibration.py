from __future__ import annotations

import math

import numpy as np
import pytest

from qcompile import Calibration, Classifier, InputError
from tests.problems import identity


@pytest.mark.parametrize(("slope", "intercept"), [(2.0, -0.5), (-1.0, 3.0), (0.0, 0.25)])
def test_probabilities_are_the_sigmoid_and_add_up(slope: float, intercept: float) -> None:
    found = Calibration(slope, intercept)
    decisions = np.linspace(-20, 20, 41)
    wanted = [1 / (1 + math.exp(-(slope * d + intercept))) for d in decisions.tolist()]
    assert found.probabilities(decisions) == pytest.approx(wanted, rel=1e-12)
    rest = np.exp(found.log_probabilities(decisions, positive=False))
    assert found.probabilities(decisions) + rest == pytest.approx(np.ones(41), rel=1e-12)


def test_far_decisions_neither_overflow_nor_lose_the_logarithm() -> None:
    found = Calibration(1.0, 0.0)
    far = np.array([-1e4, 1e4])
    assert found.probabilities(far).tolist() == [0.0, 1.0]
    assert found.log_probabilities(far).tolist() == [-1e4, 0.0]
    assert found.log_probabilities(far, positive=False).tolist() == [0.0, -1e4]
    assert Calibration(1e308, 0.0).probabilities([-1e3, 1e3]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(wrong: float) -> None:
    with pytest.raises(InputError, match="expected finite numbers"):
        Calibration(wrong, 0.0)
    with pytest.raises(InputError, match="expected finite numbers"):
        Calibration(1.0, wrong)


def test_a_classifier_without_calibration_has_no_probabilities() -> None:
    plain = Classifier(np.array([1.0, 2.0]), identity(2))
    with pytest.raises(InputError, match="has no calibration"):
        plain.probabilities(np.eye(2))
    own = Classifier(plain.weights, plain.preparation, calibration=Calibration(1.0, 0.0))
    assert own.probabilities(np.eye(2)) == pytest.approx([1 / (1 + math.exp(-d)) for d in (1, 2)])
