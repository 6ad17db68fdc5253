from __future__ import annotations

import math

import numpy as np
import pytest

from qcompile.data.prepare import from_arrays
from qcompile.data.read import read
from qcompile.data.split import add_noise, folds, shuffle, split
from qcompile.errors import InputError
from tests.strategies import dense


@pytest.mark.parametrize("share", [0.0, 0.1, 0.333, 0.5, 1.0])
def test_noise_flips_exactly_the_ceiling(share: float) -> None:
    data = read("mease-wyner:examples=30")
    noisy = add_noise(data, share, seed=4)
    flips = int((noisy.y != data.y).sum())
    assert flips == math.ceil(round(share * 30, 9))
    np.testing.assert_array_equal(noisy.y, add_noise(data, share, seed=4).y)


def test_splits_and_folds_deal_out_every_row_once() -> None:
    x = np.arange(50.0)[:, None]
    data = from_arrays(x, np.where(x.ravel() % 2, 1, -1))
    for parts in (split(data, (0.5, 0.3, 0.2), seed=3), folds(data, 7, seed=3)):
        seen = np.concatenate([dense(part).ravel() for part in parts])
        np.testing.assert_array_equal(np.sort(seen), np.arange(50.0))
    assert [len(p) for p in split(data, (0.5, 0.3, 0.2))] == [25, 15, 10]
    assert sorted(dense(shuffle(data, seed=1)).ravel().tolist()) == x.ravel().tolist()
    assert dense(shuffle(data, seed=1)).ravel().tolist() != x.ravel().tolist()


def test_seven_percent_of_a_hundred_is_seven() -> None:
    data = read("mease-wyner:examples=100")
    assert (add_noise(data, 0.07).y != data.y).sum() == 7
    assert (add_noise(data, 1e-12).y != data.y).sum() == 1


def test_seeds_matter() -> None:
    data = read("breast-cancer")
    assert (shuffle(data, seed=1).x != shuffle(data, seed=2).x).any()
    one, two = (split(data, (0.5, 0.5), seed=seed)[0] for seed in (1, 2))
    assert (one.x != two.x).any()


def test_a_split_with_an_empty_part_is_refused() -> None:
    with pytest.raises(InputError, match=r"9 rows in shares 0\.999, 0\.001: a part is empty"):
        split(read("mease-wyner:examples=9"), (0.999, 1 - 0.999))
