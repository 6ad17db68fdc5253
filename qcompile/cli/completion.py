"""Completion for bash, zsh and fish: scripts generated from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from qcompile.cli.output import show
from qcompile.cli.parsing import Parser, add_command
from qcompile.data.named_sets import NAMES
from qcompile.files.machines import catalogue

__all__ = ["SHELLS", "add_commands", "script_for"]


# The kind of a value, by its name in the help.
_FILES = ("FILE", "PATH", "[KIND=]PATH", "QUBO", "SAMPLES", "MODEL", "RUN")
_KINDS = dict.fromkeys(_FILES, "file") | {"DATA": "data", "FOLDER": "folder", "JOB": "job"}
_JOBS = "${QCOMPILE_JOBS:-${XDG_DATA_HOME:-$HOME/.local/share}/qcompile/jobs}"


@dataclass(frozen=True)
class Slot:
    """An option or a positional value of a command.

    `kind` is the kind of its value: none, file, data, machine, folder, job, words or free. Data
    and machines are files or one of `words`.
    """

    names: tuple[str, ...]
    kind: str
    words: tuple[str, ...] = ()
    help: str = ""
    optional: bool = False
    many: bool = False


@dataclass(frozen=True)
class Command:
    """A command with its help, its options and its positional values."""

    name: str
    help: str
    options: tuple[Slot, ...]
    values: tuple[Slot, ...]


def add_commands(commands: Any) -> None:
    """Add `completion`."""
    command = add_command(commands, "completion")
    command.add_argument("shell", choices=SHELLS, help="name of the shell")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    script = script_for(options.shell, options.parser)
    if options.json:
        show({"shell": options.shell, "script": script}, options)
    else:
        print(script, end="")


def script_for(shell: str, parser: Parser) -> str:
    """Return the completion script of a shell for the commands of a parser."""
    return "\n".join(SHELLS[shell](_described(parser))) + "\n"


def _described(parser: Parser) -> list[Command]:
    """Return the commands of a parser with their options and values."""
    summaries = {
        choice.dest: str(choice.help)
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for choice in action._choices_actions
    }
    return [
        Command(
            name,
            summaries.get(name, ""),
            tuple(_slot(a) for a in command.shown_actions() if a.option_strings),
            tuple(_slot(a) for a in command.shown_actions() if not a.option_strings),
        )
        for name, command in parser.commands().items()
    ]


def _slot(action: argparse.Action) -> Slot:
    kind, words = "free", tuple[str, ...]()
    if action.option_strings and action.nargs == 0:
        kind = "none"
    elif action.choices is not None:
        kind, words = "words", tuple(str(choice) for choice in action.choices)
    elif action.dest == "machine":
        kind, words = "machine", _machines()
    elif str(action.metavar) in _KINDS:
        kind = _KINDS[str(action.metavar)]
        words = _named_sets() if kind == "data" else ()
    text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    return Slot(
        tuple(action.option_strings) or (str(action.metavar or action.dest),),
        kind,
        words,
        text,
        action.nargs in ("?", "*"),
        action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction),
    )


def _named_sets() -> tuple[str, ...]:
    return tuple(NAMES)


def _machines() -> tuple[str, ...]:
    return tuple(catalogue())


def _bash(commands: list[Command]) -> Iterator[str]:
    yield f"""\
# Completion of qcompile for bash: source this file.
_qcompile() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= kind= words= options= i
    # --option=value arrives as three words, and KIND=PATH after an option as well
    [[ $cur == = ]] && cur=
    [[ $prev == = ]] && prev=${{COMP_WORDS[COMP_CWORD-2]}}
    if ((COMP_CWORD > 3)) && [[ $prev != -* && ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-3]}}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${{COMP_WORDS[i]}} != -* ]]; then
            command=${{COMP_WORDS[i]}}
            break
        fi
    done
    case $command in
    '')
        kind=words words="{" ".join(c.name for c in commands)}"
        options="--help --version"
        ;;"""
    for command in commands:
        yield f"    {command.name})"
        names = [name for slot in command.options for name in slot.names]
        yield f'        options="{" ".join(names)}"'
        for slot in command.values:
            yield f"        {_bash_kind(slot)}"
        yield '        case "$prev" in'
        for slot in command.options:
            if slot.kind != "none" and not slot.optional:
                yield f"        {'|'.join(slot.names)}) options= {_bash_kind(slot)} ;;"
        yield "        esac"
        yield "        ;;"
    yield f"""\
    *) return ;;
    esac
    [[ $cur == -* && -n $options ]] && kind=words words=$options
    case $kind in
    words) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    job) COMPREPLY=($(compgen -W "$(command ls "{_JOBS}" 2>/dev/null)" -- "$cur")) ;;
    folder)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        ;;
    file | data | machine)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; compgen -f -- "$cur")
        ;;
    esac
}}
complete -F _qcompile qcompile"""


def _bash_kind(slot: Slot) -> str:
    return f'kind={slot.kind} words="{" ".join(slot.words)}"'


def _zsh(commands: list[Command]) -> Iterator[str]:
    yield """\
