"""Where the rounds of `train` are solved (`--on`), and the work of `train --on leap`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from qcompile.cli.connection import (
    add_connection_options,
    add_grace_option,
    add_timeout_option,
    agreed,
    patience_of,
)
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError
from qcompile.training.in_rounds import RoundsTask
from qcompile.training.leap_cost import TrainingCost
from qcompile.training.leap_machine import LeapMachine
from qcompile.training.on_leap import cost_on_leap, train_on_leap
from qcompile.training.trained import Trained

__all__ = ["PLACES", "add_leap_options", "check_place", "run_on_leap", "solver_at"]


PLACES = ("local", "rehearse", "leap")
# Options that only a training on Leap has, and their defaults.
_LEAP: dict[str, Any] = {
    "budget": None,
    "job_label": "qcompile",
    "dry_run": False,
    "yes": False,
    "again": False,
    "profile": None,
    "region": None,
    "jobs": None,
    "timeout": 3600.0,
    "grace": 60.0,
}


def add_leap_options(command: argparse.ArgumentParser) -> None:
    """Add --on, and the options of a training on Leap."""
    group = command.add_argument_group("leap (with --on leap)")
    group.add_argument(
        "--on",
        choices=PLACES,
        default="local",
        help="where the rounds are solved: on this computer, on a simulated --machine with its "
        "published errors, or on a QPU of Leap, which --solver then names (local)",
    )
    group.add_argument(
        "--budget",
        metavar="TIME",
        help="most QPU access time of all rounds together: 2s, 500ms or 1.5",
    )
    group.add_argument(
        "-l",
        "--job-label",
        default="qcompile",
        metavar="LABEL",
        help="name of the job in Leap (qcompile)",
    )
    group.add_argument("--dry-run", action="store_true", help="show the cost and send nothing")
    group.add_argument("-y", "--yes", action="store_true", help="do not ask before sending")
    group.add_argument(
        "--again", action="store_true", help="train even if the same training is not finished"
    )
    add_timeout_option(group)
    add_grace_option(group)
    add_connection_options(command)


def check_place(options: argparse.Namespace, method: str, solvers: Sequence[str]) -> None:
    """Raise UsageError for options that do not belong to the place where rounds are solved."""
    if options.on == "leap":
        _check_leap(options, method)
        return
    for name, usual in _LEAP.items():
        if getattr(options, name) != usual:
            raise UsageError(f"--{name.replace('_', '-')} is for --on leap; add that")
    if options.on == "rehearse" and options.solver is not None:
        raise UsageError(
            f"--solver {options.solver} with --on rehearse, where a simulated --machine is the "
            "solver; leave it out"
        )
    if options.solver not in (None, *solvers):
        raise UsageError(
            f"--solver {options.solver}; expected one of {', '.join(solvers)}; with --on leap the "
            "name of a QPU"
        )


def _check_leap(options: argparse.Namespace, method: str) -> None:
    """Raise UsageError for what a training on Leap does not have."""
    if method == "paper":
        raise UsageError(
            "--on leap trains in rounds, without the options of --method paper; send one problem "
            "of that method with qcompile compile and qcompile submit"
        )
    if options.cv is not None or options.grid or options.l2 == "cv":
        raise UsageError(
            "--on leap would pay for a training of every fold: choose --l2 on this computer first"
        )
    for name in ("machine", "yield_", "dead_qubits", "dead_couplers", "sweeps", "dask"):
        if getattr(options, name):
            shown = name.strip("_").replace("_", "-")
            raise UsageError(f"--{shown} with --on leap, which has a QPU; leave it out")


def solver_at(options: argparse.Namespace) -> str:
    """Return what looks for the steps of the rounds, at the place that --on names."""
    if options.on == "local":
        return options.solver or "anneal"
    return str(options.on)  # both are names of solvers


def run_on_leap(work: RoundsTask, options: argparse.Namespace) -> Trained | None:
    """Train on Leap after asking; with --dry-run show the cost and return None."""
    machine = LeapMachine(
        solver=options.solver,
        budget=options.budget,
        profile=options.profile,
        region=options.region,
        jobs=options.jobs,
        label=options.job_label,
        timeout=options.timeout,
        patience=patience_of(options),
        again=options.again,
    )
    given = options.rounds is not None
    if options.dry_run:
        cost = cost_on_leap(work, machine, rounds_given=given)
        plain = {**cost.to_dict(), "notes": list(cost.notes)}
        show(plain if options.json else _in_words(cost), options)
        if cost.exceeds_budget:
            raise UsageError(
                f"{cost.rounds} rounds take {cost.seconds:.4g} s of QPU access time, more than "
                f"--budget {cost.budget:g}, which pays for {cost.rounds_within_budget}: give "
                f"--rounds {cost.rounds_within_budget}; without --dry-run the training ends there"
            )
        return None
    return train_on_leap(
        work, machine, rounds_given=given, confirm=lambda cost: agreed(_in_words(cost), options)
    )


def _in_words(cost: TrainingCost) -> dict[str, Any]:
    """Return the cost of a training as it is shown to people."""
    shown: dict[str, Any] = {
        "solver": f"{cost.solver} (qpu)",
        "weights": f"{cost.weights}, {cost.step_bits} bits a round"
        + (f", in {cost.blocks} blocks" if cost.blocks > 1 else ""),
        "qubits": f"{cost.qubits}, longest chain {cost.longest_chain}"
        + (f", {cost.copies} step sizes at once" if cost.copies > 1 else ""),
        "rounds": f"up to {cost.rounds}, of {cost.reads} reads",
        "QPU access time": "not known",
    }
    if cost.seconds is not None:
        shown["QPU access time"] = (
            f"{cost.seconds_per_round:.4g} s a round, up to {cost.seconds:.4g} s in all, estimated"
        )
    if cost.budget is not None:
        shown["budget"] = f"{cost.budget:g} s, enough for {cost.rounds_within_budget} rounds"
    if cost.load is not None:
        shown["load"] = f"{cost.load:.0%} of the solver"
    return shown | {f"note {number}": note for number, note in enumerate(cost.notes, 1)}
