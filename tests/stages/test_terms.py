"""Sums of terms, against dictionaries with tuples as keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import Pubo
from qcompile.stages import multisets
from qcompile.stages.spins import bits_to_spins, spins_to_bits
from qcompile.stages.terms import collect, order_of_rows

Terms = dict[tuple[int, ...], float]

# Numbers of variables at which keys in base N, N + 1 or a power of two leave 64 bits.
WIDE = (2, 3, 63, 64, 127, 128, 255, 256, 257, 4095, 4096, 65535, 65536, 2**20, 2**31 - 2)


@st.composite
def terms(draw: st.DrawFn, variables: int, degree: int) -> Terms:
    """Return terms that share most members, so that keys which wrap round would meet."""
    ends = st.integers(0, min(variables - 1, 7)) | st.integers(max(0, variables - 8), variables - 1)
    members = st.sets(ends, max_size=min(degree, variables))
    keys = draw(st.lists(members, max_size=12))
    return {tuple(sorted(key)): draw(st.integers(-3, 3)) for key in keys}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, Terms, Terms]:
    variables = draw(st.sampled_from(WIDE))
    degree = draw(st.integers(1, 16))
    return variables, draw(terms(variables, degree)), draw(terms(variables, degree))


def _sum(one: Terms, two: Terms, sign: int) -> Terms:
    keys = {*one, *two, ()}
    return {k: v for k in keys if (v := one.get(k, 0) + sign * two.get(k, 0)) or not k}


@settings(max_examples=100, deadline=None)
@given(pairs())
def test_sums_and_differences_are_those_of_dictionaries(case: tuple[int, Terms, Terms]) -> None:
    variables, one, two = case
    first, second = (Pubo.from_dict(t, variables=variables) for t in (one, two))
    assert (first + second).to_dict() == _sum(one, two, 1)
    assert (first - second).to_dict() == _sum(one, two, -1)
    assert (first + second).variables == variables


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=5, max_size=5).map(tuple), min_size=1))
def test_rows_are_sorted_as_tuples_are(rows: list[tuple[int, ...]]) -> None:
    order = order_of_rows(np.array(rows, dtype=np.int32))
    assert order.tolist() == sorted(range(len(rows)), key=lambda i: rows[i])


@pytest.mark.parametrize("degree", range(1, 14))
def test_terms_that_differ_in_their_first_member_alone_stay_apart(degree: int) -> None:
    tail = range(1000, 1000 + degree - 1)
    rows = np.array([[head, *tail] for head in (5, 3, 5, 4)], dtype=np.int32)
    found, sums = collect(rows, np.array([1.0, 2.0, 4.0, 8.0]))
    assert found[:, 0].tolist() == [3, 4, 5] and sums.tolist() == [2.0, 8.0, 5.0]


def test_terms_that_cancel_are_left_out_and_nothing_can_be_collected() -> None:
    rows = np.array([[1, 2], [1, 2]], dtype=np.int32)
    assert [len(part) for part in collect(rows, np.array([1.0, -1.0]))] == [0, 0]
    assert [len(part) for part in collect(rows[:0], np.empty(0))] == [0, 0]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(WIDE), st.data())
def test_spins_and_back_keep_wide_terms(variables: int, data: st.DataObject) -> None:
    given_terms = data.draw(terms(variables, 7))
    pubo = Pubo.from_dict({k: 2.0**8 * v for k, v in given_terms.items()}, variables=variables)
    assert bits_to_spins(spins_to_bits(pubo)).to_dict() == pubo.to_dict()


def test_positions_beyond_64_bits_are_refused() -> None:
    assert multisets.rank_parts(100, 3)[3, 99] == 101 * 100 * 99 // 6  # C(99 + 2, 3)
    with pytest.raises(OverflowError, match="exceed 64 bits"):
        multisets.rank_parts(10**6, 8)
