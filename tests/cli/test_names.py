"""Options of the command line and parameters of Python have the same names, or a reason."""

from __future__ import annotations

import argparse
import inspect
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile.cli.app import _parser
from qcompile.pipeline import CompileOptions
from qcompile.training.options import TrainOptions

COMMANDS = _parser().commands()
# What Python has for a command: its options must be parameters of one of these.
FUNCTIONS: dict[str, tuple[Callable[..., Any] | type, ...]] = {
    "data": (qcompile.DataOptions,),
    "loss": (qcompile.DataOptions, qcompile.LossOptions),
    "compile": (
        qcompile.compile, CompileOptions, qcompile.fit_around, qcompile.discretize_step,
        qcompile.save_qubo,
    ),
    "quadratize": (qcompile.quadratize, qcompile.save_qubo),
    "verify": (qcompile.verify, qcompile.check_embedding),
    "estimate": (qcompile.estimate, qcompile.DataOptions, qcompile.LossOptions),
    "embed": (qcompile.embed, qcompile.anneal),
    "solve": (qcompile.solve, qcompile.with_chains),
    "rehearse": (qcompile.rehearse, qcompile.rehearse_training),
    "decode": (qcompile.decode,),
    "train": (qcompile.train, TrainOptions, qcompile.LeapMachine, qcompile.Patience),
    "explain": (qcompile.explain,),
    "export": (qcompile.export,),
    "submit": (qcompile.submit, qcompile.Patience),
    "resume": (qcompile.resume, qcompile.Patience),
    "cancel": (qcompile.cancel, qcompile.Patience),
}  # fmt: skip
# Options that have no parameter of the same name, and why.
EVERYWHERE = {
    "verbose": "how much is printed",
    "quiet": "how much is printed",
    "json": "how it is printed",
    "format": "how it is printed",
    "names": "what is printed, explained",
    "output": "a function returns what a command writes; save_* write it",
    "plot": "a file that only the command writes",
    "report": "a file that only the command writes",
    "yield_": "Machine.with_yield(share)",
    "yield_seed": "Machine.with_yield(share, seed=)",
    "dead_qubits": "Machine.without(qubits, couplers)",
    "dead_couplers": "Machine.without(qubits, couplers)",
    "dask": "an address; Python takes the client itself, client=",
}
OWN = {
    "data": {
        "data": "the source, the first argument of read",
        "list": "an action of its own",
        "split": "a function: split(data, shares)",
    },
    "loss": {"data": "the source, the first argument of read"},
    "compile": {
        "emit": "a function returns what a command writes; save_* write it",
        "compare_dimod": "account(qubo, with_dimod=True)",
        "around": "the centre, the second argument of fit_around",
    },
    "quadratize": {
        "spins": "read_pubo(source, vartype='SPIN')",
        "compare_dimod": "account(qubo, with_dimod=True)",
    },
    "verify": {},
    "estimate": {
        "data": "compile(data) counts",
        "table": "a table of the paper",
        "rounds": "estimates of rounds have no function yet",
        "reads": "estimates of rounds have no function yet",
        "machine": "estimates for machines have no function yet",
    },
    "embed": {
        "target": "a file of the embedded problem: Embedded.to_bqm()",
        "reuse": "the chains, embedding= of embed",
        "copies": "a function: find_copies(qubo, machine, copies=...)",
        "preflight": "a function: preflight(qubo, machine)",
    },
    "train": {
        "cv": "folds= of train, and cross_validate: the option also asks for the choice",
        "grid": "an argument of cross_validate",
        "on": 'machine="leap", a LeapMachine, or solver="rehearse"',
        "dry_run": "confirm= is given the cost, and may return False",
        "yes": "confirm= is a function that may ask",
        "job_label": "label of a LeapMachine; label= is a column of a table",
    },
    "explain": {"suspects": "Explanation.suspects"},
    "solve": {"embedding": "with_chains(qubo, embedding) makes the problem to solve"},
    "submit": {
        "annealing_time": "one of parameters=",
        "param": "one of parameters=",
        "yes": "confirm= is a function that may ask",
        "samples": "Submission.samples",
        "no_wait": "wait=False; an option can only be set",
    },
    "resume": {
        "samples": "Submission.samples",
        "no_wait": "wait=False; an option can only be set",
    },
}
# Parameters that are no options, and why.
IN_PYTHON = {
    "progress": "the command shows a bar",
    "client": "an object; the option is --dask",
    "loss": "a record of options",
    "qubo": "a record of options, or a positional argument",
    "data": "a record of options, or a positional argument",
    "options": "a record of options",
    "preparation": "a record of options",
    "by_name": "the options by name",
    "begin": "a classifier; the command trains from the data alone",
    "probabilities": "the command always calibrates",
    "folds": "the option is --cv",
    "source": "a positional argument",
    "reference": "stored in the file",
    "parameters": "--param and --annealing-time",
    "confirm": "the option is --yes",
    "wait": "the option is --no-wait",
    "patience": "a record; --grace is its field that matters",
    "embedding": "--reuse of embed, --embedding of others",
}
OLD_OPTIONS = {"--fit": "--fit-to", "--range": "--weight-range", "--num-reads": "--reads"}


