from __future__ import annotations

import pytest

from qcompile import InputError, estimate, quadratize
from qcompile.cli.app import main
from qcompile.reduction.estimate import paper_table
from tests.problems import complete


@pytest.mark.parametrize(("variables", "order"), [(6, 1), (7, 2), (9, 3), (8, 4), (7, 5), (9, 6)])
def test_estimates_bound_what_is_built(variables: int, order: int) -> None:
    found = estimate(order, variables, 1)
    pubo = complete(variables, order)
    qubo = quadratize(pubo)
    assert found.terms == pubo.terms
    assert found.ancillas_at_least <= len(qubo.ancillas) <= found.ancillas
    assert len(qubo.first) <= found.qubo_pairs
    if order <= 3:
        assert (found.qubits, found.qubo_pairs) == (qubo.variables, len(qubo.first))


def test_the_papers_table() -> None:
    rows = paper_table()
    expected = [2_550, 40_200, 62_750, 1_001_000, 1_563_750, 25_005_000]
    assert [row["qubits"] for row in rows] == expected
    assert [row["minimum_for_pair_covers"] for row in rows] == expected


def test_huge_sizes_answer_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--order", "6", "--features", "100000", "--bits", "16"]) == 0
    assert "qubits" in capsys.readouterr().out
    assert main(["estimate"]) == 2
    with pytest.raises(InputError):
        estimate(9, 1, 1)
