from __future__ import annotations

import json

import pytest

from qcompile.cli.app import main


def test_the_largest_steps_of_all_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--rounds", "--json"]) == 0
    rows = {row["machine"]: row for row in json.loads(capsys.readouterr().out)}
    largest = {name: row["largest_step_bits"] for name, row in rows.items()}
    assert largest["advantage"] == 180 and largest["advantage2"] == 184 and largest["2000q"] == 64
    assert all(row["rounds"] == 40 and row["reads"] == 100 for row in rows.values())
    assert main(["estimate", "--rounds"]) == 0
    assert "qpu seconds" in capsys.readouterr().out


def test_a_training_in_rounds_of_data_or_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = ["estimate", "--rounds", "20", "--features", "30", "--machine", "pegasus4", "--json"]
    assert main(numbers) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["weights"], row["bits"], row["blocks"], row["rounds"]) == (31, 31, 1, 20)
    data = ["estimate", "breast-cancer", "--bias", "--rounds", "20", "--machine", "pegasus4"]
    assert main([*data, "--json"]) == 0  # the bias is not counted twice
    assert json.loads(capsys.readouterr().out) == [row]
    assert main([*data, "--features", "9", "--bits", "2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["features"], row["bits"]) == (9, 20)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--rounds data.svm", "DATA must come before --rounds"),
        ("--rounds 0 --machine chimera4", "0 rounds; expected 1"),
        ("--rounds --features 5 --bits 17 --machine chimera4", "use fewer --bits"),
        ("--rounds --reads 0 --machine chimera4", "0 reads of a round"),
        ("--rounds --table paper", "--table with --rounds"),
        ("--rounds --order 3", "--order with --rounds"),
        ("--rounds --machine nothing", "machine 'nothing' not found"),
        ("no-such.svm --rounds --machine chimera4", "no-such.svm"),
    ],
)
def test_bad_input_is_one_line(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["estimate", *line.split()])
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    error = capsys.readouterr().err
    assert code == 2 and words in error and error.count("\n") == 1


def test_without_rounds_four_bits_are_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--features", "3", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["bits_per_weight"] == 4
