"""What is printed: the same values for people and programs, every name explained."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from qcompile.cli import output
from qcompile.cli.app import main
from qcompile.files.qubo import load_qubo
from qcompile.files.samples import load_samples
from qcompile.leap.job_store import list_jobs
from tests.cli.lines import commands, prepare

JSON_LINES = [
    "data data.svm",
    "data --list",
    "loss data.svm",
    "compile data.svm --bits 1 --emit qubo.json",
    "verify qubo.json --data data.svm --embedding embedding.json",
    "estimate --features 10",
    "estimate --features 100000 --bits 16 --order 8",
    "estimate --table paper",
    "estimate --machine pegasus4",
    "estimate --rounds --features 20 --machine chimera4",
    "machines",
    "machines pegasus4",
    "embed qubo.json --machine advantage",
    "embed qubo.json --machine pegasus4 --chain-strength sweep --reads 5",
    "embed qubo.json --preflight",
    "solve qubo.json --solver exact",
    "solve qubo.json --solver neal --embedding embedding.json",
    "decode samples.json --problem qubo.json",
    "quadratize pubo.json -o own-qubo.json",
    "report qubo.json samples.json -o report.html",
    "explain rounds.json --data data.svm",
    "export rounds.json -o plain.json",
    "predict model.json new.svm",
    "predict model.json new.svm --decision",
    "predict model.json new.svm -o labels.txt",
    "train data.svm --bits 1 --test 0.2",
    "train data.svm --cv 2 --grid bits=1,2 -n 5",
    "train data.svm --rounds 2 --test 0.2",
    "submit qubo.json -n 10 --dry-run",
    "submit qubo.json -n 10 --yes --again --embedding embedding.json",
    "jobs",
    "jobs JOB",
    "resume JOB",
    "cancel JOB",
    "completion bash",
    "rehearse qubo.json --machine chimera4 --draws 2 -n 5 --compare-bits",
]


# Lines whose output is labels, a script, names of sets or a table, not names and values.
NO_NAMES = re.compile(
    r"data --list|predict (?!.* -o)|completion|machines$|estimate --(table|machine)|jobs$"
)


MORE_LINES = [
    "compile data.svm --bits 1 --compare-dimod --max-ancillas 2",
    "compile data.svm --bits 1 --prune --threshold 0.01",
    "compile data.svm --bits 1 --order 6",
    "compile data.svm --bits 1 --l0 0.01",
    "compile new.svm --around model.json --block 2",
    "estimate data.svm --bits 1 --machine advantage",
    "solve pubo.json -n 5",
    "decode samples.json --problem qubo.json --validation data.svm",
    "train data.svm --bits 1 --validation 0.2 -n 5 --cv 2 --grid weight-range=auto,1 --grid l2=0.1",
    "train data.svm --solver descent --cv 2 --grid l2=0.1,0.01",
    "verify qubo.json --pubo pubo.json",
    "submit qubo.json -n 10 --yes --again --no-wait",
    "submit qubo.json --solver-type hybrid --dry-run",
    "machines advantage2",
    "rehearse data.svm --machine chimera4 --draws 1 -n 5 --rounds 2 --test 0.2",
]


def glossary(command: str) -> re.Pattern[str]:
    """Read the names that the page explains for a command; words in capitals stand for others."""
    page = (Path(__file__).parents[2] / "docs/commands.md").read_text()
    text = page.partition("## What the numbers mean")[2].partition("\n## ")[0]
    names: list[str] = []
    for section in text.split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        if title == "Every command" or f"`{command}`" in title:
            for row in re.findall(r"^\| (`.*?`) \|", body, re.M):
                names += re.findall(r"`([^`]+)`", row)
    shown = [re.sub(r"\b(N|S|NAME|PART|SETTING)\b", ".+", re.escape(name)) for name in names]
    keys = [re.sub(r"(?<=_)(n|s)$", ".+", output.key_of(name)) for name in names]
    return re.compile("|".join([*shown, *keys]))


def keys_of(value: Any) -> set[str]:
    """Collect the keys of a JSON value, those of values inside too; numbers are no names."""
    if isinstance(value, dict):
        inside = (keys_of(item) for item in value.values())
        return set().union({key for key in value if not key.isdigit()}, *inside)
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("line", [*JSON_LINES, *MORE_LINES])
def test_every_name_that_is_printed_is_explained(
    line: str, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    prepare(line.split()[0], request)
    job = list_jobs()[0].id if "JOB" in line else ""
    arguments = [job if word == "JOB" else word for word in shlex.split(line)]
    known = glossary(arguments[0])
    capfd.readouterr()
    if not NO_NAMES.match(line):
        assert main([*arguments, "-v"]) == 0
        out = capfd.readouterr().out
        names = {re.split(r" {2,}", row)[0] for row in out.splitlines() if row}
        assert {name for name in names if not known.fullmatch(name)} == set()
        assert "None" not in out and "True" not in out and "False" not in out
        numbers = re.findall(r"(?<=  )-?([\d.]+)$", out, re.M)
        digits = [number.replace(".", "").lstrip("0") for number in numbers]
        assert [number for number in digits if len(number) > 6] == []  # nobody reads more
    assert main([*arguments, "--json"]) == 0
    # JSON is all there is on standard output, without NaN and infinity
    found = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    assert found
    keys = keys_of(found)
    assert {key for key in keys if not known.fullmatch(key)} == set()
    assert {key for key in keys if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", key)} == set()


def test_a_name_that_is_not_explained_would_be_found() -> None:
    known = glossary("solve")
    assert known.fullmatch("lowest energy") and known.fullmatch("lowest_energy")
    assert not known.fullmatch("lowest") and not known.fullmatch("chain strength")
    assert glossary("compile").fullmatch("terms_of_degree_3")
    assert not glossary("compile").fullmatch("terms_of_degree")
    assert keys_of([{"a": {"b": 1, "2": 3}}, {"c": [{"d": 0}]}]) == {"a", "b", "c", "d"}


def test_json_is_asked_of_every_command() -> None:
    assert {line.split()[0] for line in JSON_LINES} == set(commands())


def test_people_and_programs_get_the_same_values(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["decode", "samples.json", "--problem", "qubo.json", "--validation", "data.svm"]
    capsys.readouterr()
    assert main(line) == 0
    text = dict(re.split(r" {2,}", row) for row in capsys.readouterr().out.splitlines())
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    samples = load_samples("samples.json", load_qubo("qubo.json")[0])
    place = found["rank"] - 1  # people count from one
    assert found["energy"] == pytest.approx(samples.energies[place])
    assert text["rank"] == f"{place + 1} of {len(samples)}, 1 is the lowest energy"
    assert text["energy"] == f"{found['energy']:.6g}" != str(found["energy"])
    assert text["weights"] == "[" + ", ".join(f"{w:.6g}" for w in found["weights"]) + "]"
    assert main(["compile", "data.svm", "--bits", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory_bytes"] == 712
    assert main(["compile", "data.svm", "--bits", "1", "-v"]) == 0
    assert re.search(r"^memory +712 bytes$", capsys.readouterr().out, re.M)


def test_values_are_shown_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    options = argparse.Namespace(quiet=False, json=False, verbose=False, format="text")
    summary: dict[str, Any] = {
        "a_share": 1 / 3,
        "Two words, joined": None,
        "nested": {"one more": float("nan"), "yes": True},
        "none": [],
        "names": ["a", None],
        "numbers": (1.0, 2.5),
        "many": 12345678,
        "advice": "",
        "size": output.Worded(2048, "2 kB", "bytes"),
    }
    output.show(summary, options, written=["a file"])
    assert capsys.readouterr().out.splitlines() == [
        "a share            0.333333",
        "Two words, joined  not known",
        "nested             nan yes",
        "none               none",
        "names              a, not known",
        "numbers            [1, 2.5]",
        "many               12,345,678",
        "size               2 kB",
        "written            a file",
    ]
    options.json = True
    output.show(summary, options, written=["a file"])
    assert json.loads(capsys.readouterr().out) == {
        "a_share": 1 / 3,
        "two_words_joined": None,
        "nested": {"one_more": None, "yes": True},
        "none": [],
        "names": ["a", None],
        "numbers": [1.0, 2.5],
        "many": 12345678,
        "advice": "",
        "size_bytes": 2048,
        "written": ["a file"],
    }
    options.quiet = True
    output.show(summary, options)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("text", [" a share       fits        many", "0.333333        yes  12,345,678"]),
        ("markdown", ["| a share | fits | many |", "| 0.333333 | yes | 12,345,678 |"]),
        ("csv", ["a_share,fits,many", f"{1 / 3},yes,12345678"]),
    ],
)
def test_tables_are_shown_for_people(
    kind: str, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(quiet=False, json=False, format=kind)
    first = {"a_share": 1 / 3, "fits": True, "many": 12345678}
    output.show_rows([first, {"a_share": 0, "fits": None, "many": None}], options)
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown[:3] if "---" not in line][:2] == expected
    assert ("not known" in shown[-1]) == (kind != "csv")
