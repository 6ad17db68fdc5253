from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import gamma

from qcompile import InputError, fit_loss, moments_of
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.data.split import add_noise, split
from tests import judge
from tests.problems import optimum, synthetic
from tests.strategies import dense


def test_the_scale_of_even_orders_follows_omega() -> None:
    moments = synthetic(4)
    assert fit_loss(moments, omega=16.0).prior_std == pytest.approx(0.5 / moments.rms_norm)


def test_own_coefficients_leave_the_prior_alone() -> None:
    assert (
        fit_loss(synthetic(), coefficients=(0, -1, 0, 1), l2=0.5, weight_range=1.0).prior_std == 1.0
    )


def test_a_singular_fit_is_still_the_best_one() -> None:
    data = from_arrays(np.array([[2.0], [1.0], [-1.0]]), [1, -1, 1])
    loss = fit_loss(moments_of(data, 3), weight_range=1.0)
    assert loss.coefficients[1] == pytest.approx(0, abs=1e-12)
    assert loss.coefficients[3] == pytest.approx(math.sqrt(2 / math.pi) / 90)


@pytest.mark.parametrize(
    "coefficients", [(0, -1, 0, 0.2), (-1, -1, 0, 0.2), (0, -1), (-1.0, -1.0), (0.5, -1, 0, 0)]
)
def test_own_losses_may_start_anywhere(coefficients: tuple[float, ...]) -> None:
    loss = fit_loss(synthetic(), coefficients=coefficients)
    assert 0 < loss.range_ <= 2


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), std=st.floats(0.01, 100), features=st.integers(2, 6))
def test_the_cubic_fit_is_the_papers_sum_over_pairs(seed: int, std: float, features: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, features)) * rng.uniform(0.2, 3, size=(60, 1))
    x[0] = 0  # a row without length has margin 0 for every classifier
    y = np.where(x @ rng.normal(size=features) + 0.1 * rng.normal(size=60) > 0, 1.0, -1.0)
    y[:2] = 1, -1
    loss = fit_loss(moments_of(from_arrays(x, y), 3), prior_std=std, weight_range=1.0)
    first, third = judge.pairwise_cubic(x, y, std)
    np.testing.assert_allclose(loss.coefficients, (0.5, first, 0, third), rtol=1e-9)


@pytest.mark.parametrize("name", ["heart_scale", "australian_scale", "mushrooms"])
def test_the_cubic_fit_agrees_with_pairs_on_real_data(real_data: Path, name: str) -> None:
    data = read(real_data / f"{name}.svm.xz", rows=2000)
    loss = fit_loss(moments_of(data, 3), weight_range=1.0)
    first, third = judge.pairwise_cubic(dense(data), np.asarray(data.y), 1.0)
    np.testing.assert_allclose(loss.coefficients[1::2], (first, third), rtol=1e-9)


@pytest.mark.parametrize("order", [1, 3, 5, 7])
def test_the_risk_fit_minimises_the_mean_square_over_random_classifiers(order: int) -> None:
    """Gauss-Hermite quadrature over two weights, exact for the polynomial part."""
    rng = np.random.default_rng(order)
    x = rng.normal(size=(12, 2))
    y = np.where(x @ [1.0, -0.5] > 0, 1.0, -1.0)
    y[0] *= -1
    loss = fit_loss(moments_of(from_arrays(x, y), order), prior_std=0.8, weight_range=1.0)
    angles = np.linspace(0, 2 * np.pi, 20_001)[:-1]
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    unit = (x * y[:, None]) @ directions.T
    signs = np.sign(unit).mean(axis=0) / 2
    powers = np.arange(1, order + 1, 2)
    # |w| is Rayleigh distributed: E|w|^p = s^p 2^(p/2) Γ(1 + p/2)
    radial = [0.8**p * 2 ** (p / 2) * gamma(1 + p / 2) for p in range(2 * order + 1)]
    means = [(unit**p).mean(axis=0) for p in powers.tolist()]
    matrix = [
        [radial[p + q] * (a * b).mean() for q, b in zip(powers.tolist(), means, strict=True)]
        for p, a in zip(powers.tolist(), means, strict=True)
    ]
    right = [-radial[p] * (a * signs).mean() for p, a in zip(powers.tolist(), means, strict=True)]
    expected = np.linalg.solve(np.array(matrix), np.array(right))
    np.testing.assert_allclose(np.array(loss.coefficients)[powers], expected, rtol=2e-3)