def parameters(name: str) -> set[str]:
    found: set[str] = set()
    for own in FUNCTIONS[name]:
        if isinstance(own, type) and hasattr(own, "__total__"):  # a TypedDict
            found |= set(own.__annotations__)
        else:
            found |= set(inspect.signature(own).parameters)
    return found


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_options_are_parameters_of_the_same_name(name: str) -> None:
    known = parameters(name)
    options = {a.dest for a in COMMANDS[name].shown_actions() if a.option_strings} - {"help"}
    excused = set(EVERYWHERE) | set(OWN.get(name, {}))
    assert options - known <= excused, "an option without a parameter, and no reason"
    idle = set(OWN.get(name, {})) - ({a.dest for a in COMMANDS[name]._actions} - known)
    assert not idle, "an exception that is not needed"
    if name == "train":
        assert "order" in known


@pytest.mark.parametrize("name", ["compile", "train", "solve", "quadratize", "decode", "submit"])
def test_parameters_are_options_of_the_same_name(name: str) -> None:
    function = getattr(qcompile, name)
    known = set(inspect.signature(function).parameters)
    known |= {"compile": set(CompileOptions.__annotations__),
              "train": set(TrainOptions.__annotations__)}.get(name, set())  # fmt: skip
    options = {action.dest for action in COMMANDS[name]._actions}
    assert known - options <= set(IN_PYTHON)


def test_every_command_is_compared_or_has_no_function() -> None:
    alone = {"machines", "predict", "jobs", "report", "completion"}
    assert set(COMMANDS) == set(FUNCTIONS) | alone


@pytest.mark.parametrize("name", ["compile", "train", "solve", "submit", "estimate"])
def test_old_names_of_options_work_and_are_not_shown(name: str) -> None:
    parser = COMMANDS[name]
    shown = parser.format_help()
    for old, new in OLD_OPTIONS.items():
        actions = parser._option_string_actions
        assert (new in actions) >= (old in actions)
        if old in actions:
            assert actions[old].dest == actions[new].dest
            assert actions[old].help == argparse.SUPPRESS
        assert not re.search(rf"{old}\b(?!-)", shown)


def test_an_old_option_means_the_new_one() -> None:
    parser = COMMANDS["compile"]
    for words in (
        ["--range", "0.5", "--fit", "loss"],
        ["--weight-range", "0.5", "--fit-to", "loss"],
    ):
        options = parser.parse_args(["x", *words])
        assert (options.weight_range, options.fit_to) == ("0.5", "loss")
    assert COMMANDS["solve"].parse_args(["x", "--num-reads", "7"]).reads == 7
    assert COMMANDS["solve"].parse_args(["x"]).reads == 100


def test_old_parameters_work_with_a_warning() -> None:
    rows = "synthetic:examples=60,features=3"
    present = qcompile.compile(rows, bits=1, weight_range=0.5, fit_to="loss", prune=True)
    with pytest.warns(DeprecationWarning) as told:
        old: Any = {"range_": 0.5, "fit": "loss", "shrink": True}
        before = qcompile.compile(rows, bits=1, **old)
    assert [str(own.message) for own in told] == [
        "range_= is deprecated: use weight_range=",
        "fit= is deprecated: use fit_to=",
        "shrink= is deprecated: use prune=",
    ]
    assert {own.filename for own in told} == {__file__}
    assert before.loss == present.loss
    assert before.pubo.encoding == present.pubo.encoding
    with pytest.warns(DeprecationWarning, match="use weight_range="):
        options = qcompile.LossOptions(**{"range_": 0.5})  # type: ignore[arg-type]
    assert options == qcompile.LossOptions(weight_range=0.5)
    with pytest.warns(DeprecationWarning, match="use weight_range="):
        assert options.range_ == 0.5  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="use fit_to="):
        qcompile.fit_loss(present.moments, **{"fit": "loss"})  # type: ignore[arg-type]
    with warnings.catch_warnings(record=True) as silent:
        qcompile.LossOptions(weight_range=0.5)
    assert not silent


def test_the_table_of_names_has_every_old_one() -> None:
    text = Path("docs/commands.md").read_text()
    table = text.partition("## Names in Python")[2]
    assert table
    for old, new in OLD_OPTIONS.items():
        assert f"`{old}`" in table and f"`{new}" in table
    for old, new in {"range_": "weight_range", "fit": "fit_to", "shrink": "prune"}.items():
        assert f"`{old}`" in table and f"`{new}" in table
