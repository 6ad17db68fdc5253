"""Messages name parameters of Python; the command line turns them into its options."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import logging
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile.cli.app import _parser, main
from qcompile.cli.wording import MENTION, in_options

PACKAGE = Path(qcompile.__file__).parent
# `--word` as it stands in advice; a style sheet has names of that form, too
OPTION = re.compile(r"(?<!\w)--[a-z][a-z-]*")


def messages() -> Iterator[tuple[str, str]]:
    """Yield the strings below the command line that are no docstrings, with their places."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "cli" in path.relative_to(PACKAGE).parts:
            continue
        tree = ast.parse(path.read_text())
        scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, scopes) and n.body
                 and isinstance(n.body[0], ast.Expr)}  # fmt: skip
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            if id(node) not in texts and "var(--" not in node.value:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node.value


# Parameters that no command has: it does not call the function, or has refused before.
ONLY_PYTHON = {"begin", "form", "labels", "loss"}
HTML = ("report/", "stages/display.py")


def parameters() -> set[str]:
    """Collect the names that a Python program may pass to anything public."""
    names: set[str] = set()
    for name in qcompile.__all__:
        thing = getattr(qcompile, name)
        if dataclasses.is_dataclass(thing):
            names |= {field.name for field in dataclasses.fields(thing)}
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
            names |= set(inspect.signature(thing).parameters)
    return names


@cache
def options_of(line: str) -> Any:
    return _parser().parse_args(shlex.split(line))


def spoken(line: str, text: str) -> str:
    """Say a message as the command of this line would."""
    return in_options(text, options_of(line))


def test_no_message_below_the_command_line_advises_an_option() -> None:
    found = [(place, text) for place, text in messages() if OPTION.search(text)]
    assert found == []


def test_options_would_be_found_in_messages() -> None:
    assert OPTION.findall("use --bits 2 (or --reads)") == ["--bits", "--reads"]
    assert sum(1 for _ in messages()) > 1000


def test_messages_name_parameters_and_functions_that_exist() -> None:
    known = parameters()
    mentioned: set[str] = set()
    for place, text in messages():
        if place.startswith(HTML):  # attributes of HTML have the same form
            continue
        for found in MENTION.finditer(text):
            if found["name"] and found["name"] != "name":  # name=number of a named set
                assert found["name"] in known, (place, text)
                mentioned.add(found["name"])
            elif found["function"] and found["function"] in ("solve", "catalogue", "list_jobs"):
                assert callable(getattr(qcompile, found["function"]))
    assert mentioned >= {
        "bits",
        "features",
        "order",
        "scale",
        "weight_range",
        "reads",
        "time_limit",
    }


def test_parameters_that_messages_name_have_options() -> None:
    """Each becomes an option of some command: nothing of Python is left in the line."""
    for place, text in messages():
        if place.startswith((*HTML, "sklearn/")):  # no command has the names of the estimator
            continue
        for found in MENTION.finditer(text):
            if found["name"] and found["name"] not in {"name", *ONLY_PYTHON}:
                assert spoken("compile x", found[0]).startswith("--"), (place, text)


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        ("compile x", "use fewer bits= or features=, or a lower order=",
         "use fewer --bits or --features, or a lower --order"),
        ("compile x", 'use scale="max-abs" or "standard"', "use --scale max-abs or standard"),
        ("compile x", 'try scale="standard", bias=True, more bits=',
         "try --scale standard, --bias, more --bits"),
        ("compile x", "(pass index_base=0 if it is 0-based)",
         "(pass --index-base 0 if it is 0-based)"),
        ("compile x", "with positive=LABEL", "with --positive LABEL"),
        ("compile x", "missing='drop'; expected mean", "--missing drop; expected mean"),
        ("compile x", "leave out prune=True", "leave out --prune"),
        ("compile x", "a smaller weight_range= than 2", "a smaller --weight-range than 2"),
        ("compile x", "prior_std=1e-40; expected more", "--prior-std 1e-40; expected more"),
        ("compile x", "noise=-0.5.", "--noise -0.5."),
        ("submit x", "time_limit= is for hybrid solvers; a QPU takes reads=",
         "--time-limit is for hybrid solvers; a QPU takes --reads"),
        ("submit x", "use at most reads=1000", "use at most --reads 1000"),
        ("embed x", "more reads=20", "more --reads 20"),  # it has an option of that name
        ("submit x", 'a shorter parameters["annealing_time"]', "a shorter --annealing-time"),
        ("submit x", 'solve(problem), or solve(problem, solver="mock")',
         "qcompile solve FILE, or qcompile solve FILE --solver mock"),
        ("resume x", "see `list_jobs()`, or give jobs=FOLDER",
         "see `qcompile jobs`, or give --jobs FOLDER"),
        ("embed x", 'fit: machine="a" or "b", bits=2', "fit: --machine a or b, --bits 2"),
        ("solve x", 'go on with resume("1a2b")', "go on with qcompile resume 1a2b"),
        ("compile x", "data=, f(x) = y, prepare(), key=1, ?label=2, 'bits=3'",
         "DATA, f(x) = y, prepare(), key=1, ?label=2, 'bits=3'"),
        ("compile synthetic:bits=2", "synthetic:bits=2: wrong", "synthetic:bits=2: wrong"),
        ("solve bits=3.json", "bits=3.json: use bits=3", "bits=3.json: use --bits 3"),
        ("solve '/a/my bits=3.json'", "my bits=3.json: no bits=", "my bits=3.json: no --bits"),
    ],
)  # fmt: skip
def test_messages_are_said_in_options(line: str, text: str, expected: str) -> None:
    assert spoken(line, text) == expected


