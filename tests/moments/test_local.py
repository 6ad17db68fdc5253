"""The local polynomial, judged by integration, by sampling and by differences of the risk."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qcompile import Dataset, InputError, fit_around, from_arrays
from qcompile.moments import unit_rows
from qcompile.moments.local import risk_and_slope, smoothed_risks
from qcompile.moments.unit_rows import UnitRows
from qcompile.runtime.threads import at_most
from qcompile.stages.local_fit import LocalFit

Floats = NDArray[np.float64]


def rows_of(rows: int, features: int, seed: int = 0, *, density: float = 1.0) -> Dataset:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * rng.uniform(0.2, 5, size=(rows, 1))
    x *= rng.uniform(size=x.shape) < density
    y = np.where(np.arange(rows) % 3 == 0, -1.0, 1.0)
    return from_arrays(x, y)


def risk(data: Dataset, weights: Floats, smoothing: float) -> float:
    """The share of wrong answers of classifiers drawn from N(weights, smoothing² I), by hand."""
    total = 0.0
    x = data.x.toarray() if sp.issparse(data.x) else data.x
    for row, sign in zip(x, data.y, strict=True):
        length = math.sqrt(sum(v * v for v in row))
        margin = sign * float(np.dot(row, weights))
        if length == 0:
            total += 0.5
        elif smoothing == 0:
            total += float(margin < 0) + 0.5 * float(margin == 0)
        else:
            total += math.erfc(margin / length / smoothing / math.sqrt(2)) / 2
    return total / len(data)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_no_other_polynomial_is_nearer_by_integration(degree: int, smoothing: float) -> None:
    """A fine sum over the plane; least squares over all monomials."""
    data = rows_of(7, 2, seed=3)
    centre, width = np.array([0.4, -0.3]), 0.8
    points = np.linspace(-7, 7, 141 if smoothing else 701)
    grid = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2) * width
    mass = np.exp(-(grid**2).sum(axis=1) / (2 * width**2))
    mass = mass / mass.sum()
    used = mass > 1e-14
    grid, mass = grid[used], mass[used]
    values = _risks_at(data, centre + grid, smoothing)
    powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    monomials = np.stack([grid[:, 0] ** i * grid[:, 1] ** j for i, j in powers], axis=1)
    root = np.sqrt(mass)[:, None]
    best, *_ = np.linalg.lstsq(monomials * root, values * root[:, 0], rcond=None)
    fit = fit_around(data, centre, width, degree=degree, smoothing=smoothing)
    tolerance = 1e-9 if smoothing else 5e-3
    probes = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, -0.7], [0.6, 0.9], [-1.0, 0.4]])
    expected = [
        sum(b * d[0] ** i * d[1] ** j for b, (i, j) in zip(best, powers, strict=True))
        for d in probes
    ]
    assert fit(probes) == pytest.approx(expected, abs=tolerance)


def _risks_at(data: Dataset, weights: Floats, smoothing: float) -> Floats:
    z = data.y * (weights @ data.x.T) / np.linalg.norm(data.x, axis=1)
    if smoothing == 0:
        return np.asarray((z < 0).mean(axis=1))
    erfc = np.frompyfunc(math.erfc, 1, 1)
    return np.asarray((erfc(z / smoothing / math.sqrt(2)).astype(float) / 2).mean(axis=1))


def test_expected_derivatives_by_sampling() -> None:
    """Stein's identities: means of F(w) times Hermite polynomials of w, over drawn weights."""
    data = rows_of(5, 3, seed=1)
    centre, width = np.array([0.5, 0.1, -0.2]), 1.1
    rng = np.random.default_rng(5)
    drawn = rng.normal(size=(400_000, 3))
    drawn = np.concatenate([drawn, -drawn])
    u = data.y[:, None] * data.x / np.linalg.norm(data.x, axis=1)[:, None]
    wrong = ((centre + width * drawn) @ u.T < 0).mean(axis=1)
    fit = fit_around(data, centre, width, smoothing=0.0)
    first = (wrong[:, None] * drawn).mean(axis=0) / width
    second = np.einsum("r,ra,rb->ab", wrong, drawn, drawn) / len(drawn)
    second = (second - wrong.mean() * np.eye(3)) / width**2
    assert fit.first == pytest.approx(first, abs=4e-3)
    assert fit.second == pytest.approx(second, abs=6e-3)
    assert fit.constant == pytest.approx(wrong.mean() - width**2 / 2 * np.trace(second), abs=8e-3)


