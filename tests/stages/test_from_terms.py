from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qcompile import Pubo, read_pubo
from qcompile.stages.from_terms import arrays_of

terms = st.lists(
    st.tuples(
        st.lists(st.integers(0, 6), max_size=4).map(tuple),
        st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -0.25, 0.0, 1e308])),
    ),
    max_size=12,
)


@given(terms=terms)
def test_arrays_hold_what_adding_up_term_by_term_gives(
    terms: list[tuple[tuple[int, ...], float]],
) -> None:
    merged: dict[tuple[int, ...], float] = {}
    for key, value in terms:
        term = tuple(sorted(key))
        merged[term] = merged.get(term, 0.0) + float(value)
    made = arrays_of([key for key, _ in terms], [value for _, value in terms])
    if (
        any(len(set(key)) < len(key) for key, _ in terms)
        or not np.isfinite([*merged.values()]).all()
    ):
        assert made is None
        return
    assert made is not None
    constant, indices, sums, there = made
    found = {(): constant}
    for degree, (rows, values) in enumerate(zip(indices, sums, strict=True), 1):
        assert rows.shape == (len(values), degree)
        assert rows.tolist() == sorted(rows.tolist())
        found |= dict(zip(map(tuple, rows.tolist()), values.tolist(), strict=True))
    assert found == {(): merged.get((), 0.0)} | {t: c for t, c in merged.items() if t and c}
    assert np.flatnonzero(there).tolist() == sorted({i for term in merged for i in term})


@pytest.mark.parametrize(
    "key", [(True, 2), ("a",), (0.5,), (-1,), (2**31,), (2**70,), (np.int64(1),), tuple(range(70))]
)
def test_other_members_are_left_to_the_reader_that_explains(key: tuple[object, ...]) -> None:
    assert arrays_of([key], [1.0]) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None, 10**400])
def test_other_coefficients_are_left_to_it_too(value: object) -> None:
    assert arrays_of([(0, 1)], [value]) is None


def test_all_ways_in_give_the_same_polynomial() -> None:
    terms = {(2, 0, 1): 1.5, (1,): -2, (): 3.0, (0, 2): 0.0}
    expected = {(): 3.0, (1,): -2.0, (0, 1, 2): 1.5}
    dimod = pytest.importorskip("dimod")
    for source in (terms, [[list(k), c] for k, c in terms.items()],
                   dimod.BinaryPolynomial(terms, "BINARY")):  # fmt: skip
        pubo = read_pubo(source)
        assert pubo.to_dict() == expected and pubo.variables == 3 and pubo.labels == [0, 1, 2]
    assert Pubo.from_dict(terms, variables=5).variables == 5
    assert Pubo.from_dict({(4,): 0.0}).variables == 5
    assert read_pubo({(7, 9): 1.0}).labels == [7, 9]
