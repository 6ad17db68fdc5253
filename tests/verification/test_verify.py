"""The proof must fail for every change of every number."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from qcompile import Pubo, compile, load_qubo, quadratize, save_qubo, verify
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.stages.arrays import frozen
from qcompile.stages.qubo import fingerprint
from tests.problems import complete
from tests.strategies import polynomials


@settings(deadline=None, max_examples=40)
@given(pubo=polynomials(degree=5, variables=6))
def test_what_the_compiler_makes_is_proved(pubo: Pubo) -> None:
    found = verify(quadratize(pubo), pubo=pubo, reference=fingerprint(pubo))
    assert found.holds, found.checks


@pytest.mark.parametrize("options", [{}, {"l0": 0.3}, {"prune": True}, {"max_ancillas": 3}])
@pytest.mark.parametrize("order", [1, 3])
def test_the_data_agree(order: int, options: dict[str, object]) -> None:
    data = prepare(read("breast-cancer"), features=4, scale="standard")
    made = compile(data, order=order, bits=2, **options)  # type: ignore[arg-type]
    assert verify(made.quadratize(), data=data).holds
    other = replace(data, y=frozen(-data.y))
    if made.quadratize().logical:
        assert not verify(made.quadratize(), data=other).holds


def test_structure_is_checked_first() -> None:
    qubo = quadratize(complete(5, 3))
    broken = replace(qubo, ancillas=replace(qubo.ancillas, factors=qubo.ancillas.factors + 99))
    found = verify(broken)
    assert [check.name for check in found.checks if not check.holds] == ["structure"]


def test_a_large_qubo_is_proved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.array(list(combinations(range(60), 3)), dtype=np.int32)
    terms = {
        tuple(r): float(v) for r, v in zip(rows.tolist(), rng.normal(size=len(rows)), strict=True)
    }
    pubo = Pubo.from_dict(terms)
    qubo = quadratize(pubo)
    save_qubo(qubo, tmp_path / "q.npz", pubo=pubo)
    back, reference = load_qubo(tmp_path / "q.npz")
    assert verify(back, pubo=pubo, reference=reference).holds


def test_cancelling_energies_of_a_wide_prior_are_proved() -> None:
    """Order 6 with a prior of 50: energies are small sums of huge terms."""
    data = prepare(read("breast-cancer"), features=3)
    made = compile(data, order=6, bits=2, prior_std=50.0, anyway=True)
    for seed in range(5):
        found = verify(made.quadratize(), pubo=made.pubo, data=data, seed=seed)
        assert found.holds, found.checks


def test_truncated_terms_that_nearly_cancel_are_proved() -> None:
    """Pairs far larger than the triples: what is left out is rounded as the pairs are."""
    rng = np.random.default_rng(3)
    for trial in range(12):
        terms: dict[tuple[int, ...], float] = {
            t: float(rng.normal()) for t in combinations(range(7), 3)
        }
        for pair in combinations(range(7), 2):
            share = sum(v for t, v in terms.items() if len(t) == 3 and {*pair} < {*t}) / 2
            # dropping all triples would leave next to nothing of this pair, or of one 1e7 larger
            terms[pair] = -share * (1 + 1e-9) if trial % 2 else 1e7 * float(rng.normal())
        pubo = Pubo.from_dict(terms)
        qubo = quadratize(pubo, max_ancillas=trial % 4)
        assert qubo.truncated is not None
        found = verify(qubo, pubo=pubo, reference=fingerprint(pubo - qubo.truncated))
        assert found.holds, found.checks
        half = replace(qubo, error=qubo.error * (1 - 1e-3))
        assert "truncation" in verify(half).failed


def test_linear_terms_count_in_what_brute_force_added_up() -> None:
    terms: dict[tuple[int, ...], float] = {(i,): (-1.0) ** i * 1e9 / 3 for i in range(5)}
    terms |= {t: 0.1 for size in (3, 4) for t in combinations(range(5), size)}
    pubo = Pubo.from_dict(terms)
    found = verify(quadratize(pubo), pubo=pubo)
    assert found.holds, found.checks


def test_a_hunt_finds_no_good_file_refused_and_no_change_missed() -> None:
    rng = np.random.default_rng(11)
    for trial in range(20):
        features, order = int(rng.integers(1, 4)), int(rng.choice([1, 3, 3, 4, 5, 6]))
        x = rng.normal(size=(40, features)) * 10.0 ** rng.uniform(-3, 3, size=features)
        x += rng.choice([0.0, 30.0]) * x.std(axis=0)
        y = np.where(x[:, 0] - x[:, 0].mean() + 0.1 * x[:, 0].std() * rng.normal(size=40) > 0, 1, 0)
        scale = str(rng.choice(["standard", "max-abs", "unit-norm"]))
        data = prepare(from_arrays(x, y), scale=scale, bias=bool(trial % 2))
        choices: list[dict[str, Any]] = [
            {}, {"l0": 0.1}, {"threshold": 1e-4}, {"max_ancillas": 1}, {"prior_std": 30.0},
        ]  # fmt: skip
        bits = int(rng.integers(1, 3))
        made = compile(data, order=order, bits=bits, anyway=True, **choices[trial % 5])
        qubo = made.quadratize()
        found = verify(qubo, pubo=made.pubo, data=data, seed=trial)
        assert found.holds, (trial, found.checks)
        values = qubo.linear.copy()
        largest = max(abs(qubo.offset), np.abs(values).max(), np.abs(qubo.quadratic).max(initial=0))
        values[int(rng.integers(qubo.logical))] += largest * 10.0 ** rng.uniform(-9, 0)
        changed = replace(qubo, linear=frozen(values))
        assert not verify(changed, pubo=made.pubo).holds
        assert not verify(changed, data=data, seed=trial).holds, trial


def test_points_are_new_each_time_unless_there_is_a_seed() -> None:
    data = prepare(read("breast-cancer"), features=4, scale="standard")
    qubo = compile(data, order=3, bits=2).quadratize()
    wrong = replace(qubo, linear=frozen(qubo.linear + 1.0))
    shown = [verify(wrong, data=data).checks[-1].detail for _ in range(2)]
    assert shown[0] != shown[1]
    again = [verify(wrong, data=data, seed=5).checks[-1].detail for _ in range(2)]
    assert again[0] == again[1] and "(seed 5)" in again[0]


def test_gates_that_hide_the_terms_prove_nothing() -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 1.0, (0, 1): 0.5, (1,): -1.0})
    qubo = quadratize(pubo, strength=1e6)
    assert verify(qubo, pubo=pubo).holds
    # the tolerance follows the gates: with these a changed pair would be within it
    strong = quadratize(pubo, strength=1e6)
    gate = 1e14 * np.array([1.0, -2.0, -2.0, 3.0])
    one, two = strong.ancillas.factors[0].tolist()
    at = int(np.flatnonzero((strong.first == one) & (strong.second == two))[0])
    quadratic, linear = strong.quadratic.copy(), strong.linear.copy()
    quadratic[at] += gate[0] - 5.5
    for factor in (one, two):
        pair = np.flatnonzero((strong.first == factor) & (strong.second == 3))[0]
        quadratic[pair] += gate[1]
    linear[3] += gate[3]
    forged = replace(strong, quadratic=quadratic, linear=linear)
    assert "algebra, term by term" in verify(forged, pubo=pubo).failed


def test_the_largest_term_is_not_one_that_was_dropped() -> None:
    rows = prepare(read("breast-cancer"), scale="standard", features=3, bias=True)
    made = compile(rows, order=3, bits=2, threshold=0.003).pubo
    assert made.dropped > 0
    assert verify(quadratize(made), data=rows).holds
    rest = made.to_dict()
    for sign in (1.0, -1.0):  # `dropped` is the larger of the sums of either sign
        largest = max((t for t in rest if len(t) > 1), key=lambda t: sign * rest[t])
        few = Pubo.from_dict({t: c for t, c in rest.items() if t != largest})
        for more in (0.0, abs(rest[largest])):
            origin = replace(made.origin, dropped=made.dropped + more)
            forged = replace(few, variables=made.variables, origin=origin)
            assert "data" in verify(quadratize(forged), data=rows).failed