@pytest.mark.parametrize("density", [1.0, 0.3])
def test_derivatives_are_those_of_the_smoothed_risk(density: float) -> None:
    """Central differences of the risk that is smoothed by √(smoothing² + width²)."""
    data = rows_of(40, 4, seed=2, density=density)
    centre, width, smoothing = np.array([0.3, -0.6, 0.2, 0.9]), 0.4, 0.7
    fit = fit_around(data, centre, width, smoothing=smoothing, degree=2)
    spread, h = math.hypot(width, smoothing), 1e-3
    unit = np.eye(4) * h
    for a in range(4):
        up, down = (risk(data, centre + s * unit[a], spread) for s in (1, -1))
        assert fit.first[a] == pytest.approx((up - down) / (2 * h), abs=1e-5)
        for b in range(4):
            corners = [
                s * t * risk(data, centre + s * unit[a] + t * unit[b], spread)
                for s in (1, -1)
                for t in (1, -1)
            ]
            assert fit.second[a, b] == pytest.approx(sum(corners) / (4 * h * h), abs=1e-4)


def test_at_0_with_rows_of_equal_length_it_is_the_papers_fit() -> None:
    """α1 = -3/(2 √(2π) σ) and α3 = 1/(6 √(2π) σ³) for margins of deviation σ."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    x /= np.linalg.norm(x, axis=1)[:, None]
    data = from_arrays(x, np.where(rng.uniform(size=50) < 0.4, -1, 1))
    width = 1.7
    fit = fit_around(data, np.zeros(3), width, smoothing=0.0, degree=3)
    z = data.y[:, None] * x
    one, three = (
        -3 / (2 * math.sqrt(2 * math.pi) * width),
        1 / (6 * math.sqrt(2 * math.pi) * width**3),
    )
    steps = rng.normal(size=(20, 3))
    margins = steps @ z.T
    assert fit(steps) == pytest.approx(0.5 + (one * margins + three * margins**3).mean(axis=1))


@given(st.integers(0, 2**31), st.floats(0.05, 20.0))
@settings(max_examples=25, deadline=None)
def test_the_length_of_a_row_does_not_matter(seed: int, factor: float) -> None:
    data = rows_of(9, 3, seed)
    rng = np.random.default_rng(seed)
    stretched = from_arrays(data.x * rng.uniform(0.1, factor + 0.1, size=(9, 1)), data.y)
    centre = rng.normal(size=3)
    one, two = (fit_around(d, centre, 0.5, degree=3, l2=0.1) for d in (data, stretched))
    for a, b in zip(_numbers(one), _numbers(two), strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-12)


def _numbers(fit: LocalFit) -> list[Floats]:
    assert fit.third is not None
    return [np.array([fit.constant]), fit.first, fit.second, fit.third]


def test_sparse_rows_and_dense_rows_agree() -> None:
    data = rows_of(300, 12, seed=4, density=0.15)
    sparse = from_arrays(sp.csr_array(data.x), data.y)
    centre = np.random.default_rng(0).normal(size=12)
    one, two = (fit_around(d, centre, 0.5, degree=3, l2=0.01) for d in (data, sparse))
    assert isinstance(UnitRows.of(sparse).blocks[0], unit_rows.SparseBlock)
    assert isinstance(UnitRows.of(data).blocks[0], unit_rows.DenseBlock)
    for a, b in zip(_numbers(one), _numbers(two), strict=True):
        assert a == pytest.approx(b, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("density", [1.0, 0.1])
def test_a_block_is_a_part_of_the_whole(density: float) -> None:
    data = rows_of(60, 8, seed=6, density=density)
    data = data if density == 1 else from_arrays(sp.csr_array(data.x), data.y)
    centre = np.random.default_rng(1).normal(size=8)
    whole = fit_around(data, centre, 0.5, degree=3)
    part = fit_around(data, centre, 0.5, degree=3, block=[6, 1, 4])
    chosen = [1, 4, 6]
    assert part.block.tolist() == chosen
    assert part.first == pytest.approx(whole.first[chosen])
    assert part.second == pytest.approx(whole.second[np.ix_(chosen, chosen)])
    assert whole.third is not None and part.third is not None
    assert part.third == pytest.approx(whole.third[np.ix_(chosen, chosen, chosen)])


def test_parts_add_up_to_the_whole() -> None:
    data = rows_of(50, 4, seed=12)
    parts = [data.take(slice(0, 13)), data.take(slice(13, 14)), data.take(slice(14, None))]
    whole, joined = (fit_around(d, np.ones(4), 0.5, degree=3) for d in (data, parts))
    assert joined.count == 50
    for a, b in zip(_numbers(whole), _numbers(joined), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)
    with pytest.raises(InputError, match="no parts"):
        fit_around([], np.ones(4), 0.5)


def test_sample_weights_repeat_rows() -> None:
    data = rows_of(6, 2, seed=8)
    times = np.array([1, 3, 0, 2, 1, 1])
    repeated = from_arrays(np.repeat(data.x, times, axis=0), np.repeat(data.y, times))
    one = fit_around(data, [0.1, 0.2], 0.5, sample_weight=times, degree=3)
    two = fit_around(repeated, [0.1, 0.2], 0.5, degree=3)
    for a, b in zip(_numbers(one), _numbers(two), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_the_same_bits_on_any_number_of_cores(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_rows, "_MOST_ROWS", 256)
    data = rows_of(3000, 20, seed=9, density=density)
    data = data if density == 1 else from_arrays(sp.csr_array(data.x), data.y)
    centre = np.random.default_rng(2).normal(size=20)
    made = []
    for cores in (1, 2, 5):
        monkeypatch.setattr("joblib.cpu_count", lambda cores=cores: cores)
        with at_most(cores):
            made.append(fit_around(data, centre, 0.5))
    assert len(UnitRows.of(data).blocks) > 8
    for fit in made[1:]:
        assert fit.constant == made[0].constant
        assert fit.first.tobytes() == made[0].first.tobytes()
        assert fit.second.tobytes() == made[0].second.tobytes()


def test_the_risk_and_its_slope() -> None:
    data = rows_of(50, 3, seed=11)
    rows = UnitRows.of(data)
    weights = np.random.default_rng(3).normal(size=(4, 3))
    expected = [risk(data, w, 1.0) for w in weights]
    assert smoothed_risks(rows, weights) == pytest.approx(expected, rel=1e-12)
    value, slope = risk_and_slope(rows, weights[0])
    assert value == pytest.approx(expected[0], rel=1e-12)
    for a in range(3):
        step = np.eye(3)[a] * 1e-5
        change = risk(data, weights[0] + step, 1.0) - risk(data, weights[0] - step, 1.0)
        assert slope[a] == pytest.approx(change / 2e-5, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"centre": [0.0]}, "a centre of 1 weights; expected 2"),
        ({"centre": [0.0, math.nan]}, "NaN"),
        ({"width": 0.0}, "width 0; expected a number above 0"),
        ({"width": math.inf}, "width inf"),
        ({"smoothing": -1.0}, "smoothing -1"),
        ({"degree": 4}, "degree 4 of a step; expected 2 or 3"),
        ({"l2": -0.1}, "l2 -0.1"),
        ({"block": [2]}, "outside of 0 to 1"),
        ({"block": []}, "none at all"),
        ({"sample_weight": [1.0]}, "1 sample weights; expected one for each of 4 rows"),
        ({"sample_weight": [0.0, 0, 0, 0]}, "not all 0"),
    ],
)
def test_bad_input_is_told_in_one_line(options: dict[str, object], found: str) -> None:
    data = from_arrays([[1.0, 2], [0, 1], [3, 1], [2, 2]], [0, 1, 1, 0])
    given = {"centre": [0.0, 0.0], "width": 0.5, **options}
    with pytest.raises(InputError, match=found) as error:
        fit_around(data, given.pop("centre"), given.pop("width"), **given)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