def test_the_loss_fit_has_the_papers_closed_form() -> None:
    moments = moments_of(read("mease-wyner"), 3)
    loss = fit_loss(moments, fit_to="loss", prior_std=0.3, weight_range=1.0)
    sigma = 0.3 * moments.rms_norm
    root = math.sqrt(2 * math.pi)
    expected = (0.5, -3 / (2 * root * sigma), 0.0, 1 / (6 * root * sigma**3))
    np.testing.assert_allclose(loss.coefficients, expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 3, 5])
def test_both_fits_agree_when_all_rows_are_of_one_length(order: int) -> None:
    rows = np.random.default_rng(order).normal(size=(20, 4))
    rows *= 5 / np.linalg.norm(rows, axis=1)[:, None]
    moments = moments_of(from_arrays(rows, np.arange(20) % 3 > 0), order)
    risk, plain = (
        fit_loss(moments, weight_range=1.0),
        fit_loss(moments, fit_to="loss", weight_range=1.0),
    )
    np.testing.assert_allclose(risk.coefficients, plain.coefficients, rtol=1e-9)


def test_the_sixth_order_has_the_corrected_coefficients_of_the_paper() -> None:
    moments = moments_of(read("synthetic:examples=20,features=2"), 6)
    unit = [0.44844866, -1.77700378, 0.81789600, 2.65918754, -1.85194476, -1.28429842, 1.0]
    for omega in (1.0, 2.0, 1e-6):
        loss = fit_loss(moments, omega=omega)
        expected = [b * omega ** (p / 6) for p, b in enumerate(unit)]
        np.testing.assert_allclose(loss.coefficients, expected, rtol=1e-7)
        assert loss.coefficients[1] < 0  # β1 is printed with the wrong sign


def test_the_papers_closed_form_of_beta_zero() -> None:
    g11, g13, pi = gamma(11 / 6) ** 3, gamma(13 / 6) ** 3, math.pi**1.5
    beta = 1 / 3 + 343 * (125 * pi - 864 * g11) / (1296 * (343 * g11 + 750 * g13) - 300125 * pi)
    loss = fit_loss(moments_of(read("synthetic:examples=20,features=2"), 6))
    assert loss.coefficients[0] == pytest.approx(beta, rel=1e-9)


@pytest.mark.parametrize("order", [4, 6, 8])
@pytest.mark.parametrize("omega", [0.3, 2.0])
def test_no_even_loss_fits_better(order: int, omega: float) -> None:
    """The residual is orthogonal to every free power under the prior, by quadrature."""
    loss = fit_loss(moments_of(read("synthetic:examples=9,features=2"), order), omega=omega)
    assert loss.coefficients[order] == pytest.approx(omega)
    reach = (40 / omega) ** (1 / order)
    for power in range(order):

        def residual(margin: float, power: int = power) -> float:
            zero_one = 1.0 if margin < 0 else 0.0
            prior = math.exp(-omega * margin**order)
            return prior * margin**power * (zero_one - float(loss(margin)))

        left, _ = integrate.quad(residual, -reach, 0, epsabs=1e-12, epsrel=1e-12)
        right, _ = integrate.quad(residual, 0, reach, epsabs=1e-12, epsrel=1e-12)
        assert left + right == pytest.approx(0, abs=1e-9)


def test_data_without_features_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="all features are zero"):
        fit_loss(moments_of(from_arrays(np.zeros((2, 2)), [1, -1]), 3))


def test_singular_fits_are_solved_and_said() -> None:
    x = np.array([[2.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])  # Σ z is 0, and the third moment is not
    loss = fit_loss(moments_of(from_arrays(x, [1, 1, -1]), 3), weight_range=1.0)
    assert all(map(math.isfinite, loss.coefficients))
    assert any("singular" in note for note in loss.notes)


def test_prior_and_regulariser_belong_together() -> None:
    moments = moments_of(read("synthetic:examples=50,features=3"), 3)
    by_l2 = fit_loss(moments, l2=0.02, weight_range=1.0)
    assert by_l2.prior_std == pytest.approx(1 / math.sqrt(0.02 * 50))
    by_std = fit_loss(moments, prior_std=1.0, weight_range=1.0)
    assert by_std.l2 == pytest.approx(1 / 50)
    apart = fit_loss(moments, prior_std=3.0, l2=0.5, weight_range=1.0)
    assert (apart.prior_std, apart.l2) == (3.0, 0.5)
    assert fit_loss(moments, l2=0.0, weight_range=1.0).l2 == 0
    assert fit_loss(moments, coefficients=(0, -1), weight_range=1.0).l2 == 0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": 1},
        {"order": 5},
        {"fit_to": "loss"},
        {"weight_range": 0.3},
        {"order": 6},
        {"order": 4},
    ],
)
def test_without_prior_and_l2_the_linear_part_just_reaches_the_range(
    options: dict[str, Any],
) -> None:
    """Judged by the rows: the lowest point of a_1 z·w + l2/2 |w|² is at zeta in one weight."""
    data = prepare(read("breast-cancer"), scale="robust", features=4, bias=True)
    moments = moments_of(data, options.get("order", 3))
    loss = fit_loss(moments, **options)
    lowest = -loss.coefficients[1] * (data.y[:, None] * dense(data)).mean(axis=0) / loss.l2
    assert np.abs(lowest).max() == pytest.approx(loss.zeta)
    other = fit_loss(moments, **options, prior_std=loss.prior_std)
    assert other.l2 == pytest.approx(0.0 if "omega" in loss.fit else 1 / 569)
    assert replace(other, l2=loss.l2) == loss  # nothing else changes


