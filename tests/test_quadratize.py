"""min over the ancillas of the QUBO is the polynomial, for every assignment: by brute force."""

from __future__ import annotations

from itertools import combinations

import dimod
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qcompile import InputError, Pubo, Qubo, account, compile, quadratize, verify
from qcompile.reduction import subsets
from qcompile.reduction.accounting import dimod_ancillas
from qcompile.reduction.cover import cover_triples, halves_bound
from qcompile.stages.qubo import to_ising
from tests import judge


@st.composite
def polynomials(draw: st.DrawFn, *, degree: int = 4, variables: int = 5) -> Pubo:
    """Sparse or complete polynomials with small whole coefficients: equality is exact."""
    size = draw(st.integers(1, variables))
    top = draw(st.integers(1, min(degree, size)))
    share = draw(st.sampled_from([0.3, 0.7, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terms = {
        members: float(rng.integers(-9, 10))
        for j in range(top + 1)
        for members in combinations(range(size), j)
        if rng.random() < share
    }
    return Pubo.from_dict(terms, variables=size)


def complete(variables: int, degree: int, seed: int = 0) -> Pubo:
    rng = np.random.default_rng(seed)
    terms = {
        members: float(rng.normal())
        for j in range(degree + 1)
        for members in combinations(range(variables), j)
    }
    return Pubo.from_dict(terms)


def minimum_over_ancillas(qubo: Qubo) -> NDArray[np.float64]:
    """Lowest energy for each assignment of the logical bits, by dimod, all ancillas tried."""
    states = judge.all_assignments(qubo.variables)
    energies = qubo.to_bqm().energies((states, list(range(qubo.variables))))
    lowest = np.asarray(energies).reshape(1 << qubo.logical, -1).min(axis=1)
    return np.asarray(lowest)


@pytest.mark.parametrize("cover", ["auto", "halves", "greedy", "exact", "dimod"])
@settings(deadline=None, max_examples=40)
@given(pubo=polynomials(degree=3))
def test_cubics_are_kept_exactly(cover: str, pubo: Pubo) -> None:
    qubo = quadratize(pubo, cover=cover)
    assert qubo.logical == pubo.variables
    if qubo.variables <= 14:
        expected = pubo.energies(judge.all_assignments(pubo.variables))
        np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-9)


@pytest.mark.parametrize("cover", ["auto", "halves", "greedy", "dimod"])
@settings(deadline=None, max_examples=25)
@given(pubo=polynomials(degree=5, variables=6))
def test_higher_degrees_are_kept_exactly(cover: str, pubo: Pubo) -> None:
    qubo = quadratize(pubo, cover=cover)
    if qubo.variables <= 15:
        expected = pubo.energies(judge.all_assignments(pubo.variables))
        np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-8)


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (7, 3), (6, 4), (6, 5), (6, 6)])
def test_the_right_ancillas_are_the_only_minimum(variables: int, degree: int) -> None:
    pubo = complete(variables, degree)
    qubo = quadratize(pubo)
    bits = judge.all_assignments(variables)
    full = qubo.complete(bits)
    np.testing.assert_allclose(qubo.energies(full), pubo.energies(bits), atol=1e-9)
    for k in range(qubo.logical, qubo.variables):
        flipped = full.copy()
        flipped[:, k] ^= 1
        assert (qubo.energies(flipped) > qubo.energies(full)).all()