#compdef qcompile
# Completion of qcompile for zsh: put this file as _qcompile into a folder of $fpath.
_qcompile_jobs() {
    local -a jobs
    jobs=("""
    yield f'        "{_JOBS}"/*(N/:t)'
    yield """\
    )
    compadd -a jobs
}"""
    for kind, words in (("data", _named_sets()), ("machine", _machines())):
        yield f"""\
_qcompile_{kind}() {{
    _alternative 'names:name:({" ".join(words)})' 'files:file:_files'
}}"""
    yield """\
_qcompile() {
    local curcontext="$curcontext" state line
    typeset -A opt_args
    _arguments -C '(- *)'{-h,--help}'[show help]' '(- *)--version[show the version]' \\
        '1: :->command' '*:: :->rest'
    case $state in
    command)
        local -a commands
        commands=("""
    for command in commands:
        yield f"            {_quoted(command.name + ':' + command.help)}"
    yield """\
        )
        _describe 'command' commands
        ;;
    rest)
        case $words[1] in"""
    for command in commands:
        yield f"        {command.name})"
        lines = [_zsh_option(name, slot) for slot in command.options for name in slot.names]
        lines += [_zsh_value(i, slot) for i, slot in enumerate(command.values, 1)]
        yield "            _arguments \\"
        yield " \\\n".join(f"                {line}" for line in lines)
        yield "            ;;"
    yield """\
        esac
        ;;
    esac
}
if [[ $funcstack[1] == _qcompile ]]; then
    _qcompile "$@"
else
    compdef _qcompile qcompile
fi"""


def _zsh_option(name: str, slot: Slot) -> str:
    text = slot.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    again = "*" if slot.many else ""
    if slot.kind == "none":
        return _quoted(f"{again}{name}[{text}]")
    colon = "::" if slot.optional else ":"
    joined = "=" if name.startswith("--") else ""  # --scale=standard as well as --scale standard
    return _quoted(f"{again}{name}{joined}[{text}]{colon}value:{_zsh_action(slot)}")


def _zsh_value(place: int, slot: Slot) -> str:
    if slot.many:
        return _quoted(f"*:{slot.names[0]}:{_zsh_action(slot)}")
    colon = "::" if slot.optional else ":"
    return _quoted(f"{place}{colon}{slot.names[0]}:{_zsh_action(slot)}")


def _zsh_action(slot: Slot) -> str:
    words = " ".join(slot.words)
    return {
        "words": f"({words})",
        "file": "_files",
        "folder": "_files -/",
        "data": "_qcompile_data",
        "machine": "_qcompile_machine",
        "job": "_qcompile_jobs",
    }.get(slot.kind, " ")


def _fish(commands: list[Command]) -> Iterator[str]:
    yield "# Completion of qcompile for fish: put this file into ~/.config/fish/completions."
    # fish's __fish_seen_subcommand_from would take a folder called "train" for the command
    yield """\
function __qcompile_runs
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end
function __qcompile_jobs
    set -l data $XDG_DATA_HOME ~/.local/share
    set -l folder $QCOMPILE_JOBS $data[1]/qcompile/jobs
    command ls $folder[1] 2>/dev/null
end"""
    yield "complete -c qcompile -f"
    yield "complete -c qcompile -n __fish_use_subcommand -s h -l help -d 'show help'"
    yield "complete -c qcompile -n __fish_use_subcommand -l version -d 'show the version'"
    for command in commands:
        about = _quoted(command.help, fish=True)
        yield f"complete -c qcompile -n __fish_use_subcommand -a {command.name} -d {about}"
        here = f"complete -c qcompile -n '__qcompile_runs {command.name}'"
        for slot in command.options:
            about = _quoted(slot.help, fish=True)
            yield f"{here}{_fish_names(slot)}{_fish_action(slot)} -d {about}"
        for slot in command.values:
            yield f"{here}{_fish_action(slot).replace(' -r', '').replace(' -x', '')}"


def _fish_names(slot: Slot) -> str:
    flags = [f" -l {n[2:]}" if n.startswith("--") else f" -s {n[1:]}" for n in slot.names]
    return "".join(flags)


def _fish_action(slot: Slot) -> str:
    words = _quoted(" ".join(slot.words), fish=True)
    return {
        "none": "",
        "words": f" -x -a {words}",
        "file": " -r -F",
        "folder": " -x -a '(__fish_complete_directories)'",
        "data": f" -r -F -a {words}",
        "machine": f" -r -F -a {words}",
        "job": " -x -a '(__qcompile_jobs)'",
    }.get(slot.kind, "" if slot.optional else " -x")


def _quoted(text: str, *, fish: bool = False) -> str:
    """Return text in single quotes, escaped for the shell."""
    if fish:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS: dict[str, Callable[[list[Command]], Iterator[str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
