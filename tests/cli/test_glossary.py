"""Help points to what is installed, and `--names` explains what a command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qcompile.cli.app import main
from qcompile.cli.glossary import PAGE, meanings
from tests.cli.lines import commands

ROOT = Path(__file__).parents[2]
# Folders and files of a checkout that `pip install` does not bring.
NOT_INSTALLED = re.compile(
    r"\b(docs|hardware|examples|benchmarks|tests)/|\b(README|CHANGELOG|CONTRIBUTING)\b"
    r"|\bmake (demo|docs|test)\b"
)


@pytest.mark.parametrize("name", list(commands()))
def test_every_command_explains_its_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--names"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "written" in out.splitlines()[0]
    assert [line for line in out.splitlines() if not line.startswith("    ")] == [
        names for names, _ in meanings(name)
    ]
    assert "`" not in out and "](" not in out and max(map(len, out.splitlines())) <= 100


def test_the_page_that_is_installed_is_the_one_in_the_docs() -> None:
    page = ROOT / "qcompile/cli" / PAGE
    assert page.read_bytes() == (ROOT / "docs/commands.md").read_bytes()


@pytest.mark.parametrize("name", ["", *commands()])
def test_help_names_no_file_that_is_not_installed(name: str) -> None:
    from qcompile.cli.app import _parser

    text = (commands()[name] if name else _parser()).format_help()
    assert not NOT_INSTALLED.search(text)
    assert f"qcompile {name or 'COMMAND'} --names" in text


def test_no_message_names_a_file_that_is_not_installed() -> None:
    found = []
    for path in sorted((ROOT / "qcompile").rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            strings = re.findall(r'"([^"]*)"', line.partition("#")[0])
            if any(NOT_INSTALLED.search(text) for text in strings) and '"""' not in line:
                found.append(f"{path.name}:{number}: {line.strip()}")
    assert found == []
    assert NOT_INSTALLED.search("see docs/commands.md")
