from __future__ import annotations

import itertools

import numpy as np
import pytest

from qcompile.rehearsal.reads import lowest_of, reads_for, steps_up_to


def test_the_lowest_of_some_reads_is_the_mean_over_all_ways_to_draw_them() -> None:
    values = np.array([3.0, 1.0, 1.0, 7.0])
    for count in (1, 2, 3):
        by_hand = np.mean([min(way) for way in itertools.product(values, repeat=count)])
        assert lowest_of(values, count) == pytest.approx(by_hand)


@pytest.mark.parametrize("shares", [[0.3], [0.05, 0.4], [0.001, 0.9, 0.02]])
def test_so_many_reads_are_enough_and_one_less_is_not(shares: list[float]) -> None:
    count = reads_for(shares)
    assert count is not None
    chances = [np.mean([1 - (1 - p) ** n for p in shares]) for n in (count - 1, count)]
    assert chances[0] < 0.99 <= chances[1]


def test_a_draw_that_never_finds_it_needs_more_reads_than_there_are() -> None:
    assert reads_for([0.9, 0.0]) is None
    assert reads_for([0.0]) is None and reads_for([1.0]) == 1


def test_steps_are_powers_of_ten_and_the_number_itself() -> None:
    assert [steps_up_to(n) for n in (1, 5, 10, 1000)] == [[1], [1, 5], [1, 10], [1, 10, 100, 1000]]
