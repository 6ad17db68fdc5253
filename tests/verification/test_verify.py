"""The proof must fail for every change of every number."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from qcompile import Pubo, compile, load_qubo, quadratize, save_qubo, verify
from qcompile.data.prepare import prepare
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
