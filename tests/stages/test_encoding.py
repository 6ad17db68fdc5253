from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qcompile import Encoding, InputError
from tests import judge


@pytest.mark.parametrize("bits", range(1, 17))
def test_bits_and_weights_go_both_ways(bits: int) -> None:
    encoding = Encoding(features=2, bits=bits, zeta=0.75)
    levels = encoding.levels
    assert len(levels) == 2**bits
    chosen = levels[:: max(1, len(levels) // 50)]
    pairs = np.array(list(itertools.product(chosen, chosen[:5])))
    np.testing.assert_allclose(encoding.decode(encoding.encode(pairs)), pairs, atol=1e-15)
    assert levels.max() == 0.75
    assert levels.min() > -0.75 - 1e-15
    assert encoding.encode([0.0, 0.0]).sum() == 0


@given(weights=st.lists(st.floats(-2, 2), min_size=3, max_size=3), bits=st.integers(1, 6))
def test_encoding_takes_the_nearest_level(weights: list[float], bits: int) -> None:
    encoding = Encoding(features=3, bits=bits, zeta=1.0)
    found = encoding.decode(encoding.encode(weights))
    for weight, level in zip(weights, found.tolist(), strict=True):
        assert abs(level - weight) == pytest.approx(np.abs(encoding.levels - weight).min())


@pytest.mark.parametrize("bits", [0, 17])
def test_impossible_encodings_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match="1 to 16"):
        Encoding(1, bits, 1.0)
    with pytest.raises(InputError, match="zeta"):
        Encoding(1, 1, 0.0)


@pytest.mark.parametrize("bounds", [None, ((0, 3), (-2, 1), (1, 1))])
def test_the_levels_are_those_of_all_codes(bounds: tuple[tuple[int, int], ...] | None) -> None:
    encoding = Encoding(3, 3, 1.5, bounds)
    weights = encoding.decode(judge.all_assignments(encoding.variables))
    low, high = encoding.level_bounds
    assert (low * encoding.step).tolist() == weights.min(axis=0).tolist()
    assert (high * encoding.step).tolist() == weights.max(axis=0).tolist()
    far = encoding.decode(encoding.encode([[-9.0] * 3, [9.0] * 3]))
    assert far.tolist() == [weights.min(axis=0).tolist(), weights.max(axis=0).tolist()]


@pytest.mark.parametrize("bounds", [((0, 3), (-2, 1)), ((1, 1), (-3, 4)), ((-3, 2), (0, 0))])
def test_bounded_codes_go_both_ways(bounds: tuple[tuple[int, int], ...]) -> None:
    encoding = Encoding(2, 3, 1.0, bounds)
    states = judge.all_assignments(encoding.variables)
    weights = encoding.decode(states)
    np.testing.assert_allclose(encoding.decode(encoding.encode(weights)), weights)
    for a, (low, high) in enumerate(bounds):
        assert set(np.rint(weights[:, a] / encoding.step)) == set(range(low, high + 1))
