"""Completion as a shell does it: the script is sourced and asked."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from qcompile.cli.app import _parser, main
from qcompile.cli.completion import SHELLS, script_for
from qcompile.cli.parsing import Parser
from tests.cli.lines import commands

pytestmark = pytest.mark.slow

# Each is given the script and the words, and answers with what the shell offers, a line each.
# For bash the words come as readline splits them (also at =).
ASK = {
    "bash": """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
$(complete -p qcompile | sed 's/.*-F \\([^ ]*\\).*/\\1/') 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "fish": """
source $argv[1]
complete -C "$argv[2..-1]" | string replace -r '\\t.*' ''
true # replacing nothing is no failure
""",
    # zsh completes only on a terminal: a shell on one of its own is asked, and tells what the
    # script hands to compadd
    "zsh": """
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PROMPT=; autoload -Uz compinit; compinit -D -u; source ${(q)1}"
zpty -w inner 'compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a offered; builtin compadd -A offered "$@"
    (( ${#offered} )) && print -rl -- "<"${^offered}">"
    builtin compadd "$@"
}'
zpty -w inner 'ask() { zle list-choices; print -r -- "ENDS" }; zle -N ask; bindkey "^Y" ask'
zpty -w inner 'print REA""DY'
while zpty -r inner line; do [[ $line == *READY* ]] && break; done
zpty -w -n inner "${*[2,-1]}"$'\\x19'
while zpty -r inner line; do all+=$line; [[ $all == *ENDS* ]] && break; done
print -r -- "$all" | tr -d '\\r' | sed -n 's/^.*<\\(.*\\)>$/\\1/p'
""",
}


FRESH = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["-N"]}


@dataclass(frozen=True)
class Shell:
    """A shell that has read its script."""

    name: str
    program: str
    script: Path

    def ask(self, *words: str) -> list[str]:
        """What is offered for the last of these words, sorted."""
        command = [self.program, *FRESH[self.name], "-c", ASK[self.name]]
        command += ["ask"] * (self.name != "fish")  # the name of the script, $0
        found = subprocess.run(
            [*command, str(self.script), "qcompile", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert found.stderr == ""
        return sorted(
            {line.replace("\\ ", " ").rstrip("/") for line in found.stdout.splitlines()} - {""}
        )


@pytest.fixture(scope="module", params=list(SHELLS))
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"there is no {request.param} here")
    path = tmp_path_factory.mktemp("script") / f"completion.{request.param}"
    parser = _parser()
    assert isinstance(parser, Parser)
    path.write_text(script_for(request.param, parser))
    return Shell(request.param, program, path)


@pytest.fixture
def here(here: Path) -> Path:
    """The folder with files to complete."""
    (here / "my data.svm").touch()
    (here / "qubo.json").touch()
    (here / "samples.json").touch()
    (here / "folder").mkdir()
    return here


def test_commands_are_completed(shell: Shell, here: Path) -> None:
    assert shell.ask("") == sorted(commands())
    assert shell.ask("comp") == ["compile", "completion"]
    assert shell.ask("--v") == ["--version"]
    assert shell.ask("nonsense", "") == []


@pytest.mark.parametrize("name", list(commands()))
def test_all_options_of_each_command_are_completed(shell: Shell, here: Path, name: str) -> None:
    known = {
        option
        for action in commands()[name].shown_actions()
        for option in action.option_strings
        if option.startswith("--")
    }
    assert {option.rstrip("=") for option in shell.ask(name, "--")} == known


def test_choices_of_every_option_are_completed(shell: Shell, here: Path) -> None:
    seen = set()
    for name, command in commands().items():
        for action in command.shown_actions():
            if action.choices is None or not action.option_strings:
                continue
            option, words = action.option_strings[-1], sorted(map(str, action.choices))
            # zsh takes long to start: options that many commands have are tried once there
            if shell.name != "zsh" or (option, *words) not in seen:
                assert shell.ask(name, option, "") == words
                seen.add((option, *words))
    assert len(seen) > 5
    assert shell.ask("completion", "") == ["bash", "fish", "zsh"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["compile", "--scale", "st"], ["standard"]),
        (["compile", "my"], ["my data.svm"]),
        (["compile", "syn"], ["synthetic"]),
        (["compile", "x", "--emit", "qubo.j"], ["qubo.json"]),
        (["solve", "q"], ["qubo.json"]),
        (["solve", "syn"], []),
        (["compile", "x", "--bits", ""], []),
        (["compile", "x", "--dask", "--em"], ["--emit"]),
        (["report", "train", "--ord"], []),  # a folder with the name of a command
        (["embed", "qubo.json", "--machine", "pega"], ["pegasus4"]),
        (["machines", "zephyr1"], ["zephyr15"]),
        (["jobs", "--jobs", "f"], ["folder"]),
        (["jobs", "--jobs", ""], ["folder"]),  # no files
        (["decode", "s"], ["samples.json"]),
        (["report", "s"], ["samples.json"]),
        (["report", "samples.json", "qu"], ["qubo.json"]),
        (["report", "samples.json", "qubo.json", "f"], ["folder"]),
    ],
)
def test_values_are_completed_by_what_they_are(
    shell: Shell, here: Path, words: list[str], expected: list[str]
) -> None:
    assert shell.ask(*words) == expected


def test_values_after_an_equal_sign_are_completed(shell: Shell, here: Path) -> None:
    scalings = ["max-abs", "none", "robust", "standard", "unit-norm"]
    if shell.name == "bash":
        assert shell.ask("compile", "--scale", "=") == scalings
        assert shell.ask("compile", "--scale", "=", "m") == ["max-abs"]
        assert shell.ask("compile", "x", "--emit", "qubo", "=", "qub") == ["qubo.json"]
    else:
        found = shell.ask("compile", "--scale=")
        assert [name.removeprefix("--scale=") for name in found] == scalings
        (found_one,) = shell.ask("compile", "--scale=m")
        assert found_one.removeprefix("--scale=") == "max-abs"


def test_jobs_are_completed(
    shell: Shell, here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jobs" / "20260131-101500-1a2b3c4d").mkdir(parents=True)
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
    assert shell.ask("resume", "2026") == ["20260131-101500-1a2b3c4d"]
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "none"))
    assert shell.ask("resume", "2026") == []


def test_jobs_are_found_at_home(
    shell: Shell, here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".local/share/qcompile/jobs/20260131-101500-1a2b3c4d").mkdir(parents=True)
    (tmp_path / "xdg/qcompile/jobs/20260202-101500-1a2b3c4d").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("QCOMPILE_JOBS", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert shell.ask("resume", "2026") == ["20260131-101500-1a2b3c4d"]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert shell.ask("resume", "2026") == ["20260202-101500-1a2b3c4d"]


def test_places_have_the_names_of_the_help() -> None:
    parser = _parser()
    assert isinstance(parser, Parser)
    script = script_for("zsh", parser)
    assert "'*:RUN:_files'" in script and "run_" not in script


@pytest.mark.parametrize("shell", list(SHELLS))
def test_every_shell_is_told_every_option(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert main(["completion", shell, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == script
    for name, command in commands().items():
        for action in command.shown_actions():
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