def test_a_first_moment_of_zero_leaves_the_l2_of_the_prior() -> None:
    """Σ z is 0 and Σ z ⊗ z ⊗ z is not, so that there is something to learn."""
    x = np.array([[2.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])
    moments = moments_of(from_arrays(x, [1, 1, -1]), 3)
    assert not moments.tensors[1, 0].any()
    assert fit_loss(moments, weight_range=1.0).l2 == pytest.approx(1 / 3)


def test_in_units_of_the_prior_the_fit_does_not_depend_on_l2() -> None:
    moments = moments_of(read("synthetic:examples=50,features=3"), 3)
    scaled = []
    for l2 in (1e-4, 10.0):
        loss = fit_loss(moments, l2=l2)
        scaled.append([a * loss.prior_std**p for p, a in enumerate(loss.coefficients)])
        assert loss.zeta == pytest.approx(loss.range_ / math.sqrt(l2 * 50))
    np.testing.assert_allclose(scaled[0], scaled[1], rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"order": 2},
        {"order": 9},
        {"order": 5},
        {"omega": 1.0},
        {"fit_to": "best"},
        {"weight_range": "wide"},
        {"weight_range": -1.0},
        {"weight_range": math.nan},
        {"prior_std": 0.0},
        {"l2": -1.0},
        {"coefficients": (1.0,)},
        {"coefficients": (0.5, math.nan)},
    ],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    moments = moments_of(read("synthetic:examples=20,features=2"), 3)
    with pytest.raises(InputError):
        fit_loss(moments, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_cubic_is_robust_to_label_noise_as_in_figure_2() -> None:
    """Nine features, two bits: the best classifier hardly changes up to 40% of wrong labels."""
    train, test = split(read("synthetic:examples=6000", seed=1), (0.8, 0.2))
    errors = []
    for noise in (0.0, 0.2, 0.4):
        _, _, weights = optimum(add_noise(train, noise, seed=2), bits=2, range_="auto")
        errors.append(test.error(weights))
    assert max(errors) < errors[0] + 0.06


def test_rows_without_information_are_refused() -> None:
    """Constant columns, and rows with both labels: before, a fit to rounding with a_3 of 1e46."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], 50)
    constant = from_arrays(np.full((50, 3), 0.1) * [1, 2, 3], signs)
    for bias, expected in ((False, "all features are zero"), (True, "only the column of ones")):
        rows = prepare(constant, scale="standard", bias=bias)
        assert not np.any(np.asarray(rows.x)[:, :3])
        for order in (1, 3, 6):
            with pytest.raises(InputError, match=expected):
                fit_loss(moments_of(rows, order), order)
    x = rng.normal(size=(40, 3))
    both = from_arrays(np.vstack([x, x]), np.repeat([1.0, -1.0], 40))
    for bias in (False, True):
        moments = moments_of(prepare(both, scale="standard", bias=bias), 7)
        for order in (1, 3, 4, 5, 6, 7):
            with pytest.raises(InputError, match="the labels do not depend on the rows"):
                fit_loss(moments, order)
    once = from_arrays(np.vstack([x, x[1:]]), np.repeat([1.0, -1.0], [40, 39]))  # one row tells
    assert fit_loss(moments_of(once, 3)).order == 3


def test_sums_that_overflow_are_said() -> None:
    rng = np.random.default_rng(0)
    x = 1e22 * rng.normal(size=(30, 2))
    moments = moments_of(from_arrays(x, np.sign(x[:, 0])), 7)
    with pytest.raises(InputError, match=r'overflow.*scale="robust"'):
        fit_loss(moments, 7)
