"""Errors suggest the next command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from qcompile.cli.app import main


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("solve none.json", "qcompile compile DATA --emit qubo=none.json"),
        ("solve model.json", "it holds a classifier, for: qcompile predict model.json DATA"),
        ("solve samples.json", "for: qcompile decode samples.json --problem QUBO -o model.json"),
        ("solve embedding.json", "for: qcompile solve QUBO --embedding embedding.json"),
        ("solve data.svm", "for: qcompile compile data.svm --emit qubo.json"),
        ("solve qubo.json --solver neal --embedding none.json", "qcompile embed QUBO -o none.json"),
        ("solve qubo.json --embedding embedding.json", "add: --solver neal"),
        ("solve pubo.json --embedding embedding.json", "--emit qubo.json"),
        ("solve nosuch", "nosuch: no such file; make one: qcompile compile DATA --emit qubo="),
        ("verify nosuch", "nosuch: no such file; make one: qcompile compile DATA --emit qubo="),
        ("verify nosuch.bqm", "no such file; make one: qcompile compile DATA --emit qubo=qubo.j"),
        ("report nosuch -o r.html", "no such file or folder either; make one: qcompile compile"),
        ("solve written.bqm", "only written, for: other programs; here a .json file serves"),
        ("data written.bqm", "here a .json file serves: qcompile compile DATA --emit qubo.json"),
        ("quadratize written.bqm", "a .json file serves: qcompile compile DATA --emit qubo.json"),
        ("verify written.lp", "a .json file serves: qcompile compile DATA --emit qubo.json"),
        ("data target.json", "it holds a problem on the qubits of a machine, for: other programs"),
        ("verify target.json", "serve: qcompile solve QUBO --embedding EMBEDDING --solver neal"),
        ("verify ising.json", "a problem of spins, for: qcompile quadratize ising.json -o"),
        ("solve moments.npz", "it holds moments, for: Python (qcompile.load_moments); a QUBO is"),
        ("compile loss.json", "it holds a loss, for: Python (qcompile.load_loss); a QUBO is made"),
        ("compile nowhere.svm", "nowhere.svm: no such file; expected an svmlight file"),
        (
            "decode samples.json --problem qubo.json --validation qubo.json",
            "it holds a QUBO, for: qcompile solve qubo.json -o samples.json",
        ),
        (
            "embed qubo.json --reuse model.json",
            "it holds a classifier, for: qcompile predict model.json DATA",
        ),
        ("decode . --problem qubo.json", ".: is a folder; expected a file"),
        ("predict binary.json data.svm", "binary.json: damaged or of another kind (binary data"),
        ("verify pubo.json", "it holds a polynomial, for: qcompile quadratize pubo.json -o qubo."),
        ("verify model.json", "for: qcompile predict model.json DATA"),
        ("verify qubo.json --embedding none.json", "qcompile embed QUBO -o none.json"),
        ("decode none.json --problem qubo.json", "qcompile solve QUBO -o none.json"),
        ("decode model.json --problem qubo.json", "for: qcompile predict model.json DATA"),
        ("predict none.json data.svm", "qcompile train DATA -o none.json"),
        ("predict samples.json data.svm", "for: qcompile decode samples.json"),
        ("predict model.json qubo.json", "it holds a QUBO, for: qcompile solve qubo.json"),
        ("train qubo.json", "it holds a QUBO, for: qcompile solve qubo.json"),
        ("compile breast-cancr", "qcompile data --list"),
        ("submit model.json", "for: qcompile predict model.json DATA"),
        ("resume 1999", "see `qcompile jobs`"),
        ("embed qubo.json --machine advantag", "see qcompile machines"),
        ("slove qubo.json", "did you mean solve?"),
        ("compile data.svm --bitz 3", "did you mean --bits? (see qcompile compile --help)"),
        ("compile data.svm --bitz=3", "did you mean --bits?"),
        ("jobs --solver x", "it is an option of solve"),
        ("compile data.svm more.svm", "more.svm (see qcompile compile --help)"),
        ("estimate", "give --features N"),
        ("data", "qcompile data --list"),
    ],
)
def test_errors_suggest_the_next_command(
    line: str, words: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("binary.json").write_bytes(b"\x7fELF\xff\xfe\x00")
    capsys.readouterr()
    try:
        code = main(shlex.split(line))
    except SystemExit as stop:
        code = int(stop.code or 0)
    found = capsys.readouterr()
    assert code == 2
    assert words in found.err
    assert found.err.count("\n") == 1 and found.out == ""
    for suggested in suggestions(found.err):
        assert main([*suggested, "-q"]) == 0, (suggested, capsys.readouterr().err)


# What stands for a file in suggestions, and files that there are.
PLACES = {"DATA": "data.svm", "QUBO": "qubo.json", "EMBEDDING": "embedding.json"}


def suggestions(text: str) -> list[list[str]]:
    """Read the commands that an error proposes, with files in the places of their names."""
    found = re.findall(r"(?:for|make one|made by|serves?): qcompile (.+)", text)
    return [[PLACES.get(word, word) for word in shlex.split(line)] for line in found]


def test_suggestions_are_read_as_a_person_would() -> None:
    text = "x: no such file; make one: qcompile train DATA -o 'a b.json'\n"
    assert suggestions(text) == [["train", "data.svm", "-o", "a b.json"]]


def test_files_with_strange_names_are_quoted_in_suggestions(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model.json").rename("my model;.json")
    assert main(["solve", "my model;.json"]) == 2
    assert "qcompile predict 'my model;.json' DATA" in capsys.readouterr().err