MANY = "compile synthetic:examples=50,features=40"


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("compile three.svm", "with --positive LABEL"),
        ("compile 'class-*.svm'", "with --positive LABEL"),
        ("compile three.svm --scale standard", "with --positive LABEL"),
        ("compile zero.svm --index-base 1", "pass --index-base 0 if"),
        ("compile 'base-*.svm' --index-base 1", "pass --index-base 0 if"),
        ("compile huge.svm --scale none --no-bias", "use --scale max-abs or standard"),
        ("compile zero.svm --prior-std 1e-40", "--prior-std 1e-40; expected a number"),
        ("compile zero.svm --order 4 --prune", "leave out --prune"),
        ("compile zero.svm --weight-range 1e200", "use a smaller --weight-range or --prior-std"),
        ("compile zero.svm --emit qubo=q.coo", "leave it out with --drop-offset"),
        (f"{MANY} --bits 16", "use fewer --bits or --features, or a lower --order"),
        (f"{MANY} --order 8", "with --features K, or a lower --order"),
        ("train zero.svm --cv 2 --grid bits=1,x", "--grid bits=1,x: expected numbers"),
        ("train synthetic:features=40 --bits 1 --solver exact", "--solver anneal, or fewer bits"),
    ],
)
def test_errors_of_commands_advise_options_that_they_have(
    line: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QCOMPILE_MEMORY", "100MB")
    for name, text in (
        ("three.svm", "1 1:1\n2 1:2\n3 1:3\n"),
        ("zero.svm", "1 0:1 2:1\n-1 1:2 2:-1\n"),
        ("huge.svm", "1 1:1e200 2:1\n-1 1:1e-200\n"),
        ("class-1.svm", "1 1:1 2:1\n2 1:2\n"),
        ("class-2.svm", "3 1:1 2:1\n1 1:2\n"),
        ("base-1.svm", "1 1:1 2:1\n-1 1:2\n"),
        ("base-2.svm", "1 0:1 2:1\n-1 1:2\n"),
    ):
        Path(name).write_text(text)
    assert main(shlex.split(line)) == 2
    said = capsys.readouterr().err
    assert advice in said
    known = _parser().commands()[line.split()[0]]._option_string_actions
    assert set(OPTION.findall(said)) <= set(known)


def test_warnings_of_commands_advise_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("same.svm").write_text("1 1:1\n-1 1:1\n1 1:1\n" * 5)
    line = "train same.svm --bits 1 -n 2 --scale none --no-bias --report page.html"
    assert main(line.split()) == 0
    advice = "try --scale robust, --bias, more --bits, another --order"
    assert advice in capsys.readouterr().err
    assert advice in Path("page.html").read_text()  # the page of a command speaks as it does


def test_python_is_told_of_parameters(caplog: pytest.LogCaptureFixture) -> None:
    rows = [[1.0], [1.0], [1.0]]
    data = qcompile.from_arrays(rows, [1, -1, 1])
    few = qcompile.SolveOptions(reads=2)
    found = qcompile.train(data, bits=1, options=few, preparation={})
    assert any('try scale="robust", bias=True, more bits=' in note for note in found.notes)
    with pytest.raises(qcompile.InputError, match=r"3 classes .* with positive=LABEL"):
        qcompile.from_arrays([[1.0], [2.0], [3.0]], [1, 2, 3])


def test_preflight_advises_options_in_text_and_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make = "compile synthetic:examples=50,features=6 --bits 3 --emit qubo.json -q"
    assert main(shlex.split(make)) == 0
    line = "embed qubo.json --machine chimera4 --preflight"
    assert main(shlex.split(line)) == 1
    said = re.findall(r"^advice +(.*)$", capsys.readouterr().out, re.M)
    assert main(shlex.split(f"{line} --json")) == 1
    assert said == [json.loads(capsys.readouterr().out)["advice"]]
    assert OPTION.findall(said[0])[0] == "--machine" and '"' not in said[0]
    qubo, _ = qcompile.load_qubo("qubo.json")
    message = qcompile.preflight(qubo, qcompile.load_machine("chimera4")).message
    assert 'machine="' in message and not OPTION.search(message)


def test_a_report_says_which_options_would_show_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make = "compile synthetic:examples=50,features=3 --bits 1 --emit qubo.json -q"
    assert main(shlex.split(make)) == 0
    assert main(["report", "qubo.json", "-o", "page.html", "-q"]) == 0
    assert "known labels (--data DATA, --test DATA)" in Path("page.html").read_text()


def test_the_log_of_python_stays_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    """Only the command's own handler changes what is said."""
    with caplog.at_level("WARNING", logger="qcompile"):
        logging.getLogger("qcompile").warning("more bits=")
    assert caplog.messages == ["more bits="]
