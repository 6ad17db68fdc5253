from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from qcompile import account, compile, quadratize
from qcompile.reduction.cover import Search, _SetCover, cover_triples, halves_bound
from tests.problems import complete


@pytest.mark.parametrize("variables", [3, 4, 9, 20, 41])
def test_complete_cubics_need_turans_number(variables: int) -> None:
    qubo = quadratize(complete(variables, 3))
    assert len(qubo.ancillas) == halves_bound(variables) == (variables - 1) ** 2 // 4
    assert qubo.optimal


@pytest.mark.slow
def test_indicators_of_l0_do_not_hide_a_complete_cubic() -> None:
    qubo = compile("synthetic:features=5", scale="none", bias=False, bits=2, l0=0.1).quadratize()
    assert qubo.method == "halves"
    counted = account(qubo)
    assert (counted["product_ancillas"], counted["l0_ancillas"]) == (halves_bound(10), 5)


def random_triples(variables: int, number: int, seed: int) -> NDArray[np.int32]:
    everything = np.array(list(combinations(range(variables), 3)), dtype=np.int32)
    rows = np.random.default_rng(seed).choice(len(everything), number, replace=False)
    return np.asarray(everything[np.sort(rows)])


def covers(pairs: NDArray[np.int32], triples: NDArray[np.int32]) -> bool:
    chosen = set(map(tuple, pairs.tolist()))
    return all({(a, b), (a, c), (b, c)} & chosen for a, b, c in map(tuple, triples.tolist()))


@pytest.mark.parametrize("method", ["auto", "halves", "greedy", "exact", "dimod"])
@pytest.mark.parametrize("number", [1, 20, 100])
def test_every_cover_covers(method: str, number: int) -> None:
    triples = random_triples(10, number, number)
    assert covers(cover_triples(triples, 10, Search(method)).pairs, triples)


@pytest.mark.parametrize("seed", range(8))
def test_no_smaller_cover_exists_than_the_exact_one(seed: int) -> None:
    """All sets of pairs of the next smaller size are tried."""
    triples = random_triples(6, 5, seed)
    exact = cover_triples(triples, 6, Search("exact"))
    assert exact.optimal
    assert covers(exact.pairs, triples)
    pairs = list(combinations(range(6), 2))
    for smaller in combinations(pairs, len(exact) - 1):
        assert not covers(np.array(smaller, dtype=np.int32).reshape(-1, 2), triples)
    assert len(cover_triples(triples, 6)) == len(exact)


@pytest.mark.parametrize("seed", range(12))
def test_settled_pairs_are_part_of_a_minimum_cover(seed: int) -> None:
    """As few pairs are needed beside them as in all: sets of pairs are tried by size."""
    triples = random_triples(7, 4 + seed // 3, seed)
    problem = _SetCover.of(triples, 7)
    forced, left = problem.settled()
    assert covers(problem.pairs[forced], triples[~left])
    fewest = fewest_pairs(triples)
    assert forced.sum() + fewest_pairs(triples[left]) == fewest
    found = cover_triples(triples, 7, Search("greedy"))
    assert found.optimal == (True if not left.any() else None)
    assert len(found) == fewest or left.any()


def fewest_pairs(triples: NDArray[np.int32]) -> int:
    pairs = sorted({p for t in triples.tolist() for p in combinations(t, 2)})
    for size in range(len(triples) + 1):
        for chosen in combinations(pairs, size):
            if covers(np.array(chosen, dtype=np.int32).reshape(-1, 2), triples):
                return size
    raise AssertionError("one pair a triple is enough")


@pytest.mark.parametrize(("variables", "number"), [(20, 60), (40, 400), (120, 1000)])
def test_a_greedy_cover_is_no_larger_than_dimods_best_of_ten(variables: int, number: int) -> None:
    """dimod breaks ties by names: other numbers of the variables stand for other hash seeds."""
    triples = random_triples(variables, number, 1)
    rng = np.random.default_rng(0)
    theirs = []
    for _ in range(10):
        renamed = np.sort(rng.permutation(variables)[triples].astype(np.int32), axis=1)
        theirs.append(len(cover_triples(renamed, variables, Search("dimod"))))
    greedy = cover_triples(triples, variables, Search("greedy"))
    assert len(greedy) <= min(theirs)
    assert len(cover_triples(triples, variables)) <= len(greedy)


def test_effort_buys_fewer_pairs_and_is_counted_not_timed() -> None:
    triples = random_triples(30, 800, 0)
    found = [cover_triples(triples, 30, Search(effort=e)).pairs.tolist() for e in (0, 0.05, 1, 1)]
    assert len(found[0]) >= len(found[1]) >= len(found[2])
    assert len(found[0]) > len(found[2])
    assert found[2] == found[3]
    greedy = cover_triples(triples, 30, Search("greedy"))
    assert found[0] == greedy.pairs.tolist()
    short = cover_triples(triples, 30, Search(time_limit=1e-9))
    assert len(short) <= len(greedy)


def test_triples_that_share_a_pair_take_it() -> None:
    """All triples with two fixed variables: one pair, however often it is counted."""
    others = np.arange(2, 100_000, dtype=np.int32)
    fixed = np.zeros_like(others)
    found = cover_triples(np.column_stack([fixed, fixed + 1, others]), 100_000)
    assert found.pairs.tolist() == [[0, 1]] and found.optimal


@pytest.mark.slow
def test_annealing_beats_dimods_greedy_on_sparse_cubics() -> None:
    triples = random_triples(60, 1500, 0)
    found = len(cover_triples(triples, 60))
    assert found < 0.95 * len(cover_triples(triples, 60, Search("dimod")))


def test_one_hot_data_need_far_fewer_than_complete_ones() -> None:
    rng = np.random.default_rng(0)
    groups = [np.eye(4)[rng.integers(0, 4, 300)] for _ in range(4)]
    from qcompile.data.prepare import from_arrays

    data = from_arrays(np.hstack(groups), np.where(rng.random(300) < 0.5, 1, -1))
    qubo = compile(data, bits=1, scale="none", bias=False).quadratize()
    assert len(qubo.ancillas) <= 0.65 * halves_bound(16)


def test_a_lone_triple_across_the_halves_is_covered() -> None:
    triples = np.array([[0, 1, 2]], dtype=np.int32)
    assert cover_triples(triples, 3, Search("halves")).pairs.tolist() == [[0, 2]]
    assert covers(cover_triples(np.array([[1, 2, 4]], np.int32), 5, Search("halves")).pairs,
                  np.array([[1, 2, 4]], np.int32))  # fmt: skip


def test_an_exact_cover_that_ran_out_of_time_does_not_claim_to_be_optimal() -> None:
    triples = random_triples(40, 2500, 0)
    found = cover_triples(triples, 40, Search("exact", time_limit=0.05))
    assert covers(found.pairs, triples)
    assert not found.optimal
