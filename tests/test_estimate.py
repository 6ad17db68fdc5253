from __future__ import annotations

import csv
import io
import json

import pytest

from qcompile import InputError, account, compile, estimate, quadratize
from qcompile.cli.app import main
from qcompile.reduction.accounting import counting_bound
from qcompile.reduction.estimate import paper_table
from tests.test_quadratize import complete


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


def test_the_counting_bounds_of_the_literature() -> None:
    assert [counting_bound(n, 6) for n in (8, 10, 12, 14, 16, 18)] == [14, 31, 59, 100, 157, 232]
    assert (counting_bound(100, 3), counting_bound(400, 3)) == (477, 4219)


def test_data_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["estimate", "breast-cancer", "--features", "4", "--bits", "2", "--format", "json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)[0]
    counted = account(compile("breast-cancer", features=4, bits=2).qubo)
    assert found["qubits"] == counted["qubits"]
    assert found["ancillas"] == counted["product_ancillas"]


@pytest.mark.parametrize("kind", ["text", "markdown", "csv", "json"])
def test_tables_come_in_four_formats(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--table", "paper", "--format", kind]) == 0
    text = capsys.readouterr().out
    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert rows[1]["qubits"] == "40200"
    elif kind == "json":
        assert json.loads(text)[5]["qubits"] == 25_005_000
    else:
        assert "25,005,000" in text


def test_what_is_not_known_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["estimate", "--features", "5", "--order", "6", "--machine", "advantage"]
    assert main(line) == 0
    assert "physical qubits about  not known" in capsys.readouterr().out
    assert main([*line, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.endswith("| not known | not known | not known |\n")
    assert main([*line, "--format", "csv"]) == 0
    assert capsys.readouterr().out.endswith(",,\n")
    assert main([*line[:3], "--machine", "advantage", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.endswith("| yes |\n")


def test_huge_sizes_answer_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--order", "6", "--features", "100000", "--bits", "16"]) == 0
    assert "qubits" in capsys.readouterr().out
    assert main(["estimate"]) == 2
    with pytest.raises(InputError):
        estimate(9, 1, 1)
