"""Completion as a shell does it: the script is sourced and asked."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from qcompile.cli import _parser, main
from qcompile.cli_common import Parser
from qcompile.cli_completion import SHELLS, script_for

BASH = shutil.which("bash")
# The words as readline would split them (also at = and :), then what was answered, a line each.
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
$(complete -p qcompile | sed 's/.*-F \\([^ ]*\\).*/\\1/') 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if BASH is None:
        pytest.skip("there is no bash here")
    path = tmp_path_factory.mktemp("script") / "completion.bash"
    parser = _parser()
    assert isinstance(parser, Parser)
    path.write_text(script_for("bash", parser))
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data.svm").touch()
    (tmp_path / "qubo.json").touch()
    (tmp_path / "folder").mkdir()
    return tmp_path


def ask(script: Path, *words: str) -> list[str]:
    assert BASH is not None
    found = subprocess.run(
        [BASH, "--norc", "-c", ASK, "bash", str(script), "qcompile", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stderr == ""
    return found.stdout.split("\n")[:-1] if found.stdout.strip() else []


def commands() -> dict[str, argparse.ArgumentParser]:
    """Read the commands from the parser without the code under test."""
    (action,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def test_commands_are_completed(script: Path, here: Path) -> None:
    assert ask(script, "") == list(commands())
    assert ask(script, "comp") == ["compile", "completion"]
    assert ask(script, "--v") == ["--version"]
    assert ask(script, "nonsense", "") == []


@pytest.mark.parametrize("name", list(commands()))
def test_all_options_of_each_command_are_completed(script: Path, here: Path, name: str) -> None:
    known = {
        option
        for action in commands()[name]._actions
        for option in action.option_strings
        if option.startswith("--")
    }
    assert set(ask(script, name, "--")) == known


def test_choices_of_every_option_are_completed(script: Path, here: Path) -> None:
    seen = 0
    for name, command in commands().items():
        for action in command._actions:
            if action.choices is not None and action.option_strings:
                words = [str(choice) for choice in action.choices]
                assert ask(script, name, action.option_strings[-1], "") == words
                seen += 1
    assert seen > 10
    assert ask(script, "completion", "") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["compile", "--scale", "st"], ["standard"]),
        (["compile", "--scale", "=", "m"], ["max-abs"]),
        (["compile", "--scale", "="], ["none", "standard", "max-abs", "unit-norm"]),
        (["compile", "my"], ["my data.svm"]),
        (["compile", "syn"], ["synthetic"]),
        (["compile", "x", "--emit", "qubo.j"], ["qubo.json"]),
        (["compile", "x", "--emit", "qubo", "=", "qub"], ["qubo.json"]),
        (["solve", "q"], ["qubo.json"]),
        (["solve", "syn"], []),
        (["compile", "x", "--bits", ""], []),
        (["compile", "x", "--dask", "--em"], ["--emit"]),
        (["embed", "qubo.json", "--machine", "pega"], ["pegasus4"]),
        (["machines", "zephyr1"], ["zephyr15"]),
        (["jobs", "--jobs", "f"], ["folder"]),
    ],
)
def test_values_are_completed_by_what_they_are(
    script: Path, here: Path, words: list[str], expected: list[str]
) -> None:
    assert ask(script, *words) == expected


def test_jobs_are_completed(
    script: Path, here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jobs" / "20260131-101500-1a2b3c4d").mkdir(parents=True)
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
    assert ask(script, "resume", "2026") == ["20260131-101500-1a2b3c4d"]
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "none"))
    assert ask(script, "resume", "2026") == []


@pytest.mark.parametrize("shell", list(SHELLS))
def test_every_shell_is_told_every_option(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert main(["completion", shell, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == script
    for name, command in commands().items():
        for action in command._actions:
            for option in action.option_strings:
                shown = option
                if shell == "fish":
                    shown = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                assert shown in script, (name, option)
    program = shutil.which(shell)
    if program is not None:  # the shell itself finds nothing wrong
        path = tmp_path / "script"
        path.write_text(script)
        subprocess.run([program, "-n", str(path)], check=True, capture_output=True)


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["completion", "tcsh"])
    assert stop.value.code == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