@pytest.mark.parametrize("steps", [0, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_wide_terms_are_kept_exactly(
    steps: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of terms with too many subsets, on ones that can be tried out."""
    monkeypatch.setattr(subsets, "_WIDEST", 3)
    monkeypatch.setattr(subsets, "_MOST_STEPS", steps)
    rng = np.random.default_rng(seed)
    terms = {
        tuple(sorted(rng.choice(6, size, replace=False).tolist())): float(rng.integers(-9, 10))
        for size in (1, 2, 3, 4, 4, 5, 6)
    }
    pubo = Pubo.from_dict(terms, variables=6)
    qubo = quadratize(pubo)
    assert qubo.method == ("greedy pairs" if steps else "shared beginnings")
    assert qubo.variables <= 20
    expected = pubo.energies(judge.all_assignments(6))
    np.testing.assert_allclose(minimum_over_ancillas(qubo), expected, atol=1e-9)


@pytest.mark.parametrize("degree", [11, 22, 150])
def test_very_wide_terms_need_two_ancillas_less_than_bits(degree: int) -> None:
    pubo = Pubo.from_dict({tuple(range(degree)): -1.0, (0, 3): 0.5, (2,): 0.25})
    qubo = quadratize(pubo)
    assert len(qubo.ancillas) == degree - 2
    assert verify(qubo, pubo=pubo).holds
    other = Pubo.from_dict({tuple(range(degree)): -1.5, (0, 3): 0.5, (2,): 0.25})
    assert not verify(qubo, pubo=other).holds
    with pytest.raises(InputError, match="too many subsets for cover halves; use auto"):
        quadratize(pubo, cover="halves")


@pytest.mark.parametrize("variables", [3, 4, 9, 20, 41])
def test_complete_cubics_need_turans_number(variables: int) -> None:
    qubo = quadratize(complete(variables, 3))
    assert len(qubo.ancillas) == halves_bound(variables) == (variables - 1) ** 2 // 4
    assert qubo.optimal


def test_indicators_of_l0_do_not_hide_a_complete_cubic() -> None:
    qubo = compile("synthetic:features=5", bits=2, l0=0.1).qubo
    assert qubo.method == "halves"
    counted = account(qubo)
    assert (counted["product_ancillas"], counted["l0_ancillas"]) == (halves_bound(10), 5)


@pytest.mark.parametrize(("variables", "most"), [(8, 22), (10, 52), (12, 112), (14, 202)])
def test_complete_sixth_degrees_need_few_ancillas(variables: int, most: int) -> None:
    pubo = complete(variables, 6)
    qubo = quadratize(pubo)
    assert len(qubo.ancillas) <= most
    bits = np.random.default_rng(0).integers(0, 2, (50, variables))
    np.testing.assert_allclose(
        qubo.energies(qubo.complete(bits)), pubo.energies(bits), rtol=1e-9, atol=1e-9
    )


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
    assert covers(cover_triples(triples, 10, method=method).pairs, triples)


@pytest.mark.parametrize("seed", range(8))
def test_no_smaller_cover_exists_than_the_exact_one(seed: int) -> None:
    """All sets of pairs of the next smaller size are tried."""
    triples = random_triples(6, 5, seed)
    exact = cover_triples(triples, 6, method="exact")
    assert exact.optimal
    assert covers(exact.pairs, triples)
    pairs = list(combinations(range(6), 2))
    for smaller in combinations(pairs, len(exact) - 1):
        assert not covers(np.array(smaller, dtype=np.int32).reshape(-1, 2), triples)
    assert len(cover_triples(triples, 6)) == len(exact)


def test_annealing_beats_dimods_greedy_on_sparse_cubics() -> None:
    triples = random_triples(60, 1500, 0)
    found = len(cover_triples(triples, 60))
    assert found < 0.95 * len(cover_triples(triples, 60, method="dimod"))


def test_one_hot_data_need_far_fewer_than_complete_ones() -> None:
    rng = np.random.default_rng(0)
    groups = [np.eye(4)[rng.integers(0, 4, 300)] for _ in range(4)]
    from qcompile.data.prepare import from_arrays

    data = from_arrays(np.hstack(groups), np.where(rng.random(300) < 0.5, 1, -1))
    qubo = compile(data, bits=1).qubo
    assert len(qubo.ancillas) <= 0.65 * halves_bound(16)


@pytest.mark.parametrize("degree", [3, 4, 5])
@pytest.mark.parametrize("budget", [0, 1, 3, 8, 100])
def test_truncation_keeps_its_budget_and_its_bound(degree: int, budget: int) -> None:
    for seed in range(4):
        pubo = complete(7, degree, seed)
        qubo = quadratize(pubo, max_ancillas=budget)
        assert len(qubo.ancillas) <= budget
        bits = judge.all_assignments(7)
        true = pubo.energies(bits)
        change = np.abs(qubo.energies(qubo.complete(bits)) - true).max()
        assert change <= qubo.error + 1e-9
        np.testing.assert_allclose(qubo.score(bits), true, atol=1e-9)
        if budget == 100:
            assert (qubo.error, qubo.truncated) == (0.0, None)


def test_a_truncated_cubic_is_still_reduced_exactly() -> None:
    pubo = complete(6, 3)
    qubo = quadratize(pubo, max_ancillas=3)
    assert qubo.truncated is not None
    bits = judge.all_assignments(6)
    kept = pubo.energies(bits) - qubo.truncated.energies(bits)
    np.testing.assert_allclose(minimum_over_ancillas(qubo), kept, atol=1e-9)


def test_gates_cannot_be_weaker() -> None:
    """At nine tenths of the strength some assignment prefers a wrong ancilla."""
    pubo = Pubo.from_dict({(0, 1, 2): -3.0, (0, 1, 3): 2.0, (0, 1, 4): 4.0})
    expected = pubo.energies(judge.all_assignments(5))
    weak = minimum_over_ancillas(quadratize(pubo, strength=0.9))
    assert weak.min() < expected.min() - 0.1 or (weak < expected - 0.1).any()
    np.testing.assert_allclose(minimum_over_ancillas(quadratize(pubo)), expected, atol=1e-9)


def test_the_bqm_is_what_the_arrays_say() -> None:
    qubo = quadratize(complete(7, 3))
    bqm = qubo.to_bqm()
    assert bqm.vartype is dimod.BINARY
    assert list(bqm.variables) == list(range(qubo.variables))
    assert bqm.num_interactions == len(qubo.first)
    states = np.random.default_rng(0).integers(0, 2, (20, qubo.variables))
    np.testing.assert_allclose(
        bqm.energies((states, list(range(qubo.variables)))), qubo.energies(states)
    )
    h, j, _ = bqm.to_ising()
    ours_h, ours_j = to_ising(qubo)
    np.testing.assert_allclose(ours_h, [h[i] for i in range(qubo.variables)], atol=1e-12)
    pairs = zip(qubo.first.tolist(), qubo.second.tolist(), strict=True)
    found = [j.get((a, b), j.get((b, a))) for a, b in pairs]
    np.testing.assert_allclose(ours_j, found, atol=1e-12)


def test_coming_back_drops_ancillas_and_counts_wrong_ones() -> None:
    qubo = quadratize(complete(5, 3))
    full = qubo.complete([[1, 1, 1, 0, 1]])
    full[0, qubo.logical] ^= 1
    bits, wrong = qubo.restrict(full)
    assert bits.tolist() == [[1, 1, 1, 0, 1]]
    assert wrong.tolist() == [1]


def test_tight_gates_on_halves_stay_small() -> None:
    """A single global strength would be the sum of all coefficients."""
    pubo = complete(12, 3)
    largest = max(float(np.abs(c).max()) for c in pubo.coefficients)
    qubo = quadratize(pubo)
    assert np.abs(qubo.quadratic).max() < 5 * largest
    assert np.abs(qubo.linear).max() < 8 * largest


@pytest.mark.parametrize(
    "options",
    [{"cover": "best"}, {"strength": 0.0}, {"strength": float("nan")}, {"max_ancillas": -1}],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        quadratize(complete(4, 3), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="for cubics"):
        quadratize(complete(5, 4), cover="exact")


@pytest.mark.parametrize("terms", [{}, {(): 2.0}, {(0,): 1.0}, {(0, 1): 1.0}])
def test_polynomials_without_products_need_no_ancilla(terms: dict[tuple[int, ...], float]) -> None:
    pubo = Pubo.from_dict(terms)
    qubo = quadratize(pubo)
    assert len(qubo.ancillas) == 0
    bits = judge.all_assignments(pubo.variables).reshape(1 << pubo.variables, -1)
    np.testing.assert_allclose(qubo.energies(bits), pubo.energies(bits))


def test_real_one_hot_data(real_data: object) -> None:
    """The 32,561 rows of a9a, and mushrooms: the bipartition's numbers."""
    from pathlib import Path

    folder = Path(str(real_data))
    adult = compile(folder / "adult9.svm.xz", bits=1, range_=1.0, rows=32561).qubo
    assert len(adult.ancillas) <= 2023
    mushrooms = compile(folder / "mushrooms.svm.xz", bits=1, range_=1.0).qubo
    assert len(mushrooms.ancillas) <= 1158


@pytest.mark.parametrize("cover", ["auto", "halves", "greedy", "exact", "dimod"])
@pytest.mark.parametrize("variables", [4, 5, 6])
def test_complete_cubics_are_kept_by_every_cover(cover: str, variables: int) -> None:
    """Halves have a short way of their own; other covers of the same size must not take it."""
    for seed in range(4):
        pubo = complete(variables, 3, seed)
        expected = pubo.energies(judge.all_assignments(variables))
        found = minimum_over_ancillas(quadratize(pubo, cover=cover))
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_lone_triple_across_the_halves_is_covered() -> None:
    triples = np.array([[0, 1, 2]], dtype=np.int32)
    assert cover_triples(triples, 3, method="halves").pairs.tolist() == [[0, 2]]
    assert covers(cover_triples(np.array([[1, 2, 4]], np.int32), 5, method="halves").pairs,
                  np.array([[1, 2, 4]], np.int32))  # fmt: skip


def test_an_exact_cover_that_ran_out_of_time_does_not_claim_to_be_optimal() -> None:
    triples = random_triples(40, 2500, 0)
    found = cover_triples(triples, 40, method="exact", time_limit=0.05)
    assert covers(found.pairs, triples)
    assert not found.optimal


@pytest.mark.parametrize(("variables", "degree", "terms"), [(12, 5, 30), (20, 4, 50), (16, 6, 60)])
def test_sparse_higher_degrees_need_no_more_than_greedy_substitution(
    variables: int, degree: int, terms: int
) -> None:
    rng = np.random.default_rng(0)
    chosen = {tuple(sorted(rng.choice(variables, degree, replace=False).tolist()))
              for _ in range(terms)}  # fmt: skip
    pubo = Pubo.from_dict({term: float(rng.normal()) for term in sorted(chosen)})
    # dimod's own choice changes with the hash seed, by a few ancillas
    assert len(quadratize(pubo).ancillas) <= 1.06 * dimod_ancillas(pubo)
